"""`bpeline encode`: texts to token ids."""

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from bpeline import Tokenizer
from bpeline.cli import options
from bpeline.cli.output import ids_to, is_device
from bpeline.cli.report import Report, number, size
from bpeline.cli.texts import characters, each, groups, note_specials, stop, total_bytes
from bpeline.show import Shown, quoted, wants_colour

if TYPE_CHECKING:
    from bpeline import TokenBatch


@dataclass
class Totals:
    """What the summary tells."""

    files: int = 0
    bytes: int = 0
    characters: int = 0
    tokens: int = 0
    seconds: float = 0.0  # of encoding alone, without reading and writing
    first: list[int] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)


def encode(
    files: options.FilesArgument = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="OUT.npy: one array of all ids, the files' one after another. OUT.txt: ids separated by spaces, a "
            "line a file; so is standard output without -o.",
        ),
    ] = None,
    encoding: options.EncodingOption = None,
    vocab: options.VocabOption = None,
    merges: options.MergesOption = None,
    special: options.SpecialOption = None,
    errors: options.ErrorsOption = "strict",
    threads: options.ThreadsOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Encode texts as token ids.

    Each file is one text and is encoded as a whole.

    Example: bpeline encode book.txt -o ids.npy
    """
    path = None if output == "-" else checked(output)
    tokenizer = options.load(encoding, vocab, merges)
    names, report, totals, started = files or ["-"], Report(quiet), Totals(), time.perf_counter()

    def run(texts: list[bytes]) -> "TokenBatch":
        start = time.perf_counter()
        batch = tokenizer.encode_ragged(texts, threads=threads, special=special or "text", errors=errors)
        totals.seconds += time.perf_counter() - start
        return batch

    dtype = tokenizer.encode_array("").dtype
    mixed = path is None and sys.stdout.isatty()  # ids would run through the progress bar
    with ids_to(path, names, dtype) as out, report.progress("encoding", total_bytes(names), hidden=mixed) as step:
        for group in groups(names, stop):
            step.name = group[0].file
            for (file, data), ids in each(run, group, stop):
                out.write(ids)
                totals.files += 1
                totals.bytes += len(data)
                totals.characters += characters(data)
                totals.tokens += len(ids)
                totals.first = totals.first or ids[:40].tolist()
                if special is None:
                    totals.notes |= note_specials(tokenizer, data)
                if len(names) > 1:
                    report.line("", f"{file}: {size(len(data))}, {number(len(ids), 'token')}")
                step.done += len(data)
                del data, ids  # a large file is gone before the next one is read
    if not quiet:
        summarize(report, tokenizer, totals, path, time.perf_counter() - started)


def checked(output: str | None) -> str | None:
    """The name of the output if it tells a format; a device or a pipe takes text."""
    if output is None or output.endswith((".npy", ".txt")) or is_device(output):
        return output
    raise typer.BadParameter(f"the name must end in .npy (an array) or .txt (numbers), not {output!r}", param_hint="-o")


def summarize(report: Report, tokenizer: Tokenizer, totals: Totals, path: str | None, elapsed: float) -> None:
    """A few lines for a person: what was read, how fast, where the ids are, how they begin."""
    ratio = f" ({totals.bytes / totals.tokens:.2f} bytes a token)" if totals.tokens else ""
    speed = f"{totals.bytes / 1e6 / totals.seconds:,.1f} MB/s"
    files, chars = number(totals.files, "file"), number(totals.characters, "character")
    array = path is not None and path.endswith(".npy")
    form = f"{tokenizer.encode_array('').dtype} array" if array else "text"
    if totals.files > 1:
        form += ", the files one after another" if array else ", a line a file"
    written = f", {size(os.path.getsize(path))}" if path is not None and os.path.isfile(path) else ""
    report.line("text", f"{files}, {size(totals.bytes)}, {chars}")
    report.line("tokens", f"{totals.tokens:,}{ratio}")
    report.line("speed", f"{speed} ({totals.seconds:.3f} s encoding, {elapsed:.3f} s in all)")
    report.line("encoding", f"{tokenizer.name}, {tokenizer.backend} backend")
    report.line("ids", f"{path or 'standard output'} ({form}{written})")
    for note in totals.notes:
        report.line("note", note)
    shown = Shown(tokenizer, totals.first)
    if totals.first and wants_colour(report.console.file):
        from rich.text import Text

        for label, row in zip(("begins", ""), shown.ansi(width=report.console.width - 11).split("\n"), strict=False):
            report.line(label, Text.from_ansi(row))
    elif totals.first:
        report.line("begins", " ".join(quoted(token.bytes) for token in shown.tokens(12)))
        report.line("", " ".join(map(str, totals.first[:12])))
