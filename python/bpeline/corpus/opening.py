"""Opens a file of the corpus: a path, a URL, or standard input; and takes its compression off.

Paths go through `open`, only URLs through fsspec. Truncated and damaged data raise `Unusable`, whichever library found it.
"""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, BinaryIO

from .documents import Place, Source

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
STDIN = "-"


class Unusable(Exception):
    """A document or the rest of a file cannot be used; `read` makes an error or a `Problem` of it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.place: Place | None = None
        """From where on nothing can be read, None for the whole file."""


def library(name: str) -> ModuleType:
    """A module of the extra `corpus`."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'this needs {name} ({error}): pip install "bpeline[corpus]"') from error


def zstd() -> ModuleType:
    """Python's own module, or the same for Pythons before 3.14. Unlike `zstandard` it tells when a file ends too early."""
    return library("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def is_url(name: str) -> bool:
    return "://" in name


def filesystem(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path there."""
    try:
        return library("fsspec.core").url_to_fs(url)  # type: ignore[no-any-return]
    except ImportError as error:  # of what fsspec needs for that protocol
        raise ImportError(f"{url}: {error}") from error


def stamp(url: str) -> tuple[int | None, str]:
    """The size of a file as stored, and what changes with its content."""
    if url == STDIN:
        return None, ""
    if is_url(url):
        fs, path = filesystem(url)
        details = fs.info(path)
        return details.get("size"), str(details.get("ETag") or details.get("etag") or fs.ukey(path))
    status = os.stat(url)
    if not stat.S_ISREG(status.st_mode):  # a pipe
        return None, ""
    return status.st_size, f"{status.st_size}-{status.st_mtime_ns}"


def has_changed(source: Source) -> bool:
    return source.stamp != "" and stamp(source.url)[1] != source.stamp


class Stored(io.RawIOBase):
    """A file as it is stored, that counts what is read of it."""

    def __init__(self, url: str) -> None:
        self.file: BinaryIO
        if url == STDIN:
            # Without the buffer's lock: a thread that waits here would hold it when Ctrl-C ends the process, which then aborts.
            self.file = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        elif is_url(url):
            fs, path = filesystem(url)
            self.file = fs.open(path, "rb")
        else:
            self.file = open(url, "rb", buffering=0)  # noqa: SIM115
        self.url = url
        self.count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.url != STDIN and self.file.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Any) -> int:
        got: int = self.file.readinto(buffer)  # type: ignore[attr-defined]
        self.count += got
        return got

    def close(self) -> None:
        if not self.closed and self.url != STDIN:
            self.file.close()
        super().close()


def unpacked(stored: Stored, compression: str | None) -> io.RawIOBase | io.BufferedIOBase:
    """The content of the file. All members of a gzip file and all frames of a zstd file belong to it."""
    if compression is None:
        return stored
    packed = io.BufferedReader(stored, 1 << 20)
    if compression == "gzip":
        return gzip.GzipFile(fileobj=packed)
    if compression == "bz2":
        return Streams(packed, bz2.BZ2Decompressor)
    if compression == "xz":
        return Streams(packed, lzma.LZMADecompressor)
    module = zstd()
    longest = module.DecompressionParameter.window_log_max.bounds()[1]  # `zstd --long=31` wrote well-known corpora
    return module.ZstdFile(packed, options={module.DecompressionParameter.window_log_max: longest})  # type: ignore[no-any-return]


class Streams(io.RawIOBase):
    """The content of a bz2 or xz file. Python's own files take a stream that is damaged at its beginning for the end of the file."""

    def __init__(self, packed: "io.BufferedReader[Stored]", start: Callable[[], Any]) -> None:
        self.packed, self.start = packed, start
        self.unpacker, self.place = start(), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.packed.seekable()

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            rest = b""
            if self.unpacker.eof:
                rest = self.unpacker.unused_data.lstrip(b"\0")  # zeros may stand between streams
                while not rest and (more := self.packed.read1()):
                    rest = more.lstrip(b"\0")
                if not rest:
                    return 0
                self.unpacker = self.start()
            elif self.unpacker.needs_input and not (rest := self.packed.read1()):
                raise EOFError
            data = self.unpacker.decompress(rest, len(buffer))
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Reads what lies between, from the beginning again if it must."""
        if whence == os.SEEK_END:
            while self.read(1 << 20):
                pass
        target = offset if whence == os.SEEK_SET else self.place + offset
        if target < self.place:
            self.packed.seek(0)
            self.unpacker, self.place = self.start(), 0
        while self.place < target and self.read(min(target - self.place, 1 << 20)):
            pass
        return self.place

    def close(self) -> None:
        self.packed.close()
        super().close()


class Content:
    """The content of a file in order, from an offset on."""

    def __init__(self, source: Source, offset: int = 0) -> None:
        self.compression = source.compression
        self.stored = Stored(source.url)
        self.file = unpacked(self.stored, source.compression)
        self.failure: Unusable | None = None
        """Why nothing comes any more though the file is not at its end."""
        if offset and source.compression is None and self.stored.seekable():
            self.stored.seek(offset)
        else:
            self.skip(offset)
        self.reported = self.stored.count

    def skip(self, size: int) -> None:
        waste = memoryview(bytearray(min(size, 1 << 20)))
        while size and (got := self.fill(waste[:size])):
            size -= got

    def fill(self, view: memoryview) -> int:
        """Reads until `view` is full or nothing more comes."""
        filled = 0
        try:
            while filled < len(view) and (got := self.file.readinto(view[filled:])):
                filled += got
            if filled < len(view) and self.compression and not self.stored.count:  # which gzip takes for an empty file
                raise EOFError
        except Exception as error:
            if not is_damage(error):
                raise
            self.failure = Unusable(failure(error, self.compression))
        return filled

    def read_since(self) -> int:
        """Bytes as stored that were read since the last call."""
        before, self.reported = self.reported, self.stored.count
        return self.reported - before

    def close(self) -> None:
        self.file.close()
        self.stored.close()


class Quiet(io.RawIOBase):
    """Content as a file that ends where it breaks off, for a library that reads ahead: what came before is not lost then."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self.content.fill(memoryview(buffer))


def is_damage(error: Exception) -> bool:
    """Whether it is what reading or decompressing a bad file raises."""
    # The class of zstd is known by name, since its library need not be there.
    known = isinstance(error, OSError | EOFError | zlib.error | lzma.LZMAError)
    return known or type(error).__name__ == "ZstdError"


def failure(error: Exception, compression: str | None) -> str:
    """In words: what kept a file from being read."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"cannot be read: {os.strerror(error.errno).lower()}"
    if isinstance(error, EOFError):
        return f"the {compression} data ends too early"
    message = str(error).strip()
    return f"not valid {compression or 'data'}: {message[:1].lower()}{message[1:]}"
