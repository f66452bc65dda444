"""A folder that holds what an earlier job began: what is lost by another is refused, and told; nothing done is nothing lost."""

import os

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import bpeline
from bpeline.corpus import job
from bpeline.corpus.writer import Writer
from tests import corpus_reading as reading


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.txt").write_text("hello")
    (tmp_path / "data/b.jsonl").write_text('{"text": "a row"}\n{"text": \n')
    return tmp_path / "data"


@pytest.mark.parametrize("options", [{}, {"shuffle_seed": 1}, {"format": "parquet"}])
@pytest.mark.parametrize("change", ["the input", "an option", "a new input"])
def test_a_job_that_failed_at_once_gives_way(data, tmp_path, options, change):
    out = tmp_path / "out"
    with pytest.raises(bpeline.CorpusError, match=r"b\.jsonl:2: not valid JSON"):
        bpeline.tokenize_corpus(data, out, **options)
    if change == "an option":
        options = {**options, "on_error": "skip"}
    else:
        (data / "b.jsonl").write_text('{"text": "a row"}\n')
    if change == "a new input":
        (data / "c.txt").write_text("one more")
    bpeline.tokenize_corpus(data, out, **options)
    bpeline.tokenize_corpus(data, tmp_path / "again", **options)
    assert reading_of(out) == reading_of(tmp_path / "again")


def reading_of(out):
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "manifest.json"}


@pytest.fixture
def begun(data, tmp_path, monkeypatch):
    """A job that has come to a checkpoint and no further."""

    def interrupted(writer):
        writer.checkpoint()
        raise KeyboardInterrupt

    (data / "b.jsonl").write_text('{"text": "a row"}\n')
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writer, "finish", interrupted)
        bpeline.tokenize_corpus(data, tmp_path / "out")
    assert job.has_begun(tmp_path / "out")
    return tmp_path / "out"


def test_one_that_has_done_something_does_not(data, begun):
    before = reading_of(begun)
    with pytest.raises(
        bpeline.CorpusError, match=r"another job, which is not finished \(special was 'text', is 'parse'\)"
    ):
        bpeline.tokenize_corpus(data, begun, special="parse")
    assert reading_of(begun) == before


BAD = {
    "a.jsonl": b'{"text": "%d"}\n' * 9 % tuple(range(9)) + b'{"text": \n' + b'{"text": "last"}\n',
    "a.txt": b"0<sep>1<sep>2<sep>3<sep>\xff<sep>last",
    "a.csv": b"text,n\n0,0\n1,1\n2,2\n3,3\n4,4,4\nlast,5\n",
}


@pytest.mark.parametrize("options", [{}, {"shuffle_seed": 1}, {"format": "parquet"}])
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("batch", [8, 16, 1 << 20])
def test_what_stopped_at_a_bad_document_goes_on_without_it(tmp_path, monkeypatch, name, batch, options):
    """The bytes are those of a job that skipped from the start, and nothing is encoded twice."""
    monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", batch)
    monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0)
    monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/0.txt").write_text("first")
    (tmp_path / "data" / name).write_bytes(BAD[name])
    options = {"separator": "<sep>" if name == "a.txt" else None, **options}
    out = tmp_path / "out"
    with pytest.raises(bpeline.CorpusError) as stopped:
        bpeline.tokenize_corpus(tmp_path / "data", out, **options)
    if batch < 20:  # something of the file was read before
        assert "--on-error skip" in stopped.value.__notes__[0]
    assert job.has_begun(out)
    after = bpeline.tokenize_corpus(tmp_path / "data", out, on_error="skip", **options)
    whole = bpeline.tokenize_corpus(tmp_path / "data", tmp_path / "whole", on_error="skip", **options)
    assert reading_of(out) == reading_of(tmp_path / "whole")
    assert after.skipped == whole.skipped == 1
    if "shuffle_seed" not in options:  # of which this is the second pass
        assert after.text_bytes < whole.text_bytes
    with pytest.raises(bpeline.CorpusError, match=r"read\.on_error was 'skip', is 'stop'"):
        bpeline.tokenize_corpus(tmp_path / "data", out, **options)


def test_skip_where_nothing_was_bad(data, tmp_path, begun):
    """A finished job is what it would have been; so is the finished first pass of a shuffle whose second was cut off."""
    out = tmp_path / "shuffled"

    def interrupted(writer):
        if writer.folder.path == out:
            raise KeyboardInterrupt
        finish(writer)

    finish = Writer.finish
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writer, "finish", interrupted)
        bpeline.tokenize_corpus(data, out, shuffle_seed=1)
    bpeline.tokenize_corpus(data, out, shuffle_seed=1, on_error="skip")
    bpeline.tokenize_corpus(data, begun)
    bpeline.tokenize_corpus(data, begun, on_error="skip")
    bpeline.tokenize_corpus(data, tmp_path / "whole", shuffle_seed=1, on_error="skip")
    assert reading_of(out) == reading_of(tmp_path / "whole")


@pytest.mark.parametrize("is_finished", [False, True])
def test_what_has_become_of_an_input_is_told(data, tmp_path, begun, is_finished):
    if is_finished:
        (data / "b.jsonl").unlink()
        bpeline.tokenize_corpus(data, begun, overwrite=True)
    told = lambda **options: pytest.raises(bpeline.CorpusError, match=options.pop("match"))  # noqa: E731
    status = os.stat(data / "a.txt")
    os.utime(data / "a.txt", ns=(0, status.st_mtime_ns + 1))
    with told(match=r"a\.txt has changed \(of the same size, written since\)"):
        bpeline.tokenize_corpus(data, begun)
    os.utime(data / "a.txt", ns=(0, 4 * 10**18))
    with told(match=r"a\.txt has changed \(of the same size, written since\)"):
        bpeline.tokenize_corpus(data, begun)
    (data / "a.txt").write_text("hello again")
    with told(match=r"a\.txt has changed from 5 bytes to 11"):
        bpeline.tokenize_corpus(data, begun)
    with told(match=r"a\.txt was read as text, is to be read as lines"):
        bpeline.tokenize_corpus(data, begun, kind="lines")


def test_differences_within_an_option_are_told_alone(data, tmp_path):
    (data / "b.jsonl").unlink()
    bpeline.tokenize_corpus(data, tmp_path / "out")
    with pytest.raises(
        bpeline.CorpusError, match=r"another job \(eot.rule was 'append', is 'none'; eot.id was 50256, is None\)"
    ):
        bpeline.tokenize_corpus(data, tmp_path / "out", eot="none")
    assert reading.nanogpt(tmp_path / "out") == [31373, 50256]


def test_an_input_that_is_gone_is_never_left_out_unasked(data, tmp_path):
    with pytest.raises(bpeline.CorpusError):
        bpeline.tokenize_corpus(data, tmp_path / "out")
    (data / "b.jsonl").unlink()
    with pytest.raises(bpeline.CorpusError, match=r"b\.jsonl is no input any more\); bring it back"):
        bpeline.tokenize_corpus(data, tmp_path / "out")
