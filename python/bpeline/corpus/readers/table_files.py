"""The batches of Parquet and Arrow files, each by its reader in pyarrow."""

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from .. import documents
from ..documents import Place, Source
from ..opening import Content, Quiet, Unusable, failure, is_damage, is_url
from .batch import Batch
from .rows import lowered

MOST_ROWS = 1 << 16
"""Of one batch: a document that a dictionary holds once may be written many times."""


def wanted(source: Source, names: list[str]) -> list[str]:
    """The columns to read; an error if the table lacks one."""
    columns = asked(source)
    for column in columns:
        if names.count(column) > 1:
            raise Unusable(f"{names.count(column)} columns are named {column!r}")
        if column not in names:
            raise Unusable(f"no column {column!r}; the columns are: {', '.join(map(repr, names[:50])) or 'none'}")
    return columns


def asked(source: Source) -> list[str]:
    return list(dict.fromkeys((source.options.column, *source.options.keep)))


class Table:
    """An open file of a table, for pyarrow."""

    def __init__(self, source: Source) -> None:
        self.content = Content(source)
        self.kind = source.kind
        self.is_plain = source.compression is None and source.size is not None and not is_url(source.url)
        file = Quiet(self.content) if source.kind == "csv" else self.content.file
        self.file = pa.OSFile(os.fsencode(source.url)) if self.is_plain else pa.PythonFile(file, mode="r")
        self.told = 0

    @property
    def can_seek(self) -> bool:
        return self.content.file.seekable()

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
            raise Unusable(f"not valid {self.kind}: {lowered(str(error).splitlines()[0])}") from error
        if isinstance(error, UnicodeDecodeError):
            raise Unusable(f"not valid {self.kind}: the name of a column is not UTF-8") from error
        if isinstance(error, Exception) and is_damage(error):
            raise Unusable(failure(error, self.content.compression or self.kind)) from error


def share(source: Source, begin: int, end: int, total: int) -> int:
    """The bytes of a file that are counted for a part of it."""
    size = source.size or 0
    return size * end // max(total, 1) - size * begin // max(total, 1)


def parquet(source: Source, start: Place) -> Iterator[Batch]:
    import pyarrow.parquet

    with Table(source) as table:
        if not table.can_seek:
            raise Unusable("parquet cannot be read from a stream: its end must be read first")
        file = pyarrow.parquet.ParquetFile(table.file)
        columns = wanted(source, file.schema_arrow.names)
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        sizes = [text_size(group, source.options.column) for group in groups]
        before = start.line
        for begin, end_group in together(sizes, start.seek, source.end):
            rows, size = sum(group.num_rows for group in groups[begin:end_group]), sum(sizes[begin:end_group])
            most = max(1, min(MOST_ROWS, rows * documents.BATCH_BYTES // max(size, 1)))
            first = before
            for batch in file.iter_batches(most, range(begin, end_group), columns, use_threads=False):
                end = first + batch.num_rows
                if end > start.document:
                    stored = share(source, first, end, file.metadata.num_rows)
                    yield Batch(batch, first, stored, begin, before)
                first = end
            before += rows


def together(sizes: list[int], begin: int, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The groups of rows that are read together, from one to another: small ones, as many as make a batch."""
    end = len(sizes) if end is None else end
    while begin < end:
        index, size = begin, 0
        while index < end and size < documents.BATCH_BYTES:
            size += sizes[index]
            index += 1
        yield begin, index
        begin = index


def text_size(group: Any, name: str) -> int:
    columns = (group.column(index) for index in range(group.num_columns))
    return sum(column.total_uncompressed_size for column in columns if column.path_in_schema == name)


def arrow(source: Source, start: Place) -> Iterator[Batch]:
    with Table(source) as table:
        yield from (from_file if is_file(table) else from_stream)(source, table, start)


def is_file(table: Table) -> bool:
    """Whether it is Arrow's form for files; what cannot be rewound must be the other."""
    if not table.can_seek:
        return False
    begin = table.file.read(6)
    table.file.seek(0)
    return bool(begin == b"ARROW1")


def from_file(source: Source, table: Table, start: Place) -> Iterator[Batch]:
    names = pyarrow.ipc.open_file(table.file).schema.names
    fields = sorted(names.index(column) for column in wanted(source, names))
    options = pyarrow.ipc.IpcReadOptions(use_threads=False, included_fields=fields)
    reader = pyarrow.ipc.open_file(table.file, options=options)
    first = start.line
    for index in range(start.seek, reader.num_record_batches if source.end is None else source.end):
        batch = reader.get_batch(index)
        well_formed(batch, source)
        if first + batch.num_rows > start.document:
            yield Batch(batch, first, share(source, index, index + 1, reader.num_record_batches), index, first)
        first += batch.num_rows


def from_stream(source: Source, table: Table, start: Place) -> Iterator[Batch]:
    """Batches that can only be read from the first on."""
    reader = pyarrow.ipc.open_stream(table.file, options=pyarrow.ipc.IpcReadOptions(use_threads=False))
    wanted(source, reader.schema.names)
    first = 0
    for batch in reader:
        well_formed(batch, source)
        if first + batch.num_rows > start.document:
            yield Batch(batch, first, table.read_since())
        first += batch.num_rows


def well_formed(batch: pa.RecordBatch, source: Source) -> None:
    """Raises for offsets that lead out of the memory: a damaged file must not be the end of the process."""
    bare = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    for name in asked(source):
        column = batch.column(name)
        column.validate()
        if column.type in bare:  # bytes that are no UTF-8 are the matter of one row
            column = column.view(bare[column.type])
        if not pa.types.is_string_view(column.type):
            column.validate(full=True)
