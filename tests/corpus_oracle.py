"""What readers must find, by the simplest code; and reading that checks what every reader promises."""

import json
import re
from contextlib import contextmanager
from dataclasses import asdict

from bpeline.corpus import documents
from bpeline.corpus.documents import Place, ReadOptions
from bpeline.corpus.inputs import find
from bpeline.corpus.readers import read

BOM = b"\xef\xbb\xbf"


@contextmanager
def batches_of(size):
    """Batches of about `size` bytes, so that small files have many."""
    before, documents.BATCH_BYTES = documents.BATCH_BYTES, size
    try:
        yield
    finally:
        documents.BATCH_BYTES = before


def source_of(path, kind=None, **options):
    (source,) = find(path, ReadOptions(**options), kind=kind)
    return source


def views(batches):
    """All of batches but the bytes read, which depend on where reading began."""
    return [
        (batch.place, batch.texts.to_pylist(), batch.kept and batch.kept.to_pylist(), batch.open, batch.problems)
        for batch in batches
    ]


def documents_of(source, resume_at=None):
    """The documents, kept rows and problems of a file. Checks places and sizes, and that reading can go on from any batch."""
    batches = list(read(source))
    found, kept, problems, going_on, part = [], [], [], False, 0
    for batch in batches:
        batch.texts.validate(full=True)
        texts = batch.texts.to_pylist()
        assert None not in texts
        assert Place(**json.loads(json.dumps(asdict(batch.place)))) == batch.place  # as in a manifest
        assert batch.place.document == len(found) - going_on + len(problems), (batch.place, len(found), len(problems))
        assert batch.place.part == part
        part = (part if going_on and len(texts) == 1 else 0) + len(texts[-1].encode()) if batch.open else 0
        if going_on:
            found[-1] += texts.pop(0)
        found += texts
        going_on = batch.open
        kept += batch.kept.to_pylist() if batch.kept is not None else []
        problems += batch.problems
    assert not going_on
    size = sum(batch.size for batch in batches)
    if source.kind in ("text", "lines", "parquet") and batches and not problems:
        assert size == source.size
    else:  # what follows the last document is nobody's
        assert 0 <= size <= source.size and (size > source.size / 2 or len(found) < 5 or problems)
    seen = views(batches)
    for index in range(len(batches)) if resume_at is None else [resume_at % len(batches)] if batches else []:
        assert views(read(source, batches[index].place)) == seen[index:]
    return found, kept, problems


def lines(content):
    found = re.split("\r?\n", content.decode().removeprefix("\ufeff"))
    return found if found[-1] else found[:-1]


def separated(content, separator):
    found = content.decode().removeprefix("\ufeff").split(separator)
    return found if found[-1] else found[:-1]


def json_lines(content, column="text"):
    """Documents, and the numbers of the lines that hold none."""
    found, bad = [], []
    for number, line in enumerate(content.removeprefix(BOM).split(b"\n"), 1):
        if line.strip():
            try:
                text = json.loads(line.decode("utf-8", "surrogateescape"), parse_int=float)[column]
                text.encode()
                found.append(text)
            except (ValueError, KeyError, TypeError, AttributeError):
                bad.append(number)
    return found, bad
