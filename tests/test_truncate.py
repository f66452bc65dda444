"""`truncate`: the longest prefix at a token boundary and a whole character that itself fits.

The oracle is the definition, tried on every boundary. Counts of prefixes are not monotone, so nothing cleverer is
above suspicion: cutting inside "  x" or before "'s" changes how the rest of the prefix is cut into pieces.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bpeline
from tests.texts import EOT

ALPHABET = [
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r",
    "'",
    "'s",
    "'ll",
    "a",
    "an",
    "the",
    "1",
    "!",
    "é",
    "漢",
    "👍",
    "\xa0",
    EOT,
    EOT[:-1],
    "<|",
]
short = st.lists(st.sampled_from(ALPHABET), max_size=10).map("".join)
limits = st.integers(0, 14)


def oracle(tok, text, max_tokens, **options):
    data = text.encode()
    ends = [0]
    for token in map(tok.token_bytes, tok.encode(text, **options)):
        ends.append(ends[-1] + len(token))
    for end in reversed(ends):
        try:
            prefix = data[:end].decode()
        except UnicodeDecodeError:
            continue
        if tok.count(prefix, **options) <= max_tokens:
            return prefix
    raise AssertionError("the empty prefix fits")


@pytest.fixture(scope="module")
def other(Tokenizer):
    """Token ranks and a pattern under which a longer prefix may need fewer tokens."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    extra = [
        b"  ",
        b"a ",
        b" a",
        b"aa",
        b"a a",
        b"aaa",
        b"the",
        b"'s",
        b"\n\n",
        b"\n\n\n",
        b"\xe6\xbc",
        "é".encode(),
        b"aaaa aaaa",
    ]
    ranks |= {token: 256 + i for i, token in enumerate(extra)}
    return Tokenizer.from_ranks(ranks, pattern=r"(?s:.{1,9})", special_tokens={EOT: 400, "<|": 401, "aa": 402})


@given(short, limits)
@example("a   b", 2)
@example("\n\n\n a", 1)
@example("the's", 1)
@example("👍👍", 3)
def test_gpt2(gpt2, text, max_tokens):
    assert gpt2.truncate(text, max_tokens) == oracle(gpt2, text, max_tokens)


@given(short, limits, st.sampled_from(["text", "parse", frozenset(), frozenset([EOT])]))
def test_special(gpt2, text, max_tokens, special):
    assert gpt2.truncate(text, max_tokens, special=special) == oracle(gpt2, text, max_tokens, special=special)


@given(short, limits, st.sampled_from(["text", "parse", frozenset(["<|"])]))
def test_another_encoding(other, text, max_tokens, special):
    assert other.truncate(text, max_tokens, special=special) == oracle(other, text, max_tokens, special=special)


@given(short, limits)
def test_what_it_promises(gpt2, text, max_tokens):
    prefix = gpt2.truncate(text, max_tokens)
    assert text.startswith(prefix)
    assert gpt2.count(prefix) <= max_tokens
    assert gpt2.truncate(text.encode(), max_tokens) == prefix
    assert gpt2.truncate(text, gpt2.count(text)) == text


def test_known(gpt2):
    assert gpt2.truncate("hello world again", 2) == "hello world"
    assert gpt2.truncate("hello world", 0) == ""
    assert gpt2.truncate("", 0) == gpt2.truncate("", 5) == ""
    assert gpt2.truncate("👍", 1) == ""  # one token, but half a character
    assert gpt2.truncate("👍", 2) == "👍"
    assert gpt2.truncate("hello", 10**30) == "hello"
    assert gpt2.truncate(f"a{EOT}b", 2) == f"a{EOT}"
    assert type(gpt2.truncate(b"hello world", 1)) is str


def test_repaired(gpt2):
    assert gpt2.truncate("a\ud83db", 10, errors="replace") == "a\ufffdb"
    assert gpt2.truncate(b"a\xffb", 2, errors="replace") == "a\ufffd"
    with pytest.raises(bpeline.InvalidTextError):
        gpt2.truncate("a\ud83db", 1)


@pytest.mark.parametrize("value", [-1, -(10**30)])
def test_below_zero(gpt2, value):
    with pytest.raises(ValueError) as caught:
        gpt2.truncate("x", value)
    assert str(caught.value) == f"max_tokens must be at least 0, not {value}"


def test_other_types(gpt2):
    for value in (1.5, "1", None):
        with pytest.raises(TypeError):
            gpt2.truncate("x", value)


def test_a_long_text(gpt2):
    text = "the quick brown fox  jumps\n\n over 漢字 it's " * 50
    for max_tokens in (0, 1, 99, 100, 101, 437, 10_000):
        assert gpt2.truncate(text, max_tokens) == oracle(gpt2, text, max_tokens)
