"""The plots of a report, drawn by matplotlib as SVG that takes its colours and its font from the page."""

import io
import re
import warnings
from typing import Any

import numpy as np

from ..show import printable, visible
from .inspect import RATIOS, Statistics, edge

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ImportError("plots need matplotlib: python -m pip install 'bpeline[plot]'") from error

INK, BAR, SECOND = "#010203", "#040506", "#070809"
"""What stands for the colours of the page in a drawing."""
VARIABLES = {INK: "currentColor", BAR: "var(--bar)", SECOND: "var(--second)"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def lengths(found: Statistics) -> str:
    """Documents by their tokens, and how many tokens are in documents of that length."""
    sizes = edge(np.arange(len(found.lengths)))
    top = max(int(sizes[np.flatnonzero(found.lengths)[-1]]), 2)
    edges = np.unique(np.round(np.geomspace(1, top * 1.03 + 1, 60)).astype(np.int64))
    documents, _ = np.histogram(sizes, edges, weights=found.lengths)
    tokens, _ = np.histogram(sizes, edges, weights=found.lengths * sizes)

    def draw(axes: Any) -> None:
        axes.stairs(documents / max(documents.sum(), 1) * 100, edges, fill=True, color=BAR, label="documents")
        axes.stairs(tokens / max(tokens.sum(), 1) * 100, edges, color=SECOND, linewidth=1.8, label="tokens in them")
        axes.set_xscale("log")
        axes.set_xlabel("tokens of a document")
        axes.set_ylabel("share, %")
        axes.legend(frameon=False)

    return _svg("lengths", draw)


def ratios(found: Statistics) -> str:
    """Documents by their bytes a token."""

    def draw(axes: Any) -> None:
        axes.stairs(found.ratios / max(found.ratios.sum(), 1) * 100, RATIOS, fill=True, color=BAR)
        mean = found.text_bytes / max(found.tokens, 1)
        axes.axvline(mean, color=SECOND, linewidth=1.8, label=f"all text: {mean:.2f}")
        axes.set_xlabel("bytes a token")
        axes.set_ylabel("documents, %")
        used = np.flatnonzero(found.ratios)
        axes.set_xlim(max(RATIOS[used[0]] - 0.3, 0), RATIOS[used[-1] + 1] + 0.3)
        axes.legend(frameon=False)

    return _svg("ratios", draw)


def frequent(found: Statistics) -> str:
    """The most frequent tokens."""
    rows = found.most_frequent(25)[::-1]
    tokenizer = found.output.tokenizer
    names = ["".join(part for part, _ in visible(tokenizer.decode_bytes([id])))[:24] + f"  {id}" for id, _ in rows]

    def draw(axes: Any) -> None:
        axes.barh(range(len(rows)), [times / found.tokens * 100 for _, times in rows], color=BAR, height=0.75)
        axes.set_yticks(range(len(rows)), names, parse_math=False)
        axes.set_xlabel("share of all tokens, %")
        axes.margins(y=0.01)

    return _svg("frequent", draw, height=5.2)


def usage(found: Statistics) -> str:
    """What part of the vocabulary is used, from the first ids to the last: merges that were learnt early are low."""
    count = len(found.counts)
    edges = np.linspace(0, count, min(count, 100) + 1).astype(np.int64)
    never, rare = (
        np.add.reduceat(mask, edges[:-1]) / np.diff(edges) * 100 for mask in (found.counts == 0, found.counts < 10)
    )

    def draw(axes: Any) -> None:
        axes.stairs(rare, edges, fill=True, color=BAR, alpha=0.45, label="less than 10 times")
        axes.stairs(never, edges, fill=True, color=SECOND, label="never used")
        axes.set_xlabel("id")
        axes.set_ylabel("share of these ids, %")
        axes.set_ylim(0, 100)
        axes.set_xlim(0, count)
        axes.legend(frameon=False, loc="upper left")

    return _svg("usage", draw)


def shares(found: Statistics) -> str:
    """The tokens of the input files."""
    rows = found.shares()
    names = [" ".join(printable(url).split()) for url, *_ in rows[:15]]
    names = [name if len(name) <= 40 else "…" + name[-39:] for name in names]
    values = [row[2] / max(found.tokens, 1) * 100 for row in rows[:15]]
    if len(rows) > 15:
        names.append(f"{len(rows) - 15:,} more")
        values.append(sum(row[2] for row in rows[15:]) / max(found.tokens, 1) * 100)

    def draw(axes: Any) -> None:
        axes.barh(range(len(names)), values[::-1], color=BAR, height=0.75)
        axes.set_yticks(range(len(names)), names[::-1], parse_math=False)
        axes.set_xlabel("share of all tokens, %")

    return _svg("shares", draw, height=1.1 + 0.25 * len(names))


def _svg(name: str, draw: Any, height: float = 3.6) -> str:
    with rc_context(STYLE | {"svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters that the font of the measuring has not; the page's has them
        figure = Figure(figsize=(7.2, height), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        draw(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    drawing = file.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    for colour, variable in VARIABLES.items():
        drawing = drawing.replace(colour, variable)
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    return re.sub(r' id="(?!p[0-9a-f]{8,}|m[0-9a-f]{8,})[^"]*"', "", drawing)
