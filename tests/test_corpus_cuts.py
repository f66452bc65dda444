"""`_safe_cut`: where the ids of a text that is still to be continued are settled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline

TEXTS = st.text(st.sampled_from("aZé'sll 12 \n\t\r.,!<|endoftext|>\u3000漢字 ́👍"), max_size=60)


@pytest.mark.parametrize("encoding", ["gpt2", "cl100k_base", "o200k_base"])
@pytest.mark.parametrize("special", ["text", "parse"])
def test_both_sides_are_the_whole(both, encoding, special):
    tokenizers = [cls.load(encoding) for cls in both]

    @given(TEXTS, TEXTS)
    def check(text, rest):
        for tok in tokenizers:
            data = text.encode()
            cut = tok._safe_cut(data, special=special)
            assert 0 <= cut <= len(data)
            sides = tok.encode(data[:cut], special=special) + tok.encode(data[cut:] + rest.encode(), special=special)
            assert sides == tok.encode(text + rest, special=special)

    check()


def test_near_the_end(gpt2):
    text = "one two three " * 3000
    assert 0 <= len(text) - gpt2._safe_cut(text) <= 4096 + 8
    assert gpt2._safe_cut("word " + "x" * 100_000) in (0, 4)


@pytest.mark.parametrize("text", ["", "x", " ", "x" * 10_000, "\n" * 10_000])
def test_nowhere(gpt2, text):
    assert gpt2._safe_cut(text) == 0


@pytest.mark.parametrize("pattern", [r"\S+|\s+", r"[^\s\p{L}]?\p{L}+|\p{N}{1,2}|\s*\n| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"])
def test_both_sides_of_another_pattern_are_the_whole(both, pattern):
    ranks = {bytes([byte]): byte for byte in range(256)} | {b" a": 256, b"  ": 257, b"'s": 258, b"a ": 259}
    tokenizers = [cls.from_ranks(ranks, pattern=pattern) for cls in both]

    @given(TEXTS, TEXTS)
    def check(text, rest):
        for tok in tokenizers:
            data = text.encode()
            cut = tok._safe_cut(data)
            assert tok.encode(data[:cut]) + tok.encode(data[cut:] + rest.encode()) == tok.encode(text + rest)

    check()


def test_a_pattern_that_looks_around_has_none(Tokenizer):
    ranks = {bytes([byte]): byte for byte in range(256)}
    assert Tokenizer.from_ranks(ranks, pattern=r"(?<=a)\S+|\S|\s+")._safe_cut("one two three") == 0


def test_a_special_token_across(gpt2, Tokenizer):
    tok = gpt2.extend(special_tokens={"a b": 60_000})
    assert tok._safe_cut("xa b", special="parse") == 0 and tok._safe_cut("xa b", special="text") == 2


def test_of_what_is_no_text(gpt2):
    with pytest.raises(bpeline.InvalidTextError):
        gpt2._safe_cut(b"\xff")
    with pytest.raises(ValueError, match="special must be"):
        gpt2._safe_cut("a", special="none")
