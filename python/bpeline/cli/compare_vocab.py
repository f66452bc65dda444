"""`bpeline compare-vocab`: two vocabularies beside each other, by what they share and by what they make of texts."""

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import bpeline
from bpeline.cli import options
from bpeline.cli.failure import Failure, naming
from bpeline.cli.texts import read
from bpeline.show import quoted


class Row(NamedTuple):
    """What the two make of a file."""

    file: str
    bytes: int
    a_tokens: int
    b_tokens: int

    def ratio(self, tokens: int) -> float:
        """Bytes a token."""
        return round(self.bytes / tokens, 3) if tokens else 0.0


class Only(NamedTuple):
    """A token that one of the two has alone, and how often it comes up in the files."""

    token: bytes
    uses: int


def compare_vocab(
    a: Annotated[str, typer.Argument(metavar="A", help="A tokenizer, as --encoding of other commands.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    on: Annotated[list[str], typer.Option("--on", metavar="FILE", help="A text to encode; may be repeated.")],
    show: Annotated[int, typer.Option("--show", min=0, metavar="N", help="How many tokens of one alone to list.")] = 10,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw bytes a token by file, as SVG, PNG or PDF.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    threads: options.ThreadsOption = None,
) -> None:
    """Compare two vocabularies: bytes a token by file, tokens in common, tokens of one alone that are used most.

    Example: bpeline compare-vocab gpt2 my-tokenizer --on english.txt --on code.txt
    """
    import numpy as np

    first, second = options.load(a), options.load(b)
    rows: list[Row] = []
    uses = [np.zeros(tok.vocab_size, np.int64) for tok in (first, second)]
    for file in on:
        text = read(file)
        counts = []
        with naming(file):
            for tok, used in zip((first, second), uses, strict=True):
                ids = tok.encode_ragged([text], threads=threads, special="text").tokens
                used += np.bincount(ids, minlength=tok.vocab_size)
                counts.append(len(ids))
        rows.append(Row(file, len(text), counts[0], counts[1]))
    tokens = [vocabulary(tok) for tok in (first, second)]
    common = len(tokens[0].keys() & tokens[1].keys())
    alone = [only(tokens[0], tokens[1], uses[0]), only(tokens[1], tokens[0], uses[1])]
    if plot is not None:
        draw(plot, (first.name, second.name), rows)
    if as_json:
        print(json.dumps(as_dict((first, second), rows, common, alone, show), indent=2))
    else:
        print_tables((first, second), rows, common, alone, show)


def vocabulary(tok: bpeline.Tokenizer) -> dict[bytes, int]:
    """The ordinary tokens and their ids."""
    special = set(tok.special_tokens.values())
    found = ((tok.token_bytes(id), id) for id in range(tok.vocab_size) if id not in special)
    return {token: id for token, id in found if token is not None}


def only(tokens: dict[bytes, int], others: dict[bytes, int], uses: Any) -> list[Only]:
    """The tokens that are not among the others, most used first."""
    alone = [Only(token, int(uses[id])) for token, id in tokens.items() if token not in others]
    return sorted(alone, key=lambda one: -one.uses)


def as_dict(
    toks: tuple[bpeline.Tokenizer, bpeline.Tokenizer], rows: list[Row], common: int, alone: list[list[Only]], show: int
) -> dict[str, Any]:
    """All of it for --json. Tokens are spelled as in GPT-2's files."""
    return {
        "files": [
            row._asdict() | {"a_bytes_per_token": row.ratio(row.a_tokens), "b_bytes_per_token": row.ratio(row.b_tokens)}
            for row in rows
        ],
        "tokens_in_common": common,
        **{
            side: {
                "encoding": tok.name,
                "vocab_size": tok.vocab_size,
                "tokens_alone": len(found),
                "most_used_alone": [
                    {"token": tok.id_to_token(tok.token_to_id(one.token) or 0), "uses": one.uses}
                    for one in found[:show]
                ],
            }
            for side, tok, found in zip("ab", toks, alone, strict=True)
        },
    }


def print_tables(
    toks: tuple[bpeline.Tokenizer, bpeline.Tokenizer], rows: list[Row], common: int, alone: list[list[Only]], show: int
) -> None:
    """For people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("bytes", f"{toks[0].name} bytes/token", f"{toks[1].name} bytes/token", "tokens, B of A"):
        table.add_column(name, justify="right")
    table.add_column("file", overflow="fold")
    total = Row("total", sum(r.bytes for r in rows), sum(r.a_tokens for r in rows), sum(r.b_tokens for r in rows))
    for row in [*rows, total] if len(rows) > 1 else rows:
        share = f"{row.b_tokens / row.a_tokens:.1%}" if row.a_tokens else "-"
        ratios = (f"{row.ratio(tokens):.2f}" for tokens in (row.a_tokens, row.b_tokens))
        table.add_row(f"{row.bytes:,}", *ratios, share, Text(row.file))
    console.print(table)
    console.print(f"\n{common:,} tokens in common")
    for tok, found in zip(toks, alone, strict=True):
        console.print(
            Text(f"{len(found):,} tokens of {tok.name} alone" + (", most used first:" if show and found else ""))
        )
        for one in found[:show]:
            console.print(Text(f"  {one.uses:>9,}  {quoted(one.token)}"))


def draw(path: str, names: tuple[str, str], rows: list[Row]) -> None:
    """Bytes a token by file, a bar for each tokenizer."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Failure("--plot needs matplotlib: pip install 'bpeline[plot]'") from None
    figure = Figure(figsize=(2 + 1.2 * len(rows), 4), layout="constrained")
    axes = figure.add_subplot()
    for shift, name, ratios in (
        (-0.2, names[0], [row.ratio(row.a_tokens) for row in rows]),
        (0.2, names[1], [row.ratio(row.b_tokens) for row in rows]),
    ):
        axes.bar_label(axes.bar([place + shift for place in range(len(rows))], ratios, 0.4, label=name), fmt="%.2f")
    axes.set_xticks(range(len(rows)), [Path(row.file).name for row in rows], rotation=20)
    axes.set_ylabel("bytes a token")
    axes.legend()
    try:
        figure.savefig(path)
    except OSError as error:
        raise Failure.of(error, path) from error
    except ValueError as error:
        raise Failure(f"{path}: {str(error).splitlines()[0].lower()}") from None
