"""tokenizer.json: what is refused, and why."""

import json

import pytest

import bpeline
from tests.tokenizer_json_files import BYTE_LEVEL, NO_REGEX, PLAIN, TEMPLATE, file, write


@pytest.fixture
def load(Tokenizer, tmp_path):
    return lambda content: Tokenizer.load(write(tmp_path, content))


def changed(**sections):
    return file() | sections


def of_model(**fields):
    content = file()
    content["model"] |= fields
    return content


def without_byte():
    content = file()
    del content["model"]["vocab"]["!"]
    return content


SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}
BYTE_FALLBACK = {"type": "ByteFallback"}
REPLACE = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def decoded(*decoders, **parts):
    return file(**parts, decoder={"type": "Sequence", "decoders": list(decoders)})


@pytest.mark.parametrize(
    "decoders",
    [
        [BYTE_LEVEL, {"type": "Fuse"}],
        [{"type": "Fuse"}, BYTE_LEVEL],
        [REPLACE, BYTE_FALLBACK, STRIP, BYTE_LEVEL],
        [{"type": "Sequence", "decoders": [REPLACE, BYTE_LEVEL]}],
    ],
)
def test_decoders_that_change_no_token(load, decoders):
    tokenizers = pytest.importorskip("tokenizers")
    content = decoded(*decoders, added=[("<x>", {})])
    tok, peer = load(content), tokenizers.Tokenizer.from_str(json.dumps(content))
    for text in ("abc <x> ab", "", " é漢\n", "<0x41>"):
        ids = tok.encode(text)
        assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False) == text
    for ids in ([200], [199, 259, 256], [97]):
        assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, ['with a "model"']),
        ([], ["expected an object, found a list"]),
        (changed(model=None), ["model", "expected an object, found nothing"]),
        (of_model(type="WordPiece"), ["not supported", '"WordPiece"', "transformers"]),
        (of_model(type="Unigram"), ["not supported", '"Unigram"', "sentencepiece"]),
        (of_model(type="WordLevel"), ["not supported", '"WordLevel"', "tokenizers"]),
        ({"model": {"vocab": [["a", 0.5]]}}, ['"Unigram"']),
        (
            {"model": {"type": "BPE", "vocab": {"▁a": 0}, "merges": [], "byte_fallback": True}},
            ["SentencePiece's BPE with byte fallback", "tokenizers or sentencepiece serve it", "256 of which"],
        ),
        (of_model(byte_fallback=True) | {"pre_tokenizer": None}, ["SentencePiece's BPE with byte fallback"]),
        (of_model(byte_fallback=True) | {"pre_tokenizer": {"type": "Whitespace"}}, ["BPE with byte fallback"]),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}, ["BPE over characters"]),
        (of_model(dropout=0.1), ["dropout", "0.1"]),
        (of_model(continuing_subword_prefix="##"), ["continuing_subword_prefix", "##"]),
        (of_model(end_of_word_suffix="</w>"), ["end_of_word_suffix", "</w>"]),
        (of_model(merges=["a b c"]), ["merge 1", '"a b c"']),
        (of_model(merges=["a b", ["a"]]), ["merge 2"]),
        (of_model(merges=["b c"]), ["merge 1", '"bc" is not in the vocabulary']),
        (of_model(vocab={"a": -1}), ['"a"', "-1", "16777215"]),
        (of_model(vocab={"a": True}), ['"a"', "true"]),
        (of_model(vocab={"a": 0, "b": 0}), ['"a" and "b"', "id 0"]),
        (without_byte(), ["byte 0x21", '"!"']),
        (changed(pre_tokenizer=None), ["no pre-tokenizer"]),
        (changed(pre_tokenizer={"type": "Whitespace"}), ["Whitespace without ByteLevel"]),
        (changed(pre_tokenizer={"type": "Metaspace"}), ["Metaspace", "sentencepiece"]),
        (changed(pre_tokenizer={"type": "Sequence", "pretokenizers": [BYTE_LEVEL, BYTE_LEVEL]}), ["second ByteLevel"]),
        (changed(normalizer={"type": "BertNormalizer"}), ["normalizer", "BertNormalizer"]),
        (changed(normalizer={"type": "Prepend", "prepend": ""}), ["repeats the first character"]),
        (changed(normalizer={"type": "Replace", "pattern": {"String": ""}, "content": "x"}), ["empty pattern"]),
        (changed(normalizer={"type": "Strip"}), ["strip_left"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": r"\Xx"}}), ["not supported", r"\Xx"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": r"\b+x"}}), ["not supported", "nothing to repeat"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": "[a&&]"}}), ["not supported", "an empty set"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": "[!-&&a]"}}), ["not supported", "&&a]"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": "[[:alpha:]]"}}), ["not supported", "[:alpha:"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": "a*"}}), ["matches the empty text"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": r"\p{Foo}"}}), ["the class Foo"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"Regex": "(?i)st"}}), ["fold together"]),
        (changed(pre_tokenizer=SPLIT | {"pattern": {"String": "a"}, "behavior": "Odd"}), ["Odd", "Isolated"]),
        (changed(decoder={"type": "WordPiece"}), ["decoder", "WordPiece", "ByteLevel"]),
        (changed(decoder={"type": "Fuse"}), ["a decoder without ByteLevel"]),
        (decoded(BYTE_LEVEL, BYTE_LEVEL), ["second ByteLevel"]),
        (decoded(BYTE_LEVEL, BYTE_FALLBACK), ["ByteFallback on all of the text"]),
        (decoded(BYTE_LEVEL, STRIP), ["decoders 1", "Strip on all of the text"]),
        (decoded({"type": "Fuse"}, REPLACE, BYTE_LEVEL), ["Replace on all of the text"]),
        (decoded(REPLACE | {"pattern": {"String": "bc"}}, BYTE_LEVEL), ["Replace", 'changes the token "abc"']),
        (decoded(REPLACE | {"pattern": {"Regex": "x"}}, BYTE_LEVEL), ["a regular expression in a decoder"]),
        (decoded(STRIP | {"stop": 1, "content": "c"}, BYTE_LEVEL), ["Strip", 'the token "c"']),
        (decoded(BYTE_FALLBACK, BYTE_LEVEL, vocab=["<0x0a>"], merges=[]), ["ByteFallback", '"<0x0a>"']),
        (decoded({"type": "Fuse"}, BYTE_LEVEL, added=[("< >", {})]), ["behind Fuse", '"< >"']),
        (changed(post_processor={"type": "Sequence", "processors": [TEMPLATE, TEMPLATE]}), ["two post-processors"]),
        (changed(post_processor=TEMPLATE | {"single": []}), ["the text once"]),
        (changed(post_processor={"type": "Odd"}), ["post-processor", "Odd"]),
        (changed(post_processor=TEMPLATE), ["post_processor", "259", "no token"]),
        (changed(added_tokens=[{"id": 1, "content": "x", **PLAIN}]), ['"x"', "id 1", "tokenizers takes"]),
        (changed(added_tokens=[{"id": 259, "content": "<x>"}]), ["lstrip"]),
        (changed(added_tokens=[{"id": 259, "content": "", **PLAIN}]), ["empty added token"]),
        (changed(added_tokens=[{"id": 259, "content": "<x>", **PLAIN}] * 2), ["<x>", "repeated"]),
        (file(added=[("é", {})]), ['"é"', "other bytes"]),
        (
            file(added=[("AB", {"normalized": True}), ("ab", {"normalized": True})], normalizer={"type": "Lowercase"}),
            ['"AB"', '"ab"', "makes the same"],
        ),
        (
            file(
                added=[("-", {"normalized": True})],
                normalizer={"type": "Replace", "pattern": {"String": "-"}, "content": ""},
            ),
            ['"-"', "leaves nothing"],
        ),
        (file(added=[("\ud800", {})]), ["surrogate", "U+D800"]),
    ],
)
def test_refused(load, content, words):
    if (
        isinstance(content, dict)
        and content.get("pre_tokenizer", {})
        and content["pre_tokenizer"].get("type") == "Split"
    ):
        content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [content["pre_tokenizer"], NO_REGEX]}
    with pytest.raises(bpeline.EncodingFileError) as caught:
        load(content)
    assert "tokenizer.json" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1,", "version https://git-lfs.github.com/spec/v1\n", "\udcff{}"])
def test_a_damaged_file(Tokenizer, tmp_path, text):
    (tmp_path / "tokenizer.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    assert str(tmp_path / "tokenizer.json") in str(caught.value)


@pytest.mark.parametrize(
    ("section", "members", "leaf"),
    [
        ("normalizer", "normalizers", {"type": "NFC"}),
        ("pre_tokenizer", "pretokenizers", file()["pre_tokenizer"]),
        ("post_processor", "processors", file()["pre_tokenizer"]),
        ("decoder", "decoders", file()["decoder"]),
    ],
)
def test_deep_sections(load, section, members, leaf):
    """As deep as the reader lets through, the spec holds; deeper, the reason is named."""

    def nested(sequences):
        inner = leaf
        for _ in range(sequences):
            inner = {"type": "Sequence", members: [inner]}
        return file(added=[("<l>", {"lstrip": True})], **{section: inner})

    tok = load(nested(49))
    assert type(tok).from_bytes(tok.to_bytes()).encode("ab <l>") == tok.encode("ab <l>")
    for sequences in (50, 300):
        with pytest.raises(bpeline.EncodingFileError, match=f"{section}: nested more than 100 levels deep"):
            load(nested(sequences))


@pytest.mark.parametrize(
    ("text", "found"),
    [("0", "0"), ("1", "1"), ("1.0", "1.0"), ("true", "true"), ("false", "false"), ("null", "nothing")],
)
def test_values_are_named_as_they_are(Tokenizer, tmp_path, text, found):
    """To Python 1 is True, and to JSON it is not."""
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'tokenizer.json'}: expected an object, found {found}"


def test_damaged_data(load):
    """A spec that no reader writes: `from_bytes` finds it out on either backend."""
    import hashlib

    cls = type(tok := load(file(added=[("<l>", {"lstrip": True})])))
    data = tok.to_bytes()
    start = data.index(b"\n") + 33
    for old, new in ((b'"id":259', b'"id":999'), (b'"lstrip":true', b'"lstrip":trXe'), (b'"stages"', b'"stagXs"')):
        body = data[start:].replace(old, new)
        assert body != data[start:]
        with pytest.raises(bpeline.EncodingFileError, match=r"^encoding data: "):
            cls.from_bytes(data[: start - 32] + hashlib.sha256(body).digest() + body)


def test_other_formats_cannot_hold_it(load, tmp_path):
    tok = load(file(normalizer={"type": "NFC"}))
    for format in ("gpt2", "tiktoken"):
        with pytest.raises(bpeline.EncodingFileError, match=r'save it as "tokenizer.json"'):
            tok.save(tmp_path / "saved", format=format)
