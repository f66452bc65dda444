"""What all engines have in common: a column of text becomes a column of ids, beside the columns that go along."""

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from .._types import Special
from ..errors import CorpusError
from ..tokenizer import Methods

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

IDS = "input_ids"
"""The name of the column of ids."""


def kept(names: Sequence[str], column: str, keep: Sequence[str] | None) -> list[str]:
    """The columns that go along: those asked for, or all but the text. Raises `CorpusError` for one that is not there."""
    for name in (column, *(keep or ())):
        if name not in names:
            raise CorpusError(f"no column {name!r}; the columns are: {', '.join(map(repr, names)) or 'none'}")
    chosen = [name for name in names if name != column] if keep is None else list(keep)
    if IDS in chosen:
        raise CorpusError(f"the column {IDS} cannot be kept: it is the name of the column of ids")
    return chosen


def with_ids(
    rows: Rows,
    tokenizer: Methods,
    *,
    column: str,
    keep: Sequence[str] | None,
    special: Special,
    threads: int,
    ids: pa.DataType | None = None,
) -> Rows:
    """Rows with the ids of a column of text behind the columns that go along; null where there is no text."""
    chosen = kept(rows.schema.names, column, keep)
    texts = rows.column(column)
    encoded = tokenizer.encode_arrow(texts, threads=threads, special=special)
    lists = pa.chunked_array(encoded) if isinstance(texts, pa.ChunkedArray) else pa.array(encoded)
    schema = pa.schema([rows.schema.field(name) for name in chosen])
    schema = schema.append(pa.field(IDS, ids or lists.type))
    arrays: list[pa.Array | pa.ChunkedArray] = [rows.column(name) for name in chosen]
    return type(rows).from_arrays([*arrays, lists if ids is None else lists.cast(ids)], schema=schema)
