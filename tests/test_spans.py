"""Spans: where each token stands in the characters of the text."""

import numpy as np
import pytest
from hypothesis import given

from tests.texts import repaired, texts


def naive_spans(text, tokens):
    """A token of bytes [a, b) spans from the character that holds byte a to the one that holds byte b - 1."""
    holder = [i for i, character in enumerate(text) for _ in character.encode()]
    spans, start = [], 0
    for token in tokens:
        end = start + len(token)
        spans.append([holder[start], holder[end - 1] + 1])
        start = end
    return spans


@given(texts)
def test_spans(gpt2, text):
    ids, spans = gpt2.encode_with_spans(text)
    assert ids == gpt2.encode(text)
    assert spans.tolist() == naive_spans(text, map(gpt2.token_bytes, ids))
    from_bytes = gpt2.encode_with_spans(text.encode())
    assert (from_bytes[0], from_bytes[1].tolist()) == (ids, spans.tolist())
    assert ids == gpt2.encode_batch_with_spans([text])[0][0]


@given(repaired)
def test_spans_of_repaired_text(gpt2, text):
    """Spans are those of the text as it was repaired."""
    ids, spans = gpt2.encode_with_spans(text, errors="replace")
    fixed = gpt2.decode(ids)
    assert spans.tolist() == naive_spans(fixed, map(gpt2.token_bytes, ids))
    assert spans.tolist() == gpt2.encode_with_spans(fixed)[1].tolist()


def test_form(gpt2):
    for text in ("hello world", "", "漢字"):
        ids, spans = gpt2.encode_with_spans(text)
        assert type(ids) is list
        assert spans.dtype == np.int64
        assert spans.shape == (len(ids), 2)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("hello world", [[0, 5], [5, 11]]),
        ("A<|endoftext|>B", [[0, 1], [1, 14], [14, 15]]),
        ("a👍b", [[0, 1], [1, 2], [1, 2], [2, 3]]),  # tokens that share a character share its span
        ("ϕ ∀", [[0, 1], [0, 1], [1, 3], [2, 3]]),
        ("naïve", [[0, 2], [2, 5]]),
    ],
)
def test_known(gpt2, text, spans):
    assert gpt2.encode_with_spans(text)[1].tolist() == spans


def test_batch(gpt2):
    batch = ["hello world", "", "👍", "<|endoftext|>"]
    for threads in (None, 1, 2):
        results = gpt2.encode_batch_with_spans(batch, threads=threads)
        for text, (ids, spans) in zip(batch, results, strict=True):
            assert ids == gpt2.encode(text)
            assert spans.tolist() == gpt2.encode_with_spans(text)[1].tolist()
            assert spans.shape == (len(ids), 2)


def test_a_longer_text(gpt2):
    text = "The naïve 漢字 reader's 👨\u200d👩\u200d👧 — café\r\n\n\t" * 40
    ids, spans = gpt2.encode_with_spans(text)
    assert spans.tolist() == naive_spans(text, map(gpt2.token_bytes, ids))
    assert spans[-1, 1] == len(text)
