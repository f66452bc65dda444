"""Lists of ids for others to read: what rust/arrow/lists.rs and the class around it do."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_void_p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import TokenArray
from .arrow_structs import (
    GET,
    Array,
    Schema,
    Stream,
    callback,
    kept_by,
    own,
    release_array,
    release_schema,
    release_stream,
    to_capsule,
)

_NULLABLE = 2


class Part(NamedTuple):
    """An array of the stream."""

    length: int
    nulls: int


class ArrowTokens:
    """Lists of token ids in Arrow's memory layout: large_list of uint16 or uint32.

    `encode_arrow` and `TokenBatch.to_arrow` make them. It has a length and speaks the Arrow PyCapsule interface: `pyarrow.array`,
    `pyarrow.chunked_array`, `polars.Series` and others take it and copy nothing. As an array it is whole, as a stream in the
    chunks of what was encoded. Whoever takes either shares its memory, which lives as long as any of them.

    `tokens` are the ids of all documents, a 1-D uint16 or uint32 array, and document i has those from `offsets[i]` to
    `offsets[i + 1]`, a 1-D int64 array. Raises `TypeError` for other arrays, `ValueError` for offsets that do not
    rise or leave the tokens.

    >>> import numpy as np, bpeline
    >>> bpeline.ArrowTokens(np.array([31373, 995], np.uint16), np.array([0, 2, 2]))
    <bpeline.ArrowTokens: 2 documents, 2 tokens, uint16>
    """

    __slots__ = ("_offsets", "_parts", "_tokens", "_validity")

    _validity: NDArray[np.uint8] | None
    """A bit for each document, 0 for a null."""
    _parts: list[Part]

    def __init__(self, tokens: TokenArray, offsets: NDArray[np.int64]) -> None:
        if not _is_array(offsets, np.int64):
            raise TypeError(f"offsets must be a 1-D int64 array, not {_kind(offsets)}")
        if not _is_array(tokens, np.uint16) and not _is_array(tokens, np.uint32):
            raise TypeError(f"tokens must be a 1-D uint16 or uint32 array, not {_kind(tokens)}")
        if any(array.size and not (array.flags.c_contiguous and array.flags.aligned) for array in (tokens, offsets)):
            raise ValueError("tokens and offsets must be contiguous")
        rise = len(offsets) > 0 and offsets[0] >= 0 and bool((offsets[1:] >= offsets[:-1]).all())
        if not rise or offsets[-1] > len(tokens):
            raise ValueError(f"offsets must rise from 0 or more to no more than the {len(tokens)} tokens")
        self._tokens, self._offsets = tokens, offsets
        self._validity, self._parts = None, [Part(len(offsets) - 1, 0)]

    @classmethod
    def _of_chunks(cls, tokens: TokenArray, offsets: NDArray[np.int64], present: list[list[bool]]) -> "ArrowTokens":
        """With the chunks and the nulls of what was encoded: whether each document of each chunk is there."""
        lists = cls(tokens, offsets)
        lists._parts = [Part(len(chunk), chunk.count(False)) for chunk in present]
        if lists._nulls:
            every = np.array([is_there for chunk in present for is_there in chunk])
            lists._validity = np.packbits(every, bitorder="little")
        return lists

    @property
    def _nulls(self) -> int:
        return sum(part.nulls for part in self._parts)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __repr__(self) -> str:
        nulls = f" ({self._nulls:,} null)" if self._nulls else ""
        kind = self._tokens.dtype
        return f"<bpeline.ArrowTokens: {len(self):,} documents{nulls}, {len(self._tokens):,} tokens, {kind}>"

    def __arrow_c_schema__(self) -> Any:
        """The type, as an ArrowSchema in a capsule."""
        return to_capsule(self._schema())

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """The type and all lists in one array, as an ArrowSchema and an ArrowArray in capsules; another type cannot be had."""
        return self.__arrow_c_schema__(), to_capsule(self._slice(0, Part(len(self), self._nulls)))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The chunks in order, as an ArrowArrayStream in a capsule; another type cannot be had."""
        stream = Stream()
        stream.get_schema, stream.get_next, stream.get_last_error = (
            ctypes.cast(function, c_void_p).value for function in (_get_schema, _get_next, _get_last_error)
        )
        starts = np.cumsum([0, *(part.length for part in self._parts)])
        slices = ((start, part) for start, part in zip(starts.tolist(), self._parts, strict=False))
        own(stream, release_stream, self, slices)
        return to_capsule(stream)

    def _schema(self) -> Schema:
        ids = Schema(format=b"S" if self._tokens.itemsize == 2 else b"I", name=b"item", flags=_NULLABLE)
        own(ids, release_schema)
        children = (POINTER(Schema) * 1)(ctypes.pointer(ids))
        lists = Schema(format=b"+L", name=b"", flags=_NULLABLE, n_children=1, children=children)
        own(lists, release_schema, children, ids)
        return lists

    def _slice(self, start: int, part: Part) -> Array:
        ids = _array(Part(len(self._tokens), 0), 0, [None, self._tokens], [])
        return _array(part, start, [self._validity, self._offsets], [ids])


ArrowTokens.__module__ = "bpeline"


def _array(part: Part, start: int, memory: list[NDArray[Any] | None], children: list[Array]) -> Array:
    buffers = (c_void_p * len(memory))(*(None if one is None else one.ctypes.data for one in memory))
    pointers = (POINTER(Array) * len(children))(*map(ctypes.pointer, children))
    array = Array(part.length, part.nulls, start, len(memory), len(children), buffers, pointers)
    own(array, release_array, buffers, memory, pointers, children)
    return array


@callback(GET)
def _get_schema(stream: int, schema: int) -> int:
    lists, _ = kept_by(Stream.from_address(stream))
    _put(lists._schema(), schema)
    return 0


@callback(GET)
def _get_next(stream: int, array: int) -> int:
    lists, slices = kept_by(Stream.from_address(stream))
    following = next(slices, None)
    _put(Array() if following is None else lists._slice(*following), array)
    return 0


@callback(CFUNCTYPE(c_void_p, c_void_p))
def _get_last_error(stream: int) -> None:
    return None


def _put(struct: Schema | Array, address: int) -> None:
    """Moves a struct to where another program wants it."""
    ctypes.memmove(address, ctypes.addressof(struct), ctypes.sizeof(struct))


def _is_array(value: object, dtype: type) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == dtype


def _kind(value: object) -> str:
    """What an argument is instead of the array that it should be."""
    if isinstance(value, np.ndarray):
        return f"a {value.ndim}-D array of {value.dtype}"
    return type(value).__qualname__
