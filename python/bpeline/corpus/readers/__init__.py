"""Reads the documents of a file, whatever its kind: see `read`."""

from collections.abc import Generator
from importlib import import_module

from ...errors import CorpusError
from ..documents import Documents, Place, Problem, Source, nothing
from ..opening import Content, Unusable, has_changed

READERS = {
    "text": "text",
    "lines": "text",
    "jsonl": "jsonl",
    "json": "json_values",
    "parquet": "tables",
    "arrow": "tables",
    "csv": "tables",
}
"""The module of each kind of file; pyarrow's parts take longer to import than a small file to read."""


def read(source: Source, start: Place | None = None) -> Generator[Documents]:
    """The documents of a file in order, from its beginning or from the place of a batch that an earlier reading gave.

    From a place on, the batches are those of the earlier reading. What cannot be used raises `CorpusError` that names the file
    and the line or row (a file that is not there or may not be read: the `OSError` that `open` raises). With
    `on_error="skip"` it is left out and told in the `problems` of the next batch; if nothing more of the file can be used, that
    batch has no texts. A file that is not the one of `source.stamp`, or changes while it is read, raises `CorpusError` in any case.
    """
    skip = source.options.on_error == "skip"
    start = start or Place(source.number, 0)
    begun = False
    try:
        unchanged(source)
        reader = import_module(f"{__name__}.{READERS[source.kind]}")
        for batch in reader.read(source, start):
            begun = True
            yield batch
        unchanged(source)
    except Unusable as bad:
        message = bad.message + encoded_otherwise(source)
        if not skip:
            error = CorpusError(f"{place_of(source, bad.line)}: {message}")
            if begun:  # else all of the file may be so
                error.add_note('--on-error skip, in Python on_error="skip", goes on without it')
            raise error from bad
        yield nothing(bad.place or start, Problem(source.url, message, bad.line))
    except OSError as error:
        if begun or not skip:
            raise
        yield nothing(start, Problem(source.url, f"cannot be read: {(error.strerror or str(error)).lower()}"))


def place_of(source: Source, line: int | None) -> str:
    """A line or row of a file. A row of CSV may be several lines, so its number is no line."""
    if line is None:
        return source.url
    if READERS[source.kind] != "tables":
        return f"{source.url}:{line}"
    return f"{source.url}: row {line}" + (" after the header" if source.kind == "csv" else "")


def encoded_otherwise(source: Source) -> str:
    """What may explain why a file of text cannot be read."""
    if source.kind in ("parquet", "arrow") or source.size is None:
        return ""
    content, begin = Content(source), bytearray(2)
    content.fill(memoryview(begin))
    content.close()
    return " (it begins as UTF-16 does, expected UTF-8)" if bytes(begin) in (b"\xff\xfe", b"\xfe\xff") else ""


def unchanged(source: Source) -> None:
    if has_changed(source):
        raise CorpusError(f"{source.url}: the file has changed since the job was planned")
