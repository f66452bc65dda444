"""Known ids: cases checked against tiktoken and tokenizers, through every method that encodes or decodes."""

import numpy as np
import pytest

from tests.small import HERE, load_cases

CASES = load_cases("cases")["gpt2"]
TEXTS = [case["text"] for case in CASES]
IDS = [case["ids"] for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"])[:40])
def test_case(gpt2, case):
    text, ids = case["text"], case["ids"]
    data = text.encode()
    assert gpt2.encode(text) == ids
    assert gpt2.encode(data) == ids
    assert gpt2.encode_array(text).tolist() == ids
    assert gpt2.count(text) == len(ids)
    assert gpt2.encode_with_spans(text)[0] == ids
    assert gpt2.decode_bytes(ids) == data
    assert gpt2.decode(ids) == text
    assert b"".join(gpt2.token_bytes(i) for i in ids) == data
    assert gpt2.truncate(text, len(ids)) == text


def test_there_are_cases():
    assert len(CASES) == 99
    assert (HERE / "cases.json").stat().st_size > 5_000


def test_batches(gpt2):
    assert gpt2.encode_batch(TEXTS) == IDS
    assert [ids for ids, _ in gpt2.encode_batch_with_spans(TEXTS)] == IDS
    assert gpt2.count_batch(TEXTS).tolist() == [len(ids) for ids in IDS]
    assert gpt2.decode_batch(IDS) == TEXTS
    ragged = gpt2.encode_ragged(TEXTS)
    assert ragged.to_lists() == IDS
    assert ragged.offsets.tolist() == [0, *np.cumsum([len(ids) for ids in IDS]).tolist()]


def test_streams(gpt2):
    for text, ids in zip(TEXTS, IDS, strict=True):
        decoder = gpt2.decoder()
        assert "".join(map(decoder.push, ids)) + decoder.finish() == text


def test_dtypes(gpt2):
    assert gpt2.encode_array("hello world").dtype == np.uint16
    assert gpt2.encode_array("").dtype == np.uint16
    assert gpt2.encode_array("").shape == (0,)
    assert gpt2.encode_ragged(TEXTS).tokens.dtype == np.uint16
    assert gpt2.encode_ragged(TEXTS).offsets.dtype == np.int64
    assert gpt2.count_batch(TEXTS).dtype == np.int64
    assert type(gpt2.count("x")) is int
    assert {type(i) for i in gpt2.encode("hello world")} == {int}
