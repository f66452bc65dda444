"""Decoding from a list and from an array, one text and many, and one id at a time."""

import numpy as np
import pytest

from benches import corpus


@pytest.mark.parametrize("form", ["list", "uint16", "int64"])
@pytest.mark.parametrize("name", ["TINY", "SHORT", "DOCUMENT", "MIXED"])
def test_decode(benchmark, tok, form, name):
    text = getattr(corpus, name)
    ids = tok.encode(text)
    ids = ids if form == "list" else np.array(ids, dtype=form)
    benchmark.extra_info["bytes"] = len(text.encode())
    assert tok.decode(ids) == text
    benchmark(tok.decode, ids)


@pytest.mark.parametrize("form", ["list", "uint16", "uint32"])
def test_decode_bytes(benchmark, tok, form):
    ids = tok.encode(corpus.DOCUMENT)
    ids = ids if form == "list" else np.array(ids, dtype=form)
    data = corpus.DOCUMENT.encode()
    benchmark.extra_info["bytes"] = len(data)
    assert tok.decode_bytes(ids) == data
    benchmark(tok.decode_bytes, ids)


def test_decode_batch(benchmark, tok, batch):
    texts, ids = batch
    benchmark.extra_info["bytes"] = sum(len(text.encode()) for text in texts)
    assert tok.decode_batch(ids) == texts
    benchmark(tok.decode_batch, ids)


def test_stream(benchmark, tok):
    ids = tok.encode(corpus.SHORT)

    def stream():
        decoder = tok.decoder()
        return "".join(map(decoder.push, ids)) + decoder.finish()

    assert stream() == corpus.SHORT
    benchmark(stream)
