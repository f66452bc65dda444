"""The batches of Parquet, Arrow and CSV files, each by its reader in pyarrow."""

from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from .. import documents
from ..documents import Place, Problem, Source
from ..opening import STDIN, Content, Unusable, failure, is_damage, is_url
from .rows import lowered
from .tables import Batch

LONGEST_BLOCK = 2**31 - 1
"""Of CSV, as pyarrow takes it."""
MOST_ROWS = 1 << 16
"""Of one batch: a document that a dictionary holds once may be written many times."""


def wanted(source: Source, names: list[str]) -> list[str]:
    """The columns to read; an error if the table lacks one."""
    columns = list(dict.fromkeys((source.options.column, *source.options.keep)))
    for column in columns:
        if column not in names:
            raise Unusable(f"no column {column!r}; the columns are: {', '.join(map(repr, names[:50])) or 'none'}")
    return columns


class Table:
    """An open file of a table, for pyarrow."""

    def __init__(self, source: Source) -> None:
        self.content = Content(source)
        self.kind = source.kind
        self.is_plain = source.compression is None and source.url != STDIN and not is_url(source.url)
        self.file = pa.OSFile(source.url) if self.is_plain else pa.PythonFile(self.content.file, mode="r")
        self.told = 0

    def needs_seeking(self) -> None:
        if not self.is_plain and not self.content.file.seekable():
            raise Unusable(f"{self.kind} cannot be read from a stream: its end must be read first")

    def read_since(self) -> int:
        if not self.is_plain:
            return self.content.read_since()
        before, self.told = self.told, self.file.tell()
        return max(self.told - before, 0)

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Says what pyarrow and the libraries of compression have to say as one error."""
        self.content.close()
        if isinstance(error, pa.ArrowException):
            message = lowered(str(error).splitlines()[0]) if str(error) else "unknown error"
            raise Unusable(f"not valid {self.kind}: {message}") from error
        if isinstance(error, Exception) and is_damage(error):
            if isinstance(error, OSError) and error.errno is None:  # pyarrow's
                raise Unusable(f"not valid {self.kind}: {lowered(str(error))}") from error
            raise Unusable(failure(error, self.content.compression)) from error


def share(source: Source, begin: int, end: int, total: int) -> int:
    """The bytes of a file that are counted for a part of it."""
    size = source.size or 0
    return size * end // max(total, 1) - size * begin // max(total, 1)


def parquet(source: Source, start: Place) -> Iterator[Batch]:
    with Table(source) as table:
        table.needs_seeking()
        file = pyarrow.parquet.ParquetFile(table.file)
        columns = wanted(source, file.schema_arrow.names)
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        sizes = [text_size(group, source.options.column) for group in groups]
        index, before = start.seek, start.line
        while index < len(groups):
            begin, rows, size = index, 0, 0
            while index < len(groups) and size < documents.BATCH_BYTES:  # small groups go together
                rows += groups[index].num_rows
                size += sizes[index]
                index += 1
            most = max(1, min(MOST_ROWS, rows * documents.BATCH_BYTES // max(size, 1)))
            first = before
            for batch in file.iter_batches(most, range(begin, index), columns, use_threads=False):
                end = first + batch.num_rows
                if end > start.document:
                    stored = share(source, first, end, file.metadata.num_rows)
                    yield Batch(batch, first, stored, begin, before)
                first = end
            before += rows


def text_size(group: Any, name: str) -> int:
    columns = (group.column(index) for index in range(group.num_columns))
    return sum(column.total_uncompressed_size for column in columns if column.path_in_schema == name)


def arrow(source: Source, start: Place) -> Iterator[Batch]:
    with Table(source) as table:
        if source.size == 0:
            return
        table.needs_seeking()
        is_file = table.file.read(6) == b"ARROW1"
        open_one = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
        table.file.seek(0)
        names = open_one(table.file).schema.names
        fields = sorted(names.index(column) for column in wanted(source, names))
        table.file.seek(0)
        options = pyarrow.ipc.IpcReadOptions(use_threads=False, included_fields=fields)
        reader = open_one(table.file, options=options)
        if not is_file:
            yield from streamed(reader, table, start)
            return
        first = start.line
        for index in range(start.seek, reader.num_record_batches):
            batch = reader.get_batch(index)
            if first + batch.num_rows > start.document:
                yield Batch(batch, first, share(source, index, index + 1, reader.num_record_batches), index, first)
            first += batch.num_rows


def streamed(reader: Any, table: Table, start: Place) -> Iterator[Batch]:
    """Batches that can only be read from the first on."""
    first = 0
    for batch in reader:
        if first + batch.num_rows > start.document:
            yield Batch(batch, first, table.read_since())
        first += batch.num_rows


def csv(source: Source, start: Place) -> Iterator[Batch]:
    """Values are strings, the kept ones too: CSV has no types. A row longer than a block makes all blocks longer."""
    size, given = documents.BATCH_BYTES, 0
    while True:
        try:
            for batch in csv_blocks(source, size):
                if batch.end > given:
                    batch = batch.after(given)
                    given = batch.end
                    if given > start.document:
                        yield batch
            return
        except Unusable as error:
            if "straddling object" not in error.message or size == LONGEST_BLOCK:
                raise
            size = min(4 * size, LONGEST_BLOCK)


def csv_blocks(source: Source, size: int) -> Iterator[Batch]:
    bad: deque[Problem] = deque()  # pyarrow parses a block ahead

    def misfit(row: Any) -> str:
        message = f"expected {row.expected_columns} columns, found {row.actual_columns}"
        bad.append(Problem(source.url, message, row.number - 1))
        return "skip" if source.options.on_error == "skip" else "error"

    with Table(source) as table:
        if source.size == 0:
            return
        parse = pyarrow.csv.ParseOptions(
            delimiter="\t" if source.url.lower().split(".")[-1 - (source.compression is not None)] == "tsv" else ",",
            newlines_in_values=True,
            invalid_row_handler=misfit,
        )
        read = pyarrow.csv.ReadOptions(use_threads=False, block_size=size)
        names = [source.options.column, *source.options.keep]
        convert = pyarrow.csv.ConvertOptions(
            check_utf8=False, include_columns=list(dict.fromkeys(names)), column_types=dict.fromkeys(names, pa.binary())
        )
        try:
            reader = pyarrow.csv.open_csv(table.file, read, parse, convert)
            first = 0
            for rows in reader:
                end, among = first + rows.num_rows, []
                while bad and (bad[0].line or 0) <= end:
                    among.append(bad.popleft())
                    end += 1
                strings = [column.view(pa.string()) for column in rows.columns]
                rows = pa.RecordBatch.from_arrays(strings, rows.schema.names)
                yield Batch(rows, first, table.read_since(), problems=tuple(among))
                first = end
            if bad:
                yield Batch(rows.slice(0, 0), first, 0, problems=tuple(bad))
        except pa.ArrowKeyError as error:
            raise Unusable(f"{lowered(str(error.args[0]))}") from None
        except pa.ArrowInvalid:
            if bad and source.options.on_error != "skip":
                raise Unusable(bad[0].message, bad[0].line) from None
            raise
