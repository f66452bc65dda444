"""Output: a file that is whole or absent, and ids written as an array or as text.

A regular file is written under a temporary name beside its place, synced and renamed, so an error, Ctrl-C or a full
disk leaves what was there before. A device or a pipe is written to as it is.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any

from bpeline.cli.failure import Failure

if TYPE_CHECKING:
    import numpy as np

BLOCK = 1 << 16


def is_device(path: str) -> bool:
    """Whether there is something that is neither a file nor a folder: a device, a pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def create(path: str, inputs: Iterable[str] = ()) -> Iterator[IO[bytes]]:
    """Open `path` for writing; what is written appears under this name when the block ends without an error.

    It may not be one of the `inputs`: that would lose them.
    """
    place = os.path.realpath(path)  # a link stays a link
    if not is_device(path) and place in map(os.path.realpath, inputs):
        raise Failure(f"{path}: is the input, which the output would replace")
    if os.path.isdir(path):
        raise Failure(f"{path}: is a folder")
    if not os.path.isdir(os.path.dirname(place)):
        raise Failure(f"{path}: the folder {os.path.dirname(path)} does not exist")
    device = is_device(path)
    written = path if device else f"{place}.{os.getpid()}.part"
    try:
        with open(written, "wb") as file:
            yield file
            file.flush()
            if not device:
                os.fsync(file.fileno())
        if not device:
            if os.path.exists(place):
                shutil.copymode(place, written)
            os.replace(written, place)
    except BaseException as error:
        if not device:
            with suppress(OSError):
                os.unlink(written)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise Failure.of(error, path) from error
        raise


class TextIds:
    """Ids as decimal numbers, separated by spaces, a line a document."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, ids: "np.ndarray[Any, Any]") -> None:
        for start in range(0, len(ids), BLOCK):
            self.file.write((" " * (start > 0) + " ".join(map(str, ids[start : start + BLOCK].tolist()))).encode())
        self.file.write(b"\n")

    def close(self) -> None:
        self.file.flush()


class ArrayIds:
    """The 1-D array of a .npy file. Its length goes into the header at the end, so that it is never held as a whole."""

    def __init__(self, file: IO[bytes], dtype: "np.dtype[Any]") -> None:
        self.file, self.dtype, self.count = file, dtype.newbyteorder("<"), 0
        self.header()

    def header(self) -> None:
        """128 bytes, whatever the count: NumPy's format, version 1.0."""
        fields = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({self.count},), }}"
        self.file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + f"{fields:<117}\n".encode())

    def write(self, ids: "np.ndarray[Any, Any]") -> None:
        self.count += len(ids)
        self.file.write(ids.astype(self.dtype, "C", copy=False).data)

    def close(self) -> None:
        self.file.seek(0)
        self.header()


@contextmanager
def ids_to(path: str | None, inputs: list[str], dtype: "np.dtype[Any]") -> Iterator[TextIds | ArrayIds]:
    """Where the ids go: an array if the name ends in .npy, else text; standard output without a name."""
    with nullcontext(sys.stdout.buffer) if path is None else create(path, inputs) as file:
        ids = ArrayIds(file, dtype) if path is not None and path.endswith(".npy") else TextIds(file)
        yield ids
        ids.close()
