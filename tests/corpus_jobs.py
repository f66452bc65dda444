"""Jobs on documents in memory, and what kills them."""

import os

import pytest

import bpeline
from bpeline.corpus import folder as folders
from bpeline.corpus import job, plan
from tests.corpus_memory import reader, sources

INPUTS = [
    ["", "hello world", "a<|endoftext|>b", "", "x" * 40, "\n\n"],
    [],
    "It's a long text, in parts, with spaces   and\n\nlines: 12345 ünïcödé 👍🏽 " * 6,
    ["", ""],
    ["the last one"],
]


def run(
    out, inputs=INPUTS, tok=None, *, batch=3, part=7, columns=None, threads=1, overwrite=False, progress=None, **options
):
    made = plan.make(sources(inputs), tok or bpeline.load("gpt2"), **options)
    read = reader(inputs, batch, part, columns)
    return job.run(made, out, read, "1", threads=threads, overwrite=overwrite, progress=progress)


def contents(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


class Killed(BaseException):
    """As if by kill -9."""


class dying_at:
    """From the n-th write, sync or rename on nothing reaches the disk: as kill -9 leaves it, or (a write) half done."""

    def __init__(self, number):
        self.left, self.died = number, False

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        for owner, name in [(folders.Growing, "write"), (os, "fsync"), (os, "replace"), (folders.Growing, "flush")]:
            self.patch.setattr(owner, name, self.dying(name, getattr(owner, name)))
        return self

    def __exit__(self, *_):
        self.patch.undo()

    def dying(self, name, real):
        def call(*arguments):
            self.left -= 1
            if self.left < 0 or self.died:
                if not self.died and name == "write" and len(arguments[1]):
                    real(arguments[0], bytes(memoryview(arguments[1]).cast("B"))[: self.left % 3])
                self.died = True
                raise Killed
            return real(*arguments)

        return call
