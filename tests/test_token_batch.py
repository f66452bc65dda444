"""TokenBatch: a flat array and offsets, read as a list of arrays, padded as a matrix."""

import numpy as np
import pytest

import bpeline

TEXTS = ["hello world", "", "a b c d", "<|endoftext|>"]
LISTS = [[31373, 995], [], [64, 275, 269, 288], [50256]]


@pytest.fixture
def batch(gpt2):
    return gpt2.encode_ragged(TEXTS)


def test_layout(batch):
    assert isinstance(batch, bpeline.TokenBatch)
    assert batch.tokens.tolist() == [i for ids in LISTS for i in ids]
    assert batch.offsets.tolist() == [0, 2, 2, 6, 7]
    assert (batch.tokens.dtype, batch.offsets.dtype) == (np.uint16, np.int64)
    assert len(batch) == 4


def test_index(batch):
    for i in range(-4, 4):
        assert batch[i].tolist() == LISTS[i]
        assert batch[np.int64(i)].tolist() == LISTS[i]
        assert batch[i].dtype == np.uint16
    for i in (4, -5, 10**10):
        with pytest.raises(IndexError):
            batch[i]
    for i in ("0", 1.0, None):
        with pytest.raises(TypeError):
            batch[i]


@pytest.mark.parametrize(
    "cut",
    [
        slice(None),
        slice(1, 3),
        slice(2, None),
        slice(None, -1),
        slice(3, 1),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(9, 99),
    ],
)
def test_slice(batch, cut):
    part = batch[cut]
    assert isinstance(part, bpeline.TokenBatch)
    assert part.to_lists() == LISTS[cut]
    assert part.offsets.tolist()[0] == 0
    assert len(part.offsets) == len(LISTS[cut]) + 1
    assert part.tokens.tolist() == [i for ids in LISTS[cut] for i in ids]
    assert [row.tolist() for row in part] == LISTS[cut]


def test_iterate(batch):
    assert [ids.tolist() for ids in batch] == LISTS
    assert all(isinstance(ids, np.ndarray) for ids in batch)
    assert batch.to_lists() == LISTS
    assert {type(i) for ids in batch.to_lists() for i in ids} == {int}


def test_equality(gpt2, batch):
    assert batch == gpt2.encode_ragged(TEXTS)
    assert batch != gpt2.encode_ragged(TEXTS[:3])
    assert gpt2.encode_ragged(["ab", ""]) != gpt2.encode_ragged(["", "ab"])  # equal tokens, other offsets
    assert batch[1:3] == gpt2.encode_ragged(TEXTS[1:3])
    assert batch != LISTS


def test_repr(batch):
    assert "TokenBatch" in repr(batch)
    assert "4" in repr(batch)
    assert "7" in repr(batch)


def test_pad_right(batch):
    matrix, mask = batch.pad(id=50256)
    assert matrix.tolist() == [
        [31373, 995, 50256, 50256],
        [50256, 50256, 50256, 50256],
        [64, 275, 269, 288],
        [50256, 50256, 50256, 50256],
    ]
    assert mask.tolist() == [[True, True, False, False], [False] * 4, [True] * 4, [True, False, False, False]]
    assert (matrix.dtype, mask.dtype) == (np.int64, np.bool_)


def test_pad_left(batch):
    matrix, mask = batch.pad(5, id=0, side="left")
    assert matrix.tolist() == [[0, 0, 0, 31373, 995], [0] * 5, [0, 64, 275, 269, 288], [0, 0, 0, 0, 50256]]
    assert mask.astype(int).tolist() == [[0, 0, 0, 1, 1], [0] * 5, [0, 1, 1, 1, 1], [0, 0, 0, 0, 1]]


def test_pad_to_the_right_size(gpt2, batch):
    assert batch.pad(length=4, id=1)[0].shape == (4, 4)
    assert batch.pad(length=9, id=1)[0].shape == (4, 9)
    assert gpt2.encode_ragged([]).pad(id=1)[0].shape == (0, 0)
    assert gpt2.encode_ragged(["", ""]).pad(id=1)[0].shape == (2, 0)
    assert gpt2.encode_ragged([]).pad(3, id=1)[1].shape == (0, 3)


def test_pad_faults(batch):
    with pytest.raises(TypeError):
        batch.pad()
    with pytest.raises(ValueError) as caught:
        batch.pad(3, id=0)
    assert "3" in str(caught.value)
    assert "4" in str(caught.value)
    with pytest.raises(ValueError):
        batch.pad(id=0, side="middle")
    with pytest.raises(ValueError):
        batch.pad(-1, id=0)
    with pytest.raises(OverflowError):
        batch.pad(id=2**63)


@pytest.mark.parametrize("value", [-100, 65536, 2**63 - 1])
def test_pad_with_an_id_of_no_token(batch, value):
    """What a loss leaves out, say: -100 for torch."""
    matrix, mask = batch.pad(id=value)
    assert matrix[~mask].tolist() == [value] * 9
    assert matrix[mask].tolist() == batch.tokens.tolist()


@pytest.mark.parametrize("value", [None, "50256", 1.0, np.float64(1)], ids=repr)
def test_pad_with_what_is_no_id(batch, value):
    with pytest.raises(TypeError) as caught:
        batch.pad(id=value)
    assert str(caught.value) == f"id must be an integer, not {type(value).__name__}"
    assert np.array_equal(batch.pad(id=np.int64(1))[0], batch.pad(id=1)[0])


def test_a_padded_matrix_goes_back(gpt2, batch):
    matrix, mask = batch.pad(id=50256)
    assert [gpt2.decode(row[keep]) for row, keep in zip(matrix, mask, strict=True)] == TEXTS
