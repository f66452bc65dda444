"""Texts and token ids as they come from the caller."""

from operator import index

import numpy as np

from .._types import Errors, Ids, Text
from ..errors import InvalidTextError
from .messages import code_point


def to_str(text: Text, errors: Errors) -> str:
    """The text without surrogates."""
    if errors not in ("strict", "replace"):
        raise ValueError(f'errors must be "strict" or "replace", not {errors!r}')
    if isinstance(text, str):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            if errors == "replace":  # in UTF-16 a surrogate pair is its character
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            surrogate = code_point(text[error.start])
            raise InvalidTextError(f"surrogate {surrogate} at character {error.start}") from None
        return text
    try:
        view = memoryview(text)
    except TypeError:
        raise TypeError(f"text must be str or a bytes-like object, not {type(text).__name__}") from None
    if view.itemsize != 1:  # an array of ids, most likely
        kind = f"{type(text).__name__} of {view.itemsize}-byte items"
        raise TypeError(f"text must be str or a bytes-like object, not {kind}")
    data = view.tobytes()
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise InvalidTextError(f"invalid UTF-8: byte 0x{byte:02x} at offset {error.start}") from None


def to_ids(ids: Ids) -> list[int]:
    """Token ids as a list of `int`."""
    if isinstance(ids, np.ndarray):
        kind, is_integer = str(ids.dtype), ids.dtype.kind in "iu"
    else:
        try:
            ids = memoryview(ids)  # type: ignore[arg-type]
        except TypeError:
            return [_number(id) for id in ids]  # type: ignore[union-attr]
        kind, is_integer = ids.format, ids.format.lstrip("@=<>!") in tuple("bBhHiIlLqQnN")
    if not is_integer:
        raise TypeError(f"token ids must be integers, not an array of {kind}")
    if ids.ndim != 1:
        raise ValueError(f"token ids must be one-dimensional, not {ids.ndim}-dimensional")
    numbers: list[int] = np.asarray(ids).tolist()
    return numbers


def _number(id: int) -> int:
    try:
        return index(id)
    except TypeError:
        raise TypeError(f"token ids must be integers, not {type(id).__name__}") from None
