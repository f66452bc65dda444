"""What the native backend does for the corpus job; see `rust/python/corpus.rs`."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._types import ArrowTexts
from . import arrow_text

if TYPE_CHECKING:
    from typing_extensions import Buffer


def separate(memory: "Buffer", separator: str, is_last: bool) -> tuple[NDArray[np.int64], int]:
    """Moves the texts that `separator` parts to the beginning of `memory`, one after another; "\\r" before a separator "\\n" goes too.

    Returns where each begins there and the last ends, an int64 array, and how many bytes of `memory` they were. What follows the last
    separator stays where it is, unless `is_last` makes it a text (if it is not empty).
    """
    view = memoryview(memory).cast("B")
    *texts, rest = bytes(view).split(separator.encode())
    if separator == "\n":
        texts = [text.removesuffix(b"\r") for text in texts]
    used = len(view) - len(rest)
    if is_last and rest:
        texts, used = [*texts, rest], len(view)
    joined = b"".join(texts)
    view[: len(joined)] = joined
    return _offsets(texts), used


def json_texts(block: "Buffer", field: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], int] | None:
    """Of a block of lines, each a JSON object, the string in one field: all strings as UTF-8 one after another, a uint8 array, where each
    begins and the last ends, an int64 array, and the number of lines, blank ones included.

    None if that cannot be said for sure: a line is no JSON, has no such field or several, a lone surrogate, bytes that are no UTF-8.
    """
    *lines, rest = bytes(block).split(b"\n")
    lines += [rest] if rest else []
    try:
        texts = [_field(line.decode(), field) for line in lines if line and not line.isspace()]
    except (ValueError, RecursionError):
        return None
    return np.frombuffer(b"".join(texts), np.uint8), _offsets(texts), len(lines)


def _field(line: str, field: str) -> bytes:
    def once(pairs: list[tuple[str, Any]]) -> list[Any]:
        return [value for name, value in pairs if name == field]

    found = json.loads(line, object_pairs_hook=once, parse_int=float, parse_constant=int)
    if not line.lstrip(" \t\r").startswith("{") or len(found) != 1 or not isinstance(found[0], str):
        raise ValueError(line)
    return found[0].encode()


def are_utf8(array: ArrowTexts) -> bool:
    """Whether each text of an Arrow array is UTF-8; a null is."""
    try:
        for chunk in arrow_text.read(array):
            for text in chunk:
                (text or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def start_writing(descriptor: int, begin: int, length: int) -> None:
    """Has the system begin to write a part of a file to the disk, so that a later sync has less to wait for. What it cannot begin stays."""


def _offsets(texts: list[bytes]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, texts)], dtype=np.int64)
