"""Ranks of token bytes as a tokenizer.json: the same ids in tokenizers, in tiktoken, and here when it is loaded again."""

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from bpeline.tokenizer_json.writer import write
from tests.peers import EOT, GPT2_PATTERN, read_tokenizer_json
from tests.small import load_cases
from tests.texts import FRAGMENTS

CASES = [case["text"] for case in load_cases("cases")["cl100k_base"]]
BYTES = {bytes([byte]): byte for byte in range(256)}
BUILT_IN = [name for name in bpeline.encodings() if name != "o200k_harmony"]
SHARED = Path(os.environ.get("BPELINE_SHARED", "/nowhere"))


def texts(special_tokens):
    rng = random.Random(4)
    parts = [*FRAGMENTS, *list(special_tokens)[:50]]
    return [*CASES, *("".join(rng.choices(parts, k=rng.randrange(24))) for _ in range(400)), *special_tokens]


def ranks_of(tok):
    special = set(tok.special_tokens.values())
    tokens = {id: tok.token_bytes(id) for id in range(tok.vocab_size) if id not in special}
    return {token: id for id, token in tokens.items() if token is not None}


def tiktoken_of(tok):
    import tiktoken

    ranks, special_tokens = ranks_of(tok), tok.special_tokens
    return tiktoken.Encoding(tok.name, pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens=special_tokens)


def saved(tok, folder):
    """Loaded from the file that `save` writes: by bpeline and by tokenizers."""
    (path,) = tok.save(folder, format="tokenizer.json")
    return type(tok).load(folder), read_tokenizer_json(path)


def assert_equal(tok, again, peer, texts):
    tiktoken = tiktoken_of(tok)
    for text in texts:
        ids = tok.encode(text)
        assert again.encode(text) == ids, text
        assert peer.encode(text).ids == ids, text
        assert tiktoken.encode(text, allowed_special="all") == ids, text
        assert peer.decode(ids, skip_special_tokens=False) == again.decode(ids) == text
    peer.encode_special_tokens = True
    for text in texts:
        ids = tok.encode(text, special="text")
        assert again.encode(text, special="text") == peer.encode(text).ids == ids, text


@pytest.mark.parity
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in(native, tmp_path, name):
    pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    tok = native.load(name)
    again, peer = saved(tok, tmp_path)
    assert (again.special_tokens, again.pattern, again.vocab_size) == (tok.special_tokens, tok.pattern, tok.vocab_size)
    assert again.encoding.spec is None  # a plain encoding, and as fast
    assert_equal(tok, again, peer, texts(tok.special_tokens))


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "options"),
    [("qwen.tiktoken", {"pattern": "qwen2", "special_tokens": {EOT: 151643, "<|im_start|>": 151650}}), ("tekken", {})],
)
def test_files(native, tmp_path, name, options):
    """Those of others, and a passage of each corpus."""
    import lzma

    pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    files = sorted(SHARED.glob(f"encodings/{name}*.xz"))
    if not files:
        pytest.skip("BPELINE_SHARED names no folder with encodings/")
    path = tmp_path / files[0].name.removesuffix(".xz")
    path.write_bytes(lzma.decompress(files[0].read_bytes()))
    tok = native.load(path, **options)
    again, peer = saved(tok, tmp_path / "saved")
    assert (again.special_tokens, again.pattern, again.encoding.spec) == (tok.special_tokens, tok.pattern, None)
    passages = []
    for corpus in sorted(SHARED.glob("corpora/*.txt.xz")):
        with lzma.open(corpus) as file:
            passages += [file.read(20_000).decode("utf-8", "ignore") for _ in range(10)]
    assert_equal(tok, again, peer, [*texts(list(tok.special_tokens)[:20]), *passages])


@pytest.mark.parametrize("name", ["p50k_edit", "cl100k_base"])
def test_the_rules_are_one_a_token(both, name):
    one, two = (write(cls.load(name).encoding) for cls in both)
    assert one == two
    model = json.loads(one)["model"]
    assert model["ignore_merges"] is False
    tokens = ranks_of(both[0].load(name))
    assert len(model["merges"]) == len(tokens) - 256
    made = [model["vocab"]["".join(merge.split(" "))] for merge in model["merges"]]
    assert made == sorted(made) == [id for token, id in tokens.items() if len(token) > 1]


def test_one_id_for_two_literals(Tokenizer, tmp_path):
    """tokenizers keeps the last of them."""
    tok = Tokenizer.from_ranks(BYTES, pattern="gpt2", special_tokens={"<a>": 300, "<b>": 300})
    with pytest.raises(bpeline.EncodingFileError, match='"<a>" and "<b>" share the id 300'):
        tok.save(tmp_path, format="tokenizer.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("pattern", "special", "is_refused"),
    [("cl100k", "<|x|>", False), ("cl100k", "word", True), (r"\S+|\s+", "<|x|>", True), (r"\S+|\s+", "a b", False)],
)
def test_whole_pieces_and_a_gap(Tokenizer, tmp_path, pattern, special, is_refused):
    """No rule makes "abc", so that pieces are looked up first; a special token must be none, and is in the vocabulary."""
    tok = Tokenizer.from_ranks(BYTES | {b"abc": 256}, pattern=pattern, special_tokens={special: 300})
    assert tok.encode("abc abcd") == [256, 32, 97, 98, 99, 100] or pattern == "cl100k"
    if is_refused:
        with pytest.raises(bpeline.EncodingFileError, match="do not follow the vocabulary"):
            tok.save(tmp_path, format="tokenizer.json")
        return
    tok.save(tmp_path, format="tokenizer.json")
    again = Tokenizer.load(tmp_path)
    assert again.special_tokens == {special: 300}
    for text in (f"abc abcd{special}abc", special, f"x{special}"):
        for how in ("parse", "text"):
            assert again.encode(text, special=how) == tok.encode(text, special=how)


# --- Ranks at random: in any order, with gaps, some tokens made by no merges ---

PATTERNS = [
    GPT2_PATTERN,
    "cl100k",
    "o200k",
    r"\p{L}{1,3}+|\s?\p{N}++|\s++$|[^\s\p{L}\p{N}]+|\s",
    r"^[a-c]{2,3}+|[ab ]{1,2}+x?|(?i:XB)|[^x]|x",
    r"(?:ab)+|.(?=b)|\s+(?!\S)|.|\n",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{M}&&[^\p{Han}]]+(?i:'s|'t)?|\p{N}{1,3}|\s+|.",
]
TOKENS = st.lists(st.text("ab x", min_size=2, max_size=6).map(str.encode), unique=True, max_size=25)
TEXTS = st.lists(st.text("ab <|>xX\n1'S漢", max_size=40), min_size=4, max_size=4)


@pytest.mark.parity
@given(st.sampled_from(PATTERNS), TOKENS, st.permutations(range(256, 440, 7)), st.booleans(), st.booleans(), TEXTS)
def test_random(Tokenizer, tmp_path_factory, pattern, tokens, ids, has_gaps, has_special, texts):
    pytest.importorskip("tokenizers")
    pytest.importorskip("tiktoken")
    ids = ids if has_gaps else range(256, 300)
    ranks = BYTES | dict(zip(tokens, ids, strict=False))
    special_tokens = {"<|x|>": max(ranks.values()) + 1 + 5 * has_gaps} if has_special else {}
    tok = Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens=special_tokens)
    try:
        again, peer = saved(tok, tmp_path_factory.mktemp("saved"))
    except bpeline.EncodingFileError as error:
        assert "do not follow the vocabulary" in str(error)
        assert has_gaps and has_special and pattern in PATTERNS[3:]
        return
    assert_equal(tok, again, peer, texts)
