"""Inputs that are held in memory, and a reader of them: what a job is tested with, apart from files."""

import pyarrow as pa

from bpeline.corpus.documents import Documents, Place, ReadOptions, Source


def sources(inputs):
    """A source for each list of texts (documents) or text (one document, which comes in parts)."""
    return [
        Source(number, f"memory-{number}", "text", None, sum(map(len, texts)), ReadOptions())
        for number, texts in enumerate(inputs)
    ]


def reader(inputs, batch=3, part=7, columns=None):
    """Reads `batch` documents, or `part` characters of one, at a time. `columns(number)` makes a row to keep."""

    def read(source, start):
        texts = inputs[source.number]
        if isinstance(texts, str):
            yield from read_parts(source, texts, start)
            return
        for first in range(start.document if start else 0, len(texts), batch):
            some = texts[first : first + batch]
            rows = columns and pa.RecordBatch.from_pylist([columns(first + n) for n in range(len(some))])
            yield Documents(Place(source.number, first), pa.array(some, pa.string()), sum(map(len, some)), rows)

    def read_parts(source, text, start):
        begin = start.seek if start else 0
        while True:
            some = text[begin : begin + part]
            place = Place(source.number, 0, begin, len(text[:begin].encode()))
            is_open = begin + part < len(text)
            yield Documents(place, pa.array([some]), len(some), open=is_open)
            if not is_open:
                return
            begin += part

    return read


def documents(inputs):
    """All documents, in order."""
    return [text for texts in inputs for text in ([texts] if isinstance(texts, str) else texts)]
