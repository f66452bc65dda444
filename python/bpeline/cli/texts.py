"""Documents in: files and standard input, read whole and given to the encoder in groups.

A file is one document and is read whole: only the encoder knows where one may be cut. Small files travel together so that
all threads have work; a group ends once it holds 16 MB, so the memory needed is the largest file, or 16 MB, and its ids.
"""

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from bpeline import BpelineError, Tokenizer
from bpeline.cli.failure import Failure, naming

Result = TypeVar("Result")
GROUP_BYTES = 16_000_000


class Document(NamedTuple):
    """A file's name (`-`: standard input) and all that it holds."""

    file: str
    data: bytes


def read(file: str) -> bytes:
    """All bytes of a file, or of standard input."""
    with naming(file):
        if file != "-":
            return Path(file).read_bytes()
        if sys.stdin.isatty():
            print("bpeline: reading from the terminal; Ctrl-D ends the text", file=sys.stderr)
        return sys.stdin.buffer.read()


def groups(files: Iterable[str], failed: Callable[[Failure], None]) -> Iterator[list[Document]]:
    """The documents in order, several at a time. A file that cannot be read goes to `failed` instead."""
    group: list[Document] = []
    held = 0
    for file in files:
        try:
            group.append(Document(file, read(file)))
        except Failure as failure:
            failed(failure)
            continue
        held += len(group[-1].data)
        if held >= GROUP_BYTES:
            yield group
            group.clear()
            held = 0
    if group:
        yield group


def each(
    run: Callable[[list[bytes]], Iterable[Result]], group: list[Document], failed: Callable[[Failure], None]
) -> Iterator[tuple[Document, Result]]:
    """Run a batch method on a group; if a document is bad, on each alone: the bad one is named, the others count."""
    try:
        results = list(run([document.data for document in group]))
    except BpelineError:
        for document in group:
            try:
                with naming(document.file):
                    results = list(run([document.data]))
            except Failure as failure:
                failed(failure)
            else:
                yield document, results[0]
    else:
        yield from zip(group, results, strict=True)


def stop(failure: Failure) -> None:
    """A `failed` that ends the command at the first bad file."""
    raise failure


def total_bytes(files: Iterable[str]) -> int:
    """The bytes of all files, as far as they can be known before reading."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


def characters(data: bytes) -> int:
    """The number of characters, those that replace invalid bytes included; a megabyte at a time."""
    decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 1 << 20
    blocks = (data[start : start + size] for start in range(0, len(data), size))
    return sum(len(decoder.decode(block)) for block in blocks) + len(decoder.decode(b"", final=True))


def note_specials(tokenizer: Tokenizer, data: bytes) -> dict[str, None]:
    """What to tell someone who did not choose --special and whose text spells out special tokens."""
    found = [literal for literal in tokenizer.special_tokens if literal.encode() in data]
    return {f"{literal} was taken as ordinary text (--special parse makes it the token)": None for literal in found}
