"""`bpeline inspect`: documents of an output, decoded, and what is in it as a whole."""

import random as randoms
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bpeline.cli import options
from bpeline.cli.failure import Failure
from bpeline.cli.output import create
from bpeline.cli.report import Report, Step, number, size
from bpeline.cli.verify import OutArgument
from bpeline.show import printable, quoted

if TYPE_CHECKING:
    from rich.console import Console

    from bpeline.corpus.inspect import Statistics
    from bpeline.corpus.output import Output


def inspect(
    out: OutArgument,
    first: Annotated[
        int | None, typer.Option("--first", "-n", min=0, metavar="N", help="How many documents to show.  (default: 3)")
    ] = None,
    document: Annotated[
        list[int] | None, typer.Option(min=0, metavar="I", help="Show this document; may be repeated. The first is 0.")
    ] = None,
    random: Annotated[bool, typer.Option("--random", help="Show documents picked at random, not the first.")] = False,
    search: Annotated[str | None, typer.Option(metavar="TEXT", help="Show documents that hold this text.")] = None,
    chars: Annotated[int, typer.Option(min=1, metavar="N", help="Characters of a document to show.")] = 300,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page with plots; needs matplotlib.")] = None,
    encoding: options.EncodingOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Show what `bpeline tokenize` has made: documents, decoded, and statistics of tokens and documents.

    With --document or --search just documents, without the pass over all tokens.

    Example: bpeline inspect tokens/ --html report.html
    """
    from rich.console import Console

    try:
        from bpeline.corpus.inspect import inspect_corpus
        from bpeline.corpus.output import Output

        if html is not None:
            from bpeline.corpus.report import page
        output = Output(out, encoding)
    except ModuleNotFoundError as error:
        raise Failure(f"a corpus needs {error.name}: python -m pip install 'bpeline[corpus]'") from error
    except ImportError as error:
        raise Failure(str(error)) from error
    console = Console(highlight=False, soft_wrap=False, markup=False, emoji=False)
    if not output.can_tell_documents and (document or search is not None):
        raise Failure(f"{out}: nothing in this format tells its documents apart, as texts may hold its end-of-text")
    if document or search is not None:
        wanted = document or []
        _check(output, wanted)
        _show(console, output, wanted, search, first or 3, chars)
        return
    report, step = Report(quiet), Step("counting", 0)

    def progress(done: int, total: int) -> None:
        step.done, step.total = done * output.facts.dtype.itemsize, total * output.facts.dtype.itemsize

    with report.progress("", 0, step=step):
        found = inspect_corpus(out, encoding=output.tokenizer, progress=progress)
    _tables(console, found)
    count = min(3 if first is None else first, found.documents)
    picked = randoms.sample(range(found.documents), count) if random else list(range(count))
    _show(console, output, picked, None, count, chars)
    if html is not None:
        own = [str(output.folder / name) for name in ("manifest.json", *output.manifest.names())]
        with create(html, own) as file:
            file.write(page(found).encode())
        report.line("page", html)


def _check(output: "Output", wanted: list[int]) -> None:
    documents = sum(shard.documents for shard in output.manifest.shards)
    for one in wanted:
        if one >= documents:
            raise Failure(f"{output.folder}: has no document {one}; they are numbered from 0 to {documents - 1:,}")


def _show(console: "Console", output: "Output", wanted: list[int], search: str | None, most: int, chars: int) -> None:
    from rich.text import Text

    from bpeline.corpus import inspect as reading

    found = reading.documents(output, wanted) if search is None else reading.search(output, search, most)
    shown = 0
    for index, ids in found:
        text = reading.text_of(output, ids)
        source = reading.source_of(output, index)
        head = f"document {index:,}: {number(len(ids), 'token')}, {size(len(text.encode()))}" + (
            f", {source}" if source else ""
        )
        begin = max(text.find(search) - chars // 3, 0) if search else 0
        excerpt = printable(text[begin : begin + chars])
        left = ("… " if begin else "") + excerpt + (" …" if begin + chars < len(text) else "")
        console.print(Text(printable(head), "bold cyan"))
        console.print(Text(left or "(empty)", "dim" if not text else ""))
        console.print()
        shown += 1
    if search is not None and not shown:
        raise Failure(f"{output.folder}: no document holds {search!r}")


def _tables(console: "Console", found: "Statistics") -> None:
    from rich.text import Text

    from bpeline.corpus.findings import findings
    from bpeline.corpus.inspect import PERCENTILES

    output, tokenizer = found.output, found.output.tokenizer
    ratio = f"{found.text_bytes / found.tokens:.2f}" if found.tokens else "-"
    rows = [
        (
            "format",
            f"{output.asked['format']}, {output.facts.dtype.name}, {number(len(output.manifest.shards), 'shard')}",
        ),
        ("encoding", f"{tokenizer.name}, {number(tokenizer.vocab_size, 'id')}"),
        ("documents", f"{found.documents:,}" if output.can_tell_documents else "nothing tells them apart"),
        ("tokens", f"{found.tokens:,}"),
        ("text", f"{size(found.text_bytes)}, {ratio} bytes a token"),
    ]
    if found.documents:
        lengths = "  ".join(f"{percent} %: {found.percentile(percent):,}" for percent in PERCENTILES)
        rows.append(("lengths", f"{lengths}  longest: {found.longest[0].tokens:,}"))
    if not output.manifest.finished:
        rows.append(("job", "not finished; this is what is done"))
    _table(console, None, ("", ""), rows, right=())
    for sentence in findings(found):
        console.print(Text.assemble(("• ", "yellow"), printable(sentence)))
    console.print()
    frequent = [
        (str(id), quoted(tokenizer.decode_bytes([id])), f"{times:,}", f"{times / found.tokens:.2%}")
        for id, times in found.most_frequent(15)
    ]
    _table(console, "most frequent tokens", ("id", "token", "times", "share"), frequent, right=(0, 2, 3))
    if suspicious := found.suspicious(8):
        rows4 = [
            (str(id), quoted(tokenizer.decode_bytes([id])), f"{times:,}", f"{times / found.tokens:.4%}")
            for id, times in suspicious
        ]
        _table(console, "tokens of broken encodings", ("id", "token", "times", "share"), rows4, right=(0, 2, 3))
    if notable := [("longest", one) for one in found.longest] + [("few bytes", one) for one in found.densest]:
        rows5 = [
            (what, f"{one.number:,}", f"{one.tokens:,}", f"{one.bytes / max(one.tokens, 1):.2f}")
            for what, one in notable
        ]
        rows5 += [(f"{one.times:,} times", f"{one.number:,}", "", "") for one in found.repeated]
        _table(console, "documents that stand out", ("", "document", "tokens", "bytes a token"), rows5, right=(1, 2, 3))
    if shares := found.shares():
        rows6 = [
            (url, f"{documents:,}", f"{tokens:,}", f"{tokens / max(found.tokens, 1):.1%}")
            for url, documents, tokens, _ in shares[:10]
        ]
        if len(shares) > 10:
            rest = [
                sum(documents for _, documents, _, _ in shares[10:]),
                sum(tokens for _, _, tokens, _ in shares[10:]),
            ]
            rows6.append(
                (f"{len(shares) - 10:,} more", f"{rest[0]:,}", f"{rest[1]:,}", f"{rest[1] / max(found.tokens, 1):.1%}")
            )
        _table(console, "inputs", ("file", "documents", "tokens", "share"), rows6, right=(1, 2, 3))


def _table(
    console: "Console", title: str | None, heads: tuple[str, ...], rows: list[Any], right: tuple[int, ...]
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=any(heads), pad_edge=False
    )
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)
    console.print()
