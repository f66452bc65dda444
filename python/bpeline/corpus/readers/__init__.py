"""Reads the documents of a file, whatever its kind: see `read`."""

from collections.abc import Iterator
from importlib import import_module

from ...errors import CorpusError
from ..documents import Documents, Place, Problem, Source, nothing
from ..opening import Unusable, has_changed

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


def read(source: Source, start: Place | None = None) -> Iterator[Documents]:
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
        problem = Problem(source.url, bad.message, bad.line)
        if not skip:
            raise CorpusError(str(problem)) from bad
        yield nothing(bad.place or start, problem)
    except OSError as error:
        if begun or not skip:
            raise
        yield nothing(start, Problem(source.url, f"cannot be read: {(error.strerror or str(error)).lower()}"))


def unchanged(source: Source) -> None:
    if has_changed(source):
        raise CorpusError(f"{source.url}: the file has changed since the job was planned")
