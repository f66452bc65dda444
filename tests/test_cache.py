"""The cache has a budget and no memory that shows: ids never depend on it or on what came before."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.texts import texts

BUDGETS = [0, 1, 100, 5_000, 100_000, None]


@pytest.fixture(scope="module")
def by_budget(Tokenizer):
    return [Tokenizer.load("gpt2", cache_bytes=budget) for budget in BUDGETS]


@given(st.lists(texts, min_size=1, max_size=5))
def test_ids_do_not_depend_on_the_budget_or_the_history(gpt2, by_budget, history):
    """The tokenizers keep what earlier examples left in them."""
    for text in history:
        expected = gpt2.encode(text)
        for tok in by_budget:
            assert tok.encode(text) == expected
            assert tok.count(text) == len(expected)
            assert tok.encode_batch([text] * 3, threads=2) == [expected] * 3


def test_budgets(by_budget, gpt2):
    assert [tok.cache_bytes for tok in by_budget[:-1]] == BUDGETS[:-1]
    assert by_budget[-1].cache_bytes == gpt2.cache_bytes
    assert all(tok == gpt2 for tok in by_budget)


def test_eviction(Tokenizer, gpt2):
    """More distinct pieces than a small cache holds, three times over, in other orders."""
    rng = random.Random(0)
    words = [" " + "".join(rng.choices("abcdefgh", k=rng.randint(3, 40))) for _ in range(1_500)]
    expected = dict(zip(words, Tokenizer.load("gpt2", cache_bytes=0).encode_batch(words), strict=True))
    tiny = Tokenizer.load("gpt2", cache_bytes=20_000)
    for _ in range(3):
        rng.shuffle(words)
        text = "".join(words)
        ids = [i for word in words for i in expected[word]]
        assert tiny.encode(text) == ids
        assert tiny.encode_batch([text, text[::-1]], threads=2)[0] == ids
        assert gpt2.encode(text) == ids


@pytest.mark.parametrize("budget", [-1, -(10**20)])
def test_below_zero(Tokenizer, budget):
    with pytest.raises(ValueError) as caught:
        Tokenizer.load("gpt2", cache_bytes=budget)
    assert str(caught.value) == f"cache_bytes must be at least 0, not {budget}"


def test_pieces_that_share_a_prefix_or_a_length(Tokenizer):
    """Keys must be compared in full: lengths around every word and line size, zeros at the end, one byte apart."""
    tok, cold = Tokenizer.load("gpt2"), Tokenizer.load("gpt2", cache_bytes=0)
    pieces = []
    for length in [*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 256, 257]:
        for last in "ab\x00\x01":
            pieces += [
                "q" * (length - 1) + last,
                "\x00" * (length - 1) + last,
                "é" * (length // 2) + "x" * (length % 2),
            ]
    for _ in range(2):
        for piece in pieces:
            assert tok.encode(piece) == cold.encode(piece), ascii(piece)
