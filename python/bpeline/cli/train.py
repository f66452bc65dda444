"""`bpeline train`: a tokenizer learned from files."""

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import bpeline
from bpeline.cli import options
from bpeline.cli.compression import BUILT_IN, compressions
from bpeline.cli.failure import Failure
from bpeline.cli.report import Report, Step, number, size
from bpeline.train import Item, Progress

if TYPE_CHECKING:
    from bpeline.corpus.documents import Documents

Format = Literal["gpt2", "tokenizer.json", "tiktoken"]
Ties = Literal["tokenizers", "first-seen"]

SAMPLE = 1_000_000
"""Bytes of the training text on which compression is measured, where there is no other."""

PLAIN = ("", ".md", ".text", ".txt")
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def train(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, globs or URLs of text, JSON lines, Parquet, Arrow or CSV, compressed or not; `-`: standard input.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to save the tokenizer.")],
    vocab_size: Annotated[int, typer.Option("--vocab-size", metavar="N", help="Tokens in all, special ones included.")],
    format: Annotated[Format, typer.Option("--format", help="Which files to save.")] = "gpt2",
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="NAME|REGEX", help="What cuts texts into pieces.  (default: gpt2)"),
    ] = None,
    special_token: Annotated[
        list[str] | None,
        typer.Option(
            "--special-token",
            metavar="LITERAL",
            help='A special token; may be repeated, and "" is none at all.  (default: <|endoftext|>)',
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="NAME|PATH",
            help="A tokenizer whose tokens are kept, and learned on from; pattern and special tokens are its own.",
        ),
    ] = None,
    min_frequency: Annotated[int, typer.Option(metavar="N", help="How often a pair must occur to be merged.")] = 2,
    max_token_length: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens stay shorter than so many bytes, those of two bytes apart.")
    ] = None,
    ties: Annotated[
        Ties, typer.Option(help="Of equally frequent pairs: as Hugging Face tokenizers, or the one first seen.")
    ] = "tokenizers",
    column: Annotated[str, typer.Option(metavar="NAME", help="The field or column that holds the text.")] = "text",
    separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What stands between the documents of a text file.")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Forget the rarest pieces beyond it, such as 4GB; what is lost is told."),
    ] = None,
    held_out: Annotated[
        list[str] | None,
        typer.Option("--held-out", metavar="FILE", help="A text on which to measure compression; may be repeated."),
    ] = None,
    threads: options.ThreadsOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Learn a tokenizer from text, with the merges that Hugging Face tokenizers would learn.

    Example: bpeline train corpus/*.txt -o my-tokenizer --vocab-size 32000
    """
    if start is not None and (pattern is not None or special_token is not None):
        raise typer.BadParameter("--start has its own pattern and special tokens")
    report, began = Report(quiet), None if start is None else options.load(start)
    memory = None if max_memory is None else parse_size(max_memory)
    name, sample = Path(output).name or "trained", bytearray()
    with report.progress("training", 0) as step, warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        texts = sampled(items(inputs, column, separator), sample)
        settings: dict[str, Any] = {
            "min_frequency": min_frequency,
            "max_token_length": max_token_length,
            "ties": ties,
            "threads": threads,
            "progress": tell(step),
            "max_memory": memory,
            "name": name,
        }
        if began is None:
            literals = ["<|endoftext|>"] if special_token is None else [literal for literal in special_token if literal]
            settings |= {"pattern": pattern or "gpt2", "special_tokens": literals}
        train_on = bpeline.Tokenizer.train if began is None else began.train_more
        tokenizer = train_on(texts, vocab_size, **settings)
    for note in notes:
        report.line("note", str(note.message))
    try:
        paths = tokenizer.save(output, format=format)
    except OSError as error:
        raise Failure.of(error) from error
    report.line("trained", f"{number(tokenizer.vocab_size, 'token')}, {', '.join(map(str, paths))}")
    named = {file: read(file) for file in held_out or []} or {"the training text": bytes(sample)}
    for file, text in named.items():
        found = compressions([tokenizer, *map(bpeline.load, BUILT_IN)], text, threads)
        listed = ", ".join(f"{ratio:.2f} {name}" for name, ratio in found)
        report.line("bytes/token", f" {listed} (on {size(len(text))} of {file})")


def tell(step: Step) -> Progress:
    """What shows how far the training is."""

    def show(progress: bpeline.TrainingProgress) -> None:
        if progress.stage == "counting":
            step.name = f"(counting): {size(progress.done)}"
            return
        left = progress.seconds_left
        step.name = f"(merging): {progress.done:,} of {progress.total:,} rules"
        step.name += "" if left is None else f", {left:.0f} s left"

    return show


def items(inputs: list[str], column: str, separator: str | None) -> Iterator[Item]:
    """The texts and files of the inputs. Plain text files need no other library."""
    if separator is None and all(os.path.isfile(name) and Path(name).suffix.lower() in PLAIN for name in inputs):
        yield from map(Path, inputs)
        return
    from bpeline.corpus import inputs as corpus
    from bpeline.corpus.documents import ReadOptions
    from bpeline.corpus.readers import read as documents

    for source in corpus.find(inputs, ReadOptions(column=column, separator=separator)):
        if source.kind == "text" and source.compression is None and separator is None and os.path.isfile(source.url):
            yield Path(source.url)
        else:
            yield from texts_of(documents(source))


def texts_of(batches: "Iterable[Documents]") -> Iterator[str]:
    """Each document whole, though a reader gives a large one in parts."""
    parts: list[str] = []
    for batch in batches:
        texts = batch.texts.to_pylist()
        if parts and texts:
            texts[0] = "".join([*parts, texts[0]])
            parts = []
        if batch.open and texts:
            parts = [texts.pop()]
        yield from texts
    yield from parts


def sampled(items: Iterable[Item], sample: bytearray) -> Iterator[Item]:
    """The items, of which the first are kept as far as the sample goes."""
    for item in items:
        if len(sample) < SAMPLE:
            room = SAMPLE - len(sample)
            if isinstance(item, os.PathLike):
                with open(item, "rb") as file:
                    front = file.read(room)
            else:
                front = str(item)[:room].encode("utf-8", "replace")[:room]
            sample += front.decode("utf-8", "ignore").encode()
        yield item


def read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise Failure.of(error, file) from error


def parse_size(text: str) -> int:
    """Bytes of `4GB`, `500 MB` or a number."""
    found = re.fullmatch(r"([0-9.]+) *([KMG]I?B|)", text.upper())
    try:
        return int(float(found[1]) * UNITS[found[2]]) if found else int("")
    except ValueError:
        raise typer.BadParameter(f"--max-memory must be a size such as 500MB or 4GB, not {text!r}") from None
