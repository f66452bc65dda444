r"""Text files: a document a file, a document a line, or documents with a separator between them.

A document is the exact bytes of the file, but for a byte order mark at the file's beginning, which is dropped. A line ends
with "\n" or "\r\n". What follows the last end of line or the last separator is a document unless it is empty. A document
larger than a batch comes in parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..._backend import are_utf8, separate
from ...errors import CorpusError
from .. import documents
from ..documents import Documents, Place, Problem, Source, nothing
from ..opening import STDIN, Unusable
from .batch import joined
from .windows import BOM, Windows


def read(source: Source, start: Place) -> Iterator[Documents]:
    separator = "\n" if source.kind == "lines" else source.options.separator
    windows = Windows(source, start.seek)
    place = start
    try:
        while (cut := next_cut(windows, separator)) is not None:
            if cut.open and place.part == 0 and source.options.on_error == "skip" and source.url != STDIN:
                problem, after = look_through(source, place, separator)
                if problem is not None:
                    yield Documents(place, cut.texts[:0], windows.content.read_since(), problems=(problem,))
                    if after is None:
                        return
                    windows.close()
                    windows, place = Windows(source, after.seek), after
                    continue
            texts, problems = valid(cut, source, place, separator)
            yield Documents(place, texts, windows.content.read_since(), open=cut.open, problems=problems)
            windows.take(cut.used)
            number = place.document + len(cut.texts) - cut.open
            part = (place.part if number == place.document else 0) + cut.texts[-1].as_buffer().size if cut.open else 0
            place = Place(source.number, number, windows.seek, part)
            if cut.last:
                break
        windows.check()
        if source.end is not None:
            yield nothing(place)
    except Unusable as bad:
        bad.place = place
        raise
    finally:
        windows.close()


@dataclass(frozen=True)
class Cut:
    """The next documents of a window, checked for nothing yet."""

    texts: pa.Array
    used: int
    """Bytes of the window."""
    begin: int
    """The byte of the file at which the first text begins."""
    open: bool
    """The only text goes on in the next window."""
    last: bool


def next_cut(windows: Windows, separator: str | None) -> Cut | None:
    begin = windows.seek
    window, ends = windows.look(documents.BATCH_BYTES)
    last = ends and not windows.broken  # what a broken file ends with may be half a document
    if not window and (begin or separator is not None or windows.broken):
        return None
    mark = len(BOM) if begin == 0 and window[: len(BOM)] == BOM else 0
    if separator is None:
        texts, size = whole(window[mark:]), 0
    else:
        offsets, size = separate(window[mark:], separator, last)
        texts = joined(window[mark:], offsets)
    if last:
        return Cut(texts, len(window), begin + mark, open=False, last=True)
    if len(texts) and separator is not None:
        return Cut(texts, mark + size, begin + mark, open=False, last=False)
    if ends:
        return None
    used = part_end(window, separator)
    return Cut(whole(window[mark:used]), used, begin + mark, open=True, last=False)


def whole(text: memoryview) -> pa.Array:
    """One string, where it lies."""
    return joined(text, np.array([0, len(text)], dtype=np.int64))


def part_end(window: memoryview, separator: str | None) -> int:
    """How much of a window without a separator is text for sure, in whole characters."""
    end = len(window)
    if separator == "\n":
        end -= window[-1] == ord("\r")
    elif separator is not None:
        end -= len(separator.encode()) - 1
    for back in range(1, min(4, end)):
        byte = window[end - back]
        if byte >= 0xC0:  # begins a character of 2, 3 or 4 bytes
            return end - back if back < 2 + (byte >= 0xE0) + (byte >= 0xF0) else end
        if byte < 0x80:
            break
    return end


def valid(
    cut: Cut, source: Source, place: Place, separator: str | None, before: int | None = None
) -> tuple[pa.Array, tuple[Problem, ...]]:
    """The documents that are UTF-8, and what is wrong with the others; `before` bytes of the first were looked at earlier."""
    if are_utf8(cut.texts):
        return cut.texts, ()
    before = place.part if before is None else before
    problems, good = [], np.ones(len(cut.texts), dtype=bool)
    begin = cut.begin
    for index, text in enumerate(cut.texts):
        content = text.as_buffer().to_pybytes()
        try:
            content.decode()
        except UnicodeDecodeError as error:
            if source.kind == "lines":
                where = f"{error.start + (0 if index else before)} of the line"
                line = place.document + index + 1
            else:
                where, line = str(begin + error.start), None
            message = f"invalid UTF-8 at byte {where}: 0x{content[error.start]:02X} ({error.reason})"
            if source.options.on_error != "skip":
                raise Unusable(message, line) from None
            if cut.open or (index == 0 and place.part):
                raise CorpusError(f"{source.url}: {message}, in a document of which parts were used before") from None
            problems.append(Problem(source.url, message, line))
            good[index] = False
        begin += len(content) + len((separator or "").encode())
    return cut.texts.filter(pa.array(good)), tuple(problems)


def look_through(source: Source, place: Place, separator: str | None) -> tuple[Problem | None, Place | None]:
    """What is wrong with a document that comes in parts, and where the next begins if that can be read.

    Parts that were given cannot be taken back, so with `on_error="skip"` such a document is read twice.
    """
    windows = Windows(source, place.seek)
    problem = None
    try:
        while True:
            window = bytes(windows.look(documents.BATCH_BYTES)[0])  # a cut moves the documents in it
            cut = next_cut(windows, separator)
            if cut is None:
                break
            first = Cut(cut.texts[:1], cut.used, cut.begin, open=False, last=cut.last)
            if problem is None:
                problem = next(iter(valid(first, source, place, separator, cut.begin - place.seek)[1]), None)
            if not cut.open:
                mark = (separator or "").encode()
                end = window.find(mark) if mark else -1
                after = windows.seek + (cut.used if end < 0 else end + len(mark))
                return problem, Place(source.number, place.document + 1, after)
            windows.take(cut.used)
        windows.check()
    except Unusable as failure:
        return Problem(source.url, failure.message), None
    finally:
        windows.close()
    raise AssertionError("a document that goes on has an end")
