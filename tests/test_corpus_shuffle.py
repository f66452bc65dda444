"""`shuffle_seed`: a permutation that nothing stores, and the same documents in its order."""

import json
import os

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import bpeline
from bpeline import tokenize_corpus
from bpeline.corpus.shuffle import permuted
from bpeline.corpus.stored import Table
from bpeline.corpus.verify import verify_corpus
from tests import corpus_reading as reading
from tests.corpus_jobs import Killed, contents, dying_at, run


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A sync takes milliseconds, and here there are many."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class TestShuffle:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 16, 17, 1000, 4097])
    def test_permuted(self, count):
        numbers = np.arange(count, dtype=np.uint64)
        found = permuted(numbers, count, "seed").tolist()
        assert sorted(found) == list(range(count))
        assert found == [int(permuted(numbers[n : n + 1], count, "seed")[0]) for n in range(count)]

    def test_permuted_looks_random(self):
        found = permuted(np.arange(10_000, dtype=np.uint64), 10_000, "seed").astype(float)
        assert abs(np.corrcoef(found, np.arange(10_000))[0, 1]) < 0.03
        assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.03
        assert np.mean(found == permuted(np.arange(10_000, dtype=np.uint64), 10_000, "other")) < 0.01

    @pytest.mark.parametrize("val_fraction", [0, 0.4])
    def test_the_same_documents_in_another_order(self, tmp_path, val_fraction):
        inputs = [[f"document {n} " * (n % 7) for n in range(300)]]
        run(tmp_path / "plain", inputs, format="parquet", val_fraction=val_fraction)
        run(tmp_path / "one", inputs, format="parquet", val_fraction=val_fraction, shuffle_seed=1)
        run(tmp_path / "two", inputs, format="parquet", val_fraction=val_fraction, shuffle_seed=2)
        plain, one, two = (
            [row["input_ids"] for row in reading.parquet(tmp_path / name)] for name in ("plain", "one", "two")
        )
        assert sorted(plain) == sorted(one) == sorted(two)
        assert plain != one != two != plain
        assert {path.name for path in (tmp_path / "plain").iterdir()} == {
            path.name for path in (tmp_path / "one").iterdir()
        }
        made = json.loads((tmp_path / "one" / "manifest.json").read_text())
        assert (made["documents"], made["text_bytes"]) == (300, sum(map(len, inputs[0])))
        assert made["shards"][0]["first"] is None

    @pytest.mark.parametrize("format", ["parquet", "arrow"])
    @pytest.mark.parametrize("val_fraction", [0, 0.4])
    def test_columns_go_along(self, tmp_path, monkeypatch, format, val_fraction):
        """In the order of the same job without columns, also after kills."""
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        monkeypatch.setattr("bpeline.corpus.shuffle.RUN_TOKENS", 50)
        monkeypatch.setattr("bpeline.corpus.formats.table.GROUP_ROWS", 7)
        texts = [f"document {n} " * (n % 7) for n in range(60)]
        (tmp_path / "a.jsonl").write_text(
            "".join(json.dumps({"text": t, "n": n, "also": t}) + "\n" for n, t in enumerate(texts))
        )
        options = {"format": format, "val_fraction": val_fraction, "shuffle_seed": 1, "threads": 1}
        plain = tokenize_corpus(tmp_path / "a.jsonl", tmp_path / "plain", **options)
        options["keep"] = ["n", "also"]
        tokenize_corpus(tmp_path / "a.jsonl", tmp_path / "whole", **options)
        rows = getattr(reading, format)(tmp_path / "whole")
        assert [row["input_ids"] for row in rows] == [row["input_ids"] for row in getattr(reading, format)(plain.out)]
        assert [row["also"] for row in rows] == [texts[row["n"]] for row in rows]
        gpt2 = bpeline.load("gpt2")
        assert [row["input_ids"] for row in rows] == [gpt2.encode(row["also"]) for row in rows]
        assert sorted(row["n"] for row in rows) == list(range(60)) != [row["n"] for row in rows]
        assert verify_corpus(tmp_path / "whole", all=True).ok
        for kill in range(20, 900, 31):
            with dying_at(kill):
                try:
                    tokenize_corpus(tmp_path / "a.jsonl", tmp_path / "broken", **options)
                    break
                except Killed:
                    pass
        else:
            pytest.fail("never done")
        assert contents(tmp_path / "broken") == contents(tmp_path / "whole")

    def test_killed_and_resumed(self, tmp_path, monkeypatch):
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        monkeypatch.setattr("bpeline.corpus.shuffle.RUN_TOKENS", 20)
        options = {"format": "megatron", "val_fraction": 0.4, "shuffle_seed": 3}
        run(tmp_path / "whole", **options)
        for kill in range(0, 300, 7):
            with dying_at(kill):
                try:
                    run(tmp_path / "broken", **options)
                    break
                except Killed:
                    pass
        else:
            pytest.fail("never done")
        assert contents(tmp_path / "broken") == contents(tmp_path / "whole")


class TestVerify:
    @pytest.mark.parametrize("format", ["parquet", "arrow"])
    def test_a_sample_reads_each_group_of_a_table_but_a_few_times(self, tmp_path, monkeypatch, format):
        """Its documents come in the order of the source, which is here and there in the output."""
        monkeypatch.setattr("bpeline.corpus.formats.table.GROUP_ROWS", 50)
        (tmp_path / "a.txt").write_text("\n".join(f"document {number}" for number in range(2000)))
        tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", kind="lines", format=format, shuffle_seed=1)
        read, real = [], Table._column
        monkeypatch.setattr(
            Table, "_column", lambda self, file, number: read.append(number) or real(self, file, number)
        )
        assert verify_corpus(tmp_path / "out", sample=500).ok
        assert len(set(read)) == 40 and len(read) < 5 * 40

    @pytest.mark.parametrize("held", [0, 100, 1 << 24])
    def test_a_sample_finds_a_fault_held_or_not(self, tmp_path, monkeypatch, held):
        monkeypatch.setattr("bpeline.corpus.sample.HELD", held)
        (tmp_path / "a.txt").write_text("\n".join(f"document {number}" for number in range(300)))
        tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", kind="lines", shuffle_seed=1)
        assert verify_corpus(tmp_path / "out", sample=299).ok
        (tmp_path / "a.txt").write_text((tmp_path / "a.txt").read_text().replace("document 99", "document 98"))
        [fault] = verify_corpus(tmp_path / "out", tmp_path / "a.txt", sample=299).faults
        assert fault.file == "train.bin" and "expected" in fault.message

    @pytest.mark.parametrize("format", ["nanogpt", "npy", "parquet"])
    def test_an_output_that_lists_nothing(self, tmp_path, format):
        (tmp_path / "a.txt").write_text("hello")
        tokenize_corpus(tmp_path / "a.txt", tmp_path / "out", format=format, shuffle_seed=1)
        manifest = json.loads((tmp_path / "out/manifest.json").read_text())
        (tmp_path / "out/manifest.json").write_text(json.dumps(manifest | {"shards": []}))
        assert "lists no train shard" in [fault.message for fault in verify_corpus(tmp_path / "out").faults]
