"""`bpeline.verify_corpus` and `bpeline verify`: what is intact passes, whatever is changed is found, and named."""

import contextlib
import hashlib
import json
import os
import shutil

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

from hypothesis import given, settings
from hypothesis import strategies as st

import bpeline
from bpeline.corpus import output, stored
from bpeline.corpus.plan import FORMATS
from bpeline.corpus.sums import Sums
from bpeline.corpus.verify import verify_corpus
from tests.corpus_jobs import Killed, dying_at

SHARDED = [name for name, layout in FORMATS.items() if layout.shard_tokens]
BINARY = [name for name, layout in FORMATS.items() if not layout.has_columns]
VARIANTS = [("gpt2", {}), ("cl100k_base", {}), ("gpt2", {"val_fraction": 0.3}), ("gpt2", {"shuffle_seed": 5}),
            ("cl100k_base", {"val_fraction": 0.3, "shuffle_seed": 5}), ("gpt2", {"eot": "none"}),
            ("gpt2", {"special": "parse"}), ("gpt2", {"eot": "prepend"}), ("gpt2", {"eot": "append"})]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of text files, one empty, one of JSON lines, some of them empty texts, one that spells end-of-text."""
    folder = tmp_path_factory.mktemp("data")
    for number in range(4):
        (folder / f"{number}.txt").write_text(f"It's text {number}: ünïcödé 👍🏽\n\n" * (number * 13))
    rows = [{"text": f"row {number} <|endoftext|> " * (number % 5)} for number in range(60)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    """Makes an output, once for each choice of options, and gives the path of a copy of it."""
    folder, names = tmp_path_factory.mktemp("made"), {}

    def make(format, encoding="gpt2", **options):
        key = json.dumps([format, encoding, options])
        if key not in names:
            names[key] = folder / str(len(names))
            shards = {"shard_tokens": 400} if format in SHARDED else {}
            bpeline.tokenize_corpus(data, names[key], format=format, encoding=encoding, **shards, **options)
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(names[key], copy)
        return copy

    return make


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """So that small outputs have many blocks."""
    monkeypatch.setattr(output, "BLOCK", 397)
    monkeypatch.setattr(stored, "CHUNK", 31)


def edit(out, change):
    """Change the manifest."""
    path = out / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["shards"].sort(key=lambda shard: shard["number"])
    change(manifest)
    path.write_text(json.dumps(manifest))


def reseal(out):
    """Put the sizes and hashes of the files as they are into the manifest, so that these do not tell."""

    def change(manifest):
        for shard in manifest["shards"]:
            for name in shard["files"]:
                content = (out / name).read_bytes()
                shard["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}

    edit(out, change)


def said(out, **options):
    return [str(fault) for fault in verify_corpus(out, **options).faults]


class TestIntact:
    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize(("encoding", "options"), VARIANTS, ids=str)
    def test_passes(self, made, format, encoding, options):
        out = made(format, encoding, **options)
        blind = format in ("nanogpt", "llmc") and (options.get("eot") == "none" or options.get("special") == "parse")
        for how in ({"all": True}, {"sample": 9}, {}):
            found = verify_corpus(out, **how)
            assert found.faults == [] and found.ok
            count = 9 if how.get("sample") and not blind else 64
            assert found.checked["source"] == f"{count} of 64 documents, encoded again from 5 files of the input"

    def test_what_was_checked(self, made):
        assert verify_corpus(made("megatron")).checked == {
            "files": "2 files of 1 shard: names, sizes, SHA-256, headers, indices",
            "ids": f"{tokens(made('megatron')):,} ids of 64 documents: in the vocabulary, end-of-text at each document",
            "source": "64 of 64 documents, encoded again from 5 files of the input",
        }

    def test_skipped_documents(self, tmp_path):
        (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"no": 1}\n{"text": "b"}\n')
        bpeline.tokenize_corpus(tmp_path / "in.jsonl", tmp_path / "out", on_error="skip")
        assert verify_corpus(tmp_path / "out", all=True).ok
        (tmp_path / "out" / "skipped.jsonl").write_text("")
        assert said(tmp_path / "out") == ["skipped.jsonl: has 0 lines, expected 1 by manifest.json"]
        (tmp_path / "out" / "skipped.jsonl").unlink()
        assert said(tmp_path / "out") == ["skipped.jsonl: is missing, expected 1 lines"]

    def test_columns(self, tmp_path):
        (tmp_path / "in.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "b", "n": 2}\n')
        for format in ("parquet", "arrow"):
            out = tmp_path / format
            bpeline.tokenize_corpus(tmp_path / "in.jsonl", out, format=format, keep=["n"])
            assert verify_corpus(out, all=True).ok
            edit(out, lambda manifest: manifest["plan"]["read"].update(keep=["m"]))
            assert f"train-00000.{format}: has the columns ['n'] beside input_ids, expected ['m']" in said(
                out, against=[]
            )

    def test_parts(self, tmp_path, monkeypatch):
        """Documents that come in parts, shorter even than what the choice of the split goes by."""
        monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 500)
        for number in range(5):
            (tmp_path / f"{number}.txt").write_text(f"{number} a long text, in many parts " * 90 * number)
        for index, options in enumerate(({}, {"val_fraction": 0.5}, {"val_fraction": 0.5, "shuffle_seed": 1})):
            out = tmp_path / f"out{index}"
            bpeline.tokenize_corpus(sorted(tmp_path.glob("*.txt")), out, format="megatron", **options)
            assert [verify_corpus(out, **how).faults for how in ({"all": True}, {"sample": 3})] == [[], []]


def tokens(out):
    return json.loads((out / "manifest.json").read_text())["tokens"]


def files(out):
    return sorted(
        name for shard in json.loads((out / "manifest.json").read_text())["shards"] for name in shard["files"]
    )


class TestChangedFiles:
    @pytest.mark.parametrize("format", FORMATS)
    def test_any_byte(self, made, format):
        out = made(format)

        @settings(max_examples=12)
        @given(st.data())
        def check(choose):
            path = out / choose.draw(st.sampled_from(files(out)))
            before = path.read_bytes()
            place = choose.draw(st.integers(0, len(before) - 1))
            bit = choose.draw(st.integers(0, 7))
            path.write_bytes(before[:place] + bytes([before[place] ^ 1 << bit]) + before[place + 1 :])
            try:
                assert any(line.startswith(f"{path.name}: its SHA-256 is ") for line in said(out))
            finally:
                path.write_bytes(before)

        check()

    @pytest.mark.parametrize("format", BINARY)
    @pytest.mark.parametrize("options", [{}, {"shuffle_seed": 5}, {"val_fraction": 0.3}], ids=str)
    def test_any_byte_with_a_hash_that_fits(self, made, format, options):
        """The files alone, and the source, tell."""
        out = made(format, **options)

        @settings(max_examples=25)
        @given(st.data())
        def check(choose):
            path = out / choose.draw(st.sampled_from(files(out)))
            before = path.read_bytes()
            place = choose.draw(st.integers(0, len(before) - 1))
            bit = choose.draw(st.integers(0, 7))
            path.write_bytes(before[:place] + bytes([before[place] ^ 1 << bit]) + before[place + 1 :])
            reseal(out)
            try:
                assert said(out, all=True)
            finally:
                path.write_bytes(before)

        check()

    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("sealed", [False, True])
    @pytest.mark.parametrize("length", [-100, -2, -1, 1, 2, 100])
    def test_another_length(self, made, format, sealed, length):
        out = made(format)
        for name in files(out):
            before = (out / name).read_bytes()
            if length < 0:
                (out / name).write_bytes(before[:length])
            else:
                (out / name).write_bytes(before + bytes(length))
            if sealed:
                reseal(out)
            if not (sealed and format == "parquet" and length > 0):  # that is a file without its end
                assert any(line.startswith(f"{name}: ") for line in said(out)), name
            else:
                assert f"{name}: cannot be read" in "".join(said(out))
            (out / name).write_bytes(before)

    @pytest.mark.parametrize("format", FORMATS)
    def test_missing_and_foreign(self, made, format):
        out = made(format)
        for name in files(out):
            before = (out / name).read_bytes()
            os.remove(out / name)
            assert f"{name}: is missing, expected {len(before):,} bytes" in said(out)
            (out / name).write_bytes(before)
        (out / "more.bin").write_bytes(b"")
        assert said(out) == ["more.bin: is not listed in manifest.json, so it is not of this output"]

    @pytest.mark.parametrize("format", SHARDED)
    @pytest.mark.parametrize("sealed", [False, True])
    def test_swapped_shards(self, made, format, sealed):
        out = made(format)
        names = [name for name in files(out) if not name.endswith(("index", "metadata"))]
        first, second = out / names[0], out / names[1]
        first.rename(out / "x")
        second.rename(first)
        (out / "x").rename(second)
        if sealed:
            reseal(out)
        assert any(line.startswith((first.name, second.name)) for line in said(out, all=True))


def u16(out, name, place, value, offset=0):
    ids = np.memmap(out / name, "<u2", "r+", offset)
    ids[place] = value
    ids.flush()


FIELDS = [
    ("llmc", "corpus_val_000000.bin", "<i4", 0, 0, "header[0] is 0, expected 20240520, the magic number"),
    ("llmc", "corpus_val_000000.bin", "<i4", 1, 7, "header[1] is 7, expected 1, the version"),
    ("llmc", "corpus_val_000000.bin", "<i4", 2, 401, "header[2] is 401, expected 400, the number of tokens"),
    ("llmc", "corpus_val_000000.bin", "<i4", 255, 1, "header[255] is 1, expected 0, nothing"),
    ("llmc", "corpus_val_000000.bin", "<u2", 512, 7, "token 0 is 7, expected 50256, end-of-text before document 0"),
    ("llmc", "corpus_val_000000.bin", "<u2", 515, 50257, "token 3 is 50257, expected an id from 0 to 50,256"),
    ("nanogpt", "train.bin", "<u2", 2, 60000, "token 2 is 60000, expected an id from 0 to 50,256"),
    ("nanogpt", "train.bin", "<u2", 0, 5, "has the ends of 63 documents, expected 64 by manifest.json"),
    ("nanogpt", "train.bin", "<u2", 2, 50256, "has the ends of 65 documents, expected 64 by manifest.json"),
    ("npy", "tokens.npy", "<u2", 8, 7, "byte 16 of the header is 07 00 3a 20, expected 72 27 3a 20"),
    ("npy", "offsets.npy", "<i8", 16, 1, "offset 0 is 1, expected 0"),
    ("npy", "offsets.npy", "<i8", 20, 10**6, "end 4 is"),
    ("megatron", "corpus_text_document.idx", "<i1", 0, 1, "byte 0 of the header is 01 4d 49 44, expected 4d 4d 49 44"),
    ("megatron", "corpus_text_document.idx", "<i1", 9, 2, "byte 9 of the header is 02 00 00 00, expected 01 00 00 00"),
    ("megatron", "corpus_text_document.idx", "<i1", 17, 4, "byte 17 of the header is 04, expected 08"),
    ("megatron", "corpus_text_document.idx", "<i1", 26, 9, "counts 9 places of documents, expected 65"),
    ("megatron", "corpus_text_document.idx", "<i1", 34, 0, "sequence 1 begins at byte 520, expected 512 by the lengths before it"),
    ("megatron", "corpus_text_document.bin", "<u2", 0, 50256, "token 0 is end-of-text (50256) within a document"),
    ("datatrove", "corpus_00000.ds.index", "<i8", 1, 0, "end 1 is 0, expected at least 1"),
    ("datatrove", "corpus_00000.ds", "<u2", 0, 7, "token 0 is 7, expected 50256, end-of-text after document 0"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "name", "kind", "place", "value", "message"), FIELDS)
def test_changed_fields(made, format, name, kind, place, value, message):
    """With a hash that fits, and without the source."""
    out = made(format)
    content = bytearray((out / name).read_bytes())
    np.frombuffer(content, kind, place + 1)[place] = value
    (out / name).write_bytes(content)
    reseal(out)
    found = said(out, against=[])
    assert any(line.startswith(f"{name}: ") and message in line for line in found), found


def test_holes_of_the_vocabulary(tmp_path):
    """cl100k has none at 100,256 alone."""
    (tmp_path / "a.txt").write_text("hello world")
    bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", encoding="cl100k_base", format="npy")
    content = bytearray((tmp_path / "out" / "tokens.npy").read_bytes())
    content[128:132] = (100_256).to_bytes(4, "little")
    (tmp_path / "out" / "tokens.npy").write_bytes(content)
    reseal(tmp_path / "out")
    message = "tokens.npy: token 0 is 100256, an id that cl100k_base does not use"
    assert said(tmp_path / "out", against=[]) == [message]


def put(*path_and_value):
    *path, key, value = path_and_value

    def change(manifest):
        for step in path:
            manifest = manifest[step]
        manifest[key] = value(manifest[key]) if callable(value) else value

    return change


MANIFESTS = [
    (put("documents", lambda n: n + 1), "manifest.json: counts 65 documents"),
    (put("tokens", lambda n: n + 1), "manifest.json: counts"),
    (put("text_bytes", lambda n: n + 1), "manifest.json: counts"),
    (put("by_source", 1, 0, 2), "manifest.json: counts 64 documents, and 65 of all inputs together"),
    (put("shards", 0, "documents", lambda n: n + 1), ""),
    (put("shards", 0, "tokens", lambda n: n + 1), "manifest.json: counts"),
    (put("shards", 0, "number", 1), "manifest.json: has no train shard 0, and one of the number 1"),
    (put("shards", 0, "first", [9, 0]), "manifest.json: says that train shard 0 has the documents from [9, 0] to"),
    (put("shards", []), "manifest.json: lists no train shard"),
    (put("plan", "eot", "id", 7), "is 50256, expected 7"),
    (put("plan", "dtype", "uint32"), "(uint32)"),
    (put("plan", "encoding", "vocab_size", 9), "manifest.json: gives the encoding 9 ids, expected 50,257"),
    (put("finished", False), ""),
]  # fmt: skip


@pytest.mark.parametrize("format", ["nanogpt", "llmc", "megatron", "datatrove", "npy"])
@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_changed_manifest(made, format, number):
    change, message = MANIFESTS[number]
    if format == "npy" and "expected 7" in message:
        pytest.skip("npy has no end-of-text")
    out = made(format)
    edit(out, change)
    if format == "megatron" and message == "(uint32)":
        with pytest.raises(bpeline.CorpusError, match="ids are of type uint32, expected uint16 or int32"):
            verify_corpus(out)
        return
    found = verify_corpus(out)
    assert not found.ok
    if message:
        assert any(message in str(fault) for fault in found.faults), found.faults


class TestSource:
    def test_another_text(self, made, data, tmp_path):
        """Of the same length, so that nothing but the ids tells."""
        for options in ({}, {"shuffle_seed": 5}, {"val_fraction": 0.3}):
            for format in FORMATS:
                out = made(format, **options)
                copy = tmp_path / f"{format}{len(options)}{list(options)}"
                shutil.copytree(data, copy)
                assert said(out, against=copy, all=True) == []
                text = (copy / "3.txt").read_text()
                (copy / "3.txt").write_text(text[:-9].replace("It's", "Isn'", 1) + text[-9:])
                for how in ({"all": True}, {"sample": 63}):
                    assert len(said(out, against=copy, **how)) == 1

    def test_words(self, made, data, tmp_path):
        shutil.copytree(data, tmp_path / "copy")
        (tmp_path / "copy" / "1.txt").write_text("It's another")
        out = made("megatron")
        where = "corpus_text_document.bin: token 2, of document 1 of train"
        assert said(out, against=tmp_path / "copy") == [f"{where}, is 2420, expected 1194 by the source"]
        [line] = said(out, against=tmp_path / "copy", sample=63)
        assert line == f"{where} ({tmp_path / 'copy' / '1.txt'}), is 2420, expected 1194 by the source"

    @pytest.mark.parametrize("how", [{"all": True}, {"sample": 9}], ids=str)
    def test_fewer_and_more_documents(self, made, data, tmp_path, how):
        for change in ("fewer", "more"):
            copy = tmp_path / change
            shutil.copytree(data, copy)
            lines = (copy / "rows.jsonl").read_text().splitlines(keepends=True)
            (copy / "rows.jsonl").write_text("".join(lines[:-1] if change == "fewer" else lines + lines[-1:]))
            for options in ({}, {"shuffle_seed": 5}):
                for format in FORMATS:
                    assert said(made(format, **options), against=copy, **how), (format, change)

    def test_inputs_that_are_gone_or_changed(self, data, tmp_path):
        (tmp_path / "a.txt").write_text("hello world")
        bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "out")
        (tmp_path / "a.txt").write_text("hello again")
        found = verify_corpus(tmp_path / "out")
        assert (
            found.ok
            and found.checked["source"] == f"not compared: {tmp_path / 'a.txt'} has changed; --against names the input"
        )
        [line] = said(tmp_path / "out", against=tmp_path / "a.txt")
        assert line.startswith("train.bin: token 1, of document 0 of train, is 995, expected 757 by the source")
        os.remove(tmp_path / "a.txt")
        found = verify_corpus(tmp_path / "out")
        assert found.ok and "a.txt is not there" in found.checked["source"]
        assert verify_corpus(tmp_path / "out", against=[]).checked["source"] == "not compared, as asked"

    def test_encoder_at_fault(self, made, data, monkeypatch):
        """Were the encoder wrong the same way twice, decoding would tell."""
        out = made("npy")
        real = bpeline.Tokenizer.decode_bytes
        monkeypatch.setattr(
            bpeline.Tokenizer, "decode_bytes", lambda self, ids: real(self, ids).replace(b"text", b"test")
        )
        assert any("decodes to" in line and "test" in line for line in said(out, sample=63))

    def test_another_encoding(self, made):
        out = made("npy")
        with pytest.raises(bpeline.CorpusError, match="the encoding given is another than the job had: its hash is"):
            verify_corpus(out, encoding="cl100k_base")
        assert verify_corpus(out, encoding=bpeline.load("gpt2")).ok
        edit(out, put("plan", "encoding", "load", "no-such-encoding"))
        with pytest.raises(bpeline.CorpusError, match=r"its encoding cannot be loaded .* name it by --encoding"):
            verify_corpus(out)

    def test_no_output(self, tmp_path):
        with pytest.raises(bpeline.CorpusError, match=r"holds no manifest.json, so it is no output of bpeline"):
            verify_corpus(tmp_path)


class TestUnfinished:
    @pytest.mark.parametrize("format", FORMATS)
    def test_as_far_as_it_has_come(self, data, tmp_path, monkeypatch, format):
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        shards = {"shard_tokens": 100} if format in SHARDED else {}
        seen = 0
        for kill in range(4, 150, 17):
            out = tmp_path / str(kill)
            with dying_at(kill), contextlib.suppress(Killed):
                bpeline.tokenize_corpus(data, out, format=format, **shards)
            if not (out / "manifest.json").exists():
                continue
            found = verify_corpus(out)
            if not found.finished:
                seen += 1
                renamed = [fault for fault in found.faults if "is not listed in manifest.json" not in fault.message]
                assert renamed == [] and not found.ok
                assert found.checked["source"] == "not compared: the job is not finished"
        assert seen > 2

    def test_lost_parts(self, data, tmp_path, monkeypatch):
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        with dying_at(40), pytest.raises(Killed):
            bpeline.tokenize_corpus(data, tmp_path / "out")
        [part] = (tmp_path / "out").glob("train_*.part")
        length = json.loads((tmp_path / "out" / "manifest.json").read_text())["resume"]["splits"]["train"]["open"][0][
            "files"
        ]["ids"]
        part.write_bytes(part.read_bytes()[: length - 1])
        assert said(tmp_path / "out") == [
            f"{part.name}: has {length - 1:,} bytes, expected {length:,} at least by manifest.json"
        ]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=20), st.randoms(), st.integers(1, 9))
def test_sums(documents, random, step):
    """The same in any order and any pieces; other for any other content."""
    order = list(range(len(documents)))
    random.shuffle(order)

    def sums(documents, numbers, step):
        found = Sums(len(documents))
        flat = np.array([id for document in documents for id in document], np.uint16)
        ends = np.cumsum([len(document) for document in documents])
        for begin in range(0, max(len(flat), 1), step):
            last = begin + step >= len(flat)
            some = ends[(ends > begin - (begin == 0)) & ((ends <= begin + step) | last)] - begin
            found.add(flat[begin : begin + step], some, lambda n: np.array(numbers, np.uint64)[n.astype(int)])
        return found.sums.tolist()

    whole = sums(documents, range(len(documents)), 1000)
    assert sums([documents[number] for number in order], order, step) == whole
    if len(documents) > 1 and documents[0] != documents[1]:
        assert sums([documents[1], documents[0], *documents[2:]], range(len(documents)), 1000) != whole


class TestCommand:
    def test_intact(self, bp, made):
        result = bp("verify", made("npy"), "--all")
        lines = [" ".join(line.split()) for line in result.stderr.splitlines()]
        assert (result.exit_code, result.stdout) == (0, "")
        assert (
            lines[-1] == "result no fault"
            and "source 64 of 64 documents, encoded again from 5 files of the input" in lines
        )

    def test_faults(self, bp, made):
        out = made("npy")
        (out / "more").touch()
        result = bp("verify", out)
        assert result.exit_code == 1
        assert result.stdout == "more: is not listed in manifest.json, so it is not of this output\n"
        assert " ".join(result.stderr.splitlines()[-1].split()) == "result 1 fault"

    def test_against_and_quiet(self, bp, made, data, tmp_path):
        out = made("npy")
        assert bp("verify", out, "--quiet", "--against", data).stderr == ""
        (tmp_path / "a.txt").write_text("hello")
        result = bp("verify", out, "--against", tmp_path / "a.txt", "--sample", 3)
        assert result.exit_code == 1 and "the source has 1" in result.stdout
        assert bp("verify", tmp_path).exit_code == 1

    def test_not_finished(self, bp, made):
        out = made("npy")
        edit(out, put("finished", False))
        result = bp("verify", out)
        assert result.exit_code == 1 and "the job is not finished" in result.stderr
