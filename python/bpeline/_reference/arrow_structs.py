"""The structs of the Arrow C data interface, and the capsules that hold them, with ctypes.

https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html and CDataInterface/PyCapsuleInterface.html
"""

import ctypes
import itertools
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int64, c_void_p, py_object, pythonapi
from typing import Any, ClassVar, TypeVar


class Schema(Structure):
    """A type, and for a table its columns."""


class Array(Structure):
    """The memory of values of a type that a `Schema` tells."""


class Stream(Structure):
    """Arrays of one type, one after the other."""

    _fields_: ClassVar = [
        (name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")
    ]


Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", c_void_p),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
Array._fields_ = [
    *[(name, c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")],
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", c_void_p),
    ("release", c_void_p),
    ("private_data", c_void_p),
]

Struct = TypeVar("Struct", Schema, Array, Stream)

NAMES: dict[type, bytes] = {Schema: b"arrow_schema", Array: b"arrow_array", Stream: b"arrow_array_stream"}

RELEASE = CFUNCTYPE(None, c_void_p)
GET = CFUNCTYPE(c_int, c_void_p, c_void_p)
GET_ERROR = CFUNCTYPE(c_char_p, c_void_p)

# Prototypes of our own: those of `pythonapi` are everybody's.
_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_is_valid = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_IsValid", pythonapi))
_pointer = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_pointer_of_dying = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))
_name_of_dying = PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", pythonapi))


def in_capsule(capsule: object, kind: type[Struct]) -> Struct | None:
    """The struct in a capsule of its name; None in anything else."""
    if not _is_valid(capsule, NAMES[kind]):
        return None
    return kind.from_address(_pointer(capsule, NAMES[kind]))


def take(source: Struct) -> Struct:
    """Moves a struct from where it lies, which counts as released from then on."""
    taken = type(source).from_buffer_copy(source)
    source.release = None
    return taken


def release(struct: Structure) -> None:
    """Gives a struct back, if that has not been done."""
    if struct.release:
        RELEASE(struct.release)(ctypes.addressof(struct))


# What structs of ours point to, by their `private_data`, until they are released; and what capsules hold, by address.
_kept: dict[int, Any] = {}
_in_capsules: dict[int, Structure] = {}
_numbers = itertools.count(1)


def callback(prototype: Any) -> Callable[[Callable[..., Any]], Any]:
    """A function that C may call as long as the process lives, whatever of Python is left by then."""

    def make(function: Callable[..., Any]) -> Any:
        called = prototype(function)
        pythonapi.Py_IncRef(py_object(called))
        return called

    return make


def own(struct: Structure, release: Any, *kept: Any) -> None:
    """Makes the struct one of ours: what it points to is kept until its release."""
    number = next(_numbers)
    _kept[number] = struct, kept
    struct.private_data = number
    struct.release = ctypes.cast(release, c_void_p).value


def kept_by(struct: Structure) -> Any:
    _, kept = _kept[struct.private_data]
    return kept


@callback(RELEASE)
def release_stream(address: int) -> None:
    struct = Stream.from_address(address)
    struct.release = None
    del _kept[struct.private_data]


def _release_with_children(kind: Any) -> Any:
    @callback(RELEASE)
    def release_one(address: int, kind: Any = kind, kept: Any = _kept, release: Any = release) -> None:
        struct = kind.from_address(address)
        for number in range(struct.n_children):
            release(struct.children[number].contents)  # unless it was moved away
        struct.release = None
        del kept[struct.private_data]

    return release_one


release_schema = _release_with_children(Schema)
release_array = _release_with_children(Array)


@callback(PYFUNCTYPE(None, c_void_p))
def _destroy(capsule: int) -> None:
    struct = _in_capsules.pop(_pointer_of_dying(capsule, _name_of_dying(capsule)))
    release(struct)


def to_capsule(struct: Structure) -> Any:
    """A capsule of the struct, which is released with it unless it was taken."""
    address = ctypes.addressof(struct)
    _in_capsules[address] = struct
    return _new_capsule(address, NAMES[type(struct)], ctypes.cast(_destroy, c_void_p))
