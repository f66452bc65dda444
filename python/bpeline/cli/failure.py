"""Errors that a person can read: `bpeline: FILE: message`, one line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bpeline import BpelineError, InvalidTextError


class Failure(Exception):
    """Bad input, said in one line."""

    @classmethod
    def of(cls, error: Exception, file: str | None = None) -> "Failure":
        """The failure that an error of Python or bpeline stands for, with the file where it happened."""
        message = str(error).removeprefix("document 0: ")
        if isinstance(error, OSError) and error.errno:
            message, file = os.strerror(error.errno), file or error.filename
        if isinstance(error, InvalidTextError):
            message += " (--errors replace turns what is invalid into U+FFFD)"
        return cls(f"{file}: {message}" if file is not None else message)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Errors inside get the name of the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (BpelineError, OSError, ValueError, TypeError) as error:
        raise Failure.of(error, file) from error
    except MemoryError:
        raise Failure(f"{file}: not enough memory") from None


def complain(error: object) -> None:
    """Say what is wrong, and what may help, in one line on stderr."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    print("bpeline:", " ".join(str(error).split("\n")) + notes, file=sys.stderr)
