"""`bpeline decode`: token ids to text."""

import codecs
import io
import re
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpeline import Tokenizer
from bpeline.cli import options
from bpeline.cli.failure import naming
from bpeline.cli.output import create
from bpeline.cli.report import Report, size
from bpeline.cli.texts import read
from bpeline.show import quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 18  # ids, or bytes of text that spells ids
SEPARATOR, WORD = re.compile(rb"[\s,\[\]]"), re.compile(rb"[^\s,\[\]]+")
FOREIGN = re.compile(rb"[^-0-9\s,\[\]]")
NUMBER = re.compile(rb"-?[0-9]{1,4000}")  # int() refuses more than 4,300 digits


def decode(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help=".npy arrays, or texts of decimal ids (spaces, line ends, commas and brackets between them); `-`, or "
            "none: standard input.",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT", help="The file to write.  (default: standard output)")
    ] = None,
    encoding: options.EncodingOption = None,
    vocab: options.VocabOption = None,
    merges: options.MergesOption = None,
    skip_special: Annotated[bool, typer.Option("--skip-special", help="Leave special tokens out.")] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Decode token ids as text.

    What is written is exactly the bytes that the tokens carry; a terminal gets U+FFFD for invalid ones.

    Example: bpeline decode ids.npy -o book.txt
    """
    tokenizer = options.load(encoding, vocab, merges)
    to_stdout = output is None or output == "-"
    tokens = written = 0
    started = time.perf_counter()
    with nullcontext(sys.stdout.buffer) if to_stdout else create(str(output), files or []) as out:
        terminal = Terminal() if to_stdout and sys.stdout.isatty() else None
        for file in files or ["-"]:
            for count, data in decoded(tokenizer, file, skip_special):
                (terminal or out).write(data)
                tokens, written = tokens + count, written + len(data)
        if terminal:
            terminal.close()
    if not to_stdout:
        seconds = time.perf_counter() - started
        report = Report(quiet)
        report.line("tokens", f"{tokens:,}")
        report.line("speed", f"{written / 1e6 / seconds:,.1f} MB/s ({seconds:.3f} s)")
        report.line("text", f"{output} ({size(written)})")


class Terminal:
    """Text for eyes: U+FFFD for what is no character, and a line end at the end."""

    def __init__(self) -> None:
        self.decoder, self.last = codecs.getincrementaldecoder("utf-8")("replace"), "\n"

    def write(self, data: bytes, final: bool = False) -> None:
        text = self.decoder.decode(data, final)
        self.last = (text or self.last)[-1]
        sys.stdout.write(text)

    def close(self) -> None:
        self.write(b"", final=True)
        if self.last != "\n":
            sys.stdout.write("\n")


def decoded(tokenizer: Tokenizer, file: str, skip_special: bool) -> Iterator[tuple[int, bytes]]:
    """How many ids, and what they stand for, block by block of a file; errors name the file."""
    with naming(file):
        for ids in blocks(file):
            yield len(ids), tokenizer.decode_bytes(ids, skip_special_tokens=skip_special)


def blocks(file: str) -> "Iterator[NDArray[Any] | list[int]]":
    """The ids of a file, many at a time. A token is bytes, so any block of ids decodes on its own."""
    data = read(file)
    if not data.startswith(b"\x93NUMPY"):
        if file.endswith(".npy"):
            raise ValueError("not a .npy file")
        yield from numbers(data)
        return
    from numpy import load

    try:
        ids = load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OverflowError, EOFError) as error:
        raise ValueError(f"not a usable .npy file: {error}") from error
    if ids.ndim != 1:
        raise ValueError(f"token ids must be one-dimensional, not {ids.ndim}-dimensional")
    for start in range(0, max(len(ids), 1), BLOCK):  # an empty array still has its type checked
        yield ids[start : start + BLOCK]


def numbers(data: bytes) -> Iterator[list[int]]:
    """The ids that a text spells."""
    end = 0
    while end < len(data):
        start, cut = end, SEPARATOR.search(data, end + BLOCK)
        end = cut.start() if cut else len(data)
        block = data[start:end]
        try:
            if FOREIGN.search(block):
                raise ValueError
            ids = [int(word) for word in WORD.findall(block)]
        except ValueError:
            word = next(word for word in WORD.finditer(data, start, end) if not NUMBER.fullmatch(word[0]))
            line = data.count(b"\n", 0, word.start()) + 1
            raise ValueError(f"line {line}: expected a token id, found {quoted(word[0][:40])}") from None
        yield ids
