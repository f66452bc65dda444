"""The output folder: files that grow under a temporary name, names that change at once, one job at a time.

What a job has done is what manifest.json says; all else in the folder is put back to that when a job goes on. A file grows
as NAME.part, and the manifest tells how many of its bytes count: what lies behind them is cut off. A finished file is
synced, renamed and then listed; one that was renamed but is not listed yet gets its temporary name again.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._backend import start_writing
from ..errors import CorpusError

PART = ".part"
EVERY = 4_000_000
"""Bytes after which the system is told to begin with them: it would wait for the sync. (Two threads, 33 MB of ids: 10 ms of 160.)"""


class Folder:
    """A folder that one job writes to, as long as it is open."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: int | None = None

    def __enter__(self) -> "Folder":
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise CorpusError(f"{self.path}: is a file, and the output needs a folder") from None
        self._lock = _lock(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def sync(self) -> None:
        """Make the names last, not the contents alone."""
        if os.name != "nt":  # Windows opens no folders
            with contextlib.closing(_Descriptor(self.path)) as folder:
                os.fsync(folder.number)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in place of what had it."""
        os.replace(self.path / old, self.path / new)

    def take_back(self, part: str, finals: Iterable[str]) -> None:
        """Undo the renaming of a file that is not listed, so it counts as growing."""
        if not (self.path / part).exists():
            for final in finals:
                if (self.path / final).exists():
                    self.rename(final, part)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is not there is as good as removed."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file whole or not at all."""
        with Growing(self, name + PART, 0) as file:
            file.write(data)
            file.sync()
        self.rename(name + PART, name)
        self.sync()

    def files(self) -> list[str]:
        """The names of all that is there, in order."""
        return sorted(os.listdir(self.path))


class Growing:
    """A file that is written from a known length on. One that is no `output` is removed in the end: nobody waits for it, or asks for its hash."""

    def __init__(self, folder: Folder, name: str, length: int, output: bool = True) -> None:
        self._is_output = output
        self.folder, self.name, self.path, self.length = folder, name, folder.path / name, length
        self._hash, self._hashed, self._is_synced = hashlib.sha256(), 0, False
        self._started = length
        try:
            self._file: io.BufferedRandom = open(self.path, "r+b" if length else "w+b")  # noqa: SIM115
        except FileNotFoundError:
            raise CorpusError(f"{self.path}: is gone, so the job cannot go on; --overwrite starts it anew") from None
        if length:
            there = self._file.seek(0, os.SEEK_END)
            if there < length:
                self._file.close()
                raise CorpusError(
                    f"{self.path}: has {there} of the {length} bytes that manifest.json counts; --overwrite starts the job anew"
                )
            self._file.truncate(length)
            self._file.seek(length)

    def __enter__(self) -> "Growing":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: Any) -> None:
        """Write bytes, or the memory of an array, at the end."""
        data = memoryview(data).cast("B") if len(data) else b""
        self._is_synced = False
        with self._naming():
            self._file.write(data)
        if self._is_output and self._hashed == self.length:
            self._hash.update(data)
            self._hashed += len(data)
        self.length += len(data)
        if self._is_output and self.length - self._started >= EVERY:
            start_writing(self._file.fileno(), self._started, self.length - self._started)
            self._started = self.length

    def patch(self, head: bytes) -> None:
        """Write over the beginning."""
        self._is_synced = False
        with self._naming():
            self._file.seek(0)
            self._file.write(head)
            self._file.seek(self.length)
        self._hash, self._hashed = hashlib.sha256(), 0

    def sync(self) -> None:
        """Make what was written last."""
        if not self._is_synced:
            with self._naming():
                self._file.flush()
                os.fsync(self._file.fileno())
            self._is_synced = True

    def flush(self) -> None:
        """Let others read what was written."""
        with self._naming():
            self._file.flush()

    def sha256(self) -> str:
        """The hash of all that was written: known, but for what was written before this job or patched."""
        with self._naming():
            self._file.flush()
            if self._hashed != self.length:
                self._file.seek(0)
                self._hash = hashlib.file_digest(self._file, "sha256")
                self._hashed = self.length
                self._file.seek(self.length)
        return self._hash.hexdigest()

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._file.closed

    def close(self) -> None:
        """Close it; what is lost by that was not synced, and does not count."""
        with contextlib.suppress(OSError):
            self._file.close()

    @contextlib.contextmanager
    def _naming(self) -> Any:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error


class _Descriptor:
    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDONLY)

    def close(self) -> None:
        os.close(self.number)


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder, which ends with its process; None where folders have none."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    number = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise CorpusError(f"{path}: another job is writing to this folder") from None
    except OSError:  # a file system without locks
        os.close(number)
        return None
    return number
