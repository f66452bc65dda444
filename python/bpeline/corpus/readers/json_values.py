"""JSON files: an array of objects, one object, or objects one after another.

Python's parser takes one value after another from a window, so a file larger than memory is no trouble. Objects that stand one
a line are left to `jsonl`, which is faster. Where a value is malformed the rest of the file cannot be understood.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from .. import documents
from ..documents import Documents, Place, Source
from ..opening import Unusable
from . import jsonl
from .rows import DECODER, Rows, kept_schema, lowered, parsed
from .windows import BOM, Windows

BLANK = re.compile(r"[ \t\r\n]*")


def read(source: Source, start: Place) -> Iterator[Documents]:
    windows = Windows(source)
    form = form_of(windows)
    if start.seek:
        first = next_values(windows, form, Place(source.number, 0)) if form != "lines" and source.options.keep else None
        windows.close()
        windows = Windows(source, start.seek)
    if form == "lines":
        yield from jsonl.read(source, start, windows)
        return
    place, schema = start, None
    try:
        while (taken := next_values(windows, form, place)) is not None:
            values, used, lines = taken
            if schema is None:
                typical = first[0] if start.seek and first else values
                schema = kept_schema([value for value, _ in typical], source.options)
            rows = Rows(source, schema)
            for value, line in values:
                try:
                    rows.add(value)
                except Unusable as bad:
                    rows.leave_out(bad, line)
            texts, kept = rows.arrays()
            yield Documents(place, texts, windows.content.read_since(), kept, problems=tuple(rows.problems))
            windows.take(used)
            place = Place(source.number, place.document + len(values), windows.seek, line=place.line + lines)
        windows.check()
    except Unusable as bad:
        bad.place = place
        raise
    finally:
        windows.close()


def form_of(windows: Windows) -> str:
    """Either "array", "lines" or "objects"."""
    window, ends = windows.look(documents.BATCH_BYTES)
    begin = bytes(window).removeprefix(BOM).lstrip()
    if begin.startswith(b"["):
        return "array"
    line, newline, _ = begin.partition(b"\n")
    if newline or ends:
        try:
            return "lines" if isinstance(parsed(line), dict) else "objects"
        except Unusable:
            pass
    return "objects"


def next_values(windows: Windows, form: str, place: Place) -> tuple[list[tuple[Any, int]], int, int] | None:
    """Values and the line each begins at; the bytes they take, and the ends of lines in them. None at the end."""
    size = documents.BATCH_BYTES
    while True:
        window, ends = windows.look(size)
        text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(window, ends)
        scan = Scan(text, form, place, ends and not windows.broken)
        if scan.values:
            return scan.values, len(text[: scan.position].encode("utf-8", "surrogateescape")), scan.lines
        if ends and windows.broken:
            windows.check()
        if scan.finished:
            return None
        if scan.fault is not None:
            raise Unusable(scan.fault, place.line + scan.lines + 1)
        size *= 2  # a value that is longer than a batch


class Scan:
    """Takes as many values as there are from a text that begins with one, or with what stands before it."""

    def __init__(self, text: str, form: str, place: Place, ends: bool) -> None:
        self.text, self.ends = text, ends
        self.in_array = form == "array"
        self.first_line = place.line + 1
        self.values: list[tuple[Any, int]] = []
        self.position = self.lines = 0
        self.finished = False
        self.fault: str | None = None
        at = 1 if place.seek == 0 and text.startswith("\ufeff") else 0
        if place.seek == 0 and self.in_array:
            at = self.blank(at) + 1
        first = place.document == 0
        while self.value(at, first):
            at, first = self.position, False

    def blank(self, at: int) -> int:
        found = BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, first: bool) -> bool:
        text = self.text
        at = self.blank(at)
        if self.in_array and text[at : at + 1] == "]":
            return self.close(at)
        if self.in_array and not first and at < len(text):
            if text[at] != ",":
                return self.fail("expected , or ] after an element of the array", at)
            at = self.blank(at + 1)
        if at == len(text):
            if self.ends and self.in_array:
                return self.fail("the array is not closed: the file ends too early", at)
            self.finished = self.ends
            return False
        try:
            value, end = DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if self.ends or (error.pos < len(text) - 16 and not error.msg.startswith("Unterminated string")):
                self.fail(f"not valid JSON: {lowered(error.msg)}", error.pos)
            return False
        except RecursionError:
            return self.fail("not readable JSON: nested too deeply", at)
        if end == len(text) and not self.ends:
            return False
        begin = self.lines + text.count("\n", self.position, at)
        self.values.append((value, self.first_line + begin))
        self.lines = begin + text.count("\n", at, end)
        self.position = end
        return True

    def close(self, at: int) -> bool:
        """At the end of the array. Nothing may follow."""
        if self.blank(at + 1) < len(self.text):
            return self.fail("expected the end of the file after the array", self.blank(at + 1))
        self.finished = self.ends
        return False

    def fail(self, fault: str, at: int) -> bool:
        if not self.values:  # otherwise it will be met again, as the first
            self.fault = fault
            self.lines += self.text.count("\n", self.position, at)
        return False
