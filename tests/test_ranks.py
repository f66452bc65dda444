"""`from_ranks`: tiktoken's semantics, ids with gaps, and every fault."""

import pytest

import bpeline
from tests.small import EOT

BYTES = {bytes([byte]): byte for byte in range(256)}
ANY = r"(?s:.+)"  # the whole text is one piece


def test_the_whole_piece_is_looked_up_first(Tokenizer):
    tok = Tokenizer.from_ranks(BYTES | {b"xyz": 256}, pattern=ANY)
    assert tok.encode("xyz") == [256]
    assert tok.encode("xyzx") == [*b"xyzx"]  # no two tokens make it


def test_the_rank_of_a_pair_is_that_of_its_bytes(Tokenizer):
    tok = Tokenizer.from_ranks(BYTES | {b"bc": 256, b"ab": 257, b"abc": 258, b"abcd": 259}, pattern=ANY)
    assert tok.encode("abcd") == [259]
    assert tok.encode("abcda") == [259, 97]  # a + bc and ab + c are both rules
    assert tok.encode("ababc") == [257, 258]
    assert tok.encode("zabc") == [122, 258]


def test_the_best_rank_then_the_leftmost(Tokenizer):
    tok = Tokenizer.from_ranks(BYTES | {b"aba": 256, b"ab": 257}, pattern=ANY)
    assert tok.encode("abab") == [256, 98]
    tok = Tokenizer.from_ranks(BYTES | {b"aa": 256}, pattern=ANY)
    assert tok.encode("aaaaa") == [256, 256, 97]


def test_ids_are_ranks_and_may_have_gaps(Tokenizer):
    tok = Tokenizer.from_ranks(
        BYTES | {b"ab": 1000, b"bc": 70000}, pattern="gpt2", special_tokens={EOT: 70010, "<x>": 500}
    )
    assert tok.encode("ab bc<x>" + EOT) == [1000, 32, 70000, 500, 70010]
    assert tok.vocab_size == 70011
    assert tok.encode_array("ab").dtype == "uint32"
    assert tok.token_bytes(1001) is None
    assert tok.id_to_token(1001) is None
    with pytest.raises(bpeline.TokenIdError) as caught:
        tok.decode([1001])
    assert str(caught.value) == "token id 1001 is unused in this encoding (valid ids: 0 to 70010)"
    with pytest.raises(bpeline.TokenIdError) as caught:
        tok.decode_bytes([97, 70011])
    assert str(caught.value) == "token id 70011 is not in the vocabulary (valid ids: 0 to 70010)"


@pytest.mark.parametrize(("top", "dtype"), [(65535, "uint16"), (65536, "uint32")])
def test_the_dtype_is_the_encodings(Tokenizer, top, dtype):
    tok = Tokenizer.from_ranks(BYTES | {b"ab": top}, pattern="gpt2")
    array = tok.encode_array("ab")
    assert (array.dtype, array.tolist()) == (dtype, [top])
    ragged = tok.encode_ragged(["ab", ""])
    assert (ragged.tokens.dtype, ragged.to_lists()) == (dtype, [[top], []])


def test_no_specials(Tokenizer):
    tok = Tokenizer.from_ranks(BYTES, pattern="gpt2")
    assert (tok.special_tokens, tok.eot_token, tok.vocab_size) == ({}, None, 256)
    assert tok.encode(EOT) == [*EOT.encode()]
    assert tok.encoding.merges() is None


def test_order_of_the_dict_does_not_matter(Tokenizer):
    ranks = BYTES | {b"ab": 256, b"bc": 257}
    assert Tokenizer.from_ranks(dict(reversed(ranks.items())), pattern="gpt2") == Tokenizer.from_ranks(
        ranks, pattern="gpt2"
    )


def without(byte):
    return {token: rank for token, rank in BYTES.items() if token != byte}


FAULTS = {
    "empty token": (BYTES | {b"": 300}, "ranks: the empty token has the rank 300"),
    "negative": (BYTES | {b"ab": -1}, 'ranks: the token b"ab" has the rank -1, expected 0 to 16777215'),
    "too large": (
        BYTES | {b"\xff\x00": 2**24},
        r'ranks: the token b"\xff\x00" has the rank 16777216, expected 0 to 16777215',
    ),
    "huge": (
        BYTES | {b'"\\': 2**64},
        r'ranks: the token b"\x22\x5c" has the rank 18446744073709551616, expected 0 to 16777215',
    ),
    "same rank": (BYTES | {b"zz": 97}, 'ranks: the tokens b"a" and b"zz" have the same rank 97'),
    "same rank, lowest first": (
        BYTES | {b"zz": 256, b"yy": 256, b"xx": 98},
        'ranks: the tokens b"b" and b"xx" have the same rank 98',
    ),
    "byte missing": (without(b"!"), "ranks: the byte 0x21 has no token"),
    "bytes missing": ({b"a": 0, b"b": 1}, "ranks: the byte 0x00 has no token"),
    "bytes missing and rank repeated": ({b"a": 0, b"b": 0}, 'ranks: the tokens b"a" and b"b" have the same rank 0'),
    "nothing": ({}, "ranks: the byte 0x00 has no token"),
    "long token": (BYTES | {b"y" * 41: -5}, f'ranks: the token b"{"y" * 40}…" has the rank -5, expected 0 to 16777215'),
    "first in the dict": (
        {b"ab": -1} | BYTES | {b"": 5},
        'ranks: the token b"ab" has the rank -1, expected 0 to 16777215',
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(Tokenizer, name):
    ranks, expected = FAULTS[name]
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.from_ranks(ranks, pattern="gpt2")
    assert str(caught.value) == expected


SPECIAL_FAULTS = {
    "empty": ({"": 300}, 'special token "" is empty'),
    "negative": ({"<x>": -1}, 'special token "<x>" has the id -1, expected 0 to 16777215'),
    "too large": ({"<x>": 2**24}, 'special token "<x>" has the id 16777216, expected 0 to 16777215'),
    "taken": ({"<x>": 97}, 'special token "<x>" has the id 97, which the token b"a" has already'),
    "long": ({"<" * 41: 97}, f'special token "{"<" * 40}…" has the id 97, which the token b"a" has already'),
    "in order of id": ({"<b>": 98, "<a>": 97}, 'special token "<a>" has the id 97, which the token b"a" has already'),
}


@pytest.mark.parametrize("name", SPECIAL_FAULTS)
def test_special_fault(Tokenizer, name):
    specials, expected = SPECIAL_FAULTS[name]
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.from_ranks(BYTES, pattern="gpt2", special_tokens=specials)
    assert str(caught.value) == expected


def test_a_special_with_a_surrogate(Tokenizer):
    with pytest.raises(bpeline.InvalidTextError) as caught:
        Tokenizer.from_ranks(BYTES, pattern="gpt2", special_tokens={"\ud83d": 300})
    assert str(caught.value) == "surrogate U+D83D at character 0"


def test_a_bad_pattern(Tokenizer):
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.from_ranks(BYTES, pattern="(")
    assert str(caught.value).startswith('pattern "(" cannot be used: ')


@pytest.mark.parametrize("pattern", [r"[a-z]+", r"\p{L}*", r"(?=a)|b"])
def test_text_outside_the_pattern_is_kept(Tokenizer, pattern):
    """Unmatched text is a piece of its own; empty matches are none."""
    tok = Tokenizer.from_ranks(BYTES | {b"ab": 256, b"12": 257}, pattern=pattern)
    for text in ("12ab12", "ab", "12", "漢ab 12 漢", ""):
        assert tok.decode(tok.encode(text)) == text
    assert tok.encode("12") == [257]


MATCHES = [
    (r"[a-z]+", "12ab12cd", ["ab", "cd"]),
    (r"[a-z]+", "", []),
    (r"[a-z]+", "12", []),
    (r"\p{L}*", "12ab 漢é", ["ab", "漢é"]),
    (r"(?=a)|b", "abab", ["b", "b"]),
    (r"[a-z]+|\s+(?!\S)|\s+", "one, two   x\n", ["one", " ", "two", "  ", " ", "x", "\n"]),
    ("gpt2", "it's  1", ["it", "'s", " ", " 1"]),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_matches(Tokenizer, pattern, text, expected):
    """The pieces, but those between matches."""
    assert Tokenizer.from_ranks(BYTES, pattern=pattern).encoding.matches(text) == expected


def test_matches_of_a_long_text(Tokenizer):
    encoding = Tokenizer.from_ranks(BYTES, pattern=r"[a-z]+|\s+(?!\S)|\s+").encoding
    assert encoding.matches("ab, " * 50_000) == ["ab", " "] * 50_000
    with pytest.raises(UnicodeEncodeError):
        encoding.matches("a\ud83d")


def test_merge_piece(Tokenizer):
    """No lookup of the whole, and no UTF-8."""
    tok = Tokenizer.from_ranks(BYTES | {b"xyz": 256, b"ab": 257, b"\xff\xfe": 258}, pattern=ANY)
    assert tok.encode("xyz") == [256]
    assert tok.encoding.merge_piece(b"xyz") == [*b"xyz"]
    assert tok.encoding.merge_piece(b"\xff\xfeabab") == [258, 257, 257]
    assert tok.encoding.merge_piece(b"") == []
    assert tok.encoding.merge_piece(b"ab" * 50_000) == [257] * 50_000
    with pytest.raises(TypeError):
        tok.encoding.merge_piece("ab")
