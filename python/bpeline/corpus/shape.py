"""What manifest.json must look like, checked before any of it is believed: an edited or damaged one is an error that names the place.

Above all the names of files are plain, so that neither `verify` nor `--overwrite` ever touches anything outside of the folder.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

Shape: TypeAlias = Callable[[Any, str], None]
"""Raises `ValueError` for a value that is not of the shape; it is told where the value is."""

PLAIN = r"[^/\\\0.][^/\\\0]*"
"""A name that leads nowhere else and is not hidden."""


def wrong(value: Any, place: str, expected: str) -> ValueError:
    """The error that says what was found where."""
    shown = repr(value)
    return ValueError(f"{place or 'all'} is {shown if len(shown) < 50 else shown[:50] + '...'}, expected {expected}")


def count(value: Any, place: str) -> None:
    """A number of things; true and false are none."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise wrong(value, place, "a number from 0 to 2^63 - 1")


def text(value: Any, place: str) -> None:
    """A string that can be encoded."""
    if not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
        raise wrong(value, place, "a text")


def separator(value: Any, place: str) -> None:
    """A text that can stand between others."""
    text(value, place)
    if not value:
        raise wrong(value, place, "a text that is not empty")


def path(value: Any, place: str) -> None:
    """A path or URL; it may hold bytes that are no UTF-8, as Python writes them."""
    if not isinstance(value, str) or re.search("[\0\ud800-\udc7f\udd00-\udfff]", value):
        raise wrong(value, place, "a path")


def flag(value: Any, place: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong(value, place, "true or false")


def integer(value: Any, place: str) -> None:
    """Any whole number, of any size."""
    if type(value) is not int:
        raise wrong(value, place, "a whole number")


def share(value: Any, place: str) -> None:
    """A part of 1."""
    if type(value) not in (int, float) or not 0 <= value < 1:
        raise wrong(value, place, "a number from 0 to below 1")


def plain(value: Any, place: str) -> None:
    """The name of a file in the folder."""
    path(value, place)
    if not re.fullmatch(PLAIN, value):
        raise wrong(value, place, "a plain name of a file")


def one_of(*values: Any) -> Shape:
    """One of some values, which are no numbers."""

    def check(value: Any, place: str) -> None:
        if not any(value is some or value == some for some in values):
            raise wrong(value, place, f"one of {', '.join(map(str, values))}")

    return check


def maybe(shape: Shape) -> Shape:
    """Null, or the shape."""
    return lambda value, place: None if value is None else shape(value, place)


def each(shape: Shape) -> Shape:
    """A list of values of one shape."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise wrong(value, place, "a list")
        for number, item in enumerate(value):
            shape(item, f"{place}[{number}]")

    return check


def counts(length: int) -> Shape:
    """A list of so many counts."""

    def check(value: Any, place: str) -> None:
        each(count)(value, place)
        if len(value) != length:
            raise wrong(value, place, f"{length} numbers")

    return check


def named(shape: Shape, names: Shape = text) -> Shape:
    """An object whose keys are free."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise wrong(value, place, "an object")
        for key, item in value.items():
            names(key, f"a name in {place}")
            shape(item, f"{place}[{key!r}]")

    return check


def record(optional: tuple[str, ...] = (), **shapes: Shape) -> Shape:
    """An object with these keys and no others."""

    def check(value: Any, place: str) -> None:
        named(lambda item, place: None)(value, place)
        for key in (key for key in value if key not in shapes):
            raise wrong(key, f"a name in {place or 'it'}", f"one of {', '.join(shapes)}")
        for key, shape in shapes.items():
            if key in value:
                shape(value[key], f"{place}.{key}".removeprefix("."))
            elif key not in optional:
                raise ValueError(f"{place or 'it'} has no {key}")

    return check


PLACE = record(source=count, document=count, seek=count, part=count, line=count)
AFTER = record(place=PLACE, documents=count, bytes=count, begun=flag, in_val=flag, used=count)
SHUFFLED = record(split=count, index=count)
SPOOL = record(
    number=count, tokens=count, documents=count, full=flag, first=maybe(counts(2)), last=maybe(counts(2)), files=named(count)
)  # fmt: skip
SPLIT = record(number=count, open=each(SPOOL))


def after(value: Any, place: str) -> None:
    """Where a job goes on: that of a shuffled corpus counts differently."""
    if value != {"place": None}:  # all has been read
        (SHUFFLED if isinstance(value, dict) and "split" in value else AFTER)(value, place)


RESUME = record(after=maybe(after), splits=record(("train", "val"), train=SPLIT, val=SPLIT), skipped=count)
SHARD = record(
    split=one_of("train", "val"), number=count, documents=count, tokens=count, first=maybe(counts(2)),
    last=maybe(counts(2)), files=named(record(bytes=count, sha256=text), plain),
)  # fmt: skip
PLAN = record(
    format=one_of("nanogpt", "llmc", "megatron", "datatrove", "npy", "parquet", "arrow"),
    encoding=record(name=text, load=path, sha256=text, vocab_size=count),
    dtype=text,
    eot=record(rule=one_of("append", "prepend", "none"), id=maybe(count)),
    special=one_of("text", "parse", "error"),
    name=plain,
    shard_tokens=maybe(count),
    val_fraction=share,
    shuffle_seed=maybe(integer),
    read=record(column=text, keep=each(text), separator=maybe(separator), on_error=one_of("stop", "skip")),
    sources=each(
        record(
            url=path,
            kind=one_of("text", "lines", "jsonl", "json", "parquet", "arrow", "csv"),
            compression=one_of(None, "gzip", "zstd", "bz2", "xz"),
            size=maybe(count),
            stamp=text,
        )
    ),
)
MANIFEST = record(
    ("resume",), manifest=count, bpeline=text, finished=flag, plan=PLAN, documents=count, tokens=count, text_bytes=count,
    skipped=count, by_source=each(counts(3)), shards=each(SHARD), resume=maybe(RESUME),
)  # fmt: skip
