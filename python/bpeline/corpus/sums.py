"""Sums of hashes that tell whether two sets of numbered documents are the same, in whatever order they come.

A document counts by its number and by each of its tokens at its place: sums of 64 bits over ranges of numbers. Equal documents give
equal sums; others give equal ones by a chance of 2^-64. Memory is that of the sums.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .shuffle import mixed

BUCKETS = 1000
ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], np.uint64)
STEP = 1 << 18


class Sums:
    """Takes runs of tokens, one after another, with the ends of documents in them."""

    def __init__(self, count: int) -> None:
        self.count = count
        """Documents in all."""
        self.sums = np.zeros(BUCKETS, np.uint64)
        self.seen = 0
        """Documents that have ended."""
        self._within = 0
        """Tokens so far of the document that goes on."""

    def add(
        self,
        tokens: NDArray[Any],
        ends: NDArray[np.int64],
        number_of: Callable[[NDArray[np.uint64]], NDArray[np.uint64]],
    ) -> None:
        """Add tokens; `number_of` gives the numbers of documents that come as the n-th."""
        n = np.arange(self.seen, min(self.seen + len(ends) + 1, self.count), dtype=np.uint64)
        numbers = number_of(n)
        if len(n) < len(ends) or not len(n):  # more documents than there should be: that is told by `seen`
            self.seen += len(ends)
            return
        keys, begins = mixed(numbers * ODD[0] + ODD[1]), np.concatenate([[-self._within], ends])
        buckets = (numbers.astype(np.float64) * (BUCKETS / max(self.count, 1))).astype(np.int64).clip(0, BUCKETS - 1)
        for begin in range(0, len(tokens), STEP):
            end = min(begin + STEP, len(tokens))
            document = np.searchsorted(ends, np.arange(begin, end), "right")
            if document[-1] >= len(keys):  # tokens behind the last document
                document = np.minimum(document, len(keys) - 1)
            within = (np.arange(begin, end) - begins[document]).astype(np.uint64)
            hashes = mixed(tokens[begin:end].astype(np.uint64) * ODD[2] + within * ODD[0] + keys[document])
            self._sum(buckets[document], hashes)
        self._sum(buckets[: len(ends)], mixed(keys[: len(ends)] + np.diff(begins).astype(np.uint64)))
        self.seen += len(ends)
        self._within = len(tokens) - int(begins[-1])

    def range_of(self, bucket: int) -> tuple[int, int]:
        """The first and the last number of a bucket, about."""
        return self.count * bucket // BUCKETS, min(self.count * (bucket + 1) // BUCKETS + 1, self.count - 1)

    def _sum(self, buckets: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
        np.add.at(self.sums, buckets, hashes)
