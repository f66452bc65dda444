"""A shard as it lies on the disk: what is wrong with its files, its ids, and where its documents end.

The other side of `formats/`: what those write is read here by the sizes that the manifest tells, never by what a header says, and each
header and index is compared with them. So a shard without faults can be read; one with faults need not be.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .formats import Layout, Names, datatrove, npy
from .formats.llmc import KINDS
from .formats.megatron import CODES
from .manifest import Shard

CHUNK = 1 << 17
"""Numbers of an index that are read at a time."""


@dataclass(frozen=True)
class Fault:
    """Something that is not as it should be."""

    file: str
    message: str
    """What was found, where, and what was expected."""

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True)
class Facts:
    """What is the same for all shards of an output."""

    folder: Path
    layout: Layout
    names: Names
    dtype: "np.dtype[Any]"
    encoding: str
    kept: tuple[str, ...]


class Stored:
    """One shard. `faults` says whether the rest can be used."""

    def __init__(self, facts: Facts, shard: Shard, split: str) -> None:
        self.facts, self.shard = facts, shard
        finals = facts.layout.finals(facts.names, split, shard.number)
        self.names = {
            kind: next((name for name in some if name in shard.files), some[0]) for kind, some in finals.items()
        }

    def path(self, kind: str) -> Path:
        """The file of that kind."""
        return self.facts.folder / self.names[kind]

    @property
    def main(self) -> str:
        """The name of the file with the ids."""
        return next(iter(self.names.values()))

    def faults(self) -> Iterator[Fault]:
        """What is wrong with sizes, headers and indices."""
        shard, facts = self.shard, self.facts
        yield from self._size("ids", facts.layout.header, facts.dtype, shard.tokens, "ids")

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """The ids from one token to another."""
        dtype = self.facts.dtype
        return np.fromfile(
            self.path("ids"), dtype, end - begin, offset=self.facts.layout.header + begin * dtype.itemsize
        )

    def ends(self, first: int) -> NDArray[np.int64] | None:
        """Where some documents from the first on end, in tokens, at most CHUNK; None if the files do not tell."""
        return None

    def _size(self, kind: str, header: int, dtype: "np.dtype[Any]", count: int, noun: str) -> Iterator[Fault]:
        size, expected = self.path(kind).stat().st_size, header + count * dtype.itemsize
        if size != expected:
            head = f"{header:,} bytes and " if header else ""
            message = f"has {size:,} bytes, expected {expected:,}: {head}{count:,} {noun} ({dtype.name})"
            yield Fault(self.names[kind], message)

    def _head(self, kind: str, expected: bytes, words: str) -> Iterator[Fault]:
        with open(self.path(kind), "rb") as file:
            found = file.read(len(expected))
        if found != expected:
            place = next((n for n, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), len(found))
            some, wanted = found[place : place + 4].hex(" "), expected[place : place + 4].hex(" ")
            yield Fault(
                self.names[kind], f"byte {place} of the header is {some or 'missing'}, expected {wanted} ({words})"
            )

    def _ordered(self, kind: str, noun: str) -> Iterator[Fault]:
        """Whether the ends only rise, up to the number of tokens."""
        before, first = 0, 0
        while len(ends := self._some_ends(first)):
            steps = np.diff(ends, prepend=before)
            if (steps < 0).any():
                bad = int(np.argmax(steps < 0))
                value, last = int(ends[bad]), int(ends[bad] - steps[bad])
                yield Fault(self.names[kind], f"{noun} {first + bad:,} is {value:,}, expected at least {last:,}")
                return
            before, first = int(ends[-1]), first + len(ends)
        if before != self.shard.tokens:
            yield Fault(self.names[kind], f"the last {noun} is {before:,}, expected {self.shard.tokens:,}, all tokens")

    def _some_ends(self, first: int) -> NDArray[np.int64]:
        found = self.ends(first)
        return np.zeros(0, np.int64) if found is None else found


class LLMC(Stored):
    """Its header has a magic number, a version, the number of tokens, and zeros."""

    def faults(self) -> Iterator[Fault]:
        header = np.zeros(256, "<i4")
        header[:3] = *KINDS[self.facts.dtype.itemsize], self.shard.tokens
        found = np.fromfile(self.path("ids"), "<i4", 256)
        for place in np.flatnonzero(found != header[: len(found)])[:1]:
            what = {0: "the magic number", 1: "the version", 2: "the number of tokens"}.get(int(place), "nothing")
            message = f"header[{place}] is {found[place]}, expected {header[place]}, {what}"
            yield Fault(self.names["ids"], message)
        yield from super().faults()


class Datatrove(Stored):
    """Ends in `.index`, and two facts as text."""

    def faults(self) -> Iterator[Fault]:
        shard, facts = self.shard, self.facts
        bad = [*super().faults(), *self._size("ends", 0, np.dtype("<u8"), shard.documents, "ends of documents")]
        yield from bad
        text = f"{facts.encoding}|{facts.dtype.itemsize}\n{shard.tokens}\n{datatrove.rounded(shard.tokens)}"
        found = self.path("metadata").read_bytes()
        if found != text.encode():
            yield Fault(self.names["metadata"], f"is {found[:200]!r}, expected {text!r}")
        if not bad:
            yield from self._ordered("ends", "end")

    def ends(self, first: int) -> NDArray[np.int64]:
        return np.fromfile(self.path("ends"), "<i8", CHUNK, offset=8 * first)


class Npy(Stored):
    """Two arrays, each with NumPy's header."""

    def faults(self) -> Iterator[Fault]:
        shard, dtype, place = self.shard, self.facts.dtype, np.dtype("<i8")
        bad = [
            *self._head("ids", npy.header(dtype, shard.tokens), f"{dtype.name}, {shard.tokens:,} ids"),
            *self._head("offsets", npy.header(place, shard.documents + 1), f"int64, {shard.documents + 1:,} offsets"),
            *super().faults(),
            *self._size("offsets", 128, place, shard.documents + 1, "offsets"),
        ]
        yield from bad
        if not bad:
            start = int(np.fromfile(self.path("offsets"), place, 1, offset=128)[0])
            if start:
                yield Fault(self.names["offsets"], f"offset 0 is {start}, expected 0")
            yield from self._ordered("offsets", "end")

    def ends(self, first: int) -> NDArray[np.int64]:
        return np.fromfile(self.path("offsets"), "<i8", CHUNK, offset=136 + 8 * first)


class Megatron(Stored):
    """Lengths and places of sequences, and the first sequence of each document."""

    def faults(self) -> Iterator[Fault]:
        yield from (ids := list(super().faults()))
        dtype, documents, path = self.facts.dtype, self.shard.documents, self.path("idx")
        head = b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, CODES[dtype.str])
        yield from self._head("idx", head, f"MMIDIDX, version 1, code {CODES[dtype.str]} for {dtype.name}")
        with open(path, "rb") as file:
            numbers = file.read(34)[18:]
        sequences, count = struct.unpack("<QQ", numbers.ljust(16, b"\0"))
        size, expected = path.stat().st_size, 34 + 12 * sequences + 8 * (documents + 1)
        name = self.names["idx"]
        if count != documents + 1:
            yield Fault(name, f"counts {count:,} places of documents, expected {documents + 1:,}")
        elif size != expected:
            yield Fault(name, f"has {size:,} bytes, expected {expected:,} for {sequences:,} sequences")
        elif not ids:
            yield from self._sequences(sequences)
            yield from self._documents(sequences)

    def _sequences(self, count: int) -> Iterator[Fault]:
        place, name = 0, self.names["idx"]
        for first in range(0, count, CHUNK):
            some = min(CHUNK, count - first)
            lengths = np.fromfile(self.path("idx"), "<i4", some, offset=34 + 4 * first).astype(np.int64)
            places = np.fromfile(self.path("idx"), "<i8", some, offset=34 + 4 * count + 8 * first)
            if (lengths <= 0).any():
                bad = int(np.argmax(lengths <= 0))
                yield Fault(name, f"the length of sequence {first + bad:,} is {lengths[bad]}, expected at least 1")
                return
            wanted = place + (np.cumsum(lengths) - lengths) * self.facts.dtype.itemsize
            if (places != wanted).any():
                bad = int(np.argmax(places != wanted))
                message = f"sequence {first + bad:,} begins at byte {places[bad]:,}, expected {wanted[bad]:,}"
                yield Fault(name, f"{message} by the lengths before it")
                return
            place = int(wanted[-1] + lengths[-1] * self.facts.dtype.itemsize)
        if place != self.shard.tokens * self.facts.dtype.itemsize:
            yield Fault(name, f"the sequences have {place:,} bytes, expected {self.shard.tokens:,} tokens")

    def _documents(self, sequences: int) -> Iterator[Fault]:
        before, count, name = 0, self.shard.documents + 1, self.names["idx"]
        for first in range(0, count, CHUNK):
            offset = 34 + 12 * sequences + 8 * first
            numbers = np.fromfile(self.path("idx"), "<i8", min(CHUNK, count - first), offset=offset)
            steps = np.diff(numbers, prepend=before)
            wrong = (
                (steps < 0) | (steps > 1) if first else np.append(numbers[:1] != 0, (steps[1:] < 0) | (steps[1:] > 1))
            )
            if wrong.any():
                bad = int(np.argmax(wrong))
                yield Fault(
                    name,
                    f"document {first + bad:,} begins at sequence {numbers[bad]:,}, expected one more at most than the one before it",
                )
                return
            before = int(numbers[-1])
        if before != sequences:
            yield Fault(name, f"the last document ends at sequence {before:,}, expected {sequences:,}, all")

    def ends(self, first: int) -> NDArray[np.int64]:
        path, itemsize = self.path("idx"), self.facts.dtype.itemsize
        [sequences] = np.fromfile(path, "<i8", 1, offset=18)
        count = min(CHUNK, self.shard.documents - first)
        if count <= 0:
            return np.zeros(0, np.int64)
        after = np.fromfile(path, "<i8", count, offset=34 + 12 * sequences + 8 * (first + 1))
        low, high = int(after[0]), min(int(after[-1]) + 1, int(sequences))
        places = np.fromfile(path, "<i8", max(high - low, 0), offset=34 + 4 * sequences + 8 * low)
        places = np.append(places // itemsize, self.shard.tokens)
        ends: NDArray[np.int64] = places[np.minimum(after - low, len(places) - 1)]
        return ends


class Table(Stored):
    """Rows in groups, with the ids of a document in each."""

    def __init__(self, facts: Facts, shard: Shard, split: str) -> None:
        super().__init__(facts, shard, split)
        self._begins: list[int] = []
        """The first token of each group that has been read, in order."""
        self._last: tuple[int, NDArray[Any]] | None = None

    def faults(self) -> Iterator[Fault]:
        name, shard = self.names["table"], self.shard
        try:
            file = self._open()
            schema = file.schema_arrow if isinstance(file, pq.ParquetFile) else file.schema
            expected = pa.list_(pa.from_numpy_dtype(self.facts.dtype))
            fields = {field.name: field.type for field in schema}
            listed = [column for column in fields if column != "input_ids"]
            if fields.get("input_ids") != expected:
                yield Fault(name, f"input_ids is of type {fields.get('input_ids')}, expected {expected}")
                return
            if shard.documents and sorted(listed) != sorted(self.facts.kept):
                yield Fault(name, f"has the columns {listed} beside input_ids, expected {list(self.facts.kept)}")
            rows = tokens = 0
            for number in range(self._count(file)):
                column = self._column(file, number)
                column.validate(full=True)
                rows, tokens = rows + len(column), tokens + len(column.flatten())
                if column.null_count or column.flatten().null_count:
                    yield Fault(name, f"group {number} of rows has nulls, expected none")
            if (rows, tokens) != (shard.documents, shard.tokens):
                message = f"has {rows:,} rows with {tokens:,} ids, expected {shard.documents:,} with {shard.tokens:,}"
                yield Fault(name, message)
        except (pa.ArrowException, OSError, IndexError) as error:
            yield Fault(name, f"cannot be read: {' '.join(str(error).split())}")

    def groups(self) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of each group and where its documents end in them."""
        file, self._begins, begin = self._open(), [], 0
        for number in range(self._count(file)):
            column = self._column(file, number)
            offsets = column.offsets.to_numpy().astype(np.int64)
            ids = column.flatten().to_numpy()
            self._last = number, ids
            self._begins.append(begin)
            begin += len(ids)
            yield ids, offsets[1:] - offsets[0]

    def read(self, begin: int, end: int) -> NDArray[Any]:
        if begin == end:
            return np.zeros(0, self.facts.dtype)
        if not self._begins:
            for _ in self.groups():
                pass
        number = int(np.searchsorted(self._begins, begin, "right")) - 1
        if self._last is None or self._last[0] != number:
            self._last = number, self._column(self._open(), number).flatten().to_numpy()
        first = self._begins[number]
        some: NDArray[Any] = self._last[1][begin - first : end - first]
        return some

    def _open(self) -> Any:
        path = self.path("table")
        file = pa.OSFile(os.fsencode(path))
        return pq.ParquetFile(file) if path.suffix == ".parquet" else pa.ipc.open_file(file)

    def _count(self, file: Any) -> int:
        return int(file.num_row_groups if isinstance(file, pq.ParquetFile) else file.num_record_batches)

    def _column(self, file: Any, number: int) -> Any:
        if isinstance(file, pq.ParquetFile):
            return pa.concat_arrays(file.read_row_group(number, columns=["input_ids"])["input_ids"].chunks)
        return file.get_batch(number).column("input_ids")


KINDS_OF_STORED: dict[str, type[Stored]] = {
    "nanogpt": Stored,
    "llmc": LLMC,
    "megatron": Megatron,
    "datatrove": Datatrove,
    "npy": Npy,
    "parquet": Table,
    "arrow": Table,
}
