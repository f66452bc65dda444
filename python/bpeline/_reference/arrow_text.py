"""Columns of text that others made: what rust/arrow/text.rs does, with the same checks."""

import ctypes
import struct
from collections.abc import Callable
from typing import Literal, NamedTuple

from ..errors import ArrowError
from .arrow_structs import GET, GET_ERROR, Array, Schema, Stream, in_capsule, release, take

_LAYOUTS: dict[bytes, Literal["i", "q", "view"]] = {
    **dict.fromkeys((b"u", b"z"), "i"),
    **dict.fromkeys((b"U", b"Z"), "q"),
    **dict.fromkeys((b"vu", b"vz"), "view"),
}

# How the formats of other types begin.
_TYPES = {
    **{"n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32"},
    **{"l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "d:": "decimal"},
    **{"w:": "fixed_size_binary", "tdD": "date32", "tdm": "date64", "tt": "time", "ts": "timestamp", "tD": "duration"},
    **{"ti": "interval", "+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"},
    **{"+w:": "fixed_size_list", "+s": "struct", "+m": "map", "+ud:": "dense_union", "+us:": "sparse_union"},
    **{"+r": "run_end_encoded", "": "no type"},
}

_VIEW = 16  # bytes: length, then 12 bytes of text, or 4 of its bytes, buffer and offset
_MAX = 2**63 - 1


class _Column(NamedTuple):
    layout: Literal["i", "q", "view"]
    in_table: bool


def read(array: object) -> list[list[bytes | None]]:
    """The texts of each chunk of anything that has __arrow_c_stream__ or __arrow_c_array__; None for a null."""
    # A stream first, to have the chunks of what has both.
    if hasattr(array, "__arrow_c_stream__"):
        capsule = array.__arrow_c_stream__()
        stream = in_capsule(capsule, Stream)
        if stream is None:
            raise TypeError("__arrow_c_stream__ must return a capsule of an ArrowArrayStream")
        return _read_stream(take(stream))
    if hasattr(array, "__arrow_c_array__"):
        capsules = array.__arrow_c_array__()
        pair = isinstance(capsules, tuple) and len(capsules) == 2
        schema = in_capsule(capsules[0], Schema) if pair else None
        content = in_capsule(capsules[1], Array) if pair else None
        if schema is None or content is None:
            raise TypeError("__arrow_c_array__ must return capsules of an ArrowSchema and an ArrowArray")
        column = _find_column(schema)
        return [_read_array(take(content), column, 0)]
    kind = type(array).__qualname__
    raise TypeError(
        f"array must be an Arrow array or stream (have __arrow_c_array__ or __arrow_c_stream__), not {kind}"
    )


def _read_stream(stream: Stream) -> list[list[bytes | None]]:
    try:
        schema = Schema()
        _call(stream, "get_schema", schema)
        try:
            column = _find_column(schema)
        finally:
            release(schema)
        chunks: list[list[bytes | None]] = []
        while True:
            array = Array()
            _call(stream, "get_next", array)
            if not array.release:
                return chunks
            chunks.append(_read_array(array, column, sum(map(len, chunks))))
    finally:
        release(stream)


def _call(stream: Stream, name: str, result: Schema | Array) -> None:
    function = getattr(stream, name)
    if not stream.release or not function:
        raise _malformed("the stream is released already")
    outcome = GET(function)(ctypes.addressof(stream), ctypes.addressof(result))
    if outcome:
        message = GET_ERROR(stream.get_last_error)(ctypes.addressof(stream)) if stream.get_last_error else None
        told = message.decode("utf-8", "replace") if message else f"errno {outcome}"
        raise ArrowError(f"the Arrow stream failed: {told}")


def _malformed(fault: str, place: str = "") -> ArrowError:
    return ArrowError(f"{place}malformed Arrow data: {fault}")


# --- Types ---


def _find_column(schema: Schema) -> _Column:
    if not schema.release:
        raise _malformed("the schema is released already")
    in_table = schema.format == b"+s" and not schema.dictionary
    column = schema
    if in_table:
        if schema.n_children != 1:
            raise TypeError(f"array must be one column of strings, not a table of {schema.n_children}: choose one")
        if not schema.children or not schema.children[0]:
            raise _malformed("a table without its column")
        column = schema.children[0].contents
    layout = None if column.dictionary else _LAYOUTS.get(column.format)
    if layout is None:
        raise TypeError(f"array must hold strings, or binary that is UTF-8, not {_type_name(column)}")
    return _Column(layout, in_table)


def _type_name(schema: Schema) -> str:
    if schema.dictionary:
        return "dictionary"
    format = (schema.format or b"").decode("utf-8", "replace")
    for start, name in _TYPES.items():
        if format == start or (len(start) > 1 and format.startswith(start)):
            return name
    return f'the format "{format}"'


# --- Values ---


def _read_array(array: Array, column: _Column, first: int) -> list[bytes | None]:
    """The texts of an array, which is released. `first` is the number of the first, for errors."""
    try:
        texts: list[bytes | None] = []
        validities, get = _open(array, column)
        for index in range(array.length):
            there = all(validity(index) for validity in validities)
            try:
                texts.append(get(index, there))
            except ArrowError as error:
                raise ArrowError(f"document {first + index}: {error}") from None
        return texts
    finally:
        release(array)


def _open(array: Array, column: _Column) -> tuple[list[Callable[[int], bool]], Callable[[int, bool], bytes | None]]:
    """Whether the value at an index is there, in the column and its table, and what it is."""
    if not array.release:
        raise _malformed("the array is released already")
    length, start = _size("length", array.length), _size("offset", array.offset)
    inner, validities = array, []
    if column.in_table:
        _expect("children", array.n_children, 1)
        _expect("buffers", array.n_buffers, 1)
        if not array.buffers or not array.children or not array.children[0]:
            raise _malformed("a table without its buffers or its column")
        validities.append(_validity(array.buffers[0], start))
        inner = array.children[0].contents
        rows = _size("length", inner.length)
        if rows < start + length:
            raise _malformed(f"a column of {rows} in a table of {start + length} rows")
        start += _size("offset", inner.offset)
    _expect("children", inner.n_children, 0)
    if column.layout != "view":
        _expect("buffers", inner.n_buffers, 3)
    elif not 3 <= inner.n_buffers < 1 << 32:
        raise _malformed(f"{inner.n_buffers} buffers, expected 3 or more")
    if not inner.buffers:
        raise _malformed("no buffers")
    if length > 0 and not inner.buffers[1]:
        raise _malformed("neither offsets nor views")
    if start + length > _MAX // _VIEW:
        raise _malformed(f"offset {start} and length {length}")
    validities.append(_validity(inner.buffers[0], start))
    return validities, _views(inner, start) if column.layout == "view" else _between(inner, start, column.layout)


def _validity(bits: int | None, start: int) -> Callable[[int], bool]:
    def is_there(index: int) -> bool:
        byte, bit = divmod(start + index, 8)
        return bits is None or bool(ctypes.c_uint8.from_address(bits + byte).value >> bit & 1)

    return is_there


def _between(array: Array, start: int, code: Literal["i", "q"]) -> Callable[[int, bool], bytes | None]:
    """Texts between two offsets in one buffer. Offsets of nulls are offsets all the same."""
    pair, size = f"={code}{code}", struct.calcsize(f"={code}")
    offsets, data = array.buffers[1], array.buffers[2]

    def get(index: int, there: bool) -> bytes | None:
        begin, end = struct.unpack(pair, ctypes.string_at(offsets + (start + index) * size, 2 * size))
        if begin < 0 or end < begin or (end > begin and not data):
            raise _malformed(f"a text from {begin} to {end}")
        if not there:
            return None
        return ctypes.string_at(data + begin, end - begin) if end > begin else b""

    return get


def _views(array: Array, start: int) -> Callable[[int, bool], bytes | None]:
    """Texts inside a view, or in the buffer that it tells."""
    viewed, sizes = [array.buffers[at] for at in range(2, array.n_buffers - 1)], array.buffers[array.n_buffers - 1]

    def get(index: int, there: bool) -> bytes | None:
        if not there:
            return None
        view = array.buffers[1] + (start + index) * _VIEW
        length, _, buffer, offset = struct.unpack("=4i", ctypes.string_at(view, _VIEW))
        if 0 <= length <= 12:
            return ctypes.string_at(view + 4, length)
        known = 0 <= buffer < len(viewed) and viewed[buffer] and sizes
        if length < 0 or offset < 0 or not known:
            fits = False
        else:
            fits = offset + length <= ctypes.c_int64.from_address(sizes + 8 * buffer).value
        if not fits:
            raise _malformed(f"a text of {length} bytes at {offset} in buffer {buffer}")
        return ctypes.string_at(viewed[buffer] + offset, length)

    return get


def _size(what: str, number: int) -> int:
    if number < 0:
        raise _malformed(f"{what} {number}")
    return number


def _expect(what: str, number: int, expected: int) -> None:
    if number != expected:
        raise _malformed(f"{number} {what}, expected {expected}")
