"""A job from documents in memory to files: exact ids in every format, the same bytes whatever happens on the way."""

import os

import pytest

pytest.importorskip("pyarrow")

from hypothesis import given, settings
from hypothesis import strategies as st

from bpeline.corpus import plan
from tests import corpus_reading as reading
from tests.corpus_jobs import INPUTS, Killed, contents, dying_at, run
from tests.corpus_memory import documents

EOT = 50256
SHARDED = [name for name, layout in plan.FORMATS.items() if layout.shard_tokens]


def ids(tok, text):
    return tok.encode(text, special="text")


@pytest.mark.parametrize("inputs", [INPUTS, [[]], [[""]]], ids=["mixed", "none", "empty"])
class TestIds:
    def test_nanogpt(self, gpt2, tmp_path, inputs):
        run(tmp_path, inputs, gpt2)
        assert reading.nanogpt(tmp_path) == [id for text in documents(inputs) for id in [*ids(gpt2, text), EOT]]

    @pytest.mark.parametrize("shard_tokens", [None, 1, 20, 61])
    def test_llmc(self, gpt2, tmp_path, inputs, shard_tokens):
        result = run(tmp_path, inputs, gpt2, format="llmc", shard_tokens=shard_tokens)
        stream, counts = reading.llmc(tmp_path)
        assert stream == [id for text in documents(inputs) for id in [EOT, *ids(gpt2, text)]]
        sizes = list(counts.values())
        assert all(size == shard_tokens for size in sizes[:-1])
        if shard_tokens and len(sizes) > 1:
            assert shard_tokens // 2 <= sizes[-1] < shard_tokens + max(shard_tokens // 2, 1)
        splits = [name.split("_")[1] for name in counts]
        assert splits == (["train"] if len(sizes) == 1 else ["val"] + ["train"] * (len(sizes) - 1))
        assert [shard.split for shard in result.manifest.shards].count("val") == splits.count("val")

    def test_megatron(self, gpt2, tmp_path, inputs):
        run(tmp_path, inputs, gpt2, format="megatron")
        wanted = [ids(gpt2, text) for text in documents(inputs)]
        assert reading.megatron(tmp_path) == [[*document, EOT] if document else [] for document in wanted]

    @pytest.mark.parametrize("shard_tokens", [None, 1, 20])
    def test_datatrove(self, gpt2, tmp_path, inputs, shard_tokens):
        run(tmp_path, inputs, gpt2, format="datatrove", shard_tokens=shard_tokens)
        assert reading.datatrove(tmp_path) == [[*ids(gpt2, text), EOT] for text in documents(inputs)]

    def test_npy(self, gpt2, tmp_path, inputs):
        run(tmp_path, inputs, gpt2, format="npy")
        assert reading.npy(tmp_path) == [ids(gpt2, text) for text in documents(inputs)]

    @pytest.mark.parametrize("shard_tokens", [None, 1, 20])
    @pytest.mark.parametrize("format", ["parquet", "arrow"])
    def test_tables(self, gpt2, tmp_path, inputs, format, shard_tokens):
        run(tmp_path, inputs, gpt2, format=format, shard_tokens=shard_tokens)
        wanted = [{"input_ids": ids(gpt2, text)} for text in documents(inputs)]
        assert getattr(reading, format)(tmp_path) == wanted


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A sync takes milliseconds, and here there are many."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class TestTheSameBytes:
    """Whatever the threads, the batches, the checkpoints, the kills."""

    @pytest.fixture(autouse=True)
    def checkpoints(self, monkeypatch):
        monkeypatch.setattr("bpeline.corpus.writer.EVERY", 0.0)
        monkeypatch.setattr("bpeline.corpus.writer.SHARE", 0.0)
        monkeypatch.setattr("bpeline.corpus.encoder.HASHED", 12)
        monkeypatch.setattr("bpeline.corpus.encoder.ENDING", 4)

    @pytest.mark.parametrize("format", plan.FORMATS)
    @pytest.mark.parametrize("val_fraction", [0, 0.4])
    def test_any_batches_and_threads(self, tmp_path, format, val_fraction):
        options = {"format": format, "val_fraction": val_fraction, "shard_tokens": 30 if format in SHARDED else None}
        for number, (batch, part, threads) in enumerate([(3, 7, 1), (1, 1, 2), (100, 5000, None)]):
            run(tmp_path / str(number), batch=batch, part=part, threads=threads, **options)
        assert contents(tmp_path / "0") == contents(tmp_path / "1") == contents(tmp_path / "2")

    @settings(max_examples=60)
    @given(
        st.sampled_from(list(plan.FORMATS)),
        st.sampled_from([0, 0.4]),
        st.sampled_from([3, 17, 60]),
        st.booleans(),
        st.lists(st.integers(0, 60), min_size=1, max_size=4),
    )
    def test_killed_and_resumed(self, tmp_path_factory, format, val_fraction, shard_tokens, keeps, kills):
        options = {"format": format, "val_fraction": val_fraction}
        if format in SHARDED:
            options["shard_tokens"] = shard_tokens
        inputs = INPUTS
        if plan.FORMATS[format].has_columns and keeps:
            inputs = [texts for texts in INPUTS if not isinstance(texts, str)]
            options |= {"keep": ["n"], "columns": lambda number: {"n": number}}
        whole, broken = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("broken")
        run(whole, inputs, **options)
        for kill in kills:
            with dying_at(kill) as die:
                try:
                    run(broken, inputs, **options)
                except Killed:
                    assert die.died
        run(broken, inputs, **options)
        assert contents(broken) == contents(whole)
