"""One text at a time: the tiny call, 4 KB, a document; lists, arrays, spans, counts."""

import pytest

from benches import corpus

TEXTS = {"38 characters": corpus.TINY, "4 KB": corpus.SHORT}
LARGE = {"100 KB of English": corpus.DOCUMENT, "100 KB of mixed scripts": corpus.MIXED}


def size(text):
    return len(text.encode())


@pytest.mark.parametrize("name", TEXTS)
def test_encode_small(benchmark, gpt2, reference, name):
    text = TEXTS[name]
    benchmark.extra_info["bytes"] = size(text)
    assert gpt2.encode(text) == reference.encode(text)
    assert len(corpus.TINY) == 38
    benchmark(gpt2.encode, text)


@pytest.mark.parametrize("name", [*TEXTS, *LARGE])
@pytest.mark.parametrize("method", ["encode", "encode_array", "count"])
def test_encode(benchmark, tok, reference, method, name):
    text = {**TEXTS, **LARGE}[name]
    benchmark.extra_info["bytes"] = size(text)
    expected = reference.encode(text)
    result = getattr(tok, method)(text)
    assert (result if method == "count" else list(result)) == (len(expected) if method == "count" else expected)
    benchmark(getattr(tok, method), text)


def test_encode_bytes(benchmark, tok, reference):
    data = corpus.DOCUMENT.encode()
    benchmark.extra_info["bytes"] = len(data)
    assert tok.encode(data) == reference.encode(corpus.DOCUMENT)
    benchmark(tok.encode, data)


def test_encode_without_a_cache(benchmark, native, reference):
    cold = native.load("gpt2", cache_bytes=0)
    benchmark.extra_info["bytes"] = size(corpus.DOCUMENT)
    assert cold.encode(corpus.DOCUMENT) == reference.encode(corpus.DOCUMENT)
    benchmark(cold.encode_array, corpus.DOCUMENT)


def test_encode_with_spans(benchmark, tok, reference):
    benchmark.extra_info["bytes"] = size(corpus.SHORT)
    ids, spans = tok.encode_with_spans(corpus.SHORT)
    assert ids == reference.encode(corpus.SHORT)
    assert spans.tolist() == reference.encode_with_spans(corpus.SHORT)[1].tolist()
    benchmark(tok.encode_with_spans, corpus.SHORT)


def test_truncate(benchmark, tok, reference):
    assert tok.truncate(corpus.DOCUMENT, 5_000) == tok.decode(tok.encode(corpus.DOCUMENT)[:5_000])
    assert tok.truncate(corpus.SHORT, 500) == reference.truncate(corpus.SHORT, 500)
    benchmark(tok.truncate, corpus.DOCUMENT, 5_000)


@pytest.mark.parametrize("piece", ["a", " ", "^", "漢字"])
def test_one_long_piece(benchmark, native, reference, piece):
    """100,000 bytes that no boundary cuts; a cold cache, or the second round would only look it up."""
    text = piece * (100_000 // len(piece.encode()))
    cold = native.load("gpt2", cache_bytes=0)
    benchmark.extra_info["bytes"] = size(text)
    assert cold.encode(text[:5_000]) == reference.encode(text[:5_000])
    assert cold.decode(cold.encode(text)) == text
    benchmark(cold.encode_array, text)
