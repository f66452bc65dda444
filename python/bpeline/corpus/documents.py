"""What passes from the readers of a corpus to its encoder: batches of documents, and places in the input.

A reader knows a kind of file and nothing of tokens; the job (`job.py`) knows tokens and nothing of files. A reader is

    read(source: Source, start: Place | None) -> Iterator[Documents]

and gives each document of its file once and in order, at about `BATCH_BYTES` at a time. How it cuts them into batches may
depend on nothing but the file, so that a job that goes on from a `Place` meets the same batches again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError(f'bpeline.corpus needs pyarrow ({error}): pip install "bpeline[corpus]"') from error

BATCH_BYTES = 2_000_000
"""About how many bytes of text make a batch; a document of a file that is one text comes in parts of this size."""


@dataclass(frozen=True)
class Place:
    """Where a batch begins: enough to read the file again from there."""

    source: int
    """The number of the file in the plan."""
    document: int
    """The number of documents of the file that come before, those that were skipped included."""
    seek: int = 0
    """Where the reader goes on: a byte, a row group or a block, as the reader counts; 0 is the file's beginning."""
    part: int = 0
    """The bytes of the document numbered `document` that came in batches before; 0 but within a large text."""
    line: int = 0
    """The lines or rows of the file that come before `seek`, as far as the reader needs them."""


@dataclass(frozen=True)
class Documents:
    """Some documents of one file, one after another."""

    place: Place
    """Of the first."""
    texts: pa.Array
    """Strings of UTF-8 (string, large string, string view), one a document; none is null."""
    size: int
    """Bytes of the file, as stored there, that have been read since the batch before: for the progress."""
    kept: pa.RecordBatch | None = None
    """The columns of `--keep`, as many rows as `texts`; None where nothing is kept, or where there are no texts."""
    open: bool = False
    """Whether the last document goes on in the next batch: its text is one of several parts, cut between characters."""
    problems: tuple["Problem", ...] = ()
    """Documents left out (`--on-error skip`), in order."""


@dataclass(frozen=True)
class Problem:
    """A document, or a whole file, that cannot be used."""

    file: str
    message: str
    """What is wrong and what was expected, in lower case, without the file and the line."""
    line: int | None = None
    """The line of the file, or the row of a table, from 1."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True)
class Source:
    """One file of the input: what the manifest says of it and what a reader needs to open it."""

    number: int
    url: str
    """As given, or found below a folder: a path, a URL of fsspec, or `-` for standard input."""
    kind: str
    """One of "text", "lines", "jsonl", "json", "parquet", "arrow", "csv"."""
    compression: str | None
    """One of "gzip", "zstd", "bz2", "xz"; None if it is not compressed."""
    size: int | None
    """Bytes as stored; None where that cannot be known."""
    options: "ReadOptions"
    stamp: str = ""
    """What tells that the file has changed (size and time of modification, or an etag)."""
    end: int | None = None
    """Where a part of the file ends, as `Place.seek` counts, if not all of it is read (`parts.py`). After the last document of a part a
    reader gives no texts, at the place where the next part begins."""


@dataclass(frozen=True)
class ReadOptions:
    """How files are cut into documents."""

    column: str = "text"
    """The field or column that holds the text."""
    keep: tuple[str, ...] = ()
    """Fields or columns that go along."""
    separator: str | None = None
    """What stands between two documents of a text file."""
    on_error: str = "stop"
    """Either "stop" or "skip"."""


def nothing(place: Place, *problems: Problem) -> Documents:
    """A batch without texts, to tell a place or problems."""
    return Documents(place, pa.array([], pa.large_string()), 0, problems=problems)


def offsets_of(texts: pa.Array) -> NDArray[Any]:
    """Where each text begins in the memory of all, and the last ends; of an array that has offsets (no views)."""
    kind = texts.type
    width = np.int64 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else np.int32
    memory = texts.buffers()[1]
    if not len(texts) or memory is None:
        return np.zeros(1, width)
    return np.frombuffer(memory, width, len(texts) + 1, texts.offset * np.dtype(width).itemsize)
