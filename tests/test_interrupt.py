"""Ctrl-C ends a long native call with KeyboardInterrupt, and leaves the tokenizer usable.

Each call would run for the better part of a minute or more; the issue asks for a second, the deadline here is
generous because machines are busy. The child says so when a call ends before it is interrupted.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

DEADLINE = 15

SCRIPT = """
    import json, random, sys
    from bpeline import tokenizer_json
    from tests.backends import NativeTokenizer
    from tests.small import ALPHABET

    tok = NativeTokenizer.load("gpt2", cache_bytes=0)
    rng = random.Random(0)
    words = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz     .,\\n", k=2_000_000))
    letters = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)) * 30
    many = {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 20_000},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": {character: id for id, character in enumerate(ALPHABET)}, "merges": []},
    }
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "special"), False)
    long = {"added_tokens": [{"content": words, "id": 256, "normalized": True, **flags}]}

    def load(file):
        contents = tokenizer_json.read(json.dumps(file), "many")
        return NativeTokenizer(NativeTokenizer._Encoding.from_tokenizer_json("many", "many", *contents))

    normalizing = load(many)
    calls = {
        "batch": lambda threads: tok.count_batch([words] * 3_000, threads=threads),
        "lists": lambda threads: tok.encode_batch([words[:100_000]] * 60_000, threads=threads),
        "generator": lambda threads: tok.encode_ragged((words for _ in range(10**9)), threads=threads),
        "one text": lambda threads: tok.count(words * 400),
        "one piece": lambda threads: [tok.count(letters) for _ in range(20)],
        "train, counting": lambda threads: NativeTokenizer.train((words for _ in range(10**9)), 300, threads=threads),
        "train, merging": lambda threads: NativeTokenizer.train([letters], 200_000, threads=threads),
        "normalizers": lambda threads: normalizing.count(words),
        "load": lambda threads: load(many | long),
    }
    print("ready", flush=True)
    try:
        calls[sys.argv[1]](int(sys.argv[2]) or None)
    except KeyboardInterrupt:
        assert tok.encode("hello world") == [31373, 995]
        print("interrupted", flush=True)
    else:
        print("ended before it was interrupted", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one child")
@pytest.mark.parametrize(
    ("call", "threads"),
    [
        ("batch", 0),
        ("batch", 1),
        ("batch", 2),
        ("lists", 1),
        ("lists", 2),
        ("generator", 2),
        ("one text", 0),
        ("one piece", 0),
        ("train, counting", 0),
        ("train, counting", 1),
        ("train, merging", 0),
        ("normalizers", 0),
        ("load", 0),
    ],
)
def test_interrupt(native, call, threads):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), call, str(threads)], env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.7)
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=DEADLINE)
    finally:
        child.kill()
        child.wait()
    assert output == "interrupted\n"
    assert child.returncode == 0


FIRST_ARRAY = """
import signal

import numpy.lib
from tests.backends import NativeTokenizer

tok = NativeTokenizer.load("gpt2")


class Interrupting(numpy.lib.NumpyVersion):
    def __init__(self, version):
        signal.raise_signal(signal.SIGINT)
        super().__init__(version)


numpy.lib.NumpyVersion = Interrupting
try:
    tok.encode_array("hello world")
    print("not interrupted")
except KeyboardInterrupt:
    print(tok.encode_array("hello world").tolist())
"""


def test_interrupt_at_the_first_array(native):
    """The crate `numpy` asks for the version then, and panics if that raises."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", FIRST_ARRAY], env=env, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[31373, 995]\n", "")
