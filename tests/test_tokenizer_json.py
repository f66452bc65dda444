"""tokenizer.json: what loads, and what the parts of a file do to a text."""

import json
import pickle

import pytest

import bpeline
from tests.small import EOT, spell, vocab_text, write_pair
from tests.tokenizer_json_files import BYTE_LEVEL, NO_REGEX, TEMPLATE, file, strings, write


@pytest.fixture
def load(Tokenizer, tmp_path):
    return lambda content: Tokenizer.load(write(tmp_path, content))


# --- Where it is read from ---


def test_a_file_and_its_folder(Tokenizer, tmp_path):
    path = write(tmp_path, file(added=[(EOT, {})]))
    tok = Tokenizer.load(path)
    assert tok == Tokenizer.load(tmp_path) == Tokenizer.load(str(path))
    assert tok.name == tmp_path.name
    assert strings(tok, f"abc ab{EOT}") == ["abc", "\u0120", "ab", EOT]
    assert tok.special_tokens == {EOT: 259}


def test_it_goes_before_a_pair(Tokenizer, tmp_path):
    write_pair(tmp_path, vocab_text(["ab"]), "a b\n")
    write(tmp_path, file())
    assert Tokenizer.load(tmp_path).encode("abc") == [257]


def test_it_is_the_pair(Tokenizer, tmp_path):
    """Where a file says no more than a pair of files does, the encodings are equal."""
    pair = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab", "abc"]), "a b\nab c\n"))
    assert Tokenizer.load(write(tmp_path, file(["ab", "abc"], ["a b", "ab c"], [(EOT, {})]))) == pair


def test_saved_beside_another(Tokenizer, tmp_path):
    pair = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab"]), "a b\n"))
    (tmp_path / "a").mkdir()
    tok = Tokenizer.load(write(tmp_path / "a", file(added=[(EOT, {})])))
    folder = tmp_path / "saved"
    pair.save(folder)
    tok.save(folder, format="tokenizer.json")
    assert Tokenizer.load(folder) == tok
    pair.save(folder)
    assert Tokenizer.load(folder) == pair


@pytest.mark.parametrize("options", [{"pattern": "gpt2"}, {"special_tokens": {"<x>": 300}}])
def test_it_takes_no_options(Tokenizer, tmp_path, options):
    with pytest.raises(ValueError, match="its own pattern"):
        Tokenizer.load(write(tmp_path, file()), **options)


def test_a_live_tokenizer(Tokenizer):
    tokenizers = pytest.importorskip("tokenizers")
    live = tokenizers.Tokenizer.from_str(json.dumps(file()))
    live.add_special_tokens(["<x>"])
    tok = Tokenizer.load(live)
    assert tok.encode("abc<x>") == [257, 259]

    class Fast:
        """As transformers has them."""

        backend_tokenizer = live
        name_or_path = "someone/model"

    assert Tokenizer.load(Fast()) == tok
    assert Tokenizer.load(Fast()).name == "model"


@pytest.mark.parametrize("merges", [["a b", "ab c"], [["a", "b"], ["ab", "c"]]])
def test_merges_of_both_kinds(load, merges):
    assert strings(load(file(["ab", "abc"], merges)), "abcab") == ["abc", "ab"]


def test_the_last_of_repeated_merges_counts(load):
    assert strings(load(file(["ab", "bc"], ["a b", "b c", "a b"])), "abc") == ["a", "bc"]


def test_a_model_without_a_type(load):
    content = file()
    del content["model"]["type"]
    assert load(content).encode("abc") == [257]


def test_ignore_merges(load):
    vocab, merges = ["ab", "abc", "\u0120abcd"], ["a b"]
    assert strings(load(file(vocab, merges)), "abc abcd") == ["ab", "c", "\u0120", "ab", "c", "d"]
    tok = load(file(vocab, merges, model={"ignore_merges": True}))
    assert strings(tok, "abc abcd") == ["abc", "\u0120abcd"]
    assert pickle.loads(pickle.dumps(tok)) == tok


# --- What a text goes through ---


def test_unicode_forms(load):
    texts = {"NFC": "é가", "NFD": "e\u0301\u1100\u1161", "NFKC": "é가fi1", "NFKD": "e\u0301\u1100\u1161fi1"}
    for kind, expected in texts.items():
        tok = load(file(normalizer={"type": kind}))
        assert tok.decode(tok.encode("e\u0301\u1100\u1161" + "ﬁ①" * ("K" in kind))) == expected


def test_normalizers_in_a_row(load):
    members = [
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"String": "."}, "content": "!?"},
        {"type": "Replace", "pattern": {"Regex": "[0-9]{2}"}, "content": ""},
        {"type": "Prepend", "prepend": "_"},
    ]
    tok = load(file(normalizer={"type": "Sequence", "normalizers": members}))
    assert tok.decode(tok.encode("\t\u00a0AİΣ.123 ")) == "_ai\u0307σ!?3 "
    assert tok.encode("") == tok.encode(" \n") == []


def test_normalizers_that_make_a_text_ever_longer(load):
    longer = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
    growing = {"normalizer": {"type": "Sequence", "normalizers": [longer] * 40}}
    tok = load(file(**growing))
    assert strings(tok, "b c") == ["b", "\u0120", "c"]
    with pytest.raises(bpeline.InvalidTextError, match=r"^the normalizer makes more than 1050576 bytes of 2$"):
        tok.encode("ab")
    with pytest.raises(
        bpeline.EncodingFileError, match='the added token "<a>": the normalizer makes more than 1051576'
    ):
        load(file(**growing, added=[("<a>", {"normalized": True})]))


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        ("Removed", ["a", "b"]),
        ("Isolated", ["a", "-", "-", "b"]),
        ("MergedWithPrevious", ["a-", "-", "b"]),
        ("MergedWithNext", ["a", "-", "-b"]),
        ("Contiguous", ["a", "--", "b"]),
    ],
)
def test_behaviors(load, behavior, expected):
    """Pieces are tokens here, since the vocabulary has all of them and is looked up first."""
    vocab = ["a-", "-b", "--", "a--b", "--b", "a--"]
    split = {"type": "Split", "pattern": {"String": "-"}, "behavior": behavior, "invert": False}
    pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, NO_REGEX]}
    tok = load(file(vocab, [], model={"ignore_merges": True}, pre_tokenizer=pre_tokenizer))
    assert strings(tok, "a--b") == expected


def test_a_split_may_be_inverted(load):
    split = {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Removed", "invert": True}
    tok = load(file(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, NO_REGEX]}))
    assert tok.decode(tok.encode("ab, cd!")) == "abcd"
    assert "Removed" in tok.pattern


def test_splits_in_a_row_are_a_pattern(load):
    parts = [{"type": "Split", "pattern": {"Regex": r}, "behavior": "Isolated", "invert": False} for r in ("b+", "a")]
    tok = load(file(pre_tokenizer={"type": "Sequence", "pretokenizers": [*parts, NO_REGEX]}))
    assert tok.pattern == "b+(?#then)(?:a)"
    assert strings(tok, "abc") == ["a", "b", "c"]


@pytest.mark.parity
@pytest.mark.parametrize(
    "regex",
    [
        *(r"\bthe\b", r"\b[^\s]", r".\B.", r"\w+\b", r"\b\W+\b", r"\R+", r"\R\n", r"\h+", r"\H+x?", r"[\h-]+"),
        *(
            r"\p{Han}+",
            r"\P{Latin}",
            r"[^\p{Common}\p{Thai}]+",
            r"(?i)the|ab",
            r"(?>\p{N}{1,3})x?",
            r"(?>(?>a{1,2})+)b?",
        ),
        *(r"[\p{L}&&[^\p{Han}]]+", r"[a-z&&b-y]+", r"[\w&&[^a]]+", r"[a-z&&[c-z]x]+"),
    ],
)
def test_regular_expressions_match_as_there(load, regex):
    tokenizers = pytest.importorskip("tokenizers")
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    tok = load(file(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, NO_REGEX]}))
    peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(regex), "removed", invert=True)
    found = []
    for text in (
        "the other\r\n\nThe AB ab²the\u200cthe½ 12345x aaaa axbycz",
        "漢字the仮名 ไทย é\x85\u2028--\v\fdeadBEEF x",
        "the",
        "",
    ):
        found += (matches := [part for part, _ in peer.pre_tokenize_str(text)])
        assert tok.encoding.matches(text) == matches
    assert found


def test_a_space_in_front(load):
    tok = load(file(added=[("<x>", {})], pre_tokenizer=BYTE_LEVEL | {"add_prefix_space": True}))
    assert strings(tok, "a<x>a<x> a\n") == ["\u0120a", "<x>", "\u0120a", "<x>", "\u0120a", "\u010a"]
    assert tok.encode("") == []


def test_stages_behind_byte_level_see_bytes(load):
    """Falcon's file has such; \u00b2 is the spelling of the byte 0xb2, a number to Digits."""
    members = [BYTE_LEVEL, {"type": "Digits", "individual_digits": True}]
    tok = load(file([spell("²1".encode())], [], pre_tokenizer={"type": "Sequence", "pretokenizers": members}))
    ids, spans = tok.encode_with_spans("a²1")
    assert [tok.token_bytes(id) for id in ids] == [b"a", b"\xc2", b"\xb2", b"1"]
    assert spans.tolist() == [[0, 1], [1, 2], [1, 2], [2, 3]]


# --- Added tokens ---


def test_conditions_of_added_tokens(load):
    added = [("<l>", {"lstrip": True}), ("<r>", {"rstrip": True}), ("word", {"single_word": True, "special": False})]
    tok = load(file(added=added))
    assert strings(tok, "a  <l> b") == ["a", "<l>", "\u0120", "b"]
    assert strings(tok, "a <r>\n\n b") == ["a", "\u0120", "<r>", "b"]
    assert strings(tok, "word sword word's") == ["word", "\u0120", *"sword", "\u0120", "word", "'", "s"]
    assert tok.special_tokens == {"<l>": 259, "<r>": 260}
    assert (tok.token_to_id("word"), tok.id_to_token(261), tok.token_bytes(261)) == (261, "word", b"word")


def test_one_may_begin_with_what_another_strips(load):
    """As in tokenizers, which goes on behind the match, not behind what it strips."""
    tok = load(file(added=[("x", {"rstrip": True}), ("  ", {"special": False})]))
    ids, spans = tok.encode_with_spans("ax   b")
    assert [tok.id_to_token(id) for id in ids] == ["a", "x", "  ", "\u0120", "b"]
    assert spans.tolist() == [[0, 1], [1, 5], [2, 4], [4, 5], [5, 6]]


def test_what_is_not_special_always_matches(load):
    tok = load(file(added=[("<s>", {}), ("kept", {"special": False})]))
    assert strings(tok, "<s>kept", special="text") == [*"<s>", "kept"]
    assert strings(tok, "<s>kept", special={"<s>"}) == ["<s>", "kept"]
    assert tok.decode(tok.encode("<s>kept"), skip_special_tokens=True) == "kept"
    assert tok.encode("kept", special="error") == [260]
    with pytest.raises(bpeline.SpecialTokenError, match='"<s>" at character 5'):
        tok.encode("\u00e9kept<s>", special="error")


def test_normalized_ones_come_second(load):
    added = [("AB", {"normalized": True, "special": False}), ("xAB", {"special": False})]
    tok = load(file(added=added, normalizer={"type": "Lowercase"}))
    assert strings(tok, "xAB ab Ab xab") == ["xAB", "\u0120", "AB", "\u0120", "AB", "\u0120", "x", "AB"]


def test_one_that_merges_make_too(load):
    tok = load(file(added=[("ab", {"single_word": True})]))
    assert tok.special_tokens == {"ab": 256}
    assert strings(tok, "ab abab", special="text") == ["ab", "\u0120", "ab", "ab"]
    assert tok.decode([256, 97], skip_special_tokens=True) == tok.decode([97])
    assert tok.token_bytes(256) == b"ab"


def test_extended(load):
    tok = load(file(added=[("<l>", {"lstrip": True})])).extend({"<new>": 400})
    assert strings(tok, " <l><new> ") == ["<l>", "<new>", "\u0120"]
    with pytest.raises(bpeline.EncodingFileError, match="259"):
        tok.extend({"<l>": 300})


# --- Around a text ---

ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 260], "cls": ["<s>", 259], "trim_offsets": True}


@pytest.mark.parametrize(
    ("post_processor", "before", "after"),
    [
        (ROBERTA | {"add_prefix_space": True}, [259], [260]),
        (TEMPLATE, [259, 260], []),
        ({"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}, [259, 260], []),
        (BYTE_LEVEL, [], []),
        (None, [], []),
    ],
)
def test_add_special_tokens(load, post_processor, before, after):
    tok = load(file(added=[("<s>", {}), ("</s>", {})], post_processor=post_processor))
    texts = ["abc", "", "ab " * 90_000]
    for text in texts:
        expected = before + tok.encode(text) + after
        assert tok.encode(text, add_special_tokens=True) == expected
        assert tok.encode_array(text, add_special_tokens=True).tolist() == expected
        assert tok.count(text, add_special_tokens=True) == len(expected)
        ids, spans = tok.encode_with_spans(text, add_special_tokens=True)
        assert ids == expected
        assert spans.tolist()[: len(before)] == [[0, 0]] * len(before)
        assert spans.tolist()[len(ids) - len(after) :] == [[len(text), len(text)]] * len(after)
    listed = tok.encode_batch(texts, add_special_tokens=True)
    assert listed == [tok.encode(text, add_special_tokens=True) for text in texts]
    assert tok.encode_ragged(texts, add_special_tokens=True).to_lists() == listed
    assert tok.count_batch(texts, add_special_tokens=True).tolist() == list(map(len, listed))
    with_spans = tok.encode_batch_with_spans(texts, add_special_tokens=True)
    assert [ids for ids, _ in with_spans] == listed


# --- Spans ---


@pytest.mark.parametrize(
    ("normalizer", "text", "tokens", "spans"),
    [
        ({"type": "NFC"}, "xe\u0301b", ["x", b"\xc3", b"\xa9", "b"], [[0, 1], [1, 3], [1, 3], [3, 4]]),
        ({"type": "NFKC"}, "ﬁb", ["f", "i", "b"], [[0, 1], [0, 1], [1, 2]]),
        ({"type": "Strip", "strip_left": True, "strip_right": True}, " \tabc ", ["abc"], [[2, 5]]),
        ({"type": "Replace", "pattern": {"String": "xyz"}, "content": "ab"}, "-xyz-", ["-", "ab", "-"], None),
        ({"type": "Prepend", "prepend": "a"}, "bcd", ["abc", "d"], [[0, 2], [2, 3]]),
        ({"type": "Lowercase"}, "ABc", ["abc"], [[0, 3]]),
    ],
)
def test_spans_are_of_the_text_as_it_came(load, normalizer, text, tokens, spans):
    tok = load(file(normalizer=normalizer))
    ids, found = tok.encode_with_spans(text)
    assert ids == [tok.token_to_id(token) for token in tokens]
    assert found.tolist() == (spans or [[0, 1], [1, 4], [4, 5]])


def test_truncated_where_a_token_ends(load):
    tok = load(file(normalizer={"type": "NFD"}, added=[("<l>", {"lstrip": True})]))
    assert tok.truncate("é<l>x", 2) == "" if tok.count("é") > 2 else "é"
    assert tok.truncate("abc  <l>x", 2) == "abc  <l>"
    assert tok.truncate("abc  <l>x", 1) == "abc"
    assert tok.truncate("abc", 5) == "abc"
