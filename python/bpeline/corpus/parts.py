"""Where one large file can be cut into parts, which several processes read at once: at groups of rows, or at ends of documents.

A place to cut is found without a look at what lies before it, so how many documents that holds is not known: what reads a part
(`Source.end`, and a `Place` with `seek`) counts from its beginning. Not every file can be cut: a compressed one, a JSON or CSV file, whose
quotes may hold anything, and a text that is one document are read as a whole.
"""

from collections.abc import Iterator

import pyarrow.ipc
import pyarrow.parquet

from .documents import Source
from .opening import Stored, Unusable
from .readers.table_files import Table, is_file, text_size, together

FIRST_LOOK = 1 << 16
"""Bytes that are looked through at first for the end of a document."""


def cuts(source: Source, every: int, after: int = 0) -> Iterator[int]:
    """Places behind `after` that make parts of about `every` bytes, as `Place.seek` counts. None for a file that nobody can read:
    what is wrong with it is told by who tries."""
    if source.compression is not None or source.size is None or source.size < 2 * every:
        return
    try:
        if source.kind == "parquet":
            yield from _of_groups(source, every, after)
        elif source.kind == "arrow":
            yield from _of_batches(source, every, after)
        elif (mark := _separator(source)) is not None:
            yield from _of_bytes(source, mark, every, after)
    except (Unusable, OSError):
        return


def _separator(source: Source) -> bytes | None:
    if source.kind in ("lines", "jsonl"):
        return b"\n"
    return source.options.separator.encode() if source.kind == "text" and source.options.separator else None


def _of_bytes(source: Source, mark: bytes, every: int, after: int) -> Iterator[int]:
    assert source.size is not None
    file = Stored(source.url)
    try:
        for begin in range((after // every + 1) * every, source.size, every):
            found = behind(file, mark, begin, min(begin + every, source.size))
            if found is not None:
                yield found
    finally:
        file.close()


def behind(file: Stored, mark: bytes, begin: int, end: int) -> int | None:
    """Where, from one byte up to another, the first document begins, which is behind a mark.

    Who reads from the front takes a mark that overlaps an earlier one for text. So one counts only where nothing before can overlap it.
    """
    low, size = max(begin - 2 * len(mark), 0), FIRST_LOOK
    while True:
        file.seek(low)
        text = file.read(min(size, end - low)) or b""
        last, at = -len(mark), text.find(mark)
        while at >= 0:
            place = low + at + len(mark)
            if at - last >= len(mark) and begin <= place < end:
                return place
            last, at = at, text.find(mark, at + 1)
        if len(text) < size:
            return None
        size *= 4


def _of_groups(source: Source, every: int, after: int) -> Iterator[int]:
    """Between groups that are read together, as they are from the file's beginning."""
    with Table(source) as table:
        file = pyarrow.parquet.ParquetFile(table.file)
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        rows, parts = 0, 0
        for begin, end in together([text_size(group, source.options.column) for group in groups], 0):
            part = _part(source, rows, file.metadata.num_rows, every)
            if part > parts and begin > after:
                yield begin
            parts, rows = part, rows + sum(group.num_rows for group in groups[begin:end])


def _of_batches(source: Source, every: int, after: int) -> Iterator[int]:
    with Table(source) as table:
        if is_file(table):
            count = pyarrow.ipc.open_file(table.file).num_record_batches
            for index in range(after + 1, count):
                if _part(source, index, count, every) > _part(source, index - 1, count, every):
                    yield index


def _part(source: Source, index: int, count: int, every: int) -> int:
    """The number of the part that something is in, if all of the file are of one size."""
    return (source.size or 0) * index // (max(count, 1) * every)
