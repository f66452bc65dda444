"""`bpeline count`: how many tokens texts have, as `wc` counts words."""

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import typer

from bpeline.cli import options
from bpeline.cli.failure import Failure, complain
from bpeline.cli.report import Report
from bpeline.cli.texts import characters, each, groups, note_specials, total_bytes


class Row(NamedTuple):
    """One line of the answer."""

    file: str
    tokens: int
    characters: int
    bytes: int

    @property
    def ratio(self) -> float | None:
        """Bytes a token."""
        return round(self.bytes / self.tokens, 3) if self.tokens else None


def count(
    files: options.FilesArgument = None,
    encoding: options.EncodingOption = None,
    vocab: options.VocabOption = None,
    merges: options.MergesOption = None,
    special: options.SpecialOption = None,
    errors: options.ErrorsOption = "strict",
    threads: options.ThreadsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Count the tokens of texts, as wc counts words.

    In a pipe a line is: tokens, characters, bytes, bytes a token, file, with tabs between. A file that cannot be
    counted is reported, the others are counted, and the exit code is 1.

    Example: bpeline count *.txt
    """
    tokenizer = options.load(encoding, vocab, merges)
    names, report, rows = files or ["-"], Report(quiet), list[Row]()
    notes: dict[str, None] = {}
    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        complain(failure)
        failures.append(failure)

    def run(texts: list[bytes]) -> Iterable[int]:
        counts = tokenizer.count_batch(texts, threads=threads, special=special or "text", errors=errors)
        return map(int, counts)

    with report.progress("counting", total_bytes(names)) as step:
        for group in groups(names, failed):
            step.name = group[0].file
            for (file, data), tokens in each(run, group, failed):
                rows.append(Row(file, tokens, characters(data), len(data)))
                if special is None:
                    notes |= note_specials(tokenizer, data)
                step.done += len(data)
                del data
    total = Row("total", sum(r.tokens for r in rows), sum(r.characters for r in rows), sum(r.bytes for r in rows))
    if as_json:
        files_json = [as_dict(row) for row in rows]
        print(json.dumps({"encoding": tokenizer.name, "files": files_json, "total": as_dict(total)}, indent=2))
    elif sys.stdout.isatty():
        print_table(rows, total)
    else:
        for row in [*rows, total] if len(names) > 1 else rows:
            print(row.tokens, row.characters, row.bytes, row.ratio or "-", row.file, sep="\t")
    for note in notes:
        report.line("note", note)
    if failures:
        sys.stdout.flush()
        raise typer.Exit(1)


def as_dict(row: Row) -> dict[str, Any]:
    """A row for --json."""
    return row._asdict() | {"bytes_per_token": row.ratio}


def print_table(rows: list[Row], total: Row) -> None:
    """The rows for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_footer=len(rows) > 1, header_style="bold", footer_style="bold")
    for name, value in (("tokens", total.tokens), ("characters", total.characters), ("bytes", total.bytes)):
        table.add_column(name, f"{value:,}", justify="right")
    table.add_column("bytes/token", f"{total.ratio:.2f}" if total.ratio else "-", justify="right")
    table.add_column("file", "total", overflow="fold")
    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio else "-"
        table.add_row(f"{row.tokens:,}", f"{row.characters:,}", f"{row.bytes:,}", ratio, Text(row.file))
    Console(highlight=False).print(table)
