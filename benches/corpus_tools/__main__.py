"""The turns: `make bench-corpus`, with options as in `make bench-corpus ARGS="bpeline gigatoken --mb 8 --runs 1"`.

First every tool does a little of the first corpus, untimed. Then, run by run, form by form, one tool after the other does the job in
a process of its own; its ids are compared each time. A tool with a problem or with other ids has no figure; where bpeline has one, all
ends.

Writes README.md and results.json into `benches/record/<date>-<processor>-corpus/`, in place of a record that is there.
"""

import argparse
import importlib.util
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benches import corpus, report
from benches.compare import add_corpus_option, describe, say
from benches.corpus_tools import inputs, tables
from benches.corpus_tools.inputs import FORMS
from benches.corpus_tools.job import expect, measure
from benches.corpus_tools.tools import TOOLS
from benches.peers import Problem, write_files
from benches.report import Row

LITTLE = 200_000  # bytes of the trial
PACKAGES = ("bpeline", "gigatoken", "datatrove", "datasets", "tiktoken", "tokenizers", "pyarrow", "numpy")


def rows_to_fill(tools: list[str], forms: list[str], name: str, threads: int) -> list[Row]:
    """A row for each form of a corpus and tool that reads it, in the order of the turns."""
    return [
        {"corpus": name, "threads": threads, "form": form, "tool": tool, "problem": None, "runs": []}
        for form in forms
        for tool in tools
        if form in TOOLS[tool].forms
    ]


def missing(tool: str) -> str | None:
    for module in TOOLS[tool].modules:
        package = module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
    return None


def fill(row: Row, folder: Path, limit: float) -> None:
    """One more run."""
    try:
        row["runs"].append(
            measure(row["tool"], row["form"], row["threads"], folder / row["corpus"], folder / "tokenizers", limit)
        )
    except Problem as problem:
        say(f"  {row['tool']}, {row['form']}: {problem}")
        if TOOLS[row["tool"]].modules[0] == "bpeline":
            raise SystemExit(f"bpeline: {problem}") from None
        row["problem"] = str(problem)


def prepare(folder: Path, name: str, texts: list[str], forms: list[str]) -> None:
    """The files of a corpus, and the ids to expect."""
    inputs.write(folder / name, texts, tuple(forms))
    expect(folder / name, texts)


def compare(options: argparse.Namespace, corpora: dict[str, list[str]], folder: Path) -> list[Row]:
    """All rows, with the figures of each run."""
    say("a trial of each tool")
    prepare(folder, "trial", corpus.first(next(iter(corpora.values())), LITTLE), options.forms)
    trials = {row["tool"]: row for row in reversed(rows_to_fill(options.tools, options.forms, "trial", 1))}
    for tool, row in trials.items():
        row["problem"] = missing(tool)
        if row["problem"] is None:
            fill(row, folder, options.limit)
    rows: list[Row] = []
    for name, texts in corpora.items():
        prepare(folder, name, texts, options.forms)
        for threads in options.threads:
            timed = rows_to_fill(options.tools, options.forms, name, threads)
            for row in timed:
                row["problem"] = trials[row["tool"]]["problem"]
            for run in range(options.runs):
                say(f"{name}, threads: {threads}, run {run + 1} of {options.runs}")
                for row in timed:
                    if row["problem"] is None and all(each["whole"] <= options.slow for each in row["runs"]):
                        fill(row, folder, options.limit)
            rows += timed
    return rows


# --- The command line ---


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    record = report.surroundings(PACKAGES)  # before the record itself makes the tree dirty
    if import_module("bpeline").backend() != "native":
        raise SystemExit("bpeline has no native module here")
    size, corpora = int(options.mb * 1e6), {}
    for name, path in (dict(options.corpus) or dict.fromkeys(("english", "code"))).items():
        corpora[name] = corpus.read(path, size) if path else corpus.first(corpus.CORPORA[name](), size)
    record |= {"command": command(options), "corpora": {name: describe(texts) for name, texts in corpora.items()}}
    record["options"] = {name: getattr(options, name) for name in ("mb", "threads", "forms", "runs", "slow")}
    with tempfile.TemporaryDirectory(prefix="bpeline-corpus-") as name:
        folder = Path(name)
        (folder / "tokenizers").mkdir()
        write_files(folder / "tokenizers", "gpt2")
        record["jobs"] = compare(options, corpora, folder)
    written = tables.write(record, options.output or report.RECORDS / f"{report.folder_name(record)}-corpus")
    print((written / "README.md").read_text(encoding="utf-8"))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="corpus_tools", description="Compare bpeline tokenize with other tools.")
    parser.add_argument("tools", nargs="*", help=f"which (all: {', '.join(TOOLS)})")
    add_corpus_option(parser)
    parser.add_argument("--mb", type=float, default=48, help="of each corpus at most (48)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="threads or processes (1 2)")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS), help="what the files are (all)")
    parser.add_argument("--runs", type=int, default=3, help="of each job (3)")
    parser.add_argument("--slow", type=float, default=4, help="seconds after which a job is not run again (4)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a job is stopped (300)")
    parser.add_argument("--output", type=Path, help="a folder for the record other than that in benches/record")
    options = parser.parse_args(arguments)
    if strangers := set(options.tools) - set(TOOLS):
        parser.error(f"no tool is called {', '.join(sorted(strangers))} (there are {', '.join(TOOLS)})")
    if min(options.threads) < 1 or options.runs < 1 or options.mb <= 0:
        parser.error("--threads and --runs begin at 1, --mb above 0")
    options.tools = options.tools or list(TOOLS)
    return options


def command(options: argparse.Namespace) -> str:
    """The command of a record, which names no path of this machine."""
    parts = [] if options.tools == list(TOOLS) else [f"'{tool}'" if " " in tool else tool for tool in options.tools]
    parts += (f"--corpus {name}=FILE" for name, _ in options.corpus)
    parts += [f"--mb {options.mb:g}", f"--threads {' '.join(map(str, options.threads))}"]
    if options.forms != list(FORMS):
        parts.append(f"--forms {' '.join(options.forms)}")
    parts += [f"--runs {options.runs}", f"--slow {options.slow:g}"]
    return f'make bench-corpus ARGS="{" ".join(parts)}"'


if __name__ == "__main__":
    main(sys.argv[1:])
