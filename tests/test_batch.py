"""Batches: the same as one by one, for any threads, any order, any kind of iterable, and with the document named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from tests.texts import batches, texts

THREADS = [None, 1, 2, 3, 8, 64]
BATCH_METHODS = ["encode_batch", "encode_ragged", "count_batch", "encode_batch_with_spans"]


def as_lists(result):
    """Any batch result as something that compares."""
    if isinstance(result, bpeline.TokenBatch):
        return result.to_lists()
    if isinstance(result, np.ndarray):
        return result.tolist()
    return [(item[0], item[1].tolist()) if isinstance(item, tuple) else item for item in result]


@given(batches, st.sampled_from(THREADS))
def test_one_by_one(gpt2, batch, threads):
    each = [gpt2.encode(text) for text in batch]
    assert gpt2.encode_batch(batch, threads=threads) == each
    assert gpt2.encode_ragged(batch, threads=threads).to_lists() == each
    assert gpt2.count_batch(batch, threads=threads).tolist() == [len(ids) for ids in each]
    spans = [gpt2.encode_with_spans(text) for text in batch]
    assert as_lists(gpt2.encode_batch_with_spans(batch, threads=threads)) == as_lists(spans)
    assert gpt2.decode_batch(each) == batch


@given(st.lists(texts, max_size=8), st.integers(0, 8))
def test_any_split(gpt2, batch, at):
    assert gpt2.encode_batch(batch[:at]) + gpt2.encode_batch(batch[at:]) == gpt2.encode_batch(batch)


@pytest.mark.parametrize("threads", THREADS)
def test_order_is_kept(gpt2, threads):
    """Documents of very different sizes finish out of order; the result is in order."""
    batch = [f"{i} " * (1 + 400 * (i % 17 == 0)) for i in range(200)]
    ids = gpt2.encode_batch(batch, threads=threads)
    assert [gpt2.decode(one) for one in ids] == batch
    assert gpt2.encode_ragged(batch, threads=threads).to_lists() == ids


@pytest.mark.parametrize("method", BATCH_METHODS)
def test_kinds_of_iterables(gpt2, method):
    documents = ["hello world", b"don't", "", bytearray("漢字".encode())]
    call = getattr(gpt2, method)
    expected = as_lists(call(documents))
    assert len(expected) == 4
    for iterable in (
        tuple(documents),
        (text for text in documents),
        iter(documents),
        dict(enumerate(documents)).values(),
    ):
        assert as_lists(call(iterable)) == expected
    assert as_lists(call(np.array(["a b", "c"], dtype=object))) == as_lists(call(["a b", "c"]))
    assert as_lists(call({"a b": 1, "c": 2})) == as_lists(call(["a b", "c"]))


@pytest.mark.parametrize("method", BATCH_METHODS)
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_empty_batches(gpt2, method, threads):
    for empty in ([], (), iter(())):
        assert as_lists(getattr(gpt2, method)(empty, threads=threads)) == []
    assert as_lists(gpt2.encode_ragged(["", ""], threads=threads)) == [[], []]
    assert gpt2.encode_ragged([]).offsets.tolist() == [0]
    assert gpt2.encode_ragged([]).tokens.dtype == np.uint16
    assert gpt2.count_batch(["", ""]).tolist() == [0, 0]


@pytest.mark.parametrize("method", BATCH_METHODS)
@pytest.mark.parametrize(
    "value", ["several words", b"bytes", bytearray(b"x"), memoryview(b"x")], ids=lambda v: type(v).__name__
)
def test_one_text_is_no_batch(gpt2, method, value):
    with pytest.raises(TypeError) as caught:
        getattr(gpt2, method)(value)
    assert str(caught.value) == f"texts must be several documents, not one {type(value).__name__}"


@pytest.mark.parametrize("method", BATCH_METHODS)
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_errors_name_the_document(gpt2, method, threads):
    call = getattr(gpt2, method)
    faults = [
        (["a", "b", "c\ud800"], bpeline.InvalidTextError, "document 2: surrogate U+D800 at character 1"),
        (["a", b"b\xff", "c\ud800"], bpeline.InvalidTextError, "document 1: invalid UTF-8: byte 0xff at offset 1"),
        (["a", "b", None], TypeError, "document 2: text must be str or a bytes-like object, not NoneType"),
        ([5], TypeError, "document 0: text must be str or a bytes-like object, not int"),
    ]
    for batch, error, message in faults:
        for documents in (batch, iter(batch)):
            with pytest.raises(error) as caught:
                call(documents, threads=threads)
            assert str(caught.value) == message
    with pytest.raises(bpeline.InvalidTextError) as caught:
        call(["fine"] * 5_000 + [b"\xc3"] + ["fine"] * 100, threads=threads)
    assert str(caught.value) == "document 5000: invalid UTF-8: byte 0xc3 at offset 0"


@pytest.mark.parametrize("method", BATCH_METHODS)
def test_an_error_of_the_iterable_comes_through(gpt2, method):
    def broken():
        yield "fine"
        raise KeyError("from the caller")

    with pytest.raises(KeyError, match="from the caller"):
        getattr(gpt2, method)(broken())
    with pytest.raises(TypeError):
        getattr(gpt2, method)(5)


@pytest.mark.parametrize("method", BATCH_METHODS)
@pytest.mark.parametrize("threads", [0, -1, -(2**40)])
def test_threads_below_one(gpt2, method, threads):
    for batch in (["x"], []):
        with pytest.raises(ValueError) as caught:
            getattr(gpt2, method)(batch, threads=threads)
        assert str(caught.value) == f"threads must be at least 1, not {threads}"


@pytest.mark.parametrize("method", BATCH_METHODS)
@pytest.mark.parametrize("threads", ["2", 1.5])
def test_threads_of_another_type(gpt2, method, threads):
    with pytest.raises(TypeError):
        getattr(gpt2, method)(["x"], threads=threads)


def test_many_more_threads_than_documents(gpt2):
    assert gpt2.encode_batch(["hello world"], threads=1000) == [[31373, 995]]


def test_errors_replace_in_a_batch(gpt2):
    assert gpt2.encode_batch(["\ud83d", b"\xff", "\ud83d\udc4d"], errors="replace") == [[4210], [4210], [41840, 235]]


def test_decode_batch(gpt2):
    batch = [[31373, 995], [], np.array([50256], dtype=np.uint16), (220,), range(64, 66), iter([41840])]
    assert gpt2.decode_batch(batch) == ["hello world", "", "<|endoftext|>", " ", "ab", "\ufffd"]
    assert gpt2.decode_batch([]) == []
    assert gpt2.decode_batch([[50256, 64]], skip_special_tokens=True) == ["a"]
    assert gpt2.decode_batch(gpt2.encode_ragged(["hello", "", "world"])) == ["hello", "", "world"]
    with pytest.raises(bpeline.TokenIdError) as caught:
        gpt2.decode_batch([[64], [50257]])
    assert "token id 50257 is not in the vocabulary (valid ids: 0 to 50256)" in str(caught.value)
