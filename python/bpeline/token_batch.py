"""The tokens of a batch of documents in two flat arrays."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from operator import index
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from ._backend import ArrowTokens
from ._types import TokenArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TokenBatch:
    """Token ids of n documents: a few bytes a token, and no Python object for each.

    `tokens` has the ids of all documents, one after the other: 1-D, `uint16` if every id of the encoding fits, else
    `uint32`. `offsets` is 1-D int64 of length n + 1: document i is `tokens[offsets[i]:offsets[i + 1]]`.

    A batch has a length, is indexed (an integer gives an array, a slice a TokenBatch; `IndexError` out of range) and
    iterated over like a list of arrays.

    >>> import bpeline
    >>> batch = bpeline.load("gpt2").encode_ragged(["hello world", "", "hello"])
    >>> batch
    <bpeline.TokenBatch: 3 documents, 3 tokens, uint16>
    >>> batch[0], batch[1:].to_lists()
    (array([31373,   995], dtype=uint16), [[], [31373]])
    """

    tokens: TokenArray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, item: int) -> TokenArray: ...
    @overload
    def __getitem__(self, item: slice) -> "TokenBatch": ...
    def __getitem__(self, item: int | slice) -> "TokenArray | TokenBatch":
        if isinstance(item, slice):
            chosen = range(len(self))[item]
            if chosen.step == 1:  # one stretch: share the tokens
                start, end = chosen.start, chosen.start + len(chosen)
                offsets = self.offsets[start : end + 1]
                return TokenBatch(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])
            documents = [self[document] for document in chosen]
            lengths = [len(document) for document in documents]
            return TokenBatch(np.concatenate([self.tokens[:0], *documents]), np.cumsum([0, *lengths], dtype=np.int64))
        document = index(item)
        if not -len(self) <= document < len(self):
            raise IndexError(f"no document {document} in a batch of {len(self)}")
        document %= len(self)
        return self.tokens[self.offsets[document] : self.offsets[document + 1]]

    def __iter__(self) -> Iterator[TokenArray]:
        return (self[document] for document in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenBatch):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.tokens, other.tokens)

    def __repr__(self) -> str:
        return f"<bpeline.TokenBatch: {len(self):,} documents, {len(self.tokens):,} tokens, {self.tokens.dtype}>"

    def to_lists(self) -> list[list[int]]:
        """The ids of each document as a list.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_ragged(["hello world", "hello"]).to_lists()
        [[31373, 995], [31373]]
        """
        return [document.tolist() for document in self]

    def to_arrow(self) -> ArrowTokens:
        """The same memory as Arrow lists, for pyarrow, polars and whatever else speaks the Arrow PyCapsule interface.

        Whoever takes them sees the arrays of this batch: do not write to those any more.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_ragged(["hello world", "hello"]).to_arrow()
        <bpeline.ArrowTokens: 2 documents, 3 tokens, uint16>
        """
        in_order = functools.partial(np.require, requirements=["C", "A"])
        return ArrowTokens(in_order(self.tokens), in_order(self.offsets))

    def pad(
        self, length: int | None = None, *, id: int, side: Literal["left", "right"] = "right"
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """All documents at one length, filled up with `id` on `side`, and which of it are tokens.

        Returns an (n, length) int64 array, which models take and which has room for -100, and an (n, length) bool mask
        that is True at tokens. Without `length` it is that of the longest document, in tokens. Raises `ValueError` if a
        document is longer than `length`, or for another `side`.

        >>> import bpeline
        >>> matrix, mask = bpeline.load("gpt2").encode_ragged(["hello world", "hello"]).pad(id=50256)
        >>> matrix.tolist(), mask.tolist()
        ([[31373, 995], [31373, 50256]], [[True, True], [True, False]])
        """
        if side not in ("left", "right"):
            raise ValueError(f'side must be "left" or "right", not {side!r}')
        if not isinstance(id, int | np.integer):
            raise TypeError(f"id must be an integer, not {type(id).__name__}")
        lengths = np.diff(self.offsets)
        longest = int(lengths.max(initial=0))
        if length is None:
            length = longest
        elif longest > length:
            raise ValueError(f"document {lengths.argmax()} has {longest} tokens, more than the length {length}")
        columns = np.arange(length)
        mask = columns < lengths[:, None] if side == "right" else columns >= length - lengths[:, None]
        matrix = np.full(mask.shape, id, np.int64)
        matrix[mask] = self.tokens
        return matrix, mask
