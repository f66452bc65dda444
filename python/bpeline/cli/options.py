"""Options that several commands share, and the tokenizer they name."""

from typing import Annotated, Literal

import typer

import bpeline
from bpeline.cli.failure import Failure

Special = Literal["parse", "text", "error"]
Errors = Literal["strict", "replace"]

EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        "-e",
        metavar="NAME|PATH",
        help=f"A built-in encoding ({', '.join(bpeline.encodings())}), a file that says all (tekken.json, a rank file of "
        "OpenAI's), or a folder that holds one or vocab.json with merges.txt.  (default: gpt2)",
    ),
]
VocabOption = Annotated[
    str | None, typer.Option("--vocab", metavar="FILE", help="A vocab.json, with --merges in place of --encoding.")
]
MergesOption = Annotated[str | None, typer.Option("--merges", metavar="FILE", help="The merges.txt of --vocab.")]
SpecialOption = Annotated[
    Special | None,
    typer.Option(
        "--special",
        help="Special tokens spelled out in the text: parse them as tokens, take them as ordinary text, or stop with "
        "an error.  (default: text, so that a file from a stranger cannot write them into your data)",
    ),
]
ErrorsOption = Annotated[
    Errors,
    typer.Option("--errors", help="Bytes that are not UTF-8: stop with an error, or replace them by U+FFFD."),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, metavar="N", help="Threads.  (default: one per core)")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors only.")]
FilesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="FILES", help="Files to read; `-`, or none: standard input.")
]


def load(encoding: str | None, vocab: str | None = None, merges: str | None = None) -> bpeline.Tokenizer:
    """The tokenizer that --encoding, or --vocab with --merges, names."""
    if (vocab is None) != (merges is None):
        raise typer.BadParameter("--vocab and --merges go together")
    if vocab is not None and encoding is not None:
        raise typer.BadParameter("give --encoding, or --vocab with --merges, not both")
    try:
        return bpeline.load(encoding or "gpt2") if vocab is None else bpeline.load(vocab, merges)
    except OSError as error:
        raise Failure.of(error) from error
