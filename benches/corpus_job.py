"""The corpus job beside `encode_ragged`: `python -m benches.corpus_job TEXT...` (files as `benches.corpus.read` takes them).

Each kind of input is a file of the same documents; the job makes files of ids of it, and `encode_ragged` makes ids of the
documents in memory, by turns and each with a tokenizer that has seen nothing ("first") and then with the same again
("later"). Figures are medians of the rounds, ratios those of the two in the same round. The shares are of the time of a first job: until the
first batch is encoded, how long the threads of reader, encoder (all together) and writer had work in hand, and from the end of the last batch
to that of the job. Nothing else may run meanwhile. Before that the ids are compared.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bpeline
from benches import corpus
from benches.report import table
from bpeline import Tokenizer, tokenize_corpus
from bpeline.corpus import job, opening
from bpeline.corpus.encoder import Begun
from bpeline.corpus.writer import Writer
from tests.parity.samples import EOT

SHARES = ("start", "reader", "encoder", "writer", "end")
PAIRS = (("job", "ragged"), ("later job", "later ragged"))


def kinds(texts: list[str], folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """A file of the documents for each kind, and how it is read."""
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()
    (folder / "one.txt").write_text(EOT.join(texts), encoding="utf-8", newline="\n")
    (folder / "all.txt").write_text(EOT.join(texts), encoding="utf-8", newline="\n")
    (folder / "all.jsonl").write_bytes(lines)
    (folder / "all.jsonl.zst").write_bytes(opening.zstd().compress(lines))
    pq.write_table(pa.table({"text": texts}), folder / "all.parquet", row_group_size=1000, compression="zstd")
    return {
        "one text": (folder / "one.txt", {}),
        "text": (folder / "all.txt", {"separator": EOT}),
        "JSONL": (folder / "all.jsonl", {}),
        "JSONL.zst": (folder / "all.jsonl.zst", {}),
        "Parquet": (folder / "all.parquet", {}),
        "Parquet, to Parquet": (folder / "all.parquet", {"format": "parquet"}),
    }


class Stages:
    """Measures where the time of a job goes, by standing around its parts while it is entered."""

    def __enter__(self) -> "Stages":
        self.seconds = dict.fromkeys(SHARES, 0.0)
        self.began = time.perf_counter()
        self.encoded: list[float] = []
        """When each batch began, and ended."""
        self.kept = job.mapped, Begun.run, Writer.write, Writer.finish
        mapped, run, write, finish = self.kept

        def reading(work: Any, items: Iterator[Any], *arguments: int) -> Iterator[Any]:
            return mapped(work, self.around(items), *arguments)

        def encoding(begun: Begun, threads: int | None) -> Any:
            self.encoded.append(time.perf_counter())
            found = run(begun, threads)
            self.encoded.append(time.perf_counter())
            return found

        job.mapped = reading  # type: ignore[assignment]
        Begun.run = self.busy(encoding, "encoder")  # type: ignore[method-assign]
        Writer.write = self.busy(write, "writer")  # type: ignore[method-assign]
        Writer.finish = self.busy(finish, "writer")  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        job.mapped, Begun.run, Writer.write, Writer.finish = self.kept  # type: ignore[method-assign]
        ended = time.perf_counter()
        self.total = ended - self.began
        self.seconds["start"], self.seconds["end"] = min(self.encoded) - self.began, ended - max(self.encoded)

    def busy(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds[stage] += time.perf_counter() - began
            return result

        return call

    def around(self, items: Iterator[Any]) -> Iterator[Any]:
        advance = self.busy(next, "reader")
        while (item := advance(items, None)) is not None:
            yield item


def check(texts: list[str], source: Path, options: dict[str, Any], out: Path) -> None:
    """The job's ids are those of the documents."""
    tokenize_corpus(source, out, **options)
    batch = bpeline.load("gpt2").encode_ragged(texts, special="text")
    tokens = np.asarray(batch.tokens)
    if options.get("format") == "parquet":
        found = pq.read_table(out / "train-00000.parquet")["input_ids"].combine_chunks().flatten().to_numpy()
    else:
        found = np.fromfile(out / "train.bin", np.uint16)
        tokens = np.insert(tokens, np.asarray(batch.offsets)[1:], bpeline.load("gpt2").encode(EOT)[0])
    if not np.array_equal(found, tokens):
        raise AssertionError(f"{source.name}: the job's ids are not those of encode_ragged")
    shutil.rmtree(out)


def seconds_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    began = time.perf_counter()
    result = call(*arguments, **options)
    seconds = time.perf_counter() - began
    del result
    return seconds


def rounds(texts: list[str], source: Path, options: dict[str, Any], threads: int, number: int) -> dict[str, list[Any]]:
    """Seconds of `encode_ragged` and of the job, first and later, and the shares of the first jobs."""
    found: dict[str, list[Any]] = {"ragged": [], "later ragged": [], "job": [], "later job": [], "shares": []}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"

        def work(tokenizer: Tokenizer) -> None:
            tokenize_corpus(source, out, encoding=tokenizer, threads=threads, **options)

        check(texts, source, options, out)
        for _ in range(number):
            tokenizer = bpeline.load("gpt2")
            for name in ("ragged", "later ragged"):
                found[name].append(seconds_of(tokenizer.encode_ragged, texts, threads=threads))
            tokenizer = bpeline.load("gpt2")
            with Stages() as stages:
                work(tokenizer)
            found["job"].append(stages.total)
            found["shares"].append({name: seconds / stages.total for name, seconds in stages.seconds.items()})
            shutil.rmtree(out)
            found["later job"].append(seconds_of(work, tokenizer))
            shutil.rmtree(out)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--mb", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", help="kinds whose names begin so")
    arguments = parser.parse_args()
    for path in arguments.texts:
        texts, rows = corpus.read(path, arguments.mb * 1_000_000), []
        size = sum(len(text.encode()) for text in texts)
        with tempfile.TemporaryDirectory() as folder:
            for kind, (source, options) in kinds(texts, Path(folder)).items():
                if arguments.only and not kind.startswith(arguments.only):
                    continue
                for threads in arguments.threads:
                    given = [EOT.join(texts)] if kind == "one text" else texts
                    found = rounds(given, source, options, threads, arguments.rounds)
                    speed = {name: size / 1e6 / median(found[name]) for name in ("job", "later job")}
                    ratio = {name: median(map(truediv, found[other], found[name])) for name, other in PAIRS}
                    shares = [f"{median(each[name] for each in found['shares']):.0%}" for name in SHARES]
                    rows.append(
                        [
                            f"{path.stem} {kind}",
                            str(threads),
                            f"{speed['job']:.0f}",
                            f"{ratio['job']:.2f}",
                            f"{speed['later job']:.0f}",
                            f"{ratio['later job']:.2f}",
                            *shares,
                        ]
                    )
        head = ["input", "threads", "first, MB/s", "ratio", "later, MB/s", "ratio", *SHARES]
        print(table(head, rows), flush=True)


if __name__ == "__main__":
    main()
