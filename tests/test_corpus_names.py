"""Files and folders of any name: bytes that are no UTF-8, ends of lines, dashes, none at all, and links to folders."""

import json
import os
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

import bpeline
from bpeline.corpus.inputs import find
from bpeline.corpus.inspect import inspect_corpus
from bpeline.corpus.verify import verify_corpus
from tests.corpora_small import in_memory

linux = pytest.mark.skipif(sys.platform != "linux", reason="names that are any bytes")
TABLE = pa.table({"text": ["hello"], "n": [1]})
CONTENTS = {
    ".txt": b"hello",
    ".jsonl": b'{"text": "hello", "n": 1}\n',
    ".json": b'[{"text": "hello", "n": 1}]',
    ".csv": b"text,n\nhello,1\n",
    ".parquet": in_memory(pyarrow.parquet.write_table, TABLE),
    ".arrow": in_memory(pyarrow.feather.write_feather, TABLE),
}
NAMES = [b"caf\xe9", b"two\nlines", b"-q", b"--output", b"[a]*", b"\x1b[31m", b"x" * 240]


@pytest.fixture
def folder(tmp_path):
    os.mkdir(tmp_path / "data")
    for name in NAMES:
        for suffix, content in CONTENTS.items():
            path = os.path.join(os.fsencode(tmp_path / "data"), name + suffix.encode())
            with open(path, "wb") as file:
                file.write(content)
    return tmp_path


@linux
@pytest.mark.parametrize("format", ["nanogpt", "parquet", "arrow"])
@pytest.mark.parametrize("seed", [None, 1])
def test_any_name_is_read_written_and_verified(folder, format, seed):
    out = os.path.join(folder, os.fsdecode(b"tok\xffens\n"))
    result = bpeline.tokenize_corpus(folder / "data", out, format=format, shuffle_seed=seed)
    assert result.documents == len(NAMES) * len(CONTENTS)
    assert verify_corpus(out).ok and inspect_corpus(out).documents == result.documents


@linux
def test_columns_go_along_through_a_folder_of_any_name(folder):
    out = os.path.join(folder, os.fsdecode(b"tok\xffens"))
    inputs = [path for path in map(str, (folder / "data").iterdir()) if path.endswith(".parquet")]
    bpeline.tokenize_corpus(inputs, out, format="parquet", keep=["n"], shuffle_seed=1)
    with open(os.path.join(out, "train-00000.parquet"), "rb") as file:
        assert pyarrow.parquet.read_table(file)["n"].to_pylist() == [1] * len(NAMES)


@linux
@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".parquet"])
def test_errors_name_them(tmp_path, suffix):
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"caf\xe9\n" + suffix.encode()))
    with open(path, "wb") as file:
        file.write(b"\xff")
    with pytest.raises(bpeline.CorpusError) as caught:
        bpeline.tokenize_corpus(path, tmp_path / "out")
    assert str(caught.value).startswith(path)


def test_no_name(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(bpeline.CorpusError, match="expected the name of a folder for the output, found an empty one"):
        bpeline.tokenize_corpus(tmp_path / "a.txt", "")
    with pytest.raises(bpeline.CorpusError, match="expected the name of an input, found an empty one"):
        bpeline.tokenize_corpus([tmp_path / "a.txt", ""], tmp_path / "out")
    assert os.listdir() == [] and not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="links")
@pytest.mark.parametrize("pattern", ["", "/**/*.txt", "/**"])
def test_links_to_folders_are_told_and_not_followed(tmp_path, pattern):
    """Else a link in a circle would give each document forty times."""
    for name in ("data/a.txt", "data/b/c.txt", "elsewhere/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "data/b/loop").symlink_to("..")
    (tmp_path / "data/other").symlink_to("../elsewhere")
    told = []
    found = find(f"{tmp_path / 'data'}{pattern}", skipped=told.append)
    assert sorted(os.path.relpath(source.url, tmp_path) for source in found) == ["data/a.txt", "data/b/c.txt"]
    links = [os.path.relpath(problem.file, tmp_path) for problem in told if "a link to a folder" in problem.message]
    assert sorted(links) == ["data/b/loop", "data/other"]
    assert [source.url for source in find(tmp_path / "data/other")] == [str(tmp_path / "data/other/d.txt")]


def test_what_was_left_out_is_valid_json_whatever_the_name(tmp_path):
    (tmp_path / 'a"b\\.jsonl').write_text("bad\n")
    bpeline.tokenize_corpus(tmp_path / 'a"b\\.jsonl', tmp_path / "out", on_error="skip")
    [entry] = map(json.loads, (tmp_path / "out/skipped.jsonl").read_text().splitlines())
    assert entry["file"] == str(tmp_path / 'a"b\\.jsonl') and entry["line"] == 1
