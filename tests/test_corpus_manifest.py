"""manifest.json, edited or damaged anywhere: an error of bpeline's own, and nothing outside of the folder is read, written or removed."""

import copy
import json
import os
import shutil
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import bpeline
from bpeline.corpus import shape
from bpeline.corpus.inspect import inspect_corpus
from bpeline.corpus.verify import verify_corpus
from bpeline.corpus.writer import Writer
from bpeline.data import TokenDataset
from tests.corpus_jobs import Killed

VALUES = [None, True, -1, 1 << 70, 1.5, "\ud800", "../in", [], {}, [[]]]
FORMATS = ["nanogpt", "megatron", "parquet"]


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Makes an output, finished or with a checkpoint at its end, and gives what makes it again, and its manifest."""
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.txt").write_text("hello world\n" * 9)

    def make(format, is_finished):
        def again(**options):
            return bpeline.tokenize_corpus(tmp_path / "in", tmp_path / "out", format=format, **options)

        def die(writer):
            writer.checkpoint()
            raise Killed

        if is_finished:
            again()
        else:
            with monkeypatch.context() as patch, pytest.raises(Killed):
                patch.setattr(Writer, "finish", die)
                again()
        return again, json.loads((tmp_path / "out" / "manifest.json").read_text())

    return make


def places(value, path=()):
    """The path of each value, of the first of a list alone."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def changed(manifest, path, change):
    manifest = copy.deepcopy(manifest)
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return manifest


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("is_finished", [True, False])
def test_the_shape_is_that_of_what_is_written(job, format, is_finished):
    _, manifest = job(format, is_finished)
    shape.MANIFEST(manifest, "")
    for path in list(places(manifest))[1:]:
        if isinstance(path[-1], int) or path[-1] == "resume" or path[-2:-1] in (("files",), ("splits",)):
            continue
        less = changed(manifest, path, lambda inner, key: inner.pop(key))
        with pytest.raises(ValueError, match=f"has no {path[-1]}$"):
            shape.MANIFEST(less, "")


@pytest.mark.parametrize("is_finished", [True, False])
def test_any_value_anywhere(job, tmp_path, is_finished):
    """Either it is refused, or it is a value that could be, and then it is a fault or another job."""
    _, manifest = job("megatron", is_finished)
    file, refused, wrong = tmp_path / "out" / "manifest.json", 0, []
    for path in list(places(manifest))[1:]:
        for value in VALUES:
            bad = changed(manifest, path, lambda inner, key, value=value: inner.__setitem__(key, value))
            file.write_text(json.dumps(bad))
            try:
                shape.MANIFEST(bad, "")
            except ValueError:
                refused += 1
                with pytest.raises(bpeline.CorpusError, match=r"manifest\.json: (is no manifest of bpeline|version)"):
                    verify_corpus(tmp_path / "out")
                continue
            try:
                verify_corpus(tmp_path / "out", against=[])
                TokenDataset(tmp_path / "out")
            except bpeline.CorpusError:
                continue
            except Exception as error:
                wrong.append((path, value, repr(error)))
    assert wrong == [] and refused > 400


@pytest.mark.parametrize("look", [verify_corpus, inspect_corpus])
@pytest.mark.parametrize(
    ("keys", "value"), [(("read", "separator"), ""), (("eot", "id"), 50257), (("eot", "id"), 1 << 40)]
)
def test_a_plan_that_no_job_can_have(job, tmp_path, look, keys, value):
    _, manifest = job("megatron", True)
    manifest["plan"][keys[0]][keys[1]] = value
    (tmp_path / "out/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(bpeline.CorpusError, match=r"manifest\.json: .*(separator|end-of-text is)"):
        look(tmp_path / "out")


SEEN = []
"""What was opened, renamed or removed under the name of a secret."""
sys.addaudithook(lambda event, arguments: SEEN.append(event) if "secret" in str(arguments[:1]) else None)
NAMES = ["../secret.bin", "/secret.bin", "..", "a/../../secret.bin", "a\\..\\secret.bin", ".secret", "", "a\0b"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_finished", [True, False])
def test_names_lead_nowhere_else(job, tmp_path, name, is_finished):
    """Above all `--overwrite` removes what is listed."""
    again, manifest = job("nanogpt", is_finished)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(200))
    facts = {"bytes": 200, "sha256": "0" * 64}
    shard = {
        "split": "train",
        "number": 0,
        "documents": 0,
        "tokens": 100,
        "files": {name: facts},
        "first": None,
        "last": None,
    }
    listed = {**manifest, "shards": [shard]}
    named = {**manifest, "plan": {**manifest["plan"], "name": name}}
    for bad in (listed, named):
        (tmp_path / "out" / "manifest.json").write_text(json.dumps(bad))
        SEEN.clear()
        for use in (again, lambda: again(overwrite=True), lambda: verify_corpus(tmp_path / "out")):
            with pytest.raises(bpeline.CorpusError, match=r"expected a (plain name of a file|path)"):
                use()
        if bad is listed:
            with pytest.raises(bpeline.CorpusError):
                TokenDataset(tmp_path / "out")
        assert SEEN == [] and secret.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b"null", b"[]", b'"x"', b"\xff", b'{"manifest": 1}', b"NaN"]
)
def test_damaged_files(job, tmp_path, content):
    again, _ = job("nanogpt", True)
    (tmp_path / "out" / "manifest.json").write_bytes(content)
    for use in (
        again,
        lambda: again(overwrite=True),
        lambda: verify_corpus(tmp_path / "out"),
        lambda: TokenDataset(tmp_path / "out"),
    ):
        with pytest.raises(bpeline.CorpusError, match=r"manifest\.json: "):
            use()
    shutil.rmtree(tmp_path / "out")
    again()


JOBS = [
    {"format": "nanogpt", "val_fraction": 0.5},
    {"format": "llmc", "shard_tokens": 200},
    {"format": "megatron"},
    {"format": "parquet", "keep": ["n"], "shard_tokens": 200},
    {"format": "npy", "shuffle_seed": 1},
]


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Makes an output that is stopped in the middle, and gives what goes on with it, and a copy of the folder."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 300)
    monkeypatch.setattr("bpeline.corpus.shuffle.RUN_TOKENS", 20)
    rows = [json.dumps({"text": f"document {number}" * 7, "n": number}) + "\n" for number in range(60)]
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text("".join(rows[30 * number : 30 * number + 30]))

    def make(options):
        def again():
            return bpeline.tokenize_corpus(tmp_path / "*.jsonl", tmp_path / "out", threads=1, **options)

        writes = []

        def write(writer, run):
            Writer_write(writer, run)
            writes.append(writer.folder.path)
            if writes.count(tmp_path / "out") == 4:
                writer.checkpoint()
                raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Writer, "write", write)
            again()
        shutil.copytree(tmp_path / "out", tmp_path / "copy")
        return again

    return make


Writer_write = Writer.write
EDITS = [lambda inner, key: inner.pop(key)]
EDITS += [
    lambda inner, key, value=value: inner.__setitem__(key, value) for value in (0, 1, 1 << 40, None, [], {}, [0, 9])
]


@pytest.mark.parametrize("options", JOBS, ids=str)
def test_any_checkpoint(stopped, tmp_path, options):
    """A job that goes on from what somebody has edited says so, or ends."""
    again, out = stopped(options), tmp_path / "out"
    manifest = json.loads((out / "manifest.json").read_text())
    wrong, refused = [], 0
    for path in list(places(manifest["resume"]))[1:]:
        for number, edit in enumerate(EDITS):
            shutil.rmtree(out)
            shutil.copytree(tmp_path / "copy", out)
            (out / "manifest.json").write_text(json.dumps(changed(manifest, ("resume", *path), edit)))
            try:
                again()
            except bpeline.CorpusError:
                refused += 1
            except Exception as error:
                wrong.append((path, number, repr(error)))
    assert wrong == [] and refused > 50
