"""The MB/s of README's table of encodings: `python -m benches.encodings TEXTS NAME=FILE...`.

TEXTS is a file of texts parted by <|endoftext|>. Each encoding, the built-in ones and those of the files, encodes the first 48 MB of
it in a process of its own, on one thread, to arrays: seven times, by turns, so that a noisy machine disturbs all alike. Shown are the
medians of the first pass and of the best of three later ones, and each as a share of GPT-2's in the same turn (the median of the
shares). A rank file needs its pattern, NAME=FILE:PATTERN, the name of one or a regular expression; then tiktoken, with the
same ranks and pattern, encodes a sixth of the texts in the same process, and must give the same ids.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np  # which bpeline imports with its first array: no part of a pass

from benches import corpus

BUILT_IN = ("gpt2", "p50k_base", "cl100k_base", "o200k_base")
BYTES, RUNS, LATER = 48_000_000, 7, 3


def measure(texts: list[str], source: str, pattern: str) -> list[float]:
    """MB/s: the first pass, the best later one and, with a pattern, that of tiktoken."""
    import bpeline

    tok = bpeline.load(source, pattern=pattern, special_tokens={}) if pattern else bpeline.load(source)
    speeds = []
    for _ in range(1 + LATER):
        start = time.perf_counter()
        batch = tok.encode_ragged(texts, threads=1)
        speeds.append(megabytes(texts) / (time.perf_counter() - start))
        del batch
    return [speeds[0], max(speeds[1:]), *([tiktoken(texts[: len(texts) // 6], tok)] if pattern else [])]


def tiktoken(texts: list[str], tok: Any) -> float:
    import tiktoken

    ranks = {tok.token_bytes(id): id for id in range(tok.vocab_size)}
    encoding = tiktoken.Encoding("beside", pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={})
    start = time.perf_counter()
    ids = [encoding.encode_ordinary(text) for text in texts]
    seconds = time.perf_counter() - start
    for text, expected in zip(texts, ids, strict=True):
        np.testing.assert_array_equal(tok.encode_array(text), expected)
    return megabytes(texts) / seconds


def megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def main(texts: str, *files: str) -> None:
    runs: dict[str, list[list[float]]] = {}
    for _ in range(RUNS):
        for entry in [*(f"{name}={name}" for name in BUILT_IN), *files]:
            name, _, source = entry.partition("=")
            source, _, pattern = source.partition(":")
            command = [sys.executable, "-m", "benches.encodings", "--one", texts, source, pattern]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            runs.setdefault(name, []).append([float(figure) for figure in printed.split()])
    for name, figures in runs.items():
        first, later, *beside = map(median, zip(*figures, strict=True))
        shares = (median(run[at] / gpt2[at] for run, gpt2 in zip(figures, runs["gpt2"], strict=True)) for at in (0, 1))
        of_gpt2 = " / ".join(f"{share:.2f}" for share in shares)
        print(f"{name:16} {first:5.0f} / {later:5.0f} MB/s, {of_gpt2} of GPT-2's", end="")
        print(*(f", tiktoken {speed:.1f}" for speed in beside))


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(*measure(corpus.read(Path(sys.argv[2]), BYTES), *sys.argv[3:]))
    else:
        main(*sys.argv[1:])
