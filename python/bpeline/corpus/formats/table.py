"""Parquet and Arrow: a row a document, `input_ids: list<uint16>` (or `uint32`) beside the columns that were kept.

Groups of rows are cut by the numbers of rows and of tokens, so their bytes depend on the documents alone; each is written as soon as
it is whole. A row is held in memory as a whole; a document of 2^31 tokens or more does not fit one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from ...errors import CorpusError
from .layout import Layout, Names

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from ..folder import Growing
    from ..spool import Spool

GROUP_ROWS, GROUP_TOKENS = 1 << 16, 1 << 21


class Table(Layout):
    """What is the same for both."""

    eot = "none"
    has_columns = True
    shard_tokens = 10**8
    suffix: ClassVar[str]

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        return {"table": [f"{split}-{number:05d}.{self.suffix}"]}

    def follow(self, spool: "Spool") -> None:
        rows = spool.ahead
        token, row = (0, 0) if rows is None else (rows.token, rows.row)
        if spool.tokens - token >= GROUP_TOKENS or spool.documents - row >= GROUP_ROWS:
            self._rows(spool).write(is_all=False)

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        rows = self._rows(spool)
        rows.write(is_all=True)
        rows.writer.close()
        [name] = self.finals(names, spool.split, spool.number)["table"]
        return {name: rows.file}

    def _rows(self, spool: "Spool") -> "Rows":
        rows: Rows = spool.ahead or Rows(spool, self.writer)
        spool.ahead = rows
        return rows

    def writer(self, file: "_Sink", fields: pa.Schema) -> Any:
        """What writes batches to a file, each as a group of rows."""
        raise NotImplementedError


class Parquet(Table):
    """What `datasets`, polars, duckdb and all others read."""

    suffix = "parquet"

    def writer(self, file: "_Sink", fields: pa.Schema) -> "pq.ParquetWriter":
        import pyarrow.parquet as pq

        # The least and the largest id of a group are of no use, and take a tenth of the time.
        columns = fields.names[1:]
        return pq.ParquetWriter(file, fields, compression="zstd", use_dictionary=False, write_statistics=columns)


class Arrow(Table):
    """An Arrow IPC file, which can be mapped into memory."""

    suffix = "arrow"

    def writer(self, file: "_Sink", fields: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
        return pa.ipc.new_file(file, fields)


class Rows:
    """The file of a shard, as far as its groups of rows are settled: at most GROUP_ROWS that reach GROUP_TOKENS with the last.

    A job that goes on writes it anew, from what the spool holds.
    """

    def __init__(self, spool: "Spool", writer: Callable[["_Sink", pa.Schema], Any]) -> None:
        self.spool, self.file = spool, spool.new("table")
        self.token = self.row = 0
        """What is written."""
        ids = pa.field("input_ids", pa.list_(pa.from_numpy_dtype(spool.dtype)))
        self.fields = pa.schema([ids, *(spool.kept_schema() or [])])
        try:
            self.writer = writer(_Sink(self.file), self.fields)
        except pa.ArrowNotImplementedError as error:
            raise CorpusError(f"a column to keep is of a type that the format cannot hold: {error}") from error
        self.kept, self.held = spool.all_kept(), list[pa.RecordBatch]()

    def write(self, is_all: bool) -> None:
        """Write what is settled, or all there is."""
        spool = self.spool
        while self.row < spool.documents:
            ends = spool.read_ends(self.row, min(self.row + GROUP_ROWS, spool.documents))
            rows = int(np.searchsorted(ends, self.token + GROUP_TOKENS)) + 1
            if rows > len(ends):
                rows = len(ends)
                if rows < GROUP_ROWS and not is_all:
                    return
            self.writer.write_batch(self._group(ends[:rows]))

    def _group(self, ends: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.RecordBatch:
        offsets = np.concatenate([[0], ends - self.token])
        if offsets[-1] >= 1 << 31:
            raise CorpusError(f"a document has {offsets[-1]} tokens, and a row holds at most 2,147,483,647")
        ids = pa.array(self.spool.read_ids(self.token, int(ends[-1])))
        lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), ids)
        self.token, self.row = int(ends[-1]), self.row + len(ends)
        return pa.RecordBatch.from_arrays([lists, *self._columns(len(ends))], schema=self.fields)

    def _columns(self, rows: int) -> list[pa.Array]:
        """Those that were kept, of so many rows more."""
        if len(self.fields) == 1:
            return []
        while sum(map(len, self.held)) < rows:
            self.held.append(next(self.kept))
        table = pa.Table.from_batches(self.held)
        self.held = table.slice(rows).to_batches()
        return [pa.concat_arrays(column.chunks) for column in table.slice(0, rows).columns]


class _Sink:
    """A growing file as pyarrow wants one to write to."""

    closed = False

    def __init__(self, file: "Growing") -> None:
        self.file = file

    def write(self, data: bytes) -> int:
        if not self.file.is_closed:  # a writer that is given up ends its file all the same
            self.file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.file.length

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """The shard closes its files itself."""
