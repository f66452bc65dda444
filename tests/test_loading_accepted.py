"""What a file pair may look like and still load, and that it loads as what it says. The cases are data."""

import pytest

from tests.small import BYTE_TOKENS, by_name, expand, load_cases, spell, vocab_text, write_pair

ACCEPTED = load_cases("loading_accepted")


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name(ACCEPTED))
def test_accepted(Tokenizer, tmp_path, case):
    paths = write_pair(tmp_path, expand(case["vocab"]), expand(case["merges"]))
    tok = Tokenizer.load(*paths, **case.get("kwargs", {}))
    rules = [f"{tok.id_to_token(left)} {tok.id_to_token(right)}" for left, right in tok.encoding.merges()]
    assert rules == case["rules"]
    assert all(tok.token_to_id(token) == i for token, i in BYTE_TOKENS.items())
    assert tok.decode_bytes(range(256)) == b"".join(sorted(BYTE_TOKENS, key=BYTE_TOKENS.get))
    for rule in case["rules"]:
        joined = rule.replace(" ", "")
        assert tok.encode(joined) == [tok.token_to_id(joined)]


@pytest.mark.parametrize("case", [c for c in ACCEPTED if c["rules"] == ["a b", "ab c"]][:13], ids=lambda c: c["name"])
def test_spellings_of_one_encoding_are_equal(Tokenizer, tmp_path, case):
    (tmp_path / "plain").mkdir()
    plain = Tokenizer.load(*write_pair(tmp_path / "plain", vocab_text(["ab", "abc"]), "a b\nab c\n"))
    other = Tokenizer.load(*write_pair(tmp_path, expand(case["vocab"]), expand(case["merges"])))
    assert other == plain
    assert other.encode("abcab c<|endoftext|>") == [257, 256, plain.token_to_id(b" "), BYTE_TOKENS[b"c"], 258]


def test_specials_are_taken_from_the_file_or_the_caller(Tokenizer, tmp_path):
    paths = write_pair(tmp_path, vocab_text(["ab"]), "a b\n")
    assert Tokenizer.load(*paths).special_tokens == {"<|endoftext|>": 257}
    far = Tokenizer.load(*paths, special_tokens={"<|endoftext|>": 257, "<|pad|>": 300})
    assert far.special_tokens == {"<|endoftext|>": 257, "<|pad|>": 300}
    assert far.vocab_size == 301
    assert far.encode("ab<|pad|>") == [256, 300]
    paths = write_pair(tmp_path, vocab_text(["ab"], eot=False), "a b\n")
    assert Tokenizer.load(*paths, special_tokens={}).special_tokens == {}


def test_the_name_is_the_folders(Tokenizer, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert Tokenizer.load(*write_pair(folder)).name == "mine"
    monkeypatch.chdir(folder)
    assert Tokenizer.load("vocab.json", "merges.txt").name in ("custom", "mine")


def test_every_token_keeps_its_id(Tokenizer, tmp_path):
    tokens = [b" the", b"\n\n", b"\xff\x00", b" t", b"ab", b" th"]
    extra = [spell(token) for token in tokens]
    rules = "".join(f"{token[:-1]} {token[-1]}\n" for token in extra)
    tok = Tokenizer.load(*write_pair(tmp_path, vocab_text(extra), rules))
    assert [tok.token_to_id(token) for token in extra] == [256, 257, 258, 259, 260, 261]
    assert [tok.token_bytes(i) for i in range(256, 263)] == [*tokens, b"<|endoftext|>"]
