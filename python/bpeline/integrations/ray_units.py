"""What a task of a job on Ray encodes: some files, or a part of a large one, whose runs are then counted as those of the whole file.

A part of a file does not know how much lies before it (`corpus/parts.py`). But its last run tells where the next one begins, and the calling
process, which has the runs in order, moves the numbers of that one.
"""

import itertools
import re
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..corpus.documents import Documents, Place, Source
from ..corpus.encoder import Run
from ..corpus.job import encoded
from ..corpus.parts import cuts
from ..corpus.plan import Plan
from ..corpus.readers import read
from ..errors import BpelineError

UNIT_BYTES = 64_000_000
"""Bytes of files, as stored, that make a unit, and of a part of a file; a larger file that cannot be cut is one by itself."""


class Reached(NamedTuple):
    """What lies before a part of a file."""

    document: int = 0
    """Documents, those that were left out included."""
    line: int = 0
    """As `Place.line` counts."""
    used: int = 0
    """Documents that were used."""


START = Reached()


@dataclass(frozen=True)
class Unit:
    """Files from one number up to another, or a part of one file."""

    begin: int
    end: int
    start: int = 0
    """Where the part begins, as `Place.seek` counts."""
    stop: int | None = None
    """Where it ends; None for the end of the file."""


def units(plan: Plan, place: dict[str, Any] | None) -> Iterator[Unit]:
    """The units of a job that begins, or goes on, at a place. Files are looked into only as the units are taken."""
    first = place["source"] if place else 0
    begin, size = first, 0
    for number in range(first, len(plan.sources)):
        source, start = plan.sources[number], 0
        after = _second(source, Place(**place)) if place and number == first else 0
        for cut in cuts(source, UNIT_BYTES, after) if after is not None else ():
            if begin < number:
                yield Unit(begin, number)
            yield Unit(number, number + 1, start, cut)
            begin, size, start = number + 1, 0, cut
        if start:
            yield Unit(number, number + 1, start)
            continue
        size += UNIT_BYTES if source.size is None else source.size
        if size >= UNIT_BYTES:
            yield Unit(begin, number + 1)
            begin, size = number + 1, 0
    if begin < len(plan.sources):
        yield Unit(begin, len(plan.sources))


def _second(source: Source, place: Place) -> int | None:
    """Where the batch behind the one at a place begins, as `Place.seek` counts; None if there is none, or it cannot be read.

    A job goes on in the middle of a batch, which must then be read as it was: no part may end in it.
    """
    try:
        with closing(read(source, place)) as batches:
            second = next(itertools.islice(batches, 1, None), None)
    except (BpelineError, OSError):
        return None
    return None if second is None else second.place.seek


def encoded_unit(plan: Plan, after: dict[str, Any] | None, threads: int, unit: Unit) -> Generator[Run]:
    """The runs of a unit. Of a part that ends within its file there is one at least, and after the last a job goes on with the next part."""
    if not unit.start and unit.stop is None:
        yield from encoded(plan, after, read, threads, unit.begin, unit.end)
        return
    place = Place(unit.begin, 0, unit.start)

    def part(source: Source, start: Place | None) -> Iterator[Documents]:
        nonlocal place
        for batch in read(replace(source, end=unit.stop), start or place):
            place = batch.place
            yield batch

    last: Run | None = None
    rest: tuple[Run, ...] = ()
    for run in encoded(plan, after, part, threads, unit.begin, unit.end):
        if run.after["place"] is None:  # what was left out behind the last document
            rest = (run,)
        else:
            if last is not None:
                yield last
            last = run
    if last is None:
        last = empty(plan, begins(place, after["used"] if after else 0))
    if place.seek == unit.stop:
        last = replace(last, after=begins(place, last.after["used"]))
        for run in rest:
            last = replace(last, problems=last.problems + run.problems, size=last.size + run.size)
        yield last
    else:  # the end of the file, or of what can be read of it
        for run in (last, *rest):  # Ray sends to generators, which a tuple's iterator does not take
            yield run


def empty(plan: Plan, after: dict[str, Any]) -> Run:
    """A run without tokens."""
    none = np.zeros(0, np.int64)
    return Run(none.astype(plan.dtype), none, np.zeros(1, np.int64), None, after)


def begins(place: Place, used: int) -> dict[str, Any]:
    """What `Run.after` says where nothing is done of the next batch."""
    return {"place": asdict(place), "documents": 0, "bytes": 0, "begun": False, "in_val": False, "used": used}


def in_file(run: Run, before: Reached, source: Source) -> Run:
    """A run of a part, counted from the beginning of the file."""
    place, after = run.after["place"], run.after
    if place is not None:
        moved = {"document": place["document"] + before.document, "line": place["line"] + before.line}
        after = after | {"place": place | moved, "used": after["used"] + before.used}
    lines = before.document if source.kind == "lines" else before.line
    problems = tuple(
        replace(
            one,
            line=one.line and one.line + lines,
            message=re.sub(
                r"^document (\d+)", lambda found: f"document {int(found[1]) + before.document}", one.message
            ),
        )
        for one in run.problems
    )
    return replace(run, numbers=run.numbers + before.used, after=after, problems=problems)


def reached_by(run: Run | None, unit: Unit) -> Reached | None:
    """What lies before the next part, by the last run of this one; None if nothing more of the file can be read."""
    place = run.after["place"] if run is not None else None
    if run is None or place is None or place["seek"] != unit.stop:
        return None
    return Reached(place["document"], place["line"], run.after["used"])


def said_again(plan: Plan, unit: Unit, before: Reached, threads: int) -> None:
    """Raise the error of a part as that of the whole file, with the numbers of its lines and documents: encode it here."""
    if not unit.start:
        return
    after = begins(Place(unit.begin, before.document, unit.start, line=before.line), before.used)
    for _ in encoded(plan, after, read, threads, unit.begin, unit.end):
        pass
