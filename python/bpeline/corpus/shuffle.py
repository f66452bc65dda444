"""Documents in a random order, with constant memory: two passes, a job each.

The first writes the documents in the order of the input to a folder inside the output, as NumPy arrays; the second takes them from there
in an order that is never stored: a Feistel network, a permutation of the numbers below a power of four whatever its rounds
are, walked until it comes to a number that is one of a document. So any number of documents is put in order as it is written,
and a job goes on from any of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoder import Run
from .plan import Plan

FOLDER = ".shuffle"
RUN_DOCUMENTS, RUN_TOKENS = 1 << 14, 1 << 22
ROUNDS = 6


def first_pass(plan: Plan) -> Plan:
    """The job that writes the documents in order."""
    return replace(plan, format="npy", shuffle_seed=None, shard_tokens=None)


def second_pass(plan: Plan, folder: Path, after: dict[str, Any] | None) -> Iterator[Run]:
    """The documents that the first pass wrote to the folder, one split after the other, from where an earlier job stopped."""
    first = after or {"split": 0, "index": 0}
    for split in range(first["split"], len(plan.splits)):
        prefix = f"{plan.splits[split]}_" if plan.names.is_split else ""
        offsets = np.asarray(np.load(folder / f"{prefix}offsets.npy", mmap_mode="r"))
        tokens = (
            np.asarray(np.load(folder / f"{prefix}tokens.npy", mmap_mode="r"))
            if offsets[-1]
            else np.zeros(0, plan.dtype)
        )
        key = f"{plan.shuffle_seed}:{split}"
        index = first["index"] if split == first["split"] else 0
        while index < len(offsets) - 1:
            numbers = np.arange(index, min(index + RUN_DOCUMENTS, len(offsets) - 1), dtype=np.uint64)
            chosen = permuted(numbers, len(offsets) - 1, key).astype(np.int64)
            begins, ends = offsets[chosen], offsets[chosen + 1]
            filled = np.cumsum(ends - begins)
            count = min(int(np.searchsorted(filled, RUN_TOKENS)) + 1, len(chosen))
            some = [tokens[begin:end] for begin, end in zip(begins[:count], ends[:count], strict=True)]
            index += count
            yield Run(
                ids=some[0] if count == 1 else np.concatenate(some),
                ends=filled[:count],
                numbers=np.zeros(count + 1, np.int64),
                source=None,
                after={"split": split, "index": index},
                in_val=np.full(count + 1, plan.splits[split] == "val") if plan.names.is_split else None,
                size=int(filled[count - 1]) * plan.dtype.itemsize,
            )


def permuted(numbers: NDArray[np.uint64], count: int, key: str) -> NDArray[np.uint64]:
    """Where a permutation of the numbers below `count` takes some of them. The key chooses the permutation.

    >>> import numpy
    >>> permuted(numpy.arange(10, dtype=numpy.uint64), 10, "seed").tolist()
    [8, 7, 0, 1, 2, 5, 9, 6, 3, 4]
    """
    return _walked(numbers, count, key, back=False)


def restored(numbers: NDArray[np.uint64], count: int, key: str) -> NDArray[np.uint64]:
    """Where the same permutation takes them from.

    >>> import numpy
    >>> restored(permuted(numpy.arange(10, dtype=numpy.uint64), 10, "seed"), 10, "seed").tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    return _walked(numbers, count, key, back=True)


def _walked(numbers: NDArray[np.uint64], count: int, key: str, back: bool) -> NDArray[np.uint64]:
    """The permutation, or its inverse: the same rounds in the other order, with the halves in each other's place."""
    half = max(1, -(-max(count - 1, 1).bit_length() // 2))
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    keys = np.frombuffer(blake2b(key.encode(), digest_size=8 * ROUNDS).digest(), "<u8")
    found, astray = numbers.copy(), np.ones(len(numbers), bool)
    while astray.any():
        left, right = found[astray] >> shift, found[astray] & mask
        if back:
            left, right = right, left
        for round_key in keys[::-1] if back else keys:
            left, right = right, left ^ (mixed(right ^ round_key) & mask)
        if back:
            left, right = right, left
        found[astray] = left << shift | right
        astray = found >= count
    return found


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits that depend on all bits of the values: the end of SplitMix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
