"""Which files `find` finds, in which order, and as what."""

import os
import pathlib
import subprocess
import sys
import threading

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import bpeline
from bpeline.corpus.documents import Problem, ReadOptions
from bpeline.corpus.inputs import find
from bpeline.corpus.readers import read
from bpeline.errors import BpelineError, CorpusError
from tests.corpora_small import in_memory, mixed, stream, table

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

NAMED = [  # name, kind, compression
    ("a.txt", "text", None),
    ("README", "text", None),
    ("a.md.gz", "text", "gzip"),
    ("a.py.xz", "text", "xz"),
    ("a.JSONL", "jsonl", None),
    ("a.b.ndjson.zst", "jsonl", "zstd"),
    ("a.json.bz2", "json", "bz2"),
    ("a.parquet", "parquet", None),
    ("a.arrow", "arrow", None),
    ("a.feather", "arrow", None),
    ("a.ipc", "arrow", None),
    ("a.csv.gz", "csv", "gzip"),
    ("a.tsv", "csv", None),
    ("notes.gz", "text", "gzip"),
]


@pytest.mark.parametrize("name, kind, compression", NAMED)
def test_suffixes_say_what_a_file_is(tmp_path, name, kind, compression):
    path = tmp_path / name
    path.write_bytes(b"12345")
    (source,) = find([path])
    assert (source.number, source.url, source.kind, source.compression, source.size) == (
        0,
        str(path),
        kind,
        compression,
        5,
    )


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.txt",
        "a/z.txt",
        "a/.hidden/x.txt",
        "a/y.jsonl",
        ".secret",
        "B.txt",
        "pic.png",
        "c.tar.gz",
        "a.txt",
        "a/b/c",
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "data"


def names(sources, folder):
    return [source.url.removeprefix(str(folder)).lstrip("/") for source in sources]


def test_folder_is_read_in_the_order_of_names(folder):
    skipped = []
    sources = find(str(folder), skipped=skipped.append)
    assert names(sources, folder) == ["B.txt", "a/b/c", "a/y.jsonl", "a/z.txt", "a.txt", "b.txt"]
    assert [source.number for source in sources] == list(range(6))
    assert skipped == [
        Problem(str(folder / ".secret"), "a hidden file or folder"),
        Problem(str(folder / "a/.hidden"), "a hidden file or folder"),
        Problem(str(folder / "c.tar.gz"), "a .tar file cannot be read as text or a table of texts"),
        Problem(str(folder / "pic.png"), "a .png file cannot be read as text or a table of texts"),
    ]


@pytest.mark.parametrize("format", ["nanogpt", "parquet"])
def test_outputs_are_no_inputs(folder, format):
    """Unless the glob is of the files in one, or the file is named."""
    wanted = {*names(find(folder), folder), "page/manifest.json"}
    for name in ("tokens", "a/tokens"):
        bpeline.tokenize_corpus(folder / "a.txt", folder / name, format=format)
    (folder / "page").mkdir()
    (folder / "page/manifest.json").write_text('{"name": "a page"}')
    skipped = []
    assert set(names(find(folder, skipped=skipped.append), folder)) == wanted
    outputs = [problem.file for problem in skipped if "output" in problem.message]
    assert outputs == [str(folder / "a/tokens"), str(folder / "tokens")]
    assert names(find(f"{folder}/**/*.json"), folder) == ["page/manifest.json"]
    assert names(find(folder / "tokens" / "manifest.json"), folder) == ["tokens/manifest.json"]
    assert names(find(f"{folder}/tokens/*.json"), folder) == ["tokens/manifest.json"]
    for name in ("tokens", "t*"):
        with pytest.raises(CorpusError, match="tokens: the output of a job, which is no input"):
            find(f"{folder}/{name}")


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_links_that_lead_nowhere_are_left_out(folder):
    wanted, skipped = names(find(folder), folder), []
    (folder / "gone.txt").symlink_to("nothing")
    (folder / "self.txt").symlink_to(folder / "self.txt")
    (folder / "loop").symlink_to(folder)
    assert names(find(folder, skipped=skipped.append), folder) == wanted
    told = [problem.file for problem in skipped if problem.message == "a link that leads nowhere"]
    assert told == [str(folder / "gone.txt"), str(folder / "self.txt")]
    with pytest.raises(FileNotFoundError, match="gone"):
        find(folder / "gone.txt")


def test_inputs_come_in_the_order_they_are_named(folder):
    assert names(find([folder / "b.txt", folder / "a", folder / "b.txt"]), folder) == [
        "b.txt", "a/b/c", "a/y.jsonl", "a/z.txt", "b.txt"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("*.txt", ["B.txt", "a.txt", "b.txt"]),
        ("[ab]*", ["a/b/c", "a/y.jsonl", "a/z.txt", "a.txt", "b.txt"]),
        ("**/*.txt", ["B.txt", "a/z.txt", "a.txt", "b.txt"]),
        ("**", ["B.txt", "a.txt", "a/b/c", "a/y.jsonl", "a/z.txt", "b.txt"]),
        ("a/?.jsonl", ["a/y.jsonl"]),
    ],
)
def test_globs(folder, pattern, found):
    assert sorted(names(find(f"{folder}/{pattern}"), folder)) == sorted(found)


def test_a_name_with_brackets_is_a_name_first(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert [source.url for source in find(f"{tmp_path}/a[1].txt")] == [f"{tmp_path}/a[1].txt"]


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_urls(tmp_path, protocol):
    import fsspec

    base = f"{protocol}://{tmp_path if protocol == 'file' else '/corpus-inputs'}"
    fs, path = fsspec.core.url_to_fs(base)
    fs.makedirs(f"{path}/d", exist_ok=True)
    for name in ("d/b.txt", "d/a.jsonl", "d/.x.txt", "c.txt"):
        fs.pipe_file(f"{path}/{name}", b'{"text": "from afar"}\n')
    skipped = []
    sources = find([base, f"{base}/*.txt", f"{base}/d/a.jsonl"], skipped=skipped.append)
    assert [source.url.split(path)[-1] for source in sources] == [
        "/c.txt",
        "/d/a.jsonl",
        "/d/b.txt",
        "/c.txt",
        "/d/a.jsonl",
    ]
    assert [problem.file.split(path)[-1] for problem in skipped] == ["/d/.x.txt"]
    assert {source.size for source in sources} == {22}
    assert [list(batch.texts.to_pylist()) for batch in read(sources[1])] == [["from afar"]]
    assert [list(batch.texts.to_pylist()) for batch in read(sources[0])] == [['{"text": "from afar"}\n']]
    fs.pipe_file(f"{path}/c.txt", b"other, and longer than it was before")
    with pytest.raises(CorpusError, match=r"c\.txt: the file has changed since the job was planned"):
        list(read(sources[0]))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        find(f"{base}/nowhere.txt")
    with pytest.raises(CorpusError, match="no file to read"):
        find(f"{base}/*.nothing")


def test_kind_beats_suffixes(folder):
    assert {source.kind for source in find(folder, kind="lines")} == {"lines"}
    assert names(find(folder, kind="lines"), folder) == names(find(folder), folder)
    assert [source.kind for source in find(folder / "pic.png", kind="csv")] == ["csv"]
    assert [source.kind for source in find("-")] == ["text"]
    (source,) = find("-", kind="jsonl")
    assert (source.url, source.kind, source.size, source.stamp) == ("-", "jsonl", None, "")


FAULTS = [  # input below the folder, the error's words
    ("*.nothing", CorpusError, r"\*\.nothing: there is no file to read$"),
    ("empty", CorpusError, r"empty: there is no file to read$"),
    ("*.png", CorpusError, r"no file to read; one of 1 left out: .*pic\.png: a \.png file cannot be read"),
    ("pic.png", CorpusError, r"pic\.png: a \.png file cannot be read as text"),
    ("c.tar.gz", CorpusError, r"c\.tar\.gz: a \.tar file cannot be read"),
    ("nowhere.txt", FileNotFoundError, r"nowhere\.txt"),
]


@pytest.mark.parametrize("name, error, words", FAULTS)
def test_what_cannot_be_found(folder, name, error, words):
    (folder / "empty").mkdir()
    with pytest.raises(error, match=words):
        find(folder / name)


def test_unknown_kind_and_class_of_the_error(folder):
    with pytest.raises(
        CorpusError, match="no kind of file is named 'xml'; they are: text, lines, arrow, csv"
    ) as caught:
        find(folder, kind="xml")
    with pytest.raises(CorpusError, match="expected a separator of documents, found an empty one"):
        find(folder, ReadOptions(separator=""))
    assert isinstance(caught.value, BpelineError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("module, name", [("backports.zstd", "a.txt.zst"), ("fsspec.core", "memory://a/b.txt")])
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, name):
    if module == "backports.zstd" and sys.version_info >= (3, 14):
        module = "compression.zstd"
    if "://" not in name:
        (tmp_path / name).touch()
        name = tmp_path / name
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'{module}.*pip install "bpeline\[corpus\]"'):
        find(name)


def test_pyarrow_is_named_where_it_is_missing():
    script = "import sys; sys.modules['pyarrow'] = None; import bpeline.corpus.inputs"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, env=ENVIRONMENT, text=True)
    assert ran.stderr.splitlines()[-1].startswith("ImportError: bpeline.corpus needs pyarrow (")
    assert ran.stderr.rstrip().endswith('pip install "bpeline[corpus]"')


def test_stamps_change_with_the_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("abc")
    (before,) = find(path)
    assert find(path) == [before]
    os.utime(path, ns=(0, 0))
    (after,) = find(path)
    assert after.stamp != before.stamp
    assert [batch.texts.to_pylist() for batch in read(after)] == [["abc"]]
    with pytest.raises(CorpusError, match="has changed"):
        list(read(before))


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("abc")
    (source,) = find(path)
    batches = read(source)
    assert next(batches).texts.to_pylist() == ["abc"]
    path.write_text("abcd")
    with pytest.raises(CorpusError, match=r"a\.txt: the file has changed"):
        next(batches)


def test_a_mixed_folder(tmp_path):
    expected = mixed(tmp_path)
    sources = find(tmp_path, ReadOptions())
    assert [str(pathlib.Path(source.url).relative_to(tmp_path)) for source in sources] == list(expected)
    found = [[text for batch in read(source) for text in batch.texts.to_pylist()] for source in sources]
    assert found == list(expected.values())


READ = """
import sys
from bpeline.corpus.documents import ReadOptions
from bpeline.corpus.inputs import find
from bpeline.corpus.readers import read
name, kind = sys.argv[1:]
(source,) = find(name, ReadOptions(keep=("id",) if kind.startswith("json") else ()), kind=kind)
print([text for batch in read(source) for text in batch.texts.to_pylist()])
"""

PIPED = [
    ("text", b"a\nb", ["a\nb"]),
    ("lines", b"a\nb", ["a", "b"]),
    ("jsonl", b'{"text": "a", "id": 1}\n{"text": "b"}', ["a", "b"]),
    ("json", b'[{"text": "a", "id": 1},\n{"text": "b"}]', ["a", "b"]),
    ("csv", b"id,text\n1,a\n2,b", ["a", "b"]),
    ("arrow", in_memory(stream, table(["a", "b"])), ["a", "b"]),
]


@pytest.mark.parametrize("kind, content, texts", PIPED)
def test_standard_input(kind, content, texts):
    ran = subprocess.run(
        [sys.executable, "-c", READ, "-", kind], input=content, capture_output=True, env=ENVIRONMENT, check=True
    )
    assert ran.stdout.decode().startswith(str(texts))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_with_a_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (source,) = find(tmp_path / "pipe", kind="lines")
    assert (source.size, source.stamp) == (None, "")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("a\nb\n"))
    writer.start()
    assert [text for batch in read(source) for text in batch.texts.to_pylist()] == ["a", "b"]
    writer.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_a_folder_is_left_out(tmp_path):
    """Nobody writes to it, so to open it would wait for ever."""
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "b.txt").write_text("b")
    for name in ("in", "in/*.txt"):
        skipped = []
        (source,) = find(str(tmp_path / name), skipped=skipped.append)
        assert source.url == str(tmp_path / "in" / "b.txt")
        assert [str(problem) for problem in skipped] == [
            f"{tmp_path}/in/a.txt: no regular file but a pipe, a socket or a device"
        ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_verified_against(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("a"))
    writer.start()
    bpeline.tokenize_corpus(tmp_path / "pipe", tmp_path / "out")
    writer.join()
    words = {"source": f"not compared: {tmp_path}/pipe is a pipe; --against names the input"}
    assert bpeline.verify_corpus(tmp_path / "out").checked.items() >= words.items()
    (tmp_path / "pipe").unlink()
    words = {"source": f"not compared: {tmp_path}/pipe is not there; --against names the input"}
    assert bpeline.verify_corpus(tmp_path / "out").checked.items() >= words.items()


def test_parquet_cannot_be_read_from_a_pipe():
    ran = subprocess.run(
        [sys.executable, "-c", READ, "-", "parquet"], input=b"PAR1", capture_output=True, env=ENVIRONMENT
    )
    assert b"CorpusError: -: parquet cannot be read from a stream: its end must be read first" in ran.stderr
