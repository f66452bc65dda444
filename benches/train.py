"""bpeline's training beside its peers: `python -m benches.train FILE --mb 33 --vocab-size 32000`.

Each trainer works in a process of its own, one after the other, and is timed from the text on the disk to the vocabulary; its peak
of memory is that of its process, Python and imports included. The text is the front of a file; the literals of special
tokens, spaces at the ends of lines and empty lines are left out, so that trainers that read a file whole and those that take
it by the line see the same pieces. The tokens learned are compared with those of tokenizers, in their order.

Prints a table; with `--output FOLDER` writes README.md and results.json there.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benches import report

EOT = "<|endoftext|>"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LONGEST = 1 << 20  # for those that must be told a longest token

Tokens = list[bytes]


def lines(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        yield from file


# --- Trainers: each learns from a file and returns the learned tokens in their order ---


def bpeline(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import bpeline

    tok = bpeline.Tokenizer.train([Path(path)], vocab_size)
    return lambda: _learned(tok)


def bpeline_lines(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import bpeline

    tok = bpeline.Tokenizer.train(lines(path), vocab_size)
    return lambda: _learned(tok)


def _learned(tok: Any) -> Tokens:
    return [tok.token_bytes(id) for id in range(257, tok.vocab_size)]


def gigabpe(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import gigabpe

    _, merges = gigabpe.train_bpe([path], vocab_size, special_tokens=[EOT], min_frequency=2, pretokenizer="bytelevel")
    return lambda: [_unspell("".join(pair)) for pair in merges]


def gigatoken(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import gigatoken

    _, merges = gigatoken.train_bpe(gigatoken.TextFileSource([path]), vocab_size, [EOT])
    return lambda: [bytes(left) + bytes(right) for left, right in merges]


def rustbpe(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import rustbpe

    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(lines(path), vocab_size - 1, pattern=GPT2)  # it has no special tokens
    return lambda: [bytes(token) for token, _ in tok.get_mergeable_ranks()[256:]]


def bpeasy(path: str, vocab_size: int) -> Callable[[], Tokens]:
    import bpeasy

    ranks = bpeasy.train_bpe(lines(path), GPT2, LONGEST, vocab_size - 1)
    return lambda: [token for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1]


def tokenizers(path: str, vocab_size: int) -> Callable[[], Tokens]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[EOT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(lines(path), trainer)
    return lambda: [_unspell(str(tok.id_to_token(id))) for id in range(257, tok.get_vocab_size())]


def _unspell(token: str) -> bytes:
    unspell = import_module("bpeline._reference.stages").unspell
    return bytes(unspell(token))


TRAINERS = {
    trainer.__name__: trainer for trainer in (bpeline, bpeline_lines, gigabpe, gigatoken, rustbpe, bpeasy, tokenizers)
}


# --- One after the other ---


def work(name: str, path: str, vocab_size: int, tokens: str) -> None:
    """In a process of its own: prints seconds and bytes, and leaves the tokens in a file."""
    import_module(name.removesuffix("_lines"))
    start = time.perf_counter()
    learned = TRAINERS[name](path, vocab_size)
    seconds = time.perf_counter() - start
    peak = peak_memory()
    Path(tokens).write_text("\n".join(token.hex() for token in learned()), encoding="ascii")
    print(json.dumps({"seconds": seconds, "peak": peak}))


def peak_memory() -> int:
    """Of this process, in bytes. (Where Linux is asked as others are, the peak of the process that started this counts.)"""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(names: list[str], path: str, vocab_size: int, runs: int) -> Iterator[dict[str, Any]]:
    """A row for each trainer: medians of the runs, and its tokens."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found, tokens = [], Path(folder) / name
            for _ in range(runs):
                command = [sys.executable, "-m", "benches.train", "--work", name, path, str(vocab_size), str(tokens)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    break
                found.append(json.loads(done.stdout.splitlines()[-1]))
            else:
                yield {
                    "trainer": name,
                    "version": metadata.version(name.removesuffix("_lines")) if "bpeline" not in name else "this",
                    "seconds": statistics.median(row["seconds"] for row in found),
                    "peak_mb": statistics.median(row["peak"] for row in found) / 1e6,
                    "tokens": tokens.read_text(encoding="ascii").split("\n"),
                }


def prepare(source: str, size: int, target: str) -> int:
    """Writes the text to train on; how many bytes it has."""
    with open(source, "rb") as file:
        data = file.read(size)
    text = data[: data.rfind(b"\n") + 1].decode().replace(EOT, "\n")
    kept = (line.strip() for line in text.split("\n"))
    content = "".join(f"{line}\n" for line in kept if line).encode()
    Path(target).write_bytes(content)
    return len(content)


def table(rows: list[dict[str, Any]]) -> str:
    reference = next((row["tokens"] for row in rows if row["trainer"] == "tokenizers"), None)
    written = ["| trainer | version | seconds | peak MB | tokens | as tokenizers |", "|---|---|---|---|---|---|"]
    for row in rows:
        tokens = row["tokens"]
        same = "–"
        if reference is not None:
            shared = len(set(tokens) & set(reference))
            if tokens == reference:
                same = "yes"
            elif tokens[: len(reference)] == reference:
                same = f"yes, and {len(tokens) - len(reference)} more"
            else:
                same = f"{shared:,} of {len(reference):,}, in another order"
        written.append(
            f"| {row['trainer']} | {row['version']} | {row['seconds']:.2f} | {row['peak_mb']:.0f} | {len(tokens):,} | {same} |"
        )
    return "\n".join(written)


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        _, _, name, path, vocab_size, tokens = sys.argv
        work(name, path, int(vocab_size), tokens)
        return
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("trainers", nargs="*", default=list(TRAINERS), metavar="TRAINER", help=", ".join(TRAINERS))
    parser.add_argument("--mb", type=float, default=33.0)
    parser.add_argument("--vocab-size", type=int, nargs="+", default=[32_000])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--output")
    options = parser.parse_args()
    sections, results = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "text")
        size = prepare(options.file, int(options.mb * 1e6), path)
        for vocab_size in options.vocab_size:
            rows = list(run(options.trainers, path, vocab_size, options.runs))
            title = f"{size / 1e6:.1f} MB of {Path(options.file).name} to {vocab_size:,} tokens"
            sections.append(f"## {title}\n\n{table(rows)}\n")
            results.append({"text": title, "rows": [row | {"tokens": len(row["tokens"])} for row in rows]})
            print(sections[-1], flush=True)
    if options.output:
        output = Path(options.output)
        output.mkdir(parents=True, exist_ok=True)
        arguments = [Path(argument).name if os.sep in argument else argument for argument in sys.argv[1:]]
        about = (
            f"# Training beside its peers\n\n`python -m benches.train {' '.join(arguments)}`, {time.strftime('%Y-%m-%d')}, "
            f"{report.processor()}, {os.cpu_count()} cores, "
            f"Python {platform.python_version()}. Median of {options.runs}.\n\n"
        )
        (output / "README.md").write_text(about + "\n".join(sections), encoding="utf-8")
        (output / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
