"""What `save` writes is read by tiktoken and by tokenizers, and gives the same ids there."""

import random

import pytest

import bpeline
from tests.peers import read_pair_with_tiktoken, read_pair_with_tokenizers, read_tiktoken_file, read_tokenizer_json
from tests.small import EOT, load_cases, vocab_text, write_pair
from tests.texts import FRAGMENTS

CASES = load_cases("cases")["gpt2"]


def texts(count=300):
    rng = random.Random(2)
    return ["".join(rng.choices(FRAGMENTS, k=rng.randrange(20))) for _ in range(count)]


def assert_same(tok, peer_encode):
    for case in CASES:
        assert peer_encode(case["text"]) == case["ids"] == tok.encode(case["text"])
    for text in texts():
        assert peer_encode(text) == tok.encode(text), text


@pytest.mark.parity
def test_tiktoken_reads_the_pair(gpt2, tmp_path):
    pytest.importorskip("tiktoken")
    gpt2.save(tmp_path)
    peer = read_pair_with_tiktoken(tmp_path)
    assert_same(gpt2, lambda text: peer.encode(text, allowed_special="all"))


@pytest.mark.parity
def test_tiktoken_reads_its_own_format(gpt2, tmp_path):
    pytest.importorskip("tiktoken")
    gpt2.save(tmp_path, format="tiktoken")
    peer = read_tiktoken_file(tmp_path / "gpt2.tiktoken", gpt2.pattern, gpt2.special_tokens)
    assert_same(gpt2, lambda text: peer.encode(text, allowed_special="all"))
    assert peer.n_vocab == gpt2.vocab_size == 50257


@pytest.mark.parity
def test_tokenizers_reads_the_pair(gpt2, tmp_path):
    pytest.importorskip("tokenizers")
    gpt2.save(tmp_path)
    peer = read_pair_with_tokenizers(tmp_path)
    assert_same(gpt2, lambda text: peer.encode(text).ids)


@pytest.mark.parity
def test_tokenizers_reads_tokenizer_json(gpt2, tmp_path):
    pytest.importorskip("tokenizers")
    paths = gpt2.save(tmp_path, format="tokenizer.json")
    assert "tokenizer.json" in [path.name for path in paths]
    peer = read_tokenizer_json(tmp_path / "tokenizer.json")
    assert_same(gpt2, lambda text: peer.encode(text).ids)
    assert peer.get_vocab_size() == 50257
    for case in CASES:
        assert peer.decode(case["ids"], skip_special_tokens=False) == case["text"]


@pytest.fixture
def words(Tokenizer, tmp_path):
    """A small encoding whose pattern and specials are not GPT-2's."""
    specials = {EOT: 259, "<|a b|>": 260, "<|a|>": 261}
    paths = write_pair(tmp_path, vocab_text(["ab", "abc", "\u0120a"]), "a b\nab c\n\u0120 a\n")
    return Tokenizer.load(*paths, pattern=r"\p{L}{1,3}|\s?\p{N}+|\s+|[^\s\p{L}\p{N}]+", special_tokens=specials)


TEXTS = ["", "abcabc ab a", "abc<|a b|>abc<|a|>", " a  1 23\n\nab!", "abcd abcd", f"{EOT}<|a", "漢字abc é"]


@pytest.mark.parity
def test_tokenizers_reads_another_pattern(words, tmp_path):
    pytest.importorskip("tokenizers")
    words.save(tmp_path / "saved", format="tokenizer.json")
    peer = read_tokenizer_json(tmp_path / "saved" / "tokenizer.json")
    for text in TEXTS:
        assert peer.encode(text).ids == words.encode(text)
        assert peer.decode(words.encode(text), skip_special_tokens=False) == text


@pytest.mark.parity
def test_tiktoken_reads_another_pattern(words, tmp_path):
    pytest.importorskip("tiktoken")
    words.save(tmp_path / "saved", format="tiktoken")
    peer = read_tiktoken_file(next((tmp_path / "saved").glob("*.tiktoken")), words.pattern, words.special_tokens)
    for text in TEXTS:
        assert peer.encode(text, allowed_special="all") == words.encode(text)


@pytest.mark.parity
def test_tiktoken_reads_saved_ranks(Tokenizer, tmp_path):
    pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): 255 - byte for byte in range(256)} | {b"ab": 300, b"bc": 290, b"abcd": 400, b"xyz": 256}
    tok = Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={EOT: 500})
    tok.save(tmp_path, format="tiktoken")
    peer = read_tiktoken_file(next(tmp_path.glob("*.tiktoken")), tok.pattern, tok.special_tokens)
    for text in ["abc", "abcd", "abcde xyz", "xyzxyz", " abcd", f"bcd{EOT}ab", *texts(50)]:
        assert peer.encode(text, allowed_special="all") == tok.encode(text)


@pytest.mark.parity
def test_a_pair_that_tiktoken_would_read_otherwise(Tokenizer, tmp_path):
    """Token ranks add the rule a + bc. Saving is refused, or the ids are those of the pair."""
    pytest.importorskip("tiktoken")
    tok = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab", "bc", "abc", "abcd"]), "a b\nb c\nab c\nabc d\n"))
    try:
        tok.save(tmp_path / "saved", format="tiktoken")
    except bpeline.EncodingFileError as error:
        assert "tiktoken" in str(error)
        return
    peer = read_tiktoken_file(next((tmp_path / "saved").glob("*.tiktoken")), tok.pattern, tok.special_tokens)
    rng = random.Random(3)
    for text in ("".join(rng.choices("abcd ", k=12)) for _ in range(500)):
        assert peer.encode(text) == tok.encode(text)
