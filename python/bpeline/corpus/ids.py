"""Checks the ids of an output: each one is of the vocabulary, and end-of-text is where the rule wants it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..tokenizer import Methods
from .output import Block, Output, Stream
from .stored import Fault

if TYPE_CHECKING:
    from .stored import Stored


@lru_cache(maxsize=4)
def known_ids(tokenizer: Methods) -> NDArray[np.bool_]:
    """Of each id up to the highest one whether it is a token."""
    known = np.array([tokenizer.encoding.token_bytes(id) is not None for id in range(tokenizer.vocab_size)])
    known[list(tokenizer.special_tokens.values())] = True
    return known


class Checker:
    """Takes the blocks of a stream, one after another. Each kind of fault is told once a shard, with the first place."""

    def __init__(self, output: Output) -> None:
        self.tokens = self.documents = 0
        self._output, tokenizer = output, output.tokenizer
        self._vocab_size = tokenizer.vocab_size
        known = known_ids(tokenizer)
        self._known = None if known.all() else known
        eot = output.asked["eot"]
        self._rule, self._eot = eot["rule"], eot["id"]
        self._is_marked = output.mark is not None
        self._is_open = False
        """Whether the document at the end of the last block goes on."""
        self._last_ends: dict[str, int] = {}
        self._told: set[tuple[str, str]] = set()

    def block(self, stream: Stream, block: Block) -> Iterator[Fault]:
        """The faults of a block."""
        ids, file = block.ids, block.stored.main
        self.tokens += len(ids)
        self.documents += len(block.ends)
        self._last_ends[file] = self._last_ends.get(file, 0) + len(block.ends)
        if len(ids):
            yield from self._vocabulary(ids, block, file)
            if self._rule != "none" and self._output.can_tell_documents:
                yield from self._edges(ids, block, file)

    def finish(self, stream: Stream, is_whole: bool) -> Iterator[Fault]:
        """The faults that show at the end."""
        for number, stored in enumerate(stream.shards):
            yield from self._counts(stored, is_whole or number + 1 < len(stream.shards))
        if is_whole and self._is_open and self._output.can_tell_documents and stream.shards:
            yield Fault(stream.shards[-1].main, "ends within a document")
        self._is_open = False

    def _counts(self, stored: "Stored", is_whole: bool) -> Iterator[Fault]:
        found, expected = self._last_ends.get(stored.main, 0), stored.shard.documents
        allowed = (expected,) if is_whole else (expected, expected - 1)
        if self._output.can_tell_documents and found not in allowed:
            yield Fault(stored.main, f"has the ends of {found:,} documents, expected {expected:,} by manifest.json")

    def _vocabulary(self, ids: NDArray[Any], block: Block, file: str) -> Iterator[Fault]:
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= self._vocab_size:
            place = int(np.argmax((ids < 0) | (ids >= self._vocab_size)))
            message = (
                f"token {block.begin + place:,} is {ids[place]}, expected an id from 0 to {self._vocab_size - 1:,}"
            )
            yield from self._once(file, "range", message)
        elif self._known is not None and not self._known[ids].all():
            place = int(np.argmax(~self._known[ids]))
            message = (
                f"token {block.begin + place:,} is {ids[place]}, an id that {self._output.tokenizer.name} does not use"
            )
            yield from self._once(file, "hole", message)

    def _edges(self, ids: NDArray[Any], block: Block, file: str) -> Iterator[Fault]:
        """End-of-text at each document that begins or ends here, and as often as there are such."""
        starts = np.concatenate([[0], block.ends])
        lengths = np.diff(starts)
        has_end = np.ones(len(block.ends), bool)
        if not self._output.layout.eot_if_empty:
            has_end = lengths > 0
            has_end[:1] |= self._is_open
        first = self._last_ends[file] - len(block.ends)
        if self._rule == "append":
            places, numbers = block.ends[has_end] - 1, first + np.flatnonzero(has_end)
        else:
            begins = np.append(has_end, starts[-1] < len(ids)) & (starts < len(ids))
            begins[:1] &= not self._is_open
            places, numbers = starts[begins], first + np.flatnonzero(begins)
        inside = (places >= 0) & (places < len(ids))
        places, numbers = places[inside], numbers[inside]
        wrong = ids[places] != self._eot
        side = "after" if self._rule == "append" else "before"
        if wrong.any():
            bad = int(np.argmax(wrong))
            message = f"token {block.begin + places[bad]:,} is {ids[places[bad]]}, expected {self._eot}, end-of-text {side} document {numbers[bad]:,}"
            yield from self._once(file, "edge", message)
        elif self._is_marked:
            found = np.flatnonzero(ids == self._eot)
            if len(found) != len(places):
                extra = int(np.setdiff1d(found, places)[0])
                message = f"token {block.begin + extra:,} is end-of-text ({self._eot}) within a document"
                yield from self._once(file, "within", message)
        self._is_open = bool(starts[-1] < len(ids)) or (self._is_open and not len(block.ends))

    def _once(self, file: str, kind: str, message: str) -> Iterator[Fault]:
        if (file, kind) not in self._told:
            self._told.add((file, kind))
            yield Fault(file, message)


@lru_cache(maxsize=4)
def token_sizes(tokenizer: Methods) -> NDArray[np.int64]:
    """The bytes of each id's token."""
    found = np.zeros(tokenizer.vocab_size, np.int64)
    for id in np.flatnonzero(known_ids(tokenizer)).tolist():
        found[id] = len(tokenizer.decode_bytes([id]))
    return found
