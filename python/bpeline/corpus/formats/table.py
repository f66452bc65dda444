"""Parquet and Arrow: a row a document, `input_ids: list<uint16>` (or `uint32`) beside the columns that were kept.

Groups of rows are cut by the numbers of rows and of tokens, so their bytes depend on the documents alone. A row is held in memory as a
whole; a document of 2^31 tokens or more does not fit one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorpusError
from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool

GROUP_ROWS, GROUP_TOKENS = 1 << 16, 1 << 23


class Table(Layout):
    """What is the same for both."""

    eot = "none"
    has_columns = True
    shard_tokens = 10**8
    suffix: ClassVar[str]

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        return {"table": [f"{split}-{number:05d}.{self.suffix}"]}

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        file = spool.new("table")
        self.write(spool, file)
        [name] = self.finals(names, spool.split, spool.number)["table"]
        return {name: file}

    def write(self, spool: "Spool", file: "Growing") -> None:
        """Write all rows of a shard."""
        raise NotImplementedError


class Parquet(Table):
    """What `datasets`, polars, duckdb and all others read."""

    suffix = "parquet"

    def write(self, spool: "Spool", file: "Growing") -> None:
        with pq.ParquetWriter(_Sink(file), schema(spool), compression="zstd", use_dictionary=False) as writer:
            for group in groups(spool):
                writer.write_batch(group, row_group_size=max(len(group), 1))


class Arrow(Table):
    """An Arrow IPC file, which can be mapped into memory."""

    suffix = "arrow"

    def write(self, spool: "Spool", file: "Growing") -> None:
        with pa.ipc.new_file(_Sink(file), schema(spool)) as writer:
            for group in groups(spool):
                writer.write_batch(group)


def schema(spool: "Spool") -> pa.Schema:
    """`input_ids`, then the columns that were kept."""
    ids = pa.field("input_ids", pa.list_(pa.from_numpy_dtype(spool.dtype)))
    return pa.schema([ids, *(spool.kept_schema() or [])])


def groups(spool: "Spool") -> Iterator[pa.RecordBatch]:
    """The rows of a shard in groups of at most GROUP_ROWS that reach GROUP_TOKENS with the last."""
    columns = _Rows(spool.all_kept())
    fields, begin = schema(spool), 0
    for ends in _ends_of_groups(spool):
        offsets = np.concatenate([[begin], ends])
        if offsets[-1] - begin >= 1 << 31:
            raise CorpusError(f"a document has {offsets[-1] - begin} tokens, and a row holds at most 2,147,483,647")
        ids = pa.array(spool.read_ids(begin, int(offsets[-1])))
        lists = pa.ListArray.from_arrays(pa.array((offsets - begin).astype(np.int32)), ids)
        yield pa.RecordBatch.from_arrays([lists, *columns.take(len(ends), fields)], schema=fields)
        begin = int(offsets[-1])


def _ends_of_groups(spool: "Spool") -> Iterator["np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    begin, held = 0, np.zeros(0, np.int64)
    for ends in spool.all_ends():
        held = np.concatenate([held, ends])
        while len(held):
            rows = min(int(np.searchsorted(held, begin + GROUP_TOKENS)) + 1, GROUP_ROWS)
            if rows > len(held):
                break
            yield held[:rows]
            begin, held = int(held[rows - 1]), held[rows:]
    if len(held):
        yield held


class _Rows:
    """Rows out of batches, as many as are asked for."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.batches, self.held = batches, list[pa.RecordBatch]()

    def take(self, rows: int, fields: pa.Schema) -> list[pa.Array]:
        if len(fields) == 1:
            return []
        while sum(map(len, self.held)) < rows:
            self.held.append(next(self.batches))
        table = pa.Table.from_batches(self.held)
        self.held = table.slice(rows).to_batches()
        return [pa.concat_arrays(column.chunks) for column in table.slice(0, rows).columns]


class _Sink:
    """A growing file as pyarrow wants one to write to."""

    closed = False

    def __init__(self, file: "Growing") -> None:
        self.file = file

    def write(self, data: bytes) -> int:
        self.file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.file.length

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """The shard closes its files itself."""
