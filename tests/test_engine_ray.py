"""Jobs and datasets on a real Ray cluster of two nodes, with workers killed: the ids, and for jobs the bytes, of one machine."""

import errno
import fcntl
import gzip
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

import bpeline
from bpeline.corpus import plan as plans
from bpeline.corpus.documents import Place, Problem, ReadOptions
from bpeline.corpus.encoder import Run
from bpeline.corpus.inputs import find
from bpeline.corpus.verify import verify_corpus
from bpeline.integrations import ray_engine, ray_units
from tests import corpus_reading as reading
from tests.corpus_jobs import contents
from tests.corpus_memory import sources
from tests.ray_cluster import NODE, is_dead, readers_of, two_nodes

pytestmark = pytest.mark.engines

TEXTS = [f"document {number}: it's {number * number:,} words\n" * (number % 7) for number in range(90)]


class TestUnits:
    """What needs no cluster."""

    @pytest.mark.parametrize(
        ("sizes", "first", "wanted"),
        [
            ([], 0, []),
            ([1, 1, 1], 0, [(0, 3)]),
            ([1, 1, 1], 2, [(2, 3)]),
            ([40, 70, 1, 100, 5, 5], 0, [(0, 2), (2, 4), (4, 6)]),
            ([200, None, 3, None], 0, [(0, 1), (1, 2), (2, 4)]),
        ],
    )
    def test_files_make_units(self, monkeypatch, sizes, first, wanted):
        monkeypatch.setattr(ray_units, "UNIT_BYTES", 100)
        files = [replace(source, size=size) for source, size in zip(sources([""] * len(sizes)), sizes, strict=True)]
        place = asdict(Place(first, 0)) if first else None
        found = list(ray_units.units(plans.make(files), place))
        assert [(unit.begin, unit.end) for unit in found] == wanted

    def test_what_was_left_out_is_told_with_the_next_run(self):
        def run(number, *problems, last=False):
            none = np.zeros(0, np.int64)
            return Run(none, none, none, number, {"place": None if last else number}, problems=problems, size=1)

        one, two, three = (Problem(name, "bad") for name in "abc")
        runs = [run(0), run(None, one, last=True), run(None, two, last=True), run(3, three), run(None, one, last=True)]
        found = [(run.source, run.problems, run.size) for run in ray_engine.joined(iter(runs))]
        assert found == [(0, (), 1), (3, (one, two, three), 3), (None, (one,), 1)]


def test_a_missing_ray_is_said(monkeypatch, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"engine ray needs ray: python -m pip install 'bpeline\[ray\]'"):
        bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("engine", "address"), [("spark", None), ("local", "auto")])
def test_engines_are_named(tmp_path, engine, address):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(bpeline.CorpusError, match="engine"):
        bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", engine=engine, address=address)


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray.data")
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder of files of several kinds, one of them without documents, some lines bad."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(0, 30, 5):
        (folder / f"{number:02}.txt").write_text("<sep>".join(TEXTS[number : number + 5]))
    (folder / "30.jsonl").write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in TEXTS[30:60]))
    (folder / "40.jsonl").write_text("no json\n")
    (folder / "50.jsonl.gz").write_bytes(gzip.compress(b'{"text": 7}\n{"text": "<|endoftext|>", "n": 2}\n'))
    pq.write_table(pa.table({"text": TEXTS[60:], "n": range(30)}), folder / "60.parquet", row_group_size=7)
    (folder / "70.txt").write_text("")
    (folder / "80.jsonl").write_text("\nno json either\n")
    return folder


@pytest.fixture(scope="module")
def large_files(tmp_path_factory):
    """A folder of files that are cut into parts, some lines and rows bad."""
    folder = tmp_path_factory.mktemp("large")
    lines = [json.dumps({"text": text, "n": number}) for number, text in enumerate(TEXTS)]
    (folder / "0.jsonl").write_text("\n".join([*lines[:40], "bad", "", *lines[40:]]))
    (folder / "1.txt").write_text("<sep>".join(TEXTS))
    rows = pa.table({"text": [*TEXTS[:50], None, *TEXTS[50:]], "n": range(91)})
    pq.write_table(rows, folder / "2.parquet", row_group_size=4)
    with pa.ipc.new_file(folder / "3.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=4)
    (folder / "4.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def small_units(monkeypatch):
    monkeypatch.setattr(ray_units, "UNIT_BYTES", 500)


@pytest.mark.usefixtures("cluster", "small_units")
class TestJob:
    """`engine="ray"`."""

    @pytest.mark.parametrize("format", plans.FORMATS)
    @pytest.mark.parametrize("options", [{}, {"val_fraction": 0.3}, {"shuffle_seed": 1}], ids=str)
    def test_the_bytes_of_one_machine(self, corpus, tmp_path, format, options):
        options = {"format": format, "separator": "<sep>", "on_error": "skip", **options}
        if plans.FORMATS[format].shard_tokens:
            options["shard_tokens"] = 300
        one = bpeline.tokenize_corpus(corpus, tmp_path / "one", **options)
        bpeline.tokenize_corpus(corpus, tmp_path / "many", engine="ray", **options)
        assert contents(tmp_path / "many") == contents(tmp_path / "one")
        assert verify_corpus(tmp_path / "many").faults == []
        assert (one.documents, one.skipped) == (90, 3)  # the empty end of 10.txt is none

    @pytest.mark.parametrize("options", [{}, {"val_fraction": 0.3}, {"shuffle_seed": 1}], ids=str)
    def test_large_files_in_parts(self, large_files, tmp_path, monkeypatch, options):
        # Where files are cut, and read here; the workers have the usual. A character may take four of them.
        monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 8)
        options = {"format": "npy", "separator": "<sep>", "on_error": "skip", **options}
        units = list(ray_units.units(plans.make(find(large_files, ReadOptions(separator="<sep>"))), None))
        assert len({unit.begin for unit in units if unit.start}) == 5
        one = bpeline.tokenize_corpus(large_files, tmp_path / "one", **options)
        bpeline.tokenize_corpus(large_files, tmp_path / "many", engine="ray", **options)
        assert contents(tmp_path / "many") == contents(tmp_path / "one")
        assert (one.documents, one.skipped) == (5 * 90, 3)

    def test_an_error_in_a_part_has_the_line_of_the_file(self, large_files, tmp_path):
        for engine in ("local", "ray"):
            with pytest.raises(bpeline.CorpusError, match=r"0\.jsonl:41: not valid JSON"):
                bpeline.tokenize_corpus(large_files / "0.jsonl", tmp_path / engine, engine=engine)

    def test_columns_and_another_encoding(self, tmp_path):
        for number in range(3):
            rows = pa.table({"text": TEXTS[number * 30 : number * 30 + 30], "n": range(30)})
            pq.write_table(rows, tmp_path / f"{number}.parquet")
        ranks = {bytes([byte]): byte for byte in range(256)} | {b"it": 256, b" w": 257}
        tok = bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={"<|endoftext|>": 70_000})
        options = {"format": "arrow", "encoding": tok, "keep": ["n"], "threads": 1}
        bpeline.tokenize_corpus(tmp_path / "*.parquet", tmp_path / "one", **options)
        bpeline.tokenize_corpus(tmp_path / "*.parquet", tmp_path / "many", engine="ray", **options)
        assert contents(tmp_path / "many") == contents(tmp_path / "one")
        wanted = [{"input_ids": tok.encode(text), "n": number % 30} for number, text in enumerate(TEXTS)]
        assert reading.arrow(tmp_path / "many") == wanted

    @pytest.mark.parametrize("first", ["local", "ray"])
    def test_either_finishes_what_the_other_began(self, corpus, tmp_path, monkeypatch, first):
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        options = {"format": "megatron", "separator": "<sep>", "on_error": "skip"}
        bpeline.tokenize_corpus(corpus, tmp_path / "one", **options)

        def stop(progress):
            if progress.documents >= 40:
                time.sleep(0.2)  # so that the writer makes a checkpoint
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bpeline.tokenize_corpus(corpus, tmp_path / "two", progress=stop, engine=first, **options)
        there = json.loads((tmp_path / "two" / "manifest.json").read_text())
        assert not there["finished"] and 0 < there["documents"] < 90
        second = {"local": "ray", "ray": "local"}[first]
        result = bpeline.tokenize_corpus(corpus, tmp_path / "two", engine=second, **options)
        assert contents(tmp_path / "two") == contents(tmp_path / "one")
        assert 0 < result.text_bytes < result.manifest.text_bytes

    @pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="finds the worker in /proc")
    def test_a_worker_killed_in_the_middle_of_a_file(self, tmp_path):
        """The file is a pipe, so the worker is known to be in it, and is killed after half of the text."""
        (tmp_path / "in").mkdir()
        inputs = [tmp_path / "in" / f"{number}.txt" for number in range(3)]  # a pipe must be named
        for number in (0, 2):
            inputs[number].write_text(TEXTS[-1] * 50)
        pipe, text = inputs[1], "".join(TEXTS).encode() * 20
        killed, done = [], threading.Event()

        def feed():
            with opened_by_reader(pipe, done) as file:
                file.write(text[: len(text) // 2])
                while waiting_in(file):
                    time.sleep(0.01)
                killed.extend(readers_of(pipe))
                os.kill(killed[0], signal.SIGKILL)
                while not is_dead(killed[0]):  # until then it is a reader
                    time.sleep(0.01)
            while not done.is_set():  # a dead process may still be a reader, as long as one of its threads is
                with suppress(OSError), opened_by_reader(pipe, done) as file:
                    file.write(text)
                while readers_of(pipe) and not done.is_set():
                    time.sleep(0.01)

        os.mkfifo(pipe)
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        bpeline.tokenize_corpus(inputs, tmp_path / "many", engine="ray", format="npy")
        done.set()
        feeder.join(10)
        assert len(killed) == 1 and killed[0] != os.getpid()
        pipe.unlink()
        pipe.write_bytes(text)
        bpeline.tokenize_corpus(inputs, tmp_path / "one", format="npy")
        for name in ("tokens.npy", "offsets.npy"):
            assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()

    def test_a_machine_that_dies(self, cluster, tmp_path):
        """With what it had encoded and nobody had fetched."""
        (tmp_path / "in").mkdir()
        for number in range(40):
            (tmp_path / "in" / f"{number:02}.txt").write_text("".join(TEXTS) * (number + 1))
        node, seen = cluster.add_node(**NODE), []

        def die(progress):
            if not seen:
                cluster.remove_node(node, allow_graceful=False)
            seen.append(progress.documents)

        bpeline.tokenize_corpus(tmp_path / "in", tmp_path / "many", engine="ray", progress=die)
        bpeline.tokenize_corpus(tmp_path / "in", tmp_path / "one")
        assert contents(tmp_path / "many") == contents(tmp_path / "one")
        assert seen == list(range(1, 41))

    def test_errors_are_those_of_one_machine(self, corpus, tmp_path):
        for engine in ("local", "ray"):
            with pytest.raises(bpeline.CorpusError, match=r"40\.jsonl:1: not valid JSON") as caught:
                bpeline.tokenize_corpus(corpus, tmp_path / engine, separator="<sep>", engine=engine)
            assert str(caught.value).startswith(str(corpus))
        (tmp_path / "a.txt").write_text("<|endoftext|>")
        with pytest.raises(bpeline.SpecialTokenError, match=r"a\.txt: document 1: "):
            bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "c", special="error", engine="ray")
        with pytest.raises(bpeline.CorpusError, match="standard input cannot be read by a cluster"):
            bpeline.tokenize_corpus("-", tmp_path / "d", engine="ray")

    def test_relative_names(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\nbad\n')
        for engine in ("local", "ray"):
            bpeline.tokenize_corpus("a.jsonl", engine, on_error="skip", engine=engine)
        assert contents(tmp_path / "ray") == contents(tmp_path / "local")
        assert json.loads((tmp_path / "ray" / "skipped.jsonl").read_text())["file"] == "a.jsonl"

    def test_a_worker_of_another_version(self, tmp_path, monkeypatch):
        (tmp_path / "a.txt").write_text("x")
        monkeypatch.setattr(ray_engine, "__version__", "9.9")
        with pytest.raises(bpeline.CorpusError, match=r"has bpeline 0\..*, and the job is of 9\.9"):
            bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", engine="ray")

    def test_the_command(self, cluster, corpus, tmp_path):
        pytest.importorskip("typer")
        options = ["--separator", "<sep>", "--on-error", "skip", "--engine", "ray", "--address", cluster.address]
        command = [sys.executable, "-m", "bpeline", "tokenize", corpus, "-o", tmp_path / "many", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        bpeline.tokenize_corpus(corpus, tmp_path / "one", separator="<sep>", on_error="skip")
        assert contents(tmp_path / "many") == contents(tmp_path / "one")


def opened_by_reader(pipe, given_up):
    """The pipe to write to, once somebody reads it; raises `OSError` if nobody does."""
    while True:
        try:
            number = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or given_up.is_set():
                raise
            time.sleep(0.01)
        else:
            os.set_blocking(number, True)
            return open(number, "wb", buffering=0)


def waiting_in(pipe):
    """The bytes that nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
