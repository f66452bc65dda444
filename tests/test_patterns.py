"""Patterns by name: both backends, with tiktoken and tokenizers as outside judges."""

import random

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Sequence, Split

from bpeline._reference.stages import IN_TURN, PATTERNS, compile_pattern, split_pieces

NAMES = sorted(PATTERNS)

# Every class that a rule tells apart, and what stands at the edges of rules.
ATOMS = [
    *"abXY1 '\n\r\t/!.0²½Ⅷ٣éÉßſǅʰкД漢字かカー・゛゠❤👍«_",
    *"\u212a\u0130\u0131\u0301\ufe0f\u093f\u3099\u3040\u200d\u200b\x01\x85\xa0\u2028\u3000\ue000\u0378",
    *["'s", "'LL", "'ſ", "’t", "\r\n", "123", "!!", "\n\n", "  "],
]
texts = st.lists(st.sampled_from(ATOMS) | st.characters(exclude_categories=("Cs",)), max_size=16).map("".join)

# A token for every two bytes: the ids show where pieces end.
RANKS = {bytes([byte]): byte for byte in range(256)}
RANKS |= {
    bytes(divmod(pair, 256)): rank for rank, pair in enumerate(random.Random(4).sample(range(65536), 65536), start=256)
}


@pytest.fixture
def tokenizers(Tokenizer):
    return {name: Tokenizer.from_ranks(RANKS, pattern=name) for name in NAMES}


@pytest.fixture(scope="module")
def by_tiktoken():
    patterns = {name: pattern for name, pattern in PATTERNS.items() if IN_TURN not in pattern}
    return {
        name: tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
        for name, pattern in patterns.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_reference_equals_tokenizers(name):
    # To Oniguruma `$` is the end of a line, and `{1,3}+` not possessive.
    patterns = PATTERNS[name].replace("++$", r"++\z").replace("3}+", "3}").split(IN_TURN)
    split = Sequence([Split(Regex(pattern), "isolated") for pattern in patterns])
    compiled = compile_pattern(PATTERNS[name])

    @settings(max_examples=400, deadline=None)
    @given(texts)
    def check(text):
        assert list(split_pieces(text, compiled)) == [piece for piece, _ in split.pre_tokenize_str(text)]

    check()


def test_tiktoken_itself(tokenizers, by_tiktoken):
    @settings(max_examples=200, deadline=None)
    @given(texts)
    def check(text):
        for name, encoding in by_tiktoken.items():
            assert tokenizers[name].encode(text) == encoding.encode_ordinary(text), name

    check()


def test_a_pattern_in_turn(Tokenizer):
    ranks = RANKS | {b"1a": 100_000, b"123": 100_001, b"1234": 100_002}
    tok = Tokenizer.from_ranks(ranks, pattern=f"[0-9]{{1,3}}{IN_TURN}[a-z]")
    assert tok.encode("1234ab") == [100_001, 52, 97, 98]
    assert Tokenizer.from_bytes(tok.to_bytes()).pattern == tok.pattern


def test_names_are_the_same_in_both_backends(tokenizers):
    assert {name: tokenizer.pattern for name, tokenizer in tokenizers.items()} == PATTERNS


def test_texts_are_those_that_tiktoken_publishes():
    for name in ("cl100k", "o200k"):
        try:
            published = tiktoken.get_encoding(f"{name}_base")._pat_str
        except OSError:  # it loads its ranks from the network
            pytest.skip("no network")
        assert PATTERNS[name] == published
