r"""JSON lines: an object a line, the document in one of its fields.

A block of lines goes through a parser of one field, or pyarrow's where fields are kept. What that refuses, or may have understood
otherwise than line by line, goes through Python's, one line after another: so the documents are what `json.loads` makes of each
line, and an error has the number of its line. Blank lines are no documents.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..._backend import json_texts
from .. import documents
from ..documents import Documents, Place, Problem, Source, nothing
from ..opening import Unusable
from .batch import joined
from .rows import Rows, kept_schema, parsed
from .windows import BOM, Windows, after_last

LONGEST = 2**31 - 2
"""The largest block that pyarrow's parser takes."""
STEP = 1 << 17
"""Bytes that are looked through at a time: what is known of them stays near the processor."""


def read(source: Source, start: Place, windows: Windows | None = None) -> Iterator[Documents]:
    windows = windows or Windows(source, start.seek)
    place, schema = start, None
    try:
        while (block := next_block(windows)) is not None:
            lines, used = block
            if schema is None:
                schema = kept_types(source, lines if start.seek == 0 and source.end is None else first_block(source))
            quickly = by_pyarrow if len(schema) else at_once
            found = quickly(lines, source, schema) or one_by_one(lines, source, schema, place.line)
            yield Documents(place, found.texts, windows.content.read_since(), found.kept, problems=found.problems)
            windows.take(used)
            number = place.document + len(found.texts) + len(found.problems)
            place = Place(source.number, number, windows.seek, line=place.line + found.lines)
        windows.check()
        if source.end is not None:
            yield nothing(place)
    except Unusable as bad:
        bad.place = place
        raise
    finally:
        windows.close()


@dataclass(frozen=True)
class Found:
    texts: pa.Array
    kept: pa.RecordBatch | None
    lines: int
    problems: tuple[Problem, ...] = ()


def next_block(windows: Windows) -> tuple[memoryview, int] | None:
    """Whole lines, less a byte order mark, and their bytes in the file. A line longer than a batch makes a longer block."""
    size = documents.BATCH_BYTES
    while True:
        window, ends = windows.look(size)
        used = len(window) if ends and not windows.broken else after_last(b"\n", window)
        if used:
            mark = len(BOM) if windows.seek == 0 and window[: len(BOM)] == BOM else 0
            return window[mark:used], used
        if ends:
            return None
        size *= 2


def first_block(source: Source) -> memoryview:
    windows = Windows(replace(source, end=None))
    block = next_block(windows)
    windows.close()
    return block[0] if block else memoryview(b"")


def kept_types(source: Source, block: memoryview) -> pa.Schema:
    values = []
    for line in bytes(block).split(b"\n") if source.options.keep else []:
        with suppress(Unusable):  # the line will be met again
            values.append(parsed(line))
    return kept_schema(values, source.options)


def ends_of_lines(content: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Where each end of a line is. Most eight bytes have none, so eight are looked at together first."""
    found = [np.zeros(0, np.intp)]
    is_end = np.zeros(STEP, bool)
    for begin in range(0, len(content), STEP):
        part = content[begin : begin + STEP]
        np.equal(part, ord("\n"), out=is_end[: len(part)])
        is_end[len(part) :] = False
        some = np.flatnonzero(is_end.view(np.uint64) != 0)
        of_some, place = np.nonzero(is_end.reshape(-1, 8)[some])
        found.append(begin + some[of_some] * 8 + place)
    return np.concatenate(found)


def count_objects(block: memoryview) -> tuple[int, int] | None:
    """How many lines hold an object, and how many there are; None if a line may hold something else.

    Each must begin with { and end with }: then no value goes on over the end of a line, since between } and { there would be a
    comma. So as many values as lines are one a line.
    """
    content = np.frombuffer(block, np.uint8)
    ends = ends_of_lines(content)
    lines = len(ends) + int(len(content) > 0 and content[-1] != ord("\n"))
    if lines > len(ends):
        ends = np.append(ends, len(content))
    starts = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - starts
    if sizes.min(initial=1) < 2:
        filled = (sizes > 1) | ((sizes == 1) & (content[starts] != ord("\r")))
        starts, ends = starts[filled], ends[filled]
    if not len(starts) or (ends - starts).min() < 3 or (content[starts] != ord("{")).any():
        return None
    lasts = content[ends - 1]
    if (lasts != ord("}")).any():
        returns = lasts == ord("\r")
        if (content[ends[returns] - 2] != ord("}")).any() or (lasts[~returns] != ord("}")).any():
            return None
    return len(starts), lines


def at_once(block: memoryview, source: Source, schema: pa.Schema) -> Found | None:
    """The documents alone; None if a line may be none."""
    found = json_texts(block, source.options.column)
    if found is None:
        return None
    texts, offsets, lines = found
    return Found(joined(texts, offsets), None, lines)


def by_pyarrow(block: memoryview, source: Source, schema: pa.Schema) -> Found | None:
    """By pyarrow; None if it cannot be sure to have taken each line for one document."""
    counted = count_objects(block)
    if counted is None or len(block) > LONGEST:
        return None
    import pyarrow.json

    objects, lines = counted
    column = source.options.column
    text = pa.field(column, pa.large_string())
    fields = [text, *(field for field in schema if field.name != column)]
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(pa.py_buffer(block)),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"),
        ).combine_chunks()
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != objects or table[column].null_count:
        return None
    batch = table.to_batches()[0]
    kept = batch.select(schema.names).cast(schema) if len(schema) else None
    return Found(batch.column(column), kept, lines)


def one_by_one(block: memoryview, source: Source, schema: pa.Schema, before: int) -> Found:
    rows = Rows(source, schema)
    lines = bytes(block).split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, before + 1):
        if line and not line.isspace():
            try:
                rows.add(parsed(line))
            except Unusable as bad:
                rows.leave_out(bad, number)
    return Found(*rows.arrays(), len(lines), tuple(rows.problems))
