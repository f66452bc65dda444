"""Tables: Parquet by groups of rows, Arrow by record batches, CSV by blocks; a document a row, in one of the columns.

The text is read where it lies and checked to be UTF-8. A column of bytes is as good as one of strings. Of Parquet, one group
of rows is held at a time; of Arrow, one record batch.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ..._backend import are_utf8
from .. import documents
from ..documents import Documents, Place, Problem, Source, nothing, offsets_of
from ..opening import Unusable
from .batch import Batch
from .rows import lowered, storable


def read(source: Source, start: Place) -> Iterator[Documents]:
    place = start
    try:
        for batch in batches_of(source, start):
            texts = plain(batch.rows.column(source.options.column), source.options.column)
            size, problems = batch.size, batch.problems
            for begin, end in parts(texts):
                if (batch.before(begin) if begin else batch.first) >= start.document:
                    yield checked(source, batch, texts[begin:end], begin, size, problems)
                size, problems = 0, ()
            place = Place(source.number, batch.end, batch.seek, line=batch.line)
        if source.end is not None:
            yield nothing(Place(source.number, place.document, source.end, line=place.document))
    except Unusable as bad:
        bad.place = place
        raise


def batches_of(source: Source, start: Place) -> Iterator[Batch]:
    if source.kind == "csv":
        from . import csv_file

        return csv_file.batches(source, start)
    from . import table_files

    return table_files.parquet(source, start) if source.kind == "parquet" else table_files.arrow(source, start)


def plain(column: pa.Array, name: str) -> pa.Array:
    """A column of text as strings, not looked into."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):  # pyarrow cannot tell their lengths
        return column.cast(pa.large_binary()).view(pa.large_string())
    if pa.types.is_binary(kind):
        return column.view(pa.string())
    if pa.types.is_large_binary(kind):
        return column.view(pa.large_string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    raise Unusable(f"expected strings in the column {name!r}, found {kind}")


def parts(texts: pa.Array) -> Iterator[tuple[int, int]]:
    """Where to cut a batch so that none is much larger than it should be."""
    offsets = offsets_of(texts)
    ends = offsets[1:].astype(np.int64) - int(offsets[0])
    begin = 0
    if not len(ends):
        yield 0, 0
    while begin < len(ends):
        before, end = int(ends[begin - 1]) if begin else 0, len(ends)
        if int(ends[-1]) - before > 2 * documents.BATCH_BYTES:  # else a small one would be left
            end = max(int(np.searchsorted(ends, before + documents.BATCH_BYTES, side="right")), begin + 1)
        yield begin, end
        begin = end


def checked(
    source: Source, batch: Batch, texts: pa.Array, begin: int, size: int, unread: tuple[Problem, ...]
) -> Documents:
    """The documents of a part of a batch, without those that are not valid."""
    keep = source.options.keep
    kept = batch.rows.slice(begin, len(texts)).select(list(keep)) if keep else None
    if kept is not None:
        storable(kept.schema)
    problems = list(unread)
    good = np.ones(len(texts), dtype=bool)
    for index, message in faults(texts, kept):
        row = batch.before(begin + index) + 1
        if source.options.on_error != "skip":
            raise Unusable(message, row)
        problems.append(Problem(source.url, message, row))
        good[index] = False
    if not good.all():
        texts = texts.filter(pa.array(good))
        kept = kept.filter(pa.array(good)) if kept is not None else None
    first = batch.first if begin == 0 else batch.before(begin)
    place = Place(source.number, first, batch.seek, line=batch.line)
    return Documents(place, texts, size, kept, problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)))


def faults(texts: pa.Array, kept: pa.RecordBatch | None) -> Iterator[tuple[int, str]]:
    """What is wrong with which row."""
    others = list(zip(kept.schema.names, kept.columns, strict=True)) if kept is not None else []
    if texts.null_count == 0 and are_utf8(texts) and all(sound(column) for _, column in others):
        return
    columns = [("text", texts), *others]
    for index in range(len(texts)):
        if not texts[index].is_valid:
            yield index, "the document is null"
            continue
        for name, column in columns:
            try:
                column[index : index + 1].validate(full=True)
            except pa.ArrowInvalid as error:
                what = "the document" if column is texts else f"the kept column {name!r}"
                yield index, f"{what} is not valid: {told(error, column, index)}"
                break


def sound(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def told(error: Exception, column: pa.Array, index: int) -> str:
    value = column[index]
    if hasattr(value, "as_buffer"):
        content = value.as_buffer().to_pybytes()
        try:
            content.decode()
        except UnicodeDecodeError as wrong:
            return f"invalid UTF-8 at byte {wrong.start}: 0x{content[wrong.start]:02X} ({wrong.reason})"
    return lowered(str(error))
