"""The MB/s of README's table of encodings: `python -m benches.encodings TEXTS NAME=FILE...`.

TEXTS is a file of texts parted by <|endoftext|>. Each encoding, the built-in ones and those of the files, encodes the first 48 MB of
it in a process of its own, on one thread, to arrays. Shown is the first pass / the best of three later ones, the
median of three processes. A rank file needs its pattern: NAME=FILE:PATTERN.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benches import corpus

BUILT_IN = ("gpt2", "p50k_base", "cl100k_base", "o200k_base")
BYTES, RUNS, LATER = 48_000_000, 3, 3


def measure(texts: list[str], source: str, pattern: str) -> tuple[float, float]:
    import bpeline
    import numpy  # noqa: F401  # bpeline imports it with its first array: not part of a pass

    tok = bpeline.load(source, pattern=pattern, special_tokens={}) if pattern else bpeline.load(source)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    speeds = []
    for _ in range(1 + LATER):
        start = time.perf_counter()
        batch = tok.encode_ragged(texts, threads=1)
        speeds.append(megabytes / (time.perf_counter() - start))
        del batch
    return speeds[0], max(speeds[1:])


def main(texts: str, *files: str) -> None:
    for entry in [*(f"{name}={name}" for name in BUILT_IN), *files]:
        name, _, source = entry.partition("=")
        source, _, pattern = source.partition(":")
        command = [sys.executable, "-m", "benches.encodings", "--one", texts, source, pattern]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(RUNS)]
        first, later = (median(float(run[at]) for run in runs) for at in (0, 1))
        print(f"{name:16} {first:5.0f} / {later:5.0f} MB/s", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(*measure(corpus.read(Path(sys.argv[2]), BYTES), *sys.argv[3:]))
    else:
        main(*sys.argv[1:])
