"""`bpeline tokenize` and `bpeline.tokenize_corpus` on real files."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
pytest.importorskip("typer")

import bpeline
from bpeline.cli.tokenize import Tokenizing, duration
from bpeline.corpus.job import Progress
from tests import corpus_reading as reading

EOT = 50256
TEXTS = {"a.txt": "hello world", "b.txt": "", "c.jsonl": '{"text": "a row"}\n{"text": "<|endoftext|>"}\n'}


@pytest.fixture(autouse=True)
def a_corpus(tmp_path):
    """In `data`."""
    (tmp_path / "data").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "data" / name).write_text(text)


def wanted():
    tok = bpeline.load("gpt2")
    return [
        id for text in ("hello world", "", "a row", "<|endoftext|>") for id in [*tok.encode(text, special="text"), EOT]
    ]


def test_defaults_just_work(bp, tmp_path):
    result = bp("tokenize", "data", "-o", "tokens")
    assert result.exit_code == 0 and result.stdout == ""
    assert reading.nanogpt(tmp_path / "tokens") == wanted()
    lines = [" ".join(line.split()) for line in result.stderr.splitlines()]
    assert lines[:4] == [
        "input 3 files (2 text, 1 jsonl), 55 bytes",
        "documents each text file, 'text' of each row",
        "encoding gpt2, <|endoftext|> (50256) after each document, special tokens in texts: text",
        "output tokens: nanogpt, uint16",
    ]
    assert "text 4 documents, 29 bytes" in lines
    assert f"tokens {len(wanted())} ({29 / len(wanted()):.2f} bytes a token)" in lines
    assert f"file tokens/train.bin ({2 * len(wanted())} bytes)" in lines
    assert lines[-1] == "next bpeline verify tokens"


def test_the_call_is_the_command(bp, tmp_path):
    seen = []
    options = {"format": "llmc", "shard_tokens": 8, "val_fraction": 0.5, "name": "x", "eot": "append"}
    result = bpeline.tokenize_corpus("data", tmp_path / "call", progress=seen.append, **options)
    assert (
        bp(
            "tokenize",
            "data",
            "-o",
            "command",
            "-f",
            "llmc",
            "--shard-tokens",
            8,
            "--val-fraction",
            0.5,
            "--name",
            "x",
            "--eot",
            "append",
            "-q",
        ).exit_code
        == 0
    )
    files = {path.name: path.read_bytes() for path in (tmp_path / "call").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "command").iterdir()}
    assert (result.documents, result.tokens) == (4, len(wanted()))
    assert (seen[-1].documents, seen[-1].tokens, seen[-1].size, seen[-1].total_size) == (4, len(wanted()), 55, 55)


def test_done_before(bp):
    assert bp("tokenize", "data", "-o", "tokens", "-q").exit_code == 0
    result = bp("tokenize", "data", "-o", "tokens", "--resume")
    assert result.exit_code == 0 and "all of it was done before" in result.stderr and "speed" not in result.stderr


def test_from_standard_input(bp, tmp_path):
    assert bp("tokenize", "-", "-o", "out", "--kind", "lines", "-q", stdin=b"hello world\n\n").exit_code == 0
    assert reading.nanogpt(tmp_path / "out") == [31373, 995, EOT, EOT]


def test_dry_run_writes_nothing(bp, tmp_path):
    result = bp("tokenize", "data", "-o", "tokens", "--dry-run")
    assert result.exit_code == 0 and not (tmp_path / "tokens").exists()
    assert f"estimate  4 documents, {len(wanted())} tokens" in result.stderr


def test_an_estimate_from_a_part(bp, tmp_path, monkeypatch):
    monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 5000)
    (tmp_path / "large.txt").write_text("hello world\n" * 5000)
    found = bp("tokenize", "large.txt", "-o", "tokens", "--dry-run", "--kind", "lines").stderr
    line = next(line for line in found.splitlines() if line.startswith("estimate"))
    documents, tokens = (int(word.replace(",", "")) for word in (line.split()[2], line.split()[4]))
    assert 4000 < documents < 6000 and tokens == pytest.approx(3 * documents, abs=3)


def test_an_estimate_of_files_of_several_kinds(bp, tmp_path):
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    lines = "".join(json.dumps({"text": f"document {number}"}) + "\n" for number in range(1500))
    for number in range(30):  # of which a half is read
        (mixed / f"{number}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (mixed / "one.txt").write_text("hello world\n" * 50_000)
    (mixed / "table.csv").write_text("text\n" + "hello\n" * 2000)
    found = bp("tokenize", "mixed", "-o", "tokens", "--dry-run").stderr
    line = next(line for line in found.splitlines() if line.startswith("estimate"))
    gpt2 = bpeline.load("gpt2")
    tokens = sum(gpt2.count(f"document {number}") + 1 for number in range(1500)) * 30
    tokens += gpt2.count("hello world\n" * 50_000) + 1 + 2000 * 2
    assert line == f"estimate  about {30 * 1500 + 1 + 2000:,} documents, {tokens:,} tokens", line


def test_the_output_inside_the_input_is_no_input(bp, tmp_path):
    for _ in range(2):
        assert bp("tokenize", ".", "-o", "tokens", "-q").exit_code == 0
    assert len(json.loads((tmp_path / "tokens/manifest.json").read_text())["plan"]["sources"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.txt", "-o", "out"], "nothing.txt: No such file or directory"),
        (["", "-o", "out"], "expected the name of an input, found an empty one"),
        (["data", "-o", ""], "expected the name of a folder for the output, found an empty one"),
        (
            ["data", "-o", "out", "--encoding", "nope"],
            f'nothing is at "nope", and the built-in encodings are: {", ".join(bpeline.encodings())}',
        ),
        (["data", "-o", "out", "--keep", "url"], "format nanogpt holds no columns to keep; use parquet or arrow"),
        (["data", "-o", "s3://bucket/out"], "s3://bucket/out: the output must be a folder of this machine"),
        (["data", "-o", "out", "--column", "body"], "data/c.jsonl:1: no field 'body'; the fields are: 'text'"),
        (
            ["data", "-o", "data"],
            "data: holds a.txt and no manifest.json, so it is no output of bpeline; choose another folder",
        ),
    ],
)
def test_errors_are_one_line(bp, arguments, message):
    result = bp("tokenize", *arguments, "-q")
    assert (result.stderr, result.exit_code) == (f"bpeline: {message}\n", 1)


def test_skipping_lists_what_was_skipped(bp, tmp_path):
    (tmp_path / "data/d.jsonl").write_text('{"text": 1}\n{"text": "good"}\nbad\n')
    result = bp("tokenize", "data", "-o", "tokens", "--on-error", "skip")
    assert result.exit_code == 0 and "skipped   2, listed in tokens/skipped.jsonl" in result.stderr
    listed = [json.loads(line) for line in (tmp_path / "tokens/skipped.jsonl").read_text().splitlines()]
    assert [(entry["file"], entry["line"]) for entry in listed] == [("data/d.jsonl", 1), ("data/d.jsonl", 3)]


def test_a_vanished_input_stops_the_job_with_its_name(bp, tmp_path):
    from bpeline.corpus import inputs, job, plan, readers

    sources = inputs.find("data")
    os.remove(tmp_path / "data" / "c.jsonl")
    with pytest.raises((OSError, bpeline.CorpusError), match=r"c\.jsonl"):
        job.run(plan.make(sources), tmp_path / "out", readers.read, "1")
    assert not json.loads((tmp_path / "out/manifest.json").read_text())["finished"]


@pytest.mark.parametrize("when", ["before it is read", "before the job goes on"])
def test_an_input_that_comes_back(bp, tmp_path, monkeypatch, when):
    from bpeline.corpus.writer import Writer

    assert bp("tokenize", "data", "-o", "whole", "-q").exit_code == 0
    lost, away = tmp_path / "data/c.jsonl", tmp_path / "away"
    if when == "before it is read":
        describe = lambda *_: lost.rename(away)  # noqa: E731
        expected = (
            "bpeline: data/c.jsonl: is gone since the job was planned; bring it back, and the same command goes on\n"
        )
    else:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Writer, "finish", interrupted)
            bpeline.tokenize_corpus("data", "tokens")
        lost.rename(away)
        describe = lambda *_: None  # noqa: E731
        expected = (
            "bpeline: tokens: holds the output of a job that is not finished (data/c.jsonl is no input any more); bring it back, "
            "and the same command goes on, or --overwrite starts anew\n"
        )
    with monkeypatch.context() as patch:
        patch.setattr("bpeline.cli.tokenize.describe", describe)
        assert bp("tokenize", "data", "-o", "tokens", "-q").stderr == expected
    away.rename(lost)
    assert bp("tokenize", "data", "-o", "tokens", "-q").exit_code == 0
    assert (tmp_path / "tokens/train.bin").read_bytes() == (tmp_path / "whole/train.bin").read_bytes()


def interrupted(writer):
    raise KeyboardInterrupt


def test_progress_in_words():
    step = Tokenizing(1_000_000)
    assert str(step) == "tokenizing (1.00 MB)"
    step.update(Progress(100_000, 1_000_000, 1, 2, 100_000, 1.0, "a"))
    step.update(Progress(400_000, 1_000_000, 2_000, 90_000, 400_000, 2.0, "a"))
    assert str(step) == "400.00 kB of 1.00 MB, 2,000 documents, 90,000 tokens, 0.3 MB/s, 2 s left"
    assert [duration(seconds) for seconds in (1, 100, 7200)] == ["1 s", "2 min", "2.0 h"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupted_while_it_waits(tmp_path):
    """While it waits for its input, which never comes."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(bpeline.__file__))}
    command = [sys.executable, "-m", "bpeline", "tokenize", "-", "-o", str(tmp_path / "out"), "--kind", "lines"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while "output" not in process.stderr.readline():
            pass
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().endswith("bpeline: interrupted\n")


def test_a_disk_that_is_full(bp, tmp_path):
    """A limit on the size of files stands in for it; without the limit the job goes on to the same bytes."""
    resource = pytest.importorskip("resource")
    (tmp_path / "large.txt").write_text("hello world\n" * 5000)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(bpeline.__file__))}
    command = [sys.executable, "-m", "bpeline", "tokenize", "large.txt", "-o", "tokens", "-q"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # noqa: E731
    failed = subprocess.run(command, env=environment, preexec_fn=limit, capture_output=True, text=True)
    assert (failed.returncode, failed.stderr) == (1, "bpeline: tokens/train_000000.ids.part: File too large\n")
    assert bp("tokenize", "large.txt", "-o", "tokens", "-q").exit_code == 0
    assert reading.nanogpt(tmp_path / "tokens") == [*bpeline.load("gpt2").encode("hello world\n" * 5000), EOT]


def test_a_large_document_takes_little_memory(tmp_path):
    """200 MB in one file, in parts of 16: a few parts are held at once."""
    with open(tmp_path / "large.txt", "w") as file:
        for _ in range(200):
            file.write("It is a truth universally acknowledged, that a book of one line is long. " * 13_700)
    script = (
        "import resource, sys, bpeline\nbpeline.load('gpt2').encode_arrow\nimport bpeline.corpus.readers\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "result = bpeline.tokenize_corpus(sys.argv[1], sys.argv[2], threads=1)\n"
        "print(result.tokens, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    pytest.importorskip("resource")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(bpeline.__file__))}
    command = [sys.executable, "-c", script, str(tmp_path / "large.txt"), str(tmp_path / "out")]
    tokens, grown = map(
        int, subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    )
    sentence = bpeline.load("gpt2").encode(" It is a truth universally acknowledged, that a book of one line is long.")
    assert abs(tokens - 200 * 13_700 * len(sentence)) < 400
    assert np.memmap(tmp_path / "out/train.bin", np.uint16, "r")[-1] == EOT
    assert grown < 350
