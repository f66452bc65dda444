"""The record of a comparison: raw results and a Markdown report. `python -m benches.corpus_tools.tables FOLDER` writes the report again."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from benches.corpus_tools.tools import TOOLS
from benches.report import Record, Row, circumstances, number, table

HEADS = {"text": "text", "jsonl": "JSONL", "jsonl.zst": "JSONL.zst", "parquet": "Parquet"}
KEYS = ("whole", "inside", "cpu", "memory")

HOW_TO_READ = """\
MB of text a second: of the whole process, from its start to its end / of the job inside, once packages are imported. A figure is the
median of up to {runs} runs in which the tools take turns; a tool that needed more than {slow:g} s for a job did it no more. All
ids were compared after each run. Peak memory is that of all processes of a job, added up, where it was largest; CPU is what a GB took of all
cores. The last column compares whole processes over the forms that a tool reads.
"""


def middles(row: Row) -> dict[str, float]:
    """Of each figure the median of the runs."""
    return {key: median(run[key] for run in row["runs"]) for key in KEYS}


def cells(record: Record, threads: int, corpora: Iterable[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """By tool and form: bytes of text and figures over all of `corpora`, or the problem that one of them had."""
    chosen, found = list(corpora), {}
    for row in record["jobs"]:
        if row["threads"] != threads or row["corpus"] not in chosen:
            continue
        cell = found.setdefault(row["tool"], {}).setdefault(row["form"], dict.fromkeys((*KEYS, "bytes"), 0.0))
        if row["problem"] or not row["runs"]:
            cell["problem"] = row["problem"] or "–"
            continue
        figures = middles(row)
        for key in ("whole", "inside", "cpu"):
            cell[key] += figures[key]
        cell["memory"] = max(cell["memory"], figures["memory"])
        cell["bytes"] += record["corpora"][row["corpus"]]["bytes"]
    return found


def shown(tool: str, cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    if "problem" in cell:
        return str(cell["problem"])
    inside = number(cell["bytes"] / cell["inside"] / 1e6)
    return f"{number(cell['bytes'] / cell['whole'] / 1e6)} / {inside}" if TOOLS[tool].is_a_job else f"– / {inside}"


def times(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> str:
    """How many times as long a tool takes as bpeline, over the forms that both read."""
    both = [
        form for form in theirs if "problem" not in theirs[form] and "problem" not in ours.get(form, {"problem": ""})
    ]
    if not both:
        return "–"
    return number(sum(theirs[form]["whole"] for form in both) / sum(ours[form]["whole"] for form in both)) + "×"


def speeds(record: Record, threads: int, corpora: Iterable[str]) -> str:
    """A row for each tool, a column for each form."""
    found = cells(record, threads, corpora)

    def line(tool: str) -> list[str]:
        good = [cell for cell in found[tool].values() if "problem" not in cell]
        row = [tool, *(shown(tool, found[tool].get(form)) for form in record["options"]["forms"])]
        if not (good and TOOLS[tool].is_a_job):
            return [*row, "–", "–", "–"]
        memory = max(cell["memory"] for cell in good) / 1e6
        seconds = sum(cell["cpu"] for cell in good) / sum(cell["bytes"] for cell in good) * 1e9
        return [*row, number(memory), number(seconds), times(found.get("bpeline", {}), found[tool])]

    head = [
        "tool",
        *(HEADS[form] for form in record["options"]["forms"]),
        "peak memory, MB",
        "CPU, s/GB",
        "time, bpeline = 1",
    ]
    return table(head, (line(tool) for tool in TOOLS if tool in found))


def shares(record: Record, threads: int, corpora: Iterable[str]) -> str:
    """How near the job comes to the encoder alone, by form; empty if not both were timed."""
    found = cells(record, threads, corpora)
    alone = found.get("encode_ragged", {}).get("text", {"problem": ""})
    job = {form: cell for form, cell in found.get("bpeline", {}).items() if "problem" not in cell}
    if "problem" in alone or not job:
        return ""
    each = (f"{HEADS[form]} {number(alone['inside'] / cell['inside'])}" for form, cell in job.items())
    return f"bpeline's job inside as a share of the speed of `encode_ragged`: {', '.join(each)}.\n"


def title(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def tables(record: Record) -> str:
    """All corpora together, then each."""
    corpora, parts = list(record["corpora"]), [HOW_TO_READ.format(**record["options"])]
    groups = [corpora, *([name] for name in corpora if len(corpora) > 1)]
    for group in groups:
        for threads in record["options"]["threads"]:
            parts += [f"{' and '.join(group).capitalize()}, {title(threads)}:\n", speeds(record, threads, group)]
            parts += filter(None, [shares(record, threads, group)])
    return "\n".join(parts)


def whole(record: Record) -> str:
    """The report of a record."""
    used = [tool for tool in TOOLS if any(row["tool"] == tool for row in record["jobs"])]
    return f"""\
# From files to ids with GPT-2, {record["date"]}

{circumstances(record)}
Every tool goes from the same files to files of the same ids, `u16` with end-of-text after each document, in a new process, without the
network. Each corpus is one file: text parted by `<|endoftext|>`, JSONL, the same packed by zstd, Parquet (Snappy, 1,000 rows a group).

{tables(record)}
{"".join(f"- {tool}: {TOOLS[tool].about}" + chr(10) for tool in used)}"""


def write(record: Record, folder: Path) -> Path:
    """Writes results.json and README.md into `folder`, and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(whole(record), encoding="utf-8")
    return folder


if __name__ == "__main__":
    given = Path(sys.argv[1])
    write(json.loads((given / "results.json").read_text(encoding="utf-8")), given)
