"""The batches of CSV files, by pyarrow's reader of streams.

That reads ahead: when a row or the file turns out bad, batches before are still to come. So rows that do not fit are put in
their places by their numbers, and a file that breaks off is read to its last whole row before that is told.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv

from .. import documents
from ..documents import Place, Problem, Source
from ..opening import Unusable
from .batch import Batch
from .table_files import Table, asked, wanted

LONGEST_BLOCK = 2**31 - 1
"""As pyarrow takes it."""
BLOCKS = 16
"""To a batch, since pyarrow reads some thirty ahead."""


def batches(source: Source, start: Place) -> Iterator[Batch]:
    """Values are strings, the kept ones too: CSV has no types. A row longer than a block makes all blocks longer."""
    size, given = max(documents.BATCH_BYTES // BLOCKS, 64), 0
    while True:
        try:
            for batch in blocks(source, size):
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


def blocks(source: Source, size: int) -> Iterator[Batch]:
    bad: deque[Problem] = deque()

    def misfit(row: Any) -> str:
        message = f"expected {row.expected_columns} columns, found {row.actual_columns}"
        bad.append(Problem(source.url, message, row.number - 1))
        return "skip" if source.options.on_error == "skip" else "error"

    with Table(source) as table:
        if source.size == 0 and source.compression is None:
            return
        fault: Exception | None = None
        held = None
        try:
            for rows in opened(source, table, size, misfit):
                if held is not None:
                    yield held
                first = held.end if held is not None else 0
                held = Batch(rows, first, table.read_since(), problems=among(bad, first + rows.num_rows))
        except pa.ArrowInvalid as error:
            fault = error
            if bad and source.options.on_error != "skip":
                fault = Unusable(bad[0].message, bad[0].line)
        # After a fault it is chance whether reading ahead has met the end; where one goes on, that must not matter.
        at_end = fault is None or "Empty CSV file" in str(fault) or source.options.on_error != "skip"
        if table.content.failure is not None and at_end:
            fault = table.content.failure
            if bad:  # the last row may be half a row
                bad.pop()
            elif held is not None:
                held = held.without_last()
        if held is not None:
            yield held
        if bad:
            none = pa.array([], pa.string())
            rows = pa.RecordBatch.from_arrays([none for _ in asked(source)], asked(source))
            yield Batch(rows, held.end if held is not None else 0, 0, problems=tuple(bad))
        if fault is not None:
            raise fault


def among(bad: deque[Problem], end: int) -> tuple[Problem, ...]:
    """Takes the rows from `bad` that lie among others, the last of which has the number `end` if none of these count."""
    found: list[Problem] = []
    while bad and (bad[0].line or 0) <= end + len(found):
        found.append(bad.popleft())
    return tuple(found)


def opened(source: Source, table: Table, size: int, misfit: Any) -> Iterator[pa.RecordBatch]:
    name = source.url.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2").removesuffix(".xz")
    parse = pyarrow.csv.ParseOptions(
        delimiter="\t" if name.endswith(".tsv") else ",", newlines_in_values=True, invalid_row_handler=misfit
    )
    read = pyarrow.csv.ReadOptions(use_threads=False, block_size=size)
    columns = asked(source)
    kinds = dict.fromkeys(columns, pa.binary())  # strings, which the reader of tables checks by the row
    convert = pyarrow.csv.ConvertOptions(check_utf8=False, include_columns=columns, column_types=kinds)
    try:
        reader = pyarrow.csv.open_csv(table.file, read, parse, convert)
    except pa.ArrowKeyError:
        wanted(source, all_columns(source, read, parse.delimiter))
        raise
    wanted(source, all_columns(source, read, parse.delimiter))
    with reader:
        gathered: list[pa.RecordBatch] = []
        try:
            for rows in reader:
                gathered.append(rows)
                if sum(rows.nbytes for rows in gathered) >= documents.BATCH_BYTES:
                    yield joined(gathered)
                    gathered = []
        except pa.ArrowInvalid:
            if gathered:
                yield joined(gathered)
            raise
        if gathered:
            yield joined(gathered)


def all_columns(source: Source, read: Any, delimiter: str) -> list[str]:
    """The columns of a file; of a stream, which cannot be opened twice, those that are asked for."""
    if source.size is None:
        return asked(source)
    lenient = pyarrow.csv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda row: "skip"
    )
    with Table(source) as table, pyarrow.csv.open_csv(table.file, read, lenient) as reader:
        names: list[str] = reader.schema.names
        return names


def joined(gathered: list[pa.RecordBatch]) -> pa.RecordBatch:
    names = gathered[0].schema.names
    columns = [pa.concat_arrays([rows.column(name) for rows in gathered]).view(pa.string()) for name in names]
    return pa.RecordBatch.from_arrays(columns, names)
