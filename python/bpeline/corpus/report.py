"""One page about an output, with nothing outside of it: figures, plots, and documents worth a look, light or dark as the reader's screen is."""

from collections.abc import Sequence
from html import escape

from ..show import printable, quoted
from . import plots
from .findings import findings
from .inspect import PERCENTILES, Statistics, documents, source_of, text_of

EXCERPT = 500

STYLE = """
:root { color-scheme: light dark; --ink: #1c2530; --back: #fff; --card: #f4f6f9; --line: #d9dee5; --bar: #3f7fbf; --second: #d9730d; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe5ec; --back: #14181d; --card: #1d232b; --line: #353d48; --bar: #6aa5e0; --second: #f0994a; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 0 .2rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } p { margin: .3rem 0 }
.facts { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0 }
.facts div { background: var(--card); border-radius: .5rem; padding: .6rem 1rem } .facts b { display: block; font-size: 1.25rem }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 1rem }
figure { margin: 0; background: var(--card); border-radius: .5rem; padding: .8rem } figcaption { font-weight: 600 }
svg { width: 100%; height: auto } svg text { font-family: system-ui, sans-serif !important }
table { border-collapse: collapse; width: 100% } td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.scroll { overflow-x: auto } code, pre { font-family: ui-monospace, monospace; font-size: .85em }
code { overflow-wrap: anywhere }
pre { background: var(--card); border-radius: .5rem; padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 }
details { margin: .4rem 0 } summary { cursor: pointer }
"""


def page(found: Statistics) -> str:
    """The page, as HTML."""
    output = found.output
    title = f"{output.folder.resolve().name}: {output.asked['format']}, {output.tokenizer.name}"
    blocks = [
        f"<h1>{_safe(title)}</h1>",
        _facts(found),
        "<h2>Worth knowing</h2><ul>" + "".join(f"<li>{_safe(one)}</li>" for one in findings(found)) + "</ul>",
        '<div class="plots">' + "".join(_figures(found)) + "</div>",
        _tokens(found),
        _documents(found),
        _inputs(found),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_safe(title)}</title>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(blocks)
        + "\n</body></html>\n"
    )


def _safe(text: str) -> str:
    """A text in the page: neither marks nor characters that cannot be shown, such as the bytes of a path that are no UTF-8."""
    return escape(printable(text))


def _facts(found: Statistics) -> str:
    output = found.output
    facts = [
        (f"{found.documents:,}" if output.can_tell_documents else "?", "documents"),
        (f"{found.tokens:,}", "tokens"),
        (f"{found.text_bytes / 1e6:,.1f} MB", "of text"),
        (f"{found.text_bytes / max(found.tokens, 1):.2f}", "bytes a token"),
        (f"{found.percentile(50):,}" if found.documents else "?", "tokens of the median document"),
        (f"{len(output.manifest.shards):,} × {output.facts.dtype.name}", "shards and type"),
    ]
    cells = "".join(f"<div><b>{_safe(value)}</b>{_safe(what)}</div>" for value, what in facts)
    job = "" if output.manifest.finished else "<p><b>The job is not finished</b>; this is what is done.</p>"
    return f'{job}<div class="facts">{cells}</div>'


def _figures(found: Statistics) -> list[str]:
    drawn = []
    if found.documents and found.lengths[1:].any():
        drawn.append(("Lengths of documents", plots.lengths(found)))
    if found.ratios.any():
        drawn.append(("Bytes a token, document by document", plots.ratios(found)))
    if found.tokens:
        drawn += [("Most frequent tokens", plots.frequent(found)), ("Use of the vocabulary", plots.usage(found))]
    if len(found.shares()) > 1:
        drawn.append(("Inputs", plots.shares(found)))
    return [f"<figure><figcaption>{title}</figcaption>{svg}</figure>" for title, svg in drawn]


def _tokens(found: Statistics) -> str:
    tokenizer, known = found.output.tokenizer, found.tokens or 1
    token_bytes = tokenizer.decode_bytes
    unused = sorted(found.never_used().tolist(), key=lambda id: -len(token_bytes([id])))[:60]
    named = " ".join(f"<code>{_safe(quoted(token_bytes([id])))}</code>" for id in unused)
    parts = (
        [f"<h2>Tokens that are never used</h2><p>The longest {len(unused)} of {len(found.never_used()):,}: {named}</p>"]
        if unused
        else []
    )
    if suspicious := found.suspicious(20):
        rows = [(str(id), quoted(token_bytes([id])), f"{times:,}", f"{times / known:.5%}") for id, times in suspicious]
        parts.append("<h2>Tokens of broken encodings</h2>" + _table(("id", "token", "times", "share"), rows, (0, 2, 3)))
    return "".join(parts)


def _documents(found: Statistics) -> str:
    groups = [
        ("longest", found.longest),
        ("fewest bytes a token", found.densest),
        ("there most often", found.repeated),
    ]
    numbers = sorted({one.number for _, some in groups for one in some})
    texts = dict(documents(found.output, numbers)) if numbers else {}
    parts = ["<h2>Documents that stand out</h2>"] if numbers else []
    for title, some in groups:
        parts += [f"<p><b>{title}</b></p>"] if some else []
        for one in some:
            ids = texts[one.number]
            size = one.bytes or len(text_of(found.output, ids).encode())
            words = f"document {one.number:,}: {len(ids):,} tokens, {size / max(len(ids), 1):.2f} bytes a token"
            words += f", {one.times:,} times" if one.times > 1 else ""
            source = source_of(found.output, one.number)
            words += f", {source}" if source else ""
            excerpt = text_of(found.output, ids[:EXCERPT])[:EXCERPT]
            parts.append(f"<details><summary>{_safe(words)}</summary><pre>{_safe(excerpt)}</pre></details>")
    if found.documents:
        rows = [(f"{percent} %", f"{found.percentile(percent):,}") for percent in PERCENTILES]
        parts.append("<h2>Lengths</h2>" + _table(("of the documents", "have at most so many tokens"), rows, (0, 1)))
    return "".join(parts)


def _inputs(found: Statistics) -> str:
    rows = [
        (url, f"{count:,}", f"{tokens:,}", f"{tokens / max(found.tokens, 1):.2%}", f"{size / max(tokens, 1):.2f}")
        for url, count, tokens, size in found.shares()[:100]
    ]
    return (
        "<h2>Inputs</h2>" + _table(("file", "documents", "tokens", "share", "bytes a token"), rows, (1, 2, 3, 4))
        if rows
        else ""
    )


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> str:
    marks = ['class="n"' if index in right else "" for index in range(len(heads))]
    head = "".join(f"<th {mark}>{_safe(name)}</th>" for mark, name in zip(marks, heads, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {mark}>{_safe(cell)}</td>" for mark, cell in zip(marks, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
