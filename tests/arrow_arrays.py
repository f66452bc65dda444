"""Arrow arrays and streams made by hand: any fault can be put in, and releases are counted."""

import ctypes
import struct
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_void_p

from bpeline._reference.arrow_structs import Array, Schema, Stream, to_capsule

RELEASE = CFUNCTYPE(None, c_void_p)
ALL = []  # their owners: whoever took a struct calls back into it


def offsets(*numbers, width=4):
    return struct.pack(f"={len(numbers)}{'i' if width == 4 else 'q'}", *numbers)


def view(text=b"", buffer=0, offset=0, length=None):
    """A view of a short text, or of one in a buffer."""
    length = len(text) if length is None else length
    if 0 <= length <= 12:
        return struct.pack("=i12s", length, text)
    return struct.pack("=i4sii", length, text[:4], buffer, offset)


class Made:
    """What others would make. `released` counts: of a schema, an array and a stream, 1 each in the end."""

    def __init__(self):
        self.released = {"schema": 0, "array": 0, "stream": 0}
        self._kept = []
        ALL.append(self)

    def keep(self, value):
        self._kept.append(value)
        return value

    def _release(self, kind, struct_type):
        def release(address):
            self.released[kind] += 1
            struct_type.from_address(address).release = None

        return ctypes.cast(self.keep(RELEASE(release)), c_void_p).value

    def schema(self, format="u", children=(), **fields):
        schema = self.keep(Schema(format=format.encode(), name=b"", **fields))
        if children:
            schema.n_children = len(children)
            schema.children = self.keep((POINTER(Schema) * len(children))(*map(ctypes.pointer, children)))
        schema.release = self._release("schema", Schema)
        return schema

    def array(self, length, buffers, children=(), /, offset=0, **fields):
        """`buffers` are bytes, or None."""
        memory = [None if data is None else self.keep(ctypes.create_string_buffer(data, len(data))) for data in buffers]
        pointers = self.keep(
            (c_void_p * len(memory))(*(None if data is None else ctypes.addressof(data) for data in memory))
        )
        array = self.keep(Array(length=length, offset=offset, n_buffers=len(memory), buffers=pointers))
        if children:
            array.n_children = len(children)
            array.children = self.keep((POINTER(Array) * len(children))(*map(ctypes.pointer, children)))
        array.release = self._release("array", Array)
        for name, value in fields.items():
            empty = type(getattr(array, name)) if name in ("buffers", "children") else lambda: None
            setattr(array, name, empty() if value is None else value)
        return array

    def stream(self, schema, arrays, error=None):
        """Fails with `error`, an errno and a message, after the last array."""
        stream = self.keep(Stream())
        left = iter(arrays)

        def put(struct, address):
            ctypes.memmove(address, ctypes.addressof(struct), ctypes.sizeof(struct))
            struct.release = None

        @CFUNCTYPE(c_int, c_void_p, c_void_p)
        def get_schema(_, address):
            put(schema, address)
            return 0

        @CFUNCTYPE(c_int, c_void_p, c_void_p)
        def get_next(_, address):
            array = next(left, None)
            if array is None and error is not None:
                return error[0]
            put(array or Array(), address)
            return 0

        message = self.keep(c_char_p(error and error[1]))

        @CFUNCTYPE(c_void_p, c_void_p)
        def get_last_error(_):
            return ctypes.cast(message, c_void_p).value

        stream.get_schema, stream.get_next, stream.get_last_error = (
            ctypes.cast(self.keep(function), c_void_p).value for function in (get_schema, get_next, get_last_error)
        )
        stream.release = self._release("stream", Stream)
        return stream


class OneArray:
    """Has __arrow_c_array__."""

    def __init__(self, schema, array):
        self.schema, self.array = schema, array

    def __arrow_c_array__(self, requested_schema=None):
        return to_capsule(self.schema), to_capsule(self.array)


class OneStream:
    """Has __arrow_c_stream__."""

    def __init__(self, stream):
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema=None):
        return to_capsule(self.stream)
