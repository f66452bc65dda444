"""From token ids to what a model trains on: batches of inputs and targets.

A stream of tokens is any 1-D array of ids: what `encode_array` gives, a memory map of a file. A batch is cut from it at
random places; a window may cross from one document into the next, as in the trainers of GPT-2 and its kind.
"""

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Rng: TypeAlias = np.random.Generator | int | None
Batch: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Stream(Protocol):
    """A stream of token ids: its length, and any stretch of it as a 1-D array."""

    def __len__(self) -> int: ...
    def __getitem__(self, stretch: slice, /) -> NDArray[Any]: ...


Tokens: TypeAlias = NDArray[Any] | Sequence[int] | Stream


@overload
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = ..., *, as_tensors: Literal[False] = ...
) -> Batch: ...
@overload
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = ..., *, as_tensors: Literal[True]
) -> "tuple[torch.Tensor, torch.Tensor]": ...
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = None, *, as_tensors: bool = False
) -> "Batch | tuple[torch.Tensor, torch.Tensor]":
    """Random windows of a stream: inputs, and targets that are the inputs shifted by one.

    `tokens` is a 1-D integer array, a memory map or sequence of ids, or a `TokenDataset`. Returns two int64 arrays of
    shape (batch_size, block_size): `targets[row, i]` is the token that follows `inputs[row, i]`. Each row begins at a random place,
    all places alike; `rng` is a numpy `Generator`, a seed, or None for other rows at every call. `as_tensors` asks for
    tensors of torch, on the CPU, in place of arrays.

    Raises `ValueError` for a stream shorter than block_size + 1 and for sizes below 1, `TypeError` for what
    is no stream of integers, `ImportError` for tensors where torch is not installed.

    >>> import numpy as np
    >>> from bpeline.data import get_batch
    >>> inputs, targets = get_batch(np.arange(100), block_size=4, batch_size=2, rng=7)
    >>> inputs
    array([[90, 91, 92, 93],
           [60, 61, 62, 63]])
    >>> targets
    array([[91, 92, 93, 94],
           [61, 62, 63, 64]])
    """
    block_size, batch_size = _size("block_size", block_size), _size("batch_size", batch_size)
    stream = _stream(tokens)
    if len(stream) < block_size + 1:
        raise ValueError(
            f"the stream has {len(stream):,} tokens, expected at least block_size + 1 = {block_size + 1:,}: "
            "an input needs a token that follows"
        )
    starts = np.random.default_rng(rng).integers(0, len(stream) - block_size, size=batch_size)
    rows = np.empty((batch_size, block_size + 1), np.int64)
    for row, start in zip(rows, starts.tolist(), strict=True):
        row[:] = stream[start : start + block_size + 1]
    inputs, targets = rows[:, :-1].copy(), rows[:, 1:].copy()
    if not as_tensors:
        return inputs, targets
    try:
        import torch
    except ImportError as error:
        raise ImportError("as_tensors=True needs PyTorch: install it with `pip install torch`") from error
    return torch.from_numpy(inputs), torch.from_numpy(targets)


def _size(name: str, value: int) -> int:
    if index(value) < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return index(value)


def _stream(tokens: Tokens) -> Stream:
    stream: Any = np.asarray(tokens, np.int64 if len(tokens) == 0 else None) if isinstance(tokens, Sequence) else tokens
    if not isinstance(stream, np.ndarray):
        return stream  # type: ignore[no-any-return]
    if stream.ndim != 1:
        raise ValueError(f"the stream must be one-dimensional, not {stream.ndim}-dimensional")
    if stream.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, not an array of {stream.dtype}")
    return stream
