"""A process that is killed by `kill -9` at any moment, and goes on: the bytes are those of one that never was."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import bpeline
from tests.corpus_jobs import contents

KILLS = 50
# Slow enough to be met at work, with many shards and checkpoints; the first line tells that the imports are done.
JOB = """
import sys, time
import bpeline, bpeline.corpus.documents, bpeline.corpus.writer
bpeline.corpus.documents.BATCH_BYTES = 2000
bpeline.corpus.writer.EVERY = bpeline.corpus.writer.SHARE = 0.0
inputs, out, format, shard_tokens, seed = sys.argv[1:]
options = {"shard_tokens": int(shard_tokens)} if shard_tokens else {}
if seed:
    options["shuffle_seed"] = int(seed)
print("ready", flush=True)
bpeline.tokenize_corpus(inputs, out, format=format, val_fraction=0.2, separator="\\n\\n", threads=1, **options)
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "a.txt").write_text("\n\n".join(f"document {n} " + "and so on " * (n % 40) for n in range(400)))
    (folder / "b.jsonl").write_text("".join(f'{{"text": "row {n}"}}\n' for n in range(250)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "shard_tokens", "seed"),
    [
        ("nanogpt", "", ""),
        ("llmc", "4000", ""),
        ("megatron", "", "7"),
        ("parquet", "3000", ""),
        ("datatrove", "3000", ""),
    ],
)
def test_killed_again_and_again(tmp_path, inputs, format, shard_tokens, seed):
    def command(name):
        return [sys.executable, "-c", JOB, str(inputs), str(tmp_path / name), format, shard_tokens, seed]

    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(bpeline.__file__))}
    start = time.perf_counter()
    assert (
        subprocess.run(command("whole"), env=environment, stdout=subprocess.PIPE, text=True).stdout == "ready\ndone\n"
    )
    seconds, chance, killed = time.perf_counter() - start, random.Random(format), 0
    for _ in range(KILLS // 5):
        with subprocess.Popen(command("broken"), env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, seconds / 4))
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
    assert killed > 0
    assert (
        subprocess.run(command("broken"), env=environment, stdout=subprocess.PIPE, text=True).stdout == "ready\ndone\n"
    )
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
