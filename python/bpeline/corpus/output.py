"""The output of a job as streams of ids, block by block, with the ends of its documents; memory is a block.

A stream is what a reader sees as one: the shards of a split, one after another. Some formats do not say where documents end.
There end-of-text tells, if no text can hold it: it is a special token, and texts were encoded with `special="text"` or "error".
"""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BpelineError, CorpusError
from ..tokenizer import Methods, Tokenizer
from .documents import ReadOptions, Source
from .formats import FORMATS, Names
from .manifest import NAME, Manifest, Shard
from .plan import Plan, make
from .stored import KINDS_OF_STORED, Facts, Stored, Table

BLOCK = 1 << 20
"""Tokens in a block, but of a table: there it is a group of rows."""


class Block(NamedTuple):
    """Some ids of a shard, one after another."""

    stored: Stored
    begin: int
    """The first, in tokens of the shard."""
    ids: NDArray[Any]
    ends: NDArray[np.int64]
    """Where documents end, in tokens of the block."""


class Stream:
    """The ids of some shards, as one."""

    def __init__(self, split: str, shards: list[Stored], eot: tuple[str, int] | None, is_whole: bool = True) -> None:
        self.split, self.shards, self.is_whole = split, shards, is_whole
        self._eot = eot
        """The rule and the id, where they tell the documents apart."""
        self._begins = np.cumsum([0, *(stored.shard.tokens for stored in shards)])

    @property
    def tells_documents(self) -> bool:
        """Whether blocks have the ends of documents."""
        return self._eot is not None or all(
            isinstance(stored, Table) or stored.ends(0) is not None for stored in self.shards
        )

    @property
    def documents(self) -> int:
        """By the manifest."""
        return sum(stored.shard.documents for stored in self.shards)

    @property
    def tokens(self) -> int:
        """By the manifest."""
        return int(self._begins[-1])

    def place(self, token: int) -> tuple[str, int]:
        """The file of a token, and its number there."""
        if not self.shards:
            return NAME, token
        number = int(np.searchsorted(self._begins, token, "right")) - 1
        number = min(number, len(self.shards) - 1)
        return self.shards[number].main, token - int(self._begins[number])

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """The ids from one token to another. Quick where the places come in order."""
        parts = []
        for stored, first in zip(self.shards, self._begins, strict=False):
            low, high = max(begin, int(first)), min(end, int(first) + stored.shard.tokens)
            if low < high:
                parts.append(stored.read(low - int(first), high - int(first)))
        return np.concatenate(parts) if parts else np.zeros(0, self.shards[0].facts.dtype if self.shards else np.uint16)

    def blocks(self) -> Iterator[Block]:
        """All blocks, in order; an empty shard has one too."""
        for number, stored in enumerate(self.shards):
            if isinstance(stored, Table):
                yield from _table_blocks(stored)
            elif stored.ends(0) is not None:
                yield from _indexed_blocks(stored)
            else:
                yield from self._marked_blocks(number, stored)

    def spans(self, numbers: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
        """Of some documents, whose numbers rise: the number, its first token in the stream, and the one behind its last."""
        documents = tokens = begin = 0
        for block in self.blocks():
            low, high = np.searchsorted(numbers, [documents, documents + len(block.ends)])
            ends = tokens + block.ends
            for number in numbers[low:high].tolist():
                index = number - documents
                yield number, int(ends[index - 1]) if index else begin, int(ends[index])
            if high == len(numbers):
                return
            documents, tokens = documents + len(ends), tokens + len(block.ids)
            begin = int(ends[-1]) if len(ends) else begin

    def _marked_blocks(self, number: int, stored: Stored) -> Iterator[Block]:
        for begin, ids in _ids_of(stored):
            if self._eot is None:
                yield Block(stored, begin, ids, np.zeros(0, np.int64))
                continue
            rule, eot = self._eot
            places = np.flatnonzero(ids == eot)
            if rule == "append":
                yield Block(stored, begin, ids, places + 1)
                continue
            after = begin + len(ids)
            following = stored.read(after, after + 1) if after < stored.shard.tokens else self._first_after(number)
            is_end = len(ids) > 0 and (following[0] == eot if len(following) else self.is_whole)
            yield Block(stored, begin, ids, np.append(places[places > 0], [len(ids)] * int(is_end)).astype(np.int64))

    def _first_after(self, number: int) -> NDArray[Any]:
        for stored in self.shards[number + 1 :]:
            if stored.shard.tokens:
                return stored.read(0, 1)
        return np.zeros(0, np.uint16)


def _ids_of(stored: Stored) -> Iterator[tuple[int, NDArray[Any]]]:
    for begin in range(0, max(stored.shard.tokens, 1), BLOCK):
        yield begin, stored.read(begin, min(begin + BLOCK, stored.shard.tokens))


def _table_blocks(stored: Table) -> Iterator[Block]:
    begin = 0
    for ids, ends in stored.groups():
        yield Block(stored, begin, ids, ends)
        begin += len(ids)


def _indexed_blocks(stored: Stored) -> Iterator[Block]:
    held, first = np.zeros(0, np.int64), 0
    for begin, ids in _ids_of(stored):
        some = []
        while True:
            count = int(np.searchsorted(held, begin + len(ids), "right"))
            some.append(held[:count])
            held = held[count:]
            if len(held):
                break
            more = stored.ends(first)
            if more is None or not len(more):
                break
            held, first = more, first + len(more)
        yield Block(stored, begin, ids, np.concatenate(some) - begin)


class Output:
    """A folder that a job has written, finished or not. Raises `CorpusError` if there is no manifest that can be read."""

    def __init__(self, folder: str | os.PathLike[str], encoding: "str | Methods | None" = None) -> None:
        self.folder = Path(folder)
        manifest = Manifest.read(self.folder)
        if manifest is None:
            raise CorpusError(f"{self.folder}: holds no manifest.json, so it is no output of bpeline")
        self.manifest, self._encoding = manifest, encoding
        self.asked = manifest.plan
        try:
            self.names = Names(self.asked["name"], self.asked["val_fraction"] > 0)
            self.layout, self.rule = FORMATS[self.asked["format"]], self.asked["eot"]["rule"]
            if self.asked["dtype"] not in ("uint16", self.layout.wide().name):
                raise CorpusError(
                    f"{self.folder / NAME}: ids are of type {self.asked['dtype']}, expected uint16 or {self.layout.wide().name}"
                )
            kept, name = tuple(self.asked["read"]["keep"]), self.asked["encoding"]["name"]
            self.facts = Facts(self.folder, self.layout, self.names, np.dtype(self.asked["dtype"]), name, kept)
            self.sources = self._sources()
        except (KeyError, TypeError) as error:
            raise CorpusError(f"{self.folder / NAME}: the plan is damaged: {error!r}") from None

    @cached_property
    def tokenizer(self) -> Methods:
        """The tokenizer of the encoding. Raises `CorpusError` if it is not there, or is another than the job had."""
        asked = self.asked["encoding"]
        source = self._encoding or asked["load"]
        try:
            found = source if isinstance(source, Methods) else Tokenizer.load(source)
        except (BpelineError, OSError) as error:
            raise CorpusError(
                f"{self.folder}: its encoding cannot be loaded ({error}); name it by --encoding"
            ) from None
        if found.encoding.fingerprint.hex() != asked["sha256"]:
            is_given = "given" if self._encoding else f"that {asked['load']} names"
            raise CorpusError(
                f"{self.folder}: the encoding {is_given} is another than the job had: its hash is "
                f"{found.encoding.fingerprint.hex()[:16]}..., expected {asked['sha256'][:16]}..."
            )
        eot = self.asked["eot"]["id"]
        if eot is not None and eot >= found.vocab_size:
            raise CorpusError(
                f"{self.folder / NAME}: end-of-text is {eot:,}, and the encoding has {found.vocab_size:,} ids"
            )
        return found

    @cached_property
    def plan(self) -> Plan:
        """The plan of the job."""
        return self.plan_for(self.sources)

    def plan_for(self, sources: list[Source]) -> Plan:
        """The same plan, for other inputs."""
        asked, eot = self.asked, self.asked["eot"]
        return make(
            sources,
            self.tokenizer,
            format=asked["format"],
            eot=eot["rule"],
            eot_token=None if eot["id"] is None else self.tokenizer.id_to_token(eot["id"]),
            special=asked["special"],
            name=asked["name"],
            shard_tokens=asked["shard_tokens"],
            val_fraction=asked["val_fraction"],
            shuffle_seed=asked["shuffle_seed"],
            dtype="u16" if asked["dtype"] == "uint16" else "u32",
            on_error=asked["read"]["on_error"],
        )

    @cached_property
    def can_tell_documents(self) -> bool:
        """Whether it is known where documents end."""
        return self.layout.has_columns or self.layout.has_ends or self.mark is not None

    @cached_property
    def mark(self) -> tuple[str, int] | None:
        """The rule and the id of end-of-text, if it is nowhere but between documents."""
        eot = self.asked["eot"]
        if eot["rule"] == "none" or self.asked["special"] == "parse":
            return None
        return (eot["rule"], eot["id"]) if eot["id"] in self.tokenizer.special_tokens.values() else None

    def stored(self, shard: Shard) -> Stored:
        """A shard that is listed."""
        split = shard.split if self.names.is_split else "train"
        return KINDS_OF_STORED[self.asked["format"]](self.facts, shard, split)

    def streams(self) -> list[Stream]:
        """All streams. Without a part for validation there is one, whatever the shards are called."""
        splits = ("train", "val") if self.names.is_split else ("train",)
        found = []
        for split in splits:
            shards = [shard for shard in self.manifest.shards if shard.split == split or not self.names.is_split]
            shards.sort(key=lambda shard: shard.number)
            found.append(Stream(split, [self.stored(shard) for shard in shards], self.mark, self.manifest.finished))
        return found

    def _sources(self) -> list[Source]:
        read = self.asked["read"]
        options = ReadOptions(read["column"], tuple(read["keep"]), read["separator"], read["on_error"])
        return [Source(number, options=options, **source) for number, source in enumerate(self.asked["sources"])]
