"""What goes wrong in a job: it stops with a clear error, what was done stays valid, and nobody's files are lost."""

import contextlib
import errno
import json
import os

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

import bpeline
from bpeline import CorpusError
from bpeline.corpus import folder as folders
from bpeline.corpus import plan
from bpeline.corpus.documents import Documents, Place, Problem
from tests import corpus_reading as reading
from tests.corpus_jobs import Killed, contents, dying_at, run
from tests.corpus_memory import sources
from tests.small import BYTE_TOKENS


@pytest.fixture(autouse=True)
def checkpoints(monkeypatch):
    monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
    monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def large():
    """An encoding with an id of 70,000."""
    return bpeline.Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"<|endoftext|>": 70_000})


class TestDtypes:
    """REPORTS 40: an id that does not fit never wraps."""

    @pytest.mark.parametrize("format", plan.FORMATS)
    def test_auto_widens(self, tmp_path, large, format):
        run(tmp_path, [["ab"]], large, format=format, eot="append")
        made = json.loads((tmp_path / "manifest.json").read_text())
        assert made["plan"]["dtype"] == ("int32" if format == "megatron" else "uint32")
        found = getattr(reading, format)(tmp_path)
        flat = np.array(
            found[0]
            if format == "llmc"
            else [row["input_ids"] for row in found]
            if format in ("parquet", "arrow")
            else found
        )
        assert flat.flatten().tolist() == [*large.encode("ab"), 70_000]

    @pytest.mark.parametrize("format", plan.FORMATS)
    def test_u16_that_does_not_fit_does_not_start(self, tmp_path, large, format):
        with pytest.raises(CorpusError, match="ids of custom go up to 70,000 and do not fit u16, which ends at 65,535"):
            run(tmp_path / "out", [["ab"]], large, format=format, dtype="u16")
        assert not (tmp_path / "out").exists()

    def test_wider_than_needed(self, tmp_path):
        run(tmp_path, [["hello"]], dtype="u32")
        assert (tmp_path / "train.bin").read_bytes() == np.array([31373, 50256], "<u4").tobytes()

    @pytest.mark.parametrize(("last", "dtype"), [(65_498, "uint16"), (65_499, "int32")])
    def test_megatrons_limit(self, tmp_path, last, dtype):
        tok = bpeline.Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"<|endoftext|>": last})
        assert plan.make(sources([["a"]]), tok, format="megatron").dtype.name == dtype


class TestPlans:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"format": "bin"}, "format must be one of nanogpt, llmc, .*, not 'bin'"),
            ({"shard_tokens": 5}, "format nanogpt is one file and has no shards; use llmc, datatrove, parquet, arrow"),
            (
                {"format": "llmc", "shard_tokens": 0},
                "shard_tokens must be from 1 to 1,073,741,311 for uint16 ids, not 0",
            ),
            (
                {"format": "llmc", "shard_tokens": 2**30 - 512},
                "from 1 to 1,073,741,311 for uint16 ids, not 1,073,741,312",
            ),
            ({"keep": ["url"]}, "format nanogpt holds no columns to keep; use parquet or arrow"),
            ({"val_fraction": 1}, "val_fraction must be at least 0 and below 1, not 1"),
            ({"name": "a/b"}, "name 'a/b' cannot begin the name of a file"),
            ({"eot_token": "<eos>"}, r"gpt2 has no token <eos> to end a text with; .*special tokens: <\|endoftext\|>"),
            ({"special": "all"}, "special must be one of text, parse, error, not 'all'"),
        ],
    )
    def test_that_cannot_be_carried_out(self, tmp_path, options, message):
        with pytest.raises(CorpusError, match=message):
            run(tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()

    def test_the_largest_shard_of_llmc_has_room_for_nothing_more(self):
        layout = plan.FORMATS["llmc"]
        most = layout.most_tokens(np.dtype("<u2"))
        assert most == 2**30 - 513 and 1024 + 2 * most < 2**31
        for asked in (most, most - 5, 10**8, 10, 1):
            least = layout.least_tokens(asked, np.dtype("<u2"))
            assert 1024 + 2 * (asked + max(least - 1, 0)) < 2**31 and least <= max(asked // 2, 1)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"dtype": "u32"}, "dtype was 'uint16', is 'uint32'"),
            ({"inputs": [["hello"], ["more"]]}, "memory-1 is a new input"),
            ({"inputs": [["hello!"]]}, "memory-0 has changed"),
        ],
    )
    def test_another_than_that_in_the_folder(self, tmp_path, change, message):
        run(tmp_path, [["hello"]])
        before = contents(tmp_path)
        with pytest.raises(
            CorpusError, match=rf"holds the output of another job.* \({message}.*--overwrite replaces it"
        ):
            run(tmp_path, **({"inputs": [["hello"]]} | change))
        assert contents(tmp_path) == before
        run(tmp_path, overwrite=True, **({"inputs": [["hello"]]} | change))
        assert contents(tmp_path) != before

    def test_overwriting_leaves_nothing_of_the_old(self, tmp_path):
        for kill in range(5, 90, 9):
            out = tmp_path / str(kill)
            with dying_at(kill), contextlib.suppress(Killed):
                run(out, format="datatrove", shard_tokens=10, val_fraction=0.4)
            run(out, format="npy", overwrite=True)
            assert sorted(contents(out)) == ["manifest.json", "offsets.npy", "tokens.npy"]


class TestFolders:
    def test_with_foreign_files(self, tmp_path):
        (tmp_path / "thesis.txt").write_text("mine")
        for overwrite in (False, True):
            with pytest.raises(
                CorpusError, match=r"holds thesis.txt and no manifest.json, so it is no output of bpeline"
            ):
                run(tmp_path, overwrite=overwrite)
        assert contents(tmp_path) == {"thesis.txt": b"mine"}

    def test_that_is_a_file(self, tmp_path):
        (tmp_path / "out").write_text("mine")
        with pytest.raises(CorpusError, match="out: is a file, and the output needs a folder"):
            run(tmp_path / "out")

    def test_that_another_job_writes_to(self, tmp_path):
        pytest.importorskip("fcntl")
        with folders.Folder(tmp_path), pytest.raises(CorpusError, match="another job is writing to this folder"):
            run(tmp_path)
        run(tmp_path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [(b"{", "is no manifest of bpeline"), (b'{"manifest": 9}', "version 9 is not known, expected 1")],
    )
    def test_with_a_manifest_that_is_none(self, tmp_path, content, message):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(CorpusError, match=message):
            run(tmp_path)

    def test_done_is_done(self, tmp_path):
        run(tmp_path)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        result = run(tmp_path)
        assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
        assert result.documents == 10 and result.text_bytes == 0

    def test_a_finished_file_that_was_cut_is_found(self, tmp_path):
        run(tmp_path)
        size = (tmp_path / "train.bin").stat().st_size
        (tmp_path / "train.bin").write_bytes(b"")
        with pytest.raises(CorpusError, match=f"train.bin: has 0 bytes, expected {size}; --overwrite makes it anew"):
            run(tmp_path)


class TestDisks:
    @pytest.mark.parametrize("format", plan.FORMATS)
    def test_full(self, tmp_path, monkeypatch, format):
        real, left = folders.Growing.write, [400]

        def write(self, data):
            left[0] -= memoryview(data).nbytes
            if left[0] < 0 and self.name != "manifest.json.part":
                with self._naming():
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(self, data)

        run(tmp_path / "whole", format=format)
        with monkeypatch.context() as patch:
            patch.setattr(folders.Growing, "write", write)
            left[0] = 400
            with pytest.raises(OSError) as caught:
                for _ in range(9):
                    run(tmp_path / "out", format=format)
                    left[0] = 0
        assert caught.value.errno == errno.ENOSPC and caught.value.filename.startswith(str(tmp_path / "out"))
        run(tmp_path / "out", format=format)
        assert contents(tmp_path / "out") == contents(tmp_path / "whole")


class TestInputs:
    def test_an_error_in_reading_stops_and_can_be_resumed(self, tmp_path):
        from bpeline.corpus import job

        made = plan.make(sources([["one"], ["two"]]), "gpt2")

        def read(source, start, broken=True):
            if source.number == 1 and broken:
                raise CorpusError("memory-1:3: not valid JSON")
            for number, text in enumerate([["one"], ["two"]][source.number]):
                yield Documents(Place(source.number, number), reading.pa.array([text]), 3)

        with pytest.raises(CorpusError, match="memory-1:3: not valid JSON"):
            job.run(made, tmp_path, read, "1")
        assert not json.loads((tmp_path / "manifest.json").read_text())["finished"]
        job.run(made, tmp_path, lambda source, start: read(source, start, broken=False), "1")
        tok = bpeline.load("gpt2")
        assert reading.nanogpt(tmp_path) == [*tok.encode("one"), 50256, *tok.encode("two"), 50256]

    @pytest.mark.parametrize("kill", range(2, 40, 3))
    def test_what_was_skipped_is_listed_once(self, tmp_path, kill):
        from bpeline.corpus import job

        made = plan.make(sources([["a", "b"], [], ["c"], []]), "gpt2", on_error="skip")

        def read(source, start):
            problem = (Problem(source.url, "not good", 7),)
            texts = [["a", "b"], [], ["c"], []][source.number]
            yield Documents(Place(source.number, 0), reading.pa.array(texts, "string"), 3, problems=problem)

        with dying_at(kill), contextlib.suppress(Killed):
            job.run(made, tmp_path, read, "1")
        result = job.run(made, tmp_path, read, "1")
        listed = [json.loads(line) for line in (tmp_path / "skipped.jsonl").read_text().splitlines()]
        assert listed == [{"file": f"memory-{n}", "line": 7, "reason": "not good"} for n in range(4)]
        assert result.skipped == 4 and result.documents == 3

    def test_special_tokens_in_a_text(self, tmp_path):
        with pytest.raises(bpeline.SpecialTokenError, match=r"memory-0: document 3: .*<\|endoftext\|>"):
            run(tmp_path, special="error")
        run(tmp_path / "parsed", [["a<|endoftext|>b"]], special="parse")
        assert reading.nanogpt(tmp_path / "parsed") == [64, 50256, 65, 50256]

    def test_special_tokens_that_are_skipped(self, tmp_path):
        inputs = [["a", "b<|endoftext|>", "c"], ["<|endoftext|>"], ["d"]]
        result = run(tmp_path, inputs, format="parquet", special="error", on_error="skip", batch=2)
        tok = bpeline.load("gpt2")
        assert [row["input_ids"] for row in reading.parquet(tmp_path)] == [tok.encode(text) for text in "acd"]
        listed = [json.loads(line) for line in (tmp_path / "skipped.jsonl").read_text().splitlines()]
        assert result.skipped == 2
        assert [(entry["file"], entry["reason"]) for entry in listed] == [
            ("memory-0", "document 2 holds the special token <|endoftext|>"),
            ("memory-1", "document 1 holds the special token <|endoftext|>"),
        ]

    @pytest.mark.parametrize("format", ["parquet", "arrow"])
    @pytest.mark.parametrize("keeps", ["plain", "list", "struct"])
    def test_dictionaries_become_their_values(self, tmp_path, format, keeps):
        """Each batch has another dictionary, and a job that goes on still another."""
        words = [["a", "b", None, "c", "a", "d"][number % 6] for number in range(60)]
        column = pa.chunked_array(
            [pa.array(words[begin : begin + 10]).dictionary_encode() for begin in range(0, 60, 10)]
        )
        kind = pa.dictionary(pa.int32(), pa.string())
        nested = {"plain": lambda word: word, "list": lambda word: [word, "x"], "struct": lambda word: {"w": word}}[
            keeps
        ]
        kinds = {"plain": kind, "list": pa.list_(kind), "struct": pa.struct([("w", kind)])}
        if keeps != "plain":
            column = pa.array([nested(word) for word in words], kinds[keeps])
        rows = pa.table({"text": [f"text {number}" for number in range(60)], "k": column})
        with pa.ipc.new_stream(tmp_path / "a.arrow", rows.schema) as writer:
            writer.write_table(rows, max_chunksize=10)
        options = {"format": format, "keep": ["k"], "threads": 1}
        for kill in range(10, 600, 7):
            with dying_at(kill):
                try:
                    bpeline.tokenize_corpus(tmp_path / "a.arrow", tmp_path / "out", **options)
                    break
                except Killed:
                    pass
        assert [row["k"] for row in getattr(reading, format)(tmp_path / "out")] == [nested(word) for word in words]

    def test_a_type_that_a_format_does_not_have(self, tmp_path):
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"]))
        rows = pa.table({"text": ["a", "b"], "k": runs})
        with pa.ipc.new_stream(tmp_path / "a.arrow", rows.schema) as writer:
            writer.write_table(rows)
        with pytest.raises(CorpusError, match=r"a type that the format cannot hold: .*run_end_encoded"):
            bpeline.tokenize_corpus(tmp_path / "a.arrow", tmp_path / "out", format="parquet", keep=["k"])

    def test_columns_of_two_types(self, tmp_path):
        columns = {0: {"n": 1}, 3: {"n": "x"}}
        with pytest.raises(CorpusError, match="the columns to keep are of types n: string, and were n: int64 before"):
            run(tmp_path, [["a", "b"]], batch=1, format="parquet", keep=["n"], columns=lambda n: columns[n * 3])

    def test_columns_go_along(self, tmp_path):
        inputs = [["a", "", "b"] * 50]
        for format in ("parquet", "arrow"):
            out = tmp_path / format
            run(out, inputs, format=format, keep=["n"], columns=lambda n: {"n": n}, val_fraction=0.5, shard_tokens=7)
            rows = getattr(reading, format)(out)
            assert sorted(row["n"] for row in rows) == list(range(150))
            assert all(row["input_ids"] == bpeline.load("gpt2").encode(inputs[0][row["n"]]) for row in rows)


def test_equal_documents_go_to_the_same_split(tmp_path):
    inputs = [[f"text {n % 50}" for n in range(500)]]
    run(tmp_path, inputs, format="parquet", val_fraction=0.3)
    train, val = (
        {tuple(row["input_ids"]) for row in reading.pq.read_table(tmp_path / f"{split}-00000.parquet").to_pylist()}
        for split in ("train", "val")
    )
    assert len(train) + len(val) == 50 and not train & val and 5 <= len(val) <= 25


def test_millions_of_empty_documents(tmp_path):
    """And the first document empty: REPORTS 42."""
    count = 2_000_000
    run(tmp_path, [[""] * count + ["hello"]], format="megatron", batch=500_000)
    index = (tmp_path / "corpus_text_document.idx").read_bytes()
    assert np.frombuffer(index, "<u8", 2, 18).tolist() == [1, count + 2]
    assert not np.frombuffer(index, "<i8", count + 1, 34 + 12).any()
    assert np.frombuffer(index, "<i8")[-1:].tolist() == [1] if len(index) % 8 == 0 else index[-8:] == b"\x01" + bytes(7)


def test_a_document_larger_than_a_shard(tmp_path):
    """REPORTS 41."""
    text = "word " * 1000
    run(tmp_path / "llmc", [["a"], text, ["b"]], format="llmc", shard_tokens=100, part=50)
    stream, counts = reading.llmc(tmp_path / "llmc")
    tok = bpeline.load("gpt2")
    assert stream == [50256, *tok.encode("a"), 50256, *tok.encode(text), 50256, *tok.encode("b")]
    assert list(counts.values())[:-1] == [100] * 9 and 50 <= list(counts.values())[-1] < 150
    run(tmp_path / "parquet", [["a"], text, ["b"]], format="parquet", shard_tokens=100, part=50)
    assert [len(row["input_ids"]) for row in reading.parquet(tmp_path / "parquet")] == [1, len(tok.encode(text)), 1]
    assert len(list((tmp_path / "parquet").glob("*.parquet"))) == 2
