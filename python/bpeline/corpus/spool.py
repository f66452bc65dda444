"""A shard that still grows: its ids, the ends of its documents, its columns, each in a file that only gets longer.

So a shard of any format goes on from any checkpoint: its files are cut to the lengths that they had then.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import CorpusError
from .folder import PART, Folder, Growing
from .formats import Layout, Names
from .manifest import Mark, Shard

BLOCK = 1 << 17
"""Ends of documents that are read at a time."""


class Spool:
    """One shard of one split, before it has its final form."""

    def __init__(
        self,
        folder: Folder,
        layout: Layout,
        names: Names,
        encoding: str,
        dtype: "np.dtype[Any]",
        split: str,
        state: dict[str, Any],
    ) -> None:
        self.folder, self.layout, self.names, self.encoding = folder, layout, names, encoding
        self.dtype, self.split, self.number = dtype, split, int(state["number"])
        self.tokens: int = state.get("tokens", 0)
        self.documents: int = state.get("documents", 0)
        self.first: Mark = state.get("first")
        self.last: Mark = state.get("last")
        self.is_full: bool = state.get("full", False)
        self._files: dict[str, Growing] = {}
        self._made: dict[str, Growing] = {}
        """Those that formats make of them; a job that goes on makes them anew."""
        self.ahead: Any = None
        """What the format keeps while it writes ahead."""
        self._schema: pa.Schema | None = None
        lengths = state.get("files", {})
        for kind, finals in layout.finals(names, split, self.number).items():
            if lengths.get(kind):
                folder.take_back(self._part(kind), finals)
        self.ids = self._open("ids", lengths)
        if not self.ids.length:
            self.ids.write(bytes(layout.header))
        if layout.has_ends:
            self.ends = self._open("ends", lengths)
        if "kept" in lengths:
            self._open("kept", lengths)
        if lengths or self.tokens or self.documents:
            self._check(lengths)

    def _check(self, lengths: dict[str, int]) -> None:
        """Whether the files hold what the checkpoint counts: what is appended to others would be read as something else."""
        expected = {"ids": self.layout.header + self.tokens * self.dtype.itemsize}
        if self.layout.has_ends:
            expected["ends"] = 8 * self.documents
        rows = self.documents
        if "kept" in lengths:
            expected["kept"] = lengths["kept"]
            try:
                rows = sum(map(len, self.all_kept()))
            except (pa.ArrowException, OSError):
                rows = -1
        if lengths != expected or rows != self.documents:
            self.close()
            raise CorpusError(
                f"{self.folder.path / self._part('ids')}: what manifest.json counts of it and of the files beside it does not fit; "
                "--overwrite starts the job anew"
            )

    def state(self) -> dict[str, Any]:
        """What the manifest keeps of it; all of that is on the disk."""
        for file in self._files.values():
            file.sync()
        lengths = {kind: file.length for kind, file in self._files.items()}
        numbers = {"number": self.number, "tokens": self.tokens, "documents": self.documents, "full": self.is_full}
        return {**numbers, "first": self.first, "last": self.last, "files": lengths}

    def write(self, tokens: NDArray[Any], ends: NDArray[np.int64], kept: pa.RecordBatch | None) -> None:
        """Add tokens, the ends in them of the documents that end there, and the columns of these."""
        self.ids.write(np.ascontiguousarray(tokens, self.dtype))
        if self.layout.has_ends:
            self.ends.write((ends + self.tokens).astype("<u8"))
        if kept is not None and len(ends):
            self._write_kept(kept)
        self.tokens += len(tokens)
        self.documents += len(ends)
        self.layout.follow(self)

    def absorb(self, other: "Spool") -> None:
        """Add what another shard, the next one, has; it has neither ends nor columns."""
        self.write(other.read_ids(0, other.tokens), np.zeros(0, np.int64), None)
        self.documents += other.documents
        self.last = other.last

    def finish(self, is_only: bool) -> Shard:
        """Give the files their final form and names."""
        finals = self.layout.finish(self, self.names, is_only)
        facts = {}
        for name, file in finals.items():
            file.sync()
            facts[name] = {"bytes": file.length, "sha256": file.sha256()}
        self.close()
        for name, file in finals.items():
            self.folder.rename(file.name, name)
        split = self.layout.split_of(self, self.names, is_only)
        return Shard(split, self.number, self.documents, self.tokens, facts, self.first, self.last)

    def remove(self) -> None:
        """Remove what is left of its files."""
        self.close()
        self.folder.remove(file.name for file in (*self._files.values(), *self._made.values()))

    def close(self) -> None:
        """Close all files."""
        for file in (*self._files.values(), *self._made.values()):
            file.close()

    # --- What formats ask for ---

    def new(self, kind: str) -> Growing:
        """One more file, empty."""
        file = self._made[kind] = Growing(self.folder, self._part(kind), 0)
        return file

    def read_ids(self, begin: int, end: int) -> NDArray[Any]:
        """The ids from one token to another."""
        self.ids.flush()
        place = self.layout.header + begin * self.dtype.itemsize
        return np.fromfile(self.ids.path, self.dtype, end - begin, offset=place)

    def all_ends(self) -> Iterator[NDArray[np.int64]]:
        """Where the documents end, in tokens, some documents at a time."""
        for begin in range(0, self.documents, BLOCK):
            yield self.read_ends(begin, min(begin + BLOCK, self.documents))

    def read_ends(self, begin: int, end: int) -> NDArray[np.int64]:
        """Where the documents end, in tokens, from one document to another."""
        self.ends.flush()
        return np.fromfile(self.ends.path, "<u8", end - begin, offset=8 * begin).astype(np.int64)

    def kept_schema(self) -> pa.Schema | None:
        """The columns that go along."""
        if "kept" not in self._files:
            return None
        self._files["kept"].flush()
        with pa.OSFile(os.fsencode(self._files["kept"].path)) as file, pa.ipc.open_stream(file) as reader:
            return reader.schema

    def all_kept(self) -> Iterator[pa.RecordBatch]:
        """The rows of those columns. More may be written meanwhile, and come then."""
        if "kept" in self._files:
            kept = self._files["kept"]
            kept.flush()
            with open(kept.path, "rb") as file:
                schema = pa.ipc.read_schema(file)
                while file.tell() < kept.length:
                    kept.flush()
                    batch = pa.ipc.read_record_batch(pa.ipc.read_message(file), schema)
                    batch.validate(full=True)
                    yield batch

    # --- Files ---

    def _part(self, kind: str) -> str:
        return f"{self.split}_{self.number:06d}.{kind}{PART}"

    def _open(self, kind: str, lengths: dict[str, int]) -> Growing:
        is_output = kind in self.layout.finals(self.names, self.split, self.number)
        file = self._files[kind] = Growing(self.folder, self._part(kind), lengths.get(kind, 0), is_output)
        return file

    def _write_kept(self, kept: pa.RecordBatch) -> None:
        """An Arrow stream, message by message: it can be read as far as it goes, so it can go on from any length.

        A dictionary is a message of its own, and each file has others, so the values themselves are written.
        """
        kept = kept.cast(pa.schema([field.with_type(without_dictionaries(field.type)) for field in kept.schema]))
        if "kept" not in self._files:
            self._open("kept", {}).write(kept.schema.serialize())
            self._schema = kept.schema
        self._schema = self._schema or self.kept_schema()
        if kept.schema != self._schema:
            raise CorpusError(
                f"the columns to keep are of types {_types(kept.schema)}, and were {_types(self._schema)} before"
            )
        self._files["kept"].write(kept.serialize())


def is_part(name: str) -> bool:
    """Whether a file of a folder is of a shard that grows."""
    return re.fullmatch(rf"((train|val)_\d{{6,}}\.[a-z]+|skipped\.jsonl){re.escape(PART)}", name) is not None


def without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """The type with that of their values in place of dictionaries.

    >>> import pyarrow
    >>> without_dictionaries(pyarrow.list_(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_dictionaries(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(without_dictionaries(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_dictionaries(field.type)) for field in kind])
    return kind


def _types(schema: pa.Schema | None) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema or [])
