"""A smaller sample of `python -m tests.parity`, and that the samples are as many as they should be."""

import os
from pathlib import Path

import pytest

import bpeline
from tests.parity import encodings, samples
from tests.parity.compare import Comparison, table

pytestmark = pytest.mark.parity


@pytest.fixture
def comparison(Tokenizer, backend, tmp_path):
    for package in ("tiktoken", "tokenizers", "regex"):
        pytest.importorskip(package)
    return Comparison({backend: Tokenizer}, tmp_path)


def test_encode(comparison, backend):
    texts = list(samples.usual())[::4]
    comparison.encode(texts)
    report = comparison.report
    assert report.total == 0, table(report)
    assert report.encoded[backend] == len(texts)
    assert report.peers_disagree == 0
    assert report.literal_is_ours == 0
    assert set(report.vocab_size.values()) == {50257}


@pytest.mark.parametrize("name", bpeline.encodings()[1:])
def test_built_in(Tokenizer, backend, tmp_path, name):
    pytest.importorskip("tiktoken")
    subject = encodings.built_in({backend: Tokenizer}, tmp_path, name)
    subject.compare_tokens()
    subject.compare(list(samples.usual())[::6])
    assert subject.mismatches == 0, subject.examples
    assert subject.counts[backend, "samples"] == len(list(samples.usual())[::6])
    subject.peer = lambda text: [0] if text == "b" else [97] if text == "c" else []
    subject.compare(["", "b", "c"])
    assert subject.counts[backend, "mismatches"] == 2  # the harness itself


@pytest.mark.skipif("BPELINE_ENCODINGS" not in os.environ, reason="BPELINE_ENCODINGS names no folder of encodings")
def test_files(Tokenizer, backend, tmp_path):
    """Qwen's rank file and Mistral's tekken.json, where there is a folder that has them."""
    pytest.importorskip("tiktoken")
    pytest.importorskip("mistral_common")
    folder = Path(os.environ["BPELINE_ENCODINGS"])
    found = list(encodings.subjects({backend: Tokenizer}, tmp_path, folder, ["qwen", "tekken"]))
    assert len(found) >= 2
    for subject in found:
        subject.compare_tokens()
        subject.compare(list(samples.usual())[::6])
        assert subject.mismatches == 0, subject.examples
        path = tmp_path / f"saved-{subject.name}"
        tok = subject.ours[backend]
        tok.save(path, format="tiktoken")
        assert Tokenizer.load(path) == tok


def test_decode(comparison, backend):
    comparison.decode(samples.id_sequences())
    report = comparison.report
    assert report.total == 0, table(report)
    assert report.decoded[backend] == 2_005
    assert report.peers_disagree == 0


def test_a_mismatch_is_seen(comparison, backend):
    """The harness itself: an encoder that is wrong on one sample is counted on that sample."""
    right = comparison.ours[backend].encode
    comparison.ours[backend].encode = lambda texts: [[0] if text == "b" else right([text])[0] for text in texts]
    comparison.encode(["a", "b", "c"])
    counted = {kind: count for (_, kind), count in comparison.report.mismatches.items()}
    assert counted == {"encode, tiktoken": 1, "encode, tokenizers": 1, "round trip": 1}
    assert comparison.report.literal_disagrees == 0


@pytest.mark.parametrize(
    ("character", "pattern"),
    [
        ("\u0378", r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}\u0378]+| ?\p{N}+| ?[^\s\p{L}\p{N}\u0378]+|\s+(?!\S)|\s+"),
        ("\u0378", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[\p{N}\u0378]+| ?[^\s\p{L}\p{N}\u0378]+|\s+(?!\S)|\s+"),
        (
            "\u0378",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}\u0378]+|[\s\u0378]+(?![^\s\u0378])|[\s\u0378]+",
        ),
        (
            "\ua7cb",
            r"'s|'t|'re|'ve|'m|'ll|'d| ?(?:(?!\ua7cb)\p{L})+| ?\p{N}+| ?(?:\ua7cb|[^\s\p{L}\p{N}])+|\s+(?!\S)|\s+",
        ),
    ],
    ids=["taken for a letter", "taken for a number", "taken for white space", "not taken for a letter"],
)
def test_a_class_that_differs_is_seen(comparison, character, pattern):
    """The five contexts tell the classes of a rare character apart: a witness with one class changed disagrees."""
    texts = list(samples.in_contexts([character]))
    comparison.encode(texts)
    assert comparison.report.literal_disagrees == 0
    comparison.literal.find = pytest.importorskip("regex").compile(pattern).findall
    comparison.encode(texts)
    assert comparison.report.literal_disagrees >= 1
    assert comparison.report.literal_is_ours == 0
    assert comparison.report.total == 0


def test_there_are_enough_samples():
    usual = list(samples.usual())
    assert len(usual) >= samples.LEAST
    assert len(set(usual)) > 25_000
    assert len(list(samples.id_sequences())) == 2_005
    assert sum(1 for _ in samples.scalars()) == 1_112_064
