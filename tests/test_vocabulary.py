"""The vocabulary's accessors, on every id and on what is none."""

import pytest

from tests.small import BYTE_TOKENS, EOT, SPELL, spell, vocab_text, write_pair


def test_every_token_there_and_back(gpt2):
    for i in range(50256):
        token = gpt2.token_bytes(i)
        spelling = gpt2.id_to_token(i)
        assert spelling == spell(token)
        assert gpt2.token_to_id(token) == i
        assert gpt2.token_to_id(spelling) == i
    assert len({gpt2.token_bytes(i) for i in range(50257)}) == 50257


def test_the_end_of_text(gpt2):
    assert gpt2.token_bytes(50256) == EOT.encode()
    assert gpt2.id_to_token(50256) == EOT
    assert gpt2.token_to_id(EOT) == 50256
    assert gpt2.eot_token == 50256


def test_byte_tokens(gpt2):
    assert {token: gpt2.token_to_id(token) for token in BYTE_TOKENS} == BYTE_TOKENS
    assert [gpt2.token_to_id(SPELL[byte]) for byte in b" \n\x00a\xff"] == [220, 198, 188, 64, 187]


def test_spelling_or_bytes(gpt2):
    assert gpt2.token_to_id("Ġthe") == gpt2.token_to_id(b" the") == 262
    assert gpt2.token_to_id(" the") is None  # a str is the spelling in the file
    assert gpt2.id_to_token(262) == "Ġthe"
    assert gpt2.token_bytes(262) == b" the"
    assert gpt2.token_to_id("Ċ") == 198
    assert gpt2.token_to_id("\n") is None


@pytest.mark.parametrize(
    "token", ["", b"", "no such token", b"no such token", "\ud83d", "漢", "<|endoftext|", b"\xff\xfe\xfd"]
)
def test_unknown_tokens(gpt2, token):
    assert gpt2.token_to_id(token) is None


@pytest.mark.parametrize("i", [-1, 50257, 2**24, 2**32, 2**64, -(2**64)])
def test_unknown_ids(gpt2, i):
    assert gpt2.token_bytes(i) is None
    assert gpt2.id_to_token(i) is None


def test_types(gpt2):
    for value in ("64", 1.5, None):
        with pytest.raises(TypeError):
            gpt2.token_bytes(value)
        with pytest.raises(TypeError):
            gpt2.id_to_token(value)
    for value in (5, None, ["a"]):
        with pytest.raises(TypeError):
            gpt2.token_to_id(value)
    assert type(gpt2.token_bytes(0)) is bytes


def test_specials_are_a_copy(gpt2):
    gpt2.special_tokens.clear()
    assert gpt2.special_tokens == {EOT: 50256}


def test_vocab_size_is_the_highest_id_and_one(gpt2, Tokenizer, tmp_path):
    assert gpt2.vocab_size == 50257
    assert gpt2.extend({"<x>": 99999}).vocab_size == 100000
    assert Tokenizer.load(*write_pair(tmp_path, vocab_text(eot=False)), special_tokens={}).vocab_size == 256


def test_eot_token(Tokenizer, tmp_path):
    paths = write_pair(tmp_path, vocab_text(eot=False))
    assert Tokenizer.load(*paths, special_tokens={"<|pad|>": 256}).eot_token is None
    assert Tokenizer.load(*paths, special_tokens={EOT: 400}).eot_token == 400


def test_merges(gpt2):
    merges = gpt2.encoding.merges()
    assert len(merges) == 50000
    assert merges[0] == (220, 83)  # Ġ t
    for rank in (0, 1, 1000, 49999):
        left, right = merges[rank]
        assert gpt2.token_to_id(gpt2.token_bytes(left) + gpt2.token_bytes(right)) == 256 + rank
