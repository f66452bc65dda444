"""The tutorial of bpeline.teaching: its blocks as doctests, and its pictures.

`python -m tests.tutorial` runs it, fills in what it prints, and draws the pictures beside it, the plot with matplotlib and
the explanation with Chromium.
"""

import doctest
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE = ROOT / "python" / "bpeline" / "teaching" / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(report):
    """All examples in turn, in one namespace, which is returned; `report(example, printed)` hears of those that differ."""

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):
            report(example, got)

        def report_unexpected_exception(self, out, test, example, exc_info):
            raise exc_info[1]

    text = FILE.read_text("utf-8")
    source = "".join(block.group(1) for block in BLOCK.finditer(text))
    test = doctest.DocTestParser().get_doctest(source, {}, FILE.name, str(FILE), 0)
    Runner().run(test, clear_globs=False)
    return test.globs


def plot(lengths, file):
    """Tokens against the size of the vocabulary, as an SVG."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "bpeline", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4), layout="constrained")
    merges = {name: at for name, at in lengths.items() if name.endswith(" merges")}
    axes.plot(
        *zip(*merges.values(), strict=True), "o-", color="#5f3a94", label="byte pair encoding, by merges learned here"
    )
    for name, (size, length) in lengths.items():
        if name in merges:
            axes.annotate(name.split()[0], (size, length), (6, 4), textcoords="offset points", fontsize=9)
            continue
        axes.plot(size, length, "s", color="#c8553d" if name in ("characters", "words") else "#2a6f97")
        below = -15 if name in ("words", "cl100k_base") else 7
        axes.annotate(name, (size, length), (0, below), textcoords="offset points", ha="center", fontsize=9)
    axes.set(xscale="log", ylim=(0, 21_000), xlabel="vocabulary size", ylabel="tokens of three chapters")
    axes.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    axes.yaxis.set_major_formatter(lambda length, _: f"{length:,.0f}")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


def picture(explanation, file):
    """An explanation as a notebook shows it, as a PNG."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(f'<meta charset="utf-8"><body style="margin:12px 16px">{explanation.html()}', "utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=660,480"]
        subprocess.run([*command, f"--screenshot={file}", page.as_uri()], check=True, capture_output=True)


def main():
    differences = []
    names = run(lambda example, got: differences.append((example, got)))
    text = FILE.read_text("utf-8")
    for example, got in differences:
        source = "".join(
            f"{'>>>' if at == 0 else '...'} {line}\n" for at, line in enumerate(example.source.splitlines())
        )
        printed = got.replace("\n\n", "\n<BLANKLINE>\n")
        assert text.count(source + example.want) == 1, source
        text = text.replace(source + example.want, source + printed)
    FILE.write_text(text, "utf-8")
    plot(names["lengths"], FILE.with_name("lengths.svg"))
    picture(names["explain"]("é lower<|endoftext|>", names["gpt2"]), FILE.with_name("explain.png"))


if __name__ == "__main__":
    main()
