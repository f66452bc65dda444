"""The record of a comparison: raw results, a Markdown report, a plot, and the part of README.md that shows them.

`python -m benches.report FOLDER` writes report and plot again from the raw results of a record; without a folder it
refreshes README.md from the newest record.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from statistics import median
from typing import Any

from benches.peers import ENCODERS, FORMS

TOP = Path(__file__).resolve().parents[1]
RECORDS = TOP / "benches" / "record"
BEGIN, END = "<!-- speed: made by `make bench-readme` -->", "<!-- end of speed -->"

Row = dict[str, Any]
Record = dict[str, Any]


# --- What was measured, and where ---


def surroundings(packages: Iterable[str]) -> Record:
    """Date, commit, versions and machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": git("rev-parse", "HEAD") or "unknown",
        "dirty": bool(git("status", "--porcelain")),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: version for name in packages if (version := version_of(name))},
    }


def git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        described = ""
    named = re.search(r"model name\s*: (.+)", described)
    return named[1].strip() if named else platform.processor() or platform.machine()


def folder_name(record: Record) -> str:
    """`2026-11-30-intel-xeon-processor`, and the encoding if it is not GPT-2."""
    plain = re.sub(r"\((R|TM)\)", "", record["processor"], flags=re.IGNORECASE).lower()
    encoding = record.get("encoding", "gpt2")
    return "-".join([record["date"], *re.findall(r"[a-z0-9.]+", plain), *([encoding] if encoding != "gpt2" else [])])


# --- Tables ---


def table(head: list[str], body: Iterable[list[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *body))


def in_order(rows: Iterable[Row]) -> list[Row]:
    """As `ENCODERS` and `FORMS` have them."""
    encoders, forms = list(ENCODERS), ["", *FORMS]
    return sorted(rows, key=lambda row: (encoders.index(row["encoder"]), forms.index(row["form"])))


def middle(figures: list[float]) -> float | None:
    return median(figures) if figures and None not in figures else None


def label(record: Record, row: Row) -> str:
    version = record["versions"].get(row["encoder"], "")
    return f"{row['encoder']} {version}".strip()


def throughput_table(record: Record, threads: int) -> str:
    """A row for each encoder and form, a column for each corpus."""
    rows = [row for row in record["throughput"] if row["threads"] == threads]
    by_corpus = {(row["encoder"], row["form"], row["corpus"]): row for row in rows}
    keys = dict.fromkeys((row["encoder"], row["form"]) for row in in_order(rows))

    def speeds(row: Row | None) -> str:
        if row is None:
            return "–"
        first, later = middle(row["first"]), middle(row["later"])
        return row["problem"] or f"{number(first)} / {number(later)}"

    def line(encoder: str, form: str) -> list[str]:
        of_both = [by_corpus.get((encoder, form, corpus)) for corpus in record["corpora"]]
        grown = [middle(row["memory"]) for row in of_both if row and not row["problem"]]
        most = max((figure for figure in grown if figure is not None), default=None)
        return [label(record, {"encoder": encoder}), form, *map(speeds, of_both), number(most)]

    return table(["encoder", "ids as", *record["corpora"], "memory, MB"], (line(*key) for key in keys))


# What is shown of single calls: head, key, and the figure from seconds and the bytes of the document.
CALLS: list[tuple[str, str, Callable[[float, int], float]]] = [
    ("load, ms", "load", lambda seconds, size: seconds * 1e3),
    ("38 characters, µs", "tiny", lambda seconds, size: seconds * 1e6),
    ("4 KB, µs", "short", lambda seconds, size: seconds * 1e6),
    ("to an array, MB/s", "array", lambda seconds, size: size / seconds / 1e6),
    ("count, MB/s", "count", lambda seconds, size: size / seconds / 1e6),
    ("decode a list, MB/s", "decode", lambda seconds, size: size / seconds / 1e6),
    ("decode an array, MB/s", "decode_array", lambda seconds, size: size / seconds / 1e6),
]


def calls_table(record: Record) -> str:
    def line(row: Row) -> list[str]:
        if row["problem"]:
            return [label(record, row), row["problem"], *[""] * (len(CALLS) - 1)]
        middles = [(middle(row[key]), shown) for _, key, shown in CALLS]
        size = record["call_bytes"]
        return [label(record, row), *(number(m if m is None else shown(m, size)) for m, shown in middles)]

    return table(["encoder", *(head for head, _, _ in CALLS)], map(line, in_order(record["calls"])))


def number(figure: float | None) -> str:
    """Three digits that count."""
    if figure is None:
        return "–"
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.{1 if abs(figure) >= 10 else 2}f}"


HOW_TO_READ = """\
MB/s, first pass in a new process / best later pass, over the same documents; the median of {runs} runs in which all
encoders take turns, pass by pass. Memory is what a process had grown by at its peak, beyond the texts: package,
tables, caches and ids; the most of all corpora. The ids of all documents were compared before.
"""
HOW_TO_READ_CALLS = """\
One call in a warm process, one thread: load {encoding} (from inside the package, or the fastest of its files), encode to a list,
encode {megabytes} MB of English to an array, count its tokens, decode it (to bytes; fastokens and tokenizers to str).
"""


def tables(record: Record, threads: Iterable[int]) -> str:
    parts = []
    for each in threads:
        parts += [f"{'One thread' if each == 1 else f'{each} threads'}:\n", throughput_table(record, each)]
    how = HOW_TO_READ.format(runs=record["options"]["runs"])
    encoding = record.get("encoding", "gpt2").replace("gpt2", "GPT-2")
    calls = HOW_TO_READ_CALLS.format(encoding=encoding, megabytes=number(record["call_bytes"] / 1e6))
    return "\n".join([how, *parts, calls, calls_table(record)])


def all_threads(record: Record) -> list[int]:
    return sorted({row["threads"] for row in record["throughput"]})


def circumstances(record: Record) -> str:
    """When, where and on what a record was made, as a list."""
    corpora = (
        f"{name} ({each['bytes'] / 1e6:.1f} MB in {each['documents']:,} documents, SHA-256 {each['sha256'][:16]}…)"
        for name, each in record["corpora"].items()
    )
    versions = (f"{name} {version}" for name, version in record["versions"].items())
    return f"""\
- commit {record["commit"]}{", and changes that were not committed" if record["dirty"] else ""}
- {record["processor"]}, cores: {record["cores"]}; {record["system"]}; {record["python"]}
- {", ".join(versions)}
- texts: {"; ".join(corpora)}
- `{record["command"]}`; all figures in [results.json](results.json)
"""


def whole(record: Record) -> str:
    """The report of a record."""
    return f"""\
# Speed of {record.get("encoding", "gpt2").replace("gpt2", "GPT-2")}, {record["date"]}

{circumstances(record)}
![Throughput by corpus and encoder](throughput.svg)

{tables(record, all_threads(record))}"""


# --- Plot ---


def plot(record: Record, path: Path) -> None:
    """Bars of the first and the best later pass on the fewest threads, by corpus; readable on white and on black."""
    pyplot = import_module("matplotlib.pyplot")
    pyplot.switch_backend("svg")
    grey = "#7f8792"
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bpeline", "font.family": "sans-serif"})
    pyplot.rcParams.update({f"{part}.color": grey for part in ("text", "xtick", "ytick")})

    threads = min(all_threads(record))
    rows = [row for row in in_order(record["throughput"]) if row["threads"] == threads and not row["problem"]]
    labels = list(dict.fromkeys(f"{row['encoder']}, {row['form']}" for row in rows))
    figure, panels = pyplot.subplots(
        1,
        len(record["corpora"]),
        figsize=(10, 1 + 0.36 * len(labels)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, corpus in zip(panels[0], record["corpora"], strict=True):
        of_corpus = {f"{row['encoder']}, {row['form']}": row for row in rows if row["corpus"] == corpus}
        for place, name in enumerate(labels):
            if name in of_corpus:
                first, later = (middle(of_corpus[name][key]) or 0 for key in ("first", "later"))
                dark, light = ("#d9480f", "#ff922b") if name.startswith("bpeline") else ("#4878a8", "#8fb3d9")
                panel.barh(place - 0.2, first, 0.38, color=dark)
                panel.barh(place + 0.2, later, 0.38, color=light)
                panel.text(max(first, later), place, f" {number(first)} / {number(later)}", va="center", fontsize=8)
        panel.set_title(corpus, fontsize=10)
        panel.set_yticks(range(len(labels)), labels, fontsize=9)
        panel.tick_params(length=0, axis="y")
        panel.tick_params(labelsize=8, color=grey, axis="x")
        panel.spines[:].set_visible(False)
        panel.margins(x=0.35)
    panels[0][0].invert_yaxis()
    thread = "one thread" if threads == 1 else f"{threads} threads"
    figure.supxlabel(f"MB/s, {thread}: first pass (dark) / best later pass (light)", fontsize=9)
    figure.savefig(path, transparent=True, metadata={"Date": None})
    pyplot.close(figure)


# --- Files ---


def write(record: Record, folder: Path) -> Path:
    """Writes results.json, README.md and throughput.svg into `folder`, and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(whole(record), encoding="utf-8")
    plot(record, folder / "throughput.svg")
    return folder


def newest() -> Path:
    """The folder of the newest record of GPT-2."""
    records = ((path.parent, json.loads(path.read_text(encoding="utf-8"))) for path in RECORDS.glob("*/results.json"))
    folders = sorted(
        folder for folder, record in records if "throughput" in record and record.get("encoding", "gpt2") == "gpt2"
    )
    if not folders:
        raise SystemExit("benches/record has no record yet: make bench-compare writes one")
    return folders[-1]


def speed_part(record: Record, folder: str) -> str:
    """What README.md shows of the record in `folder`, a path from README.md."""
    return f"""\
![Throughput by corpus and encoder]({folder}/throughput.svg)

On {record["processor"]}, cores: {record["cores"]}, {record["date"]} ([command, versions, raw figures]({folder}/README.md)).
{tables(record, all_threads(record)[:1])}"""


def with_part(text: str, part: str) -> str:
    """`text` with `part` between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"README.md lacks {BEGIN} or, after it, {END}")
    return f"{before}{begin}\n{part}{end}{after}"


def refresh_readme() -> None:
    folder = newest()
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    readme = TOP / "README.md"
    part = speed_part(record, folder.relative_to(TOP).as_posix())
    readme.write_text(with_part(readme.read_text(encoding="utf-8"), part), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        given = Path(sys.argv[1])
        write(json.loads((given / "results.json").read_text(encoding="utf-8")), given)
    else:
        refresh_readme()
