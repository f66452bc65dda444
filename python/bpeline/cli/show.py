"""`bpeline show`: tokens in alternating colours with their ids."""

import sys
from typing import Annotated

import typer

from bpeline.cli import options
from bpeline.cli.failure import naming
from bpeline.cli.texts import read
from bpeline.show import Shown, wants_colour


def show(
    text: Annotated[str | None, typer.Argument(help="The text; without it, standard input.")] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", metavar="FILE", help="Show a file, not TEXT.")] = None,
    html: Annotated[bool, typer.Option("--html", help="Print an HTML fragment.")] = False,
    encoding: options.EncodingOption = None,
    vocab: options.VocabOption = None,
    merges: options.MergesOption = None,
    special: Annotated[
        options.Special | None,
        typer.Option("--special", help="As for encode.  (default: parse for TEXT, text for a file or standard input)"),
    ] = None,
    errors: options.ErrorsOption = "strict",
) -> None:
    """Show the tokens of a text in colours, with their ids.

    In a pipe: a line a token, the token in quotes and its id.

    Example: bpeline show "Hello, world"
    """
    text = None if text == "-" else text
    if text is not None and file is not None:
        raise typer.BadParameter("give a text or --file, not both")
    tokenizer = options.load(encoding, vocab, merges)
    data = read(file or "-") if text is None else text.encode("utf-8", "surrogateescape")
    with naming("TEXT" if text is not None else file or "-"):
        handling = special or ("text" if text is None else "parse")
        shown = Shown(tokenizer, tokenizer.encode(data, special=handling, errors=errors))
    rendered = shown.html() if html else shown.ansi() if wants_colour(sys.stdout) else shown.plain()
    print(rendered, end="\n" if rendered else "")
