"""bpeline beside its peers: `make bench-compare`, with options as in `make bench-compare ARGS="--mb 48 --runs 5"`.

Each encoder and form works in a process of its own, over the same texts. The processes of a run live at once and take
turns, one at work at a time, so that a noisy machine disturbs all alike. Every run has new processes; the report shows
medians over the runs. Before anything is timed, other processes compare the ids of all documents, and the results of all
single calls, with those of tiktoken (or of the first encoder that is there, if tiktoken is not). An encoder with other
ids is not timed, and bpeline with other ids ends it all.

Writes README.md, results.json and throughput.svg into `benches/record/<date>-<processor>/`, in place of a record that
is there.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
import timeit
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise, zip_longest
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from benches import corpus, report
from benches.peers import ENCODERS, FORMS, Problem, write_files

REFERENCE = "tiktoken"
CALLS = ("tiny", "short", "array", "count", "decode", "decode_array")  # of one text
CALL_BYTES = 2_000_000

Row = dict[str, Any]


# --- In an encoder's own process ---


class Work:
    """One encoder, in one form, with the texts in memory."""

    def __init__(self, name: str, form: str, threads: int, folder: Path) -> None:
        with (folder / "texts").open(encoding="utf-8") as file:  # one by one, so that little is held that is not text
            self.texts: list[str] = [json.loads(line) for line in file]
        self.form = form
        import_module("numpy")  # which some import with their first array: no part of a pass
        self.held = memory("VmRSS")
        import_module(name)
        start = time.perf_counter()
        self.encoder = ENCODERS[name](folder, threads)
        self.loaded = time.perf_counter() - start
        self.timers: dict[str, tuple[timeit.Timer, int] | None] = {}

    def load(self) -> float:
        """Seconds that it took, the import aside."""
        return self.loaded

    def digests(self) -> list[bytes] | None:
        """A hash of the ids of each text; None if the encoder does not have the form."""
        import numpy as np

        encode = getattr(self.encoder, self.form)
        if encode is None:
            return None
        ids = (np.asarray(row, dtype=np.uint32).tobytes() for row in rows_of(encode(self.texts)))
        return [hashlib.blake2b(row, digest_size=8).digest() for row in ids]

    def encode_all(self) -> float:
        """Seconds for all texts; what giving back the ids takes is not part of it."""
        encode = getattr(self.encoder, self.form)
        start = time.perf_counter()
        ids = encode(self.texts)
        seconds = time.perf_counter() - start
        del ids
        return seconds

    def grown(self) -> float | None:
        """MB of memory at the peak beyond what was held with the texts loaded; None where the system does not tell."""
        peak = memory("VmHWM")
        return None if peak is None or self.held is None else (peak - self.held) / 1e6

    def call(self, name: str) -> tuple[Any, Any]:
        """The function of a single call (None if there is none) and its argument."""
        import numpy as np

        encoder, document = self.encoder, self.texts[0]
        match name:
            case "tiny":
                return encoder.encode, corpus.TINY
            case "short":
                return encoder.encode, corpus.SHORT
            case "array":
                return encoder.encode_array, document
            case "count":
                return encoder.count, document
            case "decode":
                return encoder.decode, encoder.encode(document)
            case "decode_array":
                return encoder.decode_array, np.array(encoder.encode(document), dtype=np.uint32)
        raise KeyError(name)

    def answer(self, name: str) -> Any:
        """What a single call gives, in the same type from every encoder; None if there is no such call."""
        function, argument = self.call(name)
        answer = function(argument) if function else None
        if answer is None or isinstance(answer, int | str):
            return answer
        return answer.decode() if isinstance(answer, bytes) else list(map(int, answer))

    def time_call(self, name: str) -> float | None:
        """Seconds, over as many calls as take 0.2 seconds."""
        if name not in self.timers:
            function, argument = self.call(name)
            timer = timeit.Timer("function(argument)", globals={"function": function, "argument": argument})
            self.timers[name] = (timer, timer.autorange()[0]) if function else None
        if known := self.timers[name]:
            timer, number = known
            return timer.timeit(number) / number
        return None


def rows_of(batch: Any) -> Iterable[Any]:
    """The ids of each text, whatever the form."""
    if isinstance(batch, tuple):  # fastokens: the bytes of uint32 ids and of uint64 offsets
        import numpy as np

        ids, offsets = np.frombuffer(batch[0], np.uint32), np.frombuffer(batch[1], np.uint64)
        return (ids[start:end] for start, end in pairwise(offsets.tolist()))
    return (getattr(row, "ids", row) for row in batch)


def memory(key: str) -> int | None:
    """Bytes of this process as Linux tells: VmRSS now, VmHWM at the peak."""
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.partition(f"{key}:")[2].split()[0]) * 1024
    return None


def serve(pipe: Connection, *arguments: Any) -> None:
    """Answers questions, each a method of `Work` and its arguments, until the pipe closes."""
    try:
        work = Work(*arguments)
        pipe.send((True, None))
        while True:
            method, *rest = pipe.recv()
            pipe.send((True, getattr(work, method)(*rest)))
    except EOFError:
        pass
    except Problem as problem:
        pipe.send((False, str(problem)))
    except Exception as error:
        pipe.send((False, f"failed: {type(error).__name__}: {error}"))


# --- In the process that asks ---


class Process:
    """`Work` in a process of its own. Raises `Problem` where something there fails."""

    def __init__(self, name: str, form: str, threads: int, folder: Path) -> None:
        os.environ |= {
            "RAYON_NUM_THREADS": str(threads),  # for those without an option
            "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
            "TIKTOKEN_CACHE_DIR": "",  # or it would go on reading a copy of the first file it saw
        }
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, name, form, threads, folder), daemon=True)
        self.process.start()
        other.close()
        self.wait()

    def ask(self, *question: str) -> Any:
        with contextlib.suppress(OSError):  # it has ended, and `wait` says how
            self.pipe.send(question)
        return self.wait()

    def wait(self) -> Any:
        try:
            good, value = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            raise Problem(f"failed: exit code {self.process.exitcode}") from None
        if not good:
            raise Problem(value)
        return value

    def close(self) -> None:
        self.pipe.close()
        self.process.join()


class Turns:
    """A process for each row that has no problem yet. What fails becomes the problem of its row."""

    def __init__(self, rows: list[Row], threads: int, folder: Path) -> None:
        self.processes: list[tuple[Row, Process]] = []
        for row in rows:
            if row["problem"] is None:
                try:
                    self.processes.append((row, Process(row["encoder"], row["form"], threads, folder)))
                except Problem as problem:
                    note(row, str(problem))

    def ask(self, *question: str) -> Iterator[tuple[Row, Any]]:
        """Each row and what its process answers, one after the other."""
        for row, process in self.processes:
            if row["problem"] is None:
                try:
                    answer = process.ask(*question)
                except Problem as problem:
                    note(row, str(problem))
                else:
                    yield row, answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _row, process in self.processes:
            process.close()


def note(row: Row, problem: str) -> None:
    say(f"  {row['encoder']} {row['form']}: {problem}")
    if row["encoder"] == "bpeline":
        raise SystemExit(f"bpeline: {problem}")
    row["problem"] = problem


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def rows_to_fill(encoders: list[str], forms: Iterable[str]) -> list[Row]:
    """A row for each encoder and form, or for an encoder that is not installed; the reference first."""
    rows: list[Row] = []
    for name in sorted(encoders, key=lambda name: name != REFERENCE):
        missing = importlib.util.find_spec(name) is None
        rows += [
            {"encoder": name, "form": form, "problem": "not installed" if missing else None}
            for form in ([""] if missing else forms)
        ]
    return rows


def write_texts(folder: Path, texts: list[str]) -> None:
    """Where `Work` reads them."""
    lines = (json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
    (folder / "texts").write_text("".join(lines), encoding="utf-8")


def with_equal_ids(rows: list[Row], threads: int, folder: Path) -> list[Row]:
    """Compares the ids of all texts; leaves out forms that an encoder does not have."""
    lacking: list[Row] = []
    expected: list[bytes] = []
    with Turns(rows, threads, folder) as turns:
        for row, digests in turns.ask("digests"):
            if digests is None:
                lacking.append(row)
                continue
            expected = expected or digests
            if wrong := sum(a != b for a, b in zip_longest(digests, expected)):
                note(row, f"other ids in {wrong:,} of {len(expected):,} documents")
    return [row for row in rows if row not in lacking]


def throughput(name: str, texts: list[str], options: argparse.Namespace, folder: Path) -> list[Row]:
    """Rows with a figure for each run: MB/s of the first pass and of the best later one, MB of memory."""
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    say(f"{name}: {megabytes:.1f} MB, {len(texts):,} documents; comparing ids")
    write_texts(folder, texts)
    checked = with_equal_ids(rows_to_fill(options.encoders, options.forms), max(options.threads), folder)
    rows: list[Row] = []
    for threads in options.threads:
        about = {"corpus": name, "threads": threads}
        timed: list[Row] = [about | row | {"first": [], "later": [], "memory": []} for row in checked]
        for run in range(options.runs):
            say(f"  threads: {threads}, run {run + 1} of {options.runs}")
            with Turns(timed, threads, folder) as turns:
                for row, seconds in turns.ask("encode_all"):
                    row["first"].append(megabytes / seconds)
                    row["later"].append(0.0)
                for _ in range(options.rounds - 1):
                    for row, seconds in turns.ask("encode_all"):
                        row["later"][-1] = max(row["later"][-1], megabytes / seconds)
                for row, grown in turns.ask("grown"):
                    row["memory"].append(grown)
        rows += timed
    return rows


def single_calls(options: argparse.Namespace, folder: Path) -> tuple[int, list[Row]]:
    """The bytes of the document, and rows with a figure for each run: seconds to load and of the best round of a call."""
    document = "\n\n".join(corpus.first(corpus.english(), CALL_BYTES))
    say("single calls; comparing results")
    write_texts(folder, [document])
    rows = rows_to_fill(options.encoders, ["lists"])
    expected: dict[str, Any] = {"decode": document, "decode_array": document}
    with Turns(rows, 1, folder) as turns:
        for call in CALLS:
            for row, answer in turns.ask("answer", call):
                if answer is not None and answer != expected.setdefault(call, answer):
                    note(row, f"another result of {call}")
                if answer is not None and call == "array":
                    expected["count"] = len(answer)
    for row in rows:
        row |= {call: [] for call in ("load", *CALLS)}
    for run in range(options.runs):
        say(f"  run {run + 1} of {options.runs}")
        with Turns(rows, 1, folder) as turns:
            for row, seconds in turns.ask("load"):
                row["load"].append(seconds)
            for call in CALLS:
                for round in range(options.rounds):
                    for row, seconds in turns.ask("time_call", call):
                        if seconds is not None:
                            row[call] += [seconds] if round == 0 else [min(seconds, row[call].pop())]
    return len(document.encode()), rows


# --- The command line ---


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    record = report.surroundings(list(ENCODERS))  # before the record itself makes the tree dirty
    record |= {"command": command(options), "encoding": name_of(options.encoding)}
    if import_module("bpeline").backend() != "native":
        raise SystemExit("bpeline has no native module here")
    corpora = dict(options.corpus) or dict.fromkeys(corpus.CORPORA)
    record |= {"options": {name: getattr(options, name) for name in ("mb", "rounds", "runs")}, "corpora": {}}
    record["throughput"] = []
    with tempfile.TemporaryDirectory(prefix="bpeline-compare-") as name:
        folder = Path(name)
        write_files(folder, options.encoding)
        for corpus_name, path in corpora.items():
            size = int(options.mb * 1e6)
            texts = corpus.read(path, size) if path else corpus.first(corpus.CORPORA[corpus_name](), size)
            record["corpora"][corpus_name] = describe(texts)
            record["throughput"] += throughput(corpus_name, texts, options, folder)
        record["call_bytes"], record["calls"] = single_calls(options, folder)
    written = report.write(record, options.output or report.RECORDS / report.folder_name(record))
    if options.readme:
        report.refresh_readme()
    print((written / "README.md").read_text(encoding="utf-8"))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare", description="Compare bpeline with its peers.")
    parser.add_argument("encoders", nargs="*", help=f"which (all: {' '.join(ENCODERS)})")
    add_corpus_option(parser)
    parser.add_argument("--encoding", default="gpt2", help="a name or file that bpeline loads (gpt2)")
    parser.add_argument("--mb", type=float, default=16, help="of each corpus at most (16)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (1 2)")
    parser.add_argument("--rounds", type=int, default=3, help="passes over the texts in a run, the first apart (3)")
    parser.add_argument("--runs", type=int, default=3, help="runs in new processes (3)")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS), help="what ids are given in (all)")
    parser.add_argument("--output", type=Path, help="a folder for the record other than that in benches/record")
    parser.add_argument("--readme", action="store_true", help="show the newest record in README.md")
    options = parser.parse_args(arguments)
    if strangers := set(options.encoders) - set(ENCODERS):
        parser.error(f"no encoder is called {', '.join(sorted(strangers))} (there are {', '.join(ENCODERS)})")
    if min(options.threads) < 1 or options.rounds < 2 or options.runs < 1 or options.mb <= 0:
        parser.error("--threads and --runs begin at 1, --rounds at 2, --mb above 0")
    options.encoders = options.encoders or list(ENCODERS)
    return options


def add_corpus_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--corpus",
        type=corpus_option,
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="texts, plain or .xz, parted by <|endoftext|>; for any number (default: from the standard library)",
    )


def corpus_option(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    if not (name and separator and Path(path).is_file()):
        raise argparse.ArgumentTypeError(f"expected NAME=FILE with a file that exists, not {text!r}")
    return name, Path(path)


def command(options: argparse.Namespace) -> str:
    """The command of a record, which names no path of this machine."""
    parts = [] if options.encoders == list(ENCODERS) else [*options.encoders]
    if options.encoding != "gpt2":
        parts.append(f"--encoding {options.encoding if name_of(options.encoding) == options.encoding else 'FILE'}")
    parts += (f"--corpus {name}=FILE" for name, _ in options.corpus)
    parts += [f"--mb {options.mb:g}", f"--threads {' '.join(map(str, options.threads))}"]
    parts += [f"--rounds {options.rounds}", f"--runs {options.runs}"]
    if options.forms != list(FORMS):
        parts.append(f"--forms {' '.join(options.forms)}")
    arguments = " ".join(parts)
    return f'make bench-compare ARGS="{arguments}"'


def name_of(encoding: str) -> str:
    """A name as it is; of a file, its own name without what follows a dot."""
    return Path(encoding).name.partition(".")[0]


def describe(texts: list[str]) -> dict[str, Any]:
    joined = "\0".join(texts).encode()
    size = len(joined) - len(texts) + 1
    return {"documents": len(texts), "bytes": size, "sha256": hashlib.sha256(joined).hexdigest()}


if __name__ == "__main__":
    main(sys.argv[1:])
