"""Documents in a random order, with constant memory: two passes, a job each.

The first writes the documents in the order of the input to a folder inside the output, as NumPy arrays, or where columns are kept as one
Arrow file; the second takes them from there in an order that is never stored: a Feistel network, a permutation of the numbers below a power of four whatever its rounds
are, walked until it comes to a number that is one of a document. So any number of documents is put in order as it is written,
and a job goes on from any of them.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .encoder import Run
from .formats import FORMATS
from .plan import Plan

FOLDER = ".shuffle"
RUN_DOCUMENTS, RUN_TOKENS = 1 << 14, 1 << 22
ROUNDS = 6
ALL_TOKENS = 1 << 62
"""More than any shard has."""


def first_pass(plan: Plan) -> Plan:
    """The job that writes the documents in order."""
    if plan.keep:
        return replace(plan, format="arrow", shuffle_seed=None, shard_tokens=ALL_TOKENS)
    return replace(plan, format="npy", shuffle_seed=None, shard_tokens=None)


def second_pass(plan: Plan, folder: Path, after: dict[str, Any] | None) -> Iterator[Run]:
    """The documents that the first pass wrote to the folder, one split after the other, from where an earlier job stopped."""
    first = after or {"split": 0, "index": 0}
    for split in range(first["split"], len(plan.splits)):
        stored = (Rows if plan.keep else Arrays)(plan, folder, plan.splits[split])
        key = f"{plan.shuffle_seed}:{split}"
        index = first["index"] if split == first["split"] else 0
        while index < len(stored):
            numbers = np.arange(index, min(index + RUN_DOCUMENTS, len(stored)), dtype=np.uint64)
            chosen = permuted(numbers, len(stored), key).astype(np.int64)
            filled = np.cumsum(stored.lengths(chosen))
            count = min(int(np.searchsorted(filled, RUN_TOKENS)) + 1, len(chosen))
            ids, kept = stored.take(chosen[:count])
            index += count
            yield Run(
                ids=ids,
                ends=filled[:count],
                numbers=np.zeros(count + 1, np.int64),
                source=None,
                after={"split": split, "index": index},
                in_val=np.full(count + 1, plan.splits[split] == "val") if plan.names.is_split else None,
                kept=kept,
                size=int(filled[count - 1]) * plan.dtype.itemsize,
            )


class Arrays:
    """The documents of a split, in NumPy's files."""

    def __init__(self, plan: Plan, folder: Path, split: str) -> None:
        prefix = f"{split}_" if plan.names.is_split else ""
        self.offsets = np.asarray(np.load(folder / f"{prefix}offsets.npy", mmap_mode="r"))
        self.tokens = np.zeros(0, plan.dtype)
        if self.offsets[-1]:
            self.tokens = np.asarray(np.load(folder / f"{prefix}tokens.npy", mmap_mode="r"))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokens of each of some documents."""
        found: NDArray[np.int64] = self.offsets[chosen + 1] - self.offsets[chosen]
        return found

    def take(self, chosen: NDArray[np.int64]) -> tuple[NDArray[Any], pa.RecordBatch | None]:
        """The ids of some documents one after another, and the columns that go along."""
        begins, ends = self.offsets[chosen], self.offsets[chosen + 1]
        some = [self.tokens[begin:end] for begin, end in zip(begins, ends, strict=True)]
        return some[0] if len(some) == 1 else np.concatenate(some), None


class Rows:
    """The documents of a split and their columns, in an Arrow file that is mapped into memory."""

    def __init__(self, plan: Plan, folder: Path, split: str) -> None:
        [name] = FORMATS["arrow"].finals(plan.names, split, 0)["table"]
        self.file = pa.ipc.open_file(pa.memory_map(os.fsencode(folder / name)))
        batches = (self.file.get_batch(number) for number in range(self.file.num_record_batches))
        self.begins = np.cumsum([0, *(batch.num_rows for batch in batches)])

    def __len__(self) -> int:
        return int(self.begins[-1])

    def lengths(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokens of each of some documents."""
        found = np.zeros(len(chosen), np.int64)
        for batch, places, rows in self._by_batch(chosen):
            offsets = batch.column(0).offsets.to_numpy()
            found[places] = offsets[rows + 1] - offsets[rows]
        return found

    def take(self, chosen: NDArray[np.int64]) -> tuple[NDArray[Any], pa.RecordBatch | None]:
        """The ids of some documents one after another, and the columns that go along."""
        taken: list[pa.RecordBatch] = []
        order, count = np.zeros(len(chosen), np.int64), 0
        for batch, places, rows in self._by_batch(chosen):
            order[places] = np.arange(count, count + len(places))
            count += len(places)
            taken.append(batch.take(pa.array(rows)))
        [found] = pa.Table.from_batches(taken).combine_chunks().take(pa.array(order)).combine_chunks().to_batches()
        return found.column(0).flatten().to_numpy(), found.select(found.schema.names[1:])

    def _by_batch(
        self, chosen: NDArray[np.int64]
    ) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.int64]]]:
        """Each batch that has some of the documents, their places among them, and their rows in the batch."""
        numbers = np.searchsorted(self.begins, chosen, "right") - 1
        order = np.argsort(numbers, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
            number = int(numbers[places[0]])
            yield self.file.get_batch(number), places, chosen[places] - self.begins[number]


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
