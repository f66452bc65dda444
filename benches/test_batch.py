"""Many documents in one call, as lists, as a flat array, as counts; on one thread and on all."""

import pytest


def size(texts):
    return sum(len(text.encode()) for text in texts)


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_lists(benchmark, tok, batch, threads):
    texts, ids = batch
    benchmark.extra_info["bytes"] = size(texts)
    assert tok.encode_batch(texts, threads=threads) == ids
    benchmark(tok.encode_batch, texts, threads=threads)


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_ragged(benchmark, tok, batch, threads):
    texts, ids = batch
    benchmark.extra_info["bytes"] = size(texts)
    assert tok.encode_ragged(texts, threads=threads).to_lists() == ids
    benchmark(tok.encode_ragged, texts, threads=threads)


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_arrow(benchmark, tok, batch, threads):
    """Of strings where Arrow keeps them: to be compared with `test_ragged`."""
    pyarrow = pytest.importorskip("pyarrow")
    texts, ids = batch
    column = pyarrow.array(texts)
    benchmark.extra_info["bytes"] = size(texts)
    assert pyarrow.array(tok.encode_arrow(column, threads=threads)).to_pylist() == ids
    benchmark(tok.encode_arrow, column, threads=threads)


def test_first_pass(benchmark, native, batch):
    """By a tokenizer that has seen no text."""
    texts, ids = batch
    benchmark.extra_info["bytes"] = size(texts)
    assert native.load("gpt2").encode_ragged(texts, threads=1).to_lists() == ids
    benchmark.pedantic(
        lambda tok: tok.encode_ragged(texts, threads=1), setup=lambda: ((native.load("gpt2"),), {}), rounds=10
    )


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_count(benchmark, tok, batch, threads):
    texts, ids = batch
    benchmark.extra_info["bytes"] = size(texts)
    assert tok.count_batch(texts, threads=threads).tolist() == [len(one) for one in ids]
    benchmark(tok.count_batch, texts, threads=threads)


def test_many_short_texts(benchmark, tok):
    texts = ["x y z"] * 20_000
    benchmark.extra_info["bytes"] = size(texts)
    assert tok.encode_ragged(texts).tokens.tolist() == [87, 331, 1976] * 20_000
    benchmark(tok.encode_ragged, texts)


def test_pad(benchmark, tok, batch):
    texts, ids = batch
    ragged = tok.encode_ragged(texts)
    matrix, mask = ragged.pad(id=50256)
    assert [row[keep].tolist() for row, keep in zip(matrix, mask, strict=True)] == ids
    benchmark(ragged.pad, id=50256)
