"""What is trained equals what Hugging Face tokenizers trains, and is read by tokenizers and tiktoken with the same ids."""

import json
import lzma
import os
import random
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers import read_pair_with_tokenizers, read_tiktoken_file, read_tokenizer_json
from tests.small import EOT
from tests.texts import FRAGMENTS

tokenizers = pytest.importorskip("tokenizers")
pytestmark = pytest.mark.parity

TEXT = (Path(__file__).parent / "data" / "pride_and_prejudice.txt").read_text(encoding="utf-8")
UDHR = (Path(__file__).parent / "data" / "udhr.txt").read_text(encoding="utf-8")
CORPORA = os.environ.get("BPELINE_CORPORA")  # a folder of NAME*.xz


def train_peer(texts, vocab_size, special_tokens=(EOT,), **options):
    """Their vocabulary and merges, spelled."""
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = byte_level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=byte_level.alphabet(),
        show_progress=False,
        **{name: value for name, value in options.items() if value is not None},
    )
    peer.train_from_iterator(texts, trainer)
    model = json.loads(peer.to_str())["model"]
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    return model["vocab"], [tuple(merge) for merge in merges]


def train(cls, texts, vocab_size, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tok = cls.train(texts, vocab_size, **options)
    spell = tok.id_to_token
    return {spell(id): id for id in range(tok.vocab_size)}, [(spell(a), spell(b)) for a, b in tok.encoding.merges()]


runs = st.builds(lambda letter, count: letter * count, st.sampled_from(["a", "b", " ", "é", "\n"]), st.integers(1, 30))
random_corpora = st.lists(
    st.lists(st.one_of(runs, st.text("ab ", max_size=12)), max_size=6).map("".join), min_size=1, max_size=9
)


@given(
    random_corpora.filter(any),
    st.integers(0, 60),
    st.integers(0, 4),
    st.sampled_from([None, None, 1, 2, 3, 4, 5, 8]),
)
def test_random_corpora(both, texts, more, min_frequency, max_token_length):
    options = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    expected = train_peer(texts, 257 + more, **options)
    for cls in both:
        assert train(cls, texts, 257 + more, **options) == expected


@pytest.mark.parametrize("vocab_size", [257, 300, 1000, 8000])
def test_a_book(native, vocab_size):
    texts = [*TEXT.splitlines(keepends=True), UDHR]
    assert train(native, texts, vocab_size) == train_peer(texts, vocab_size)


def test_a_chapter_by_the_reference(both):
    texts = [TEXT[:20_000], UDHR[:4000]]
    assert train(both[1], texts, 400) == train_peer(texts, 400) == train(both[0], texts, 400)


@pytest.mark.slow
@pytest.mark.parametrize("vocab_size", [1000, 8000])
@pytest.mark.parametrize("name", ["english", "multilingual", "code"])
def test_corpora(native, name, vocab_size):
    """4 MB of each; `python -m benches.train` compares more of them, and larger vocabularies."""
    path = next(Path(CORPORA).glob(f"{name}*.xz"), None) if CORPORA else None
    if path is None:
        pytest.skip("BPELINE_CORPORA names no folder with such a corpus")
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        texts = [text for text in file.read(4_000_000).split(EOT) if text]
    assert train(native, texts, vocab_size) == train_peer(texts, vocab_size)


@pytest.fixture(scope="module", params=["gpt2", "cl100k"])
def trained(request, native):
    tok = native.train([TEXT, UDHR], 3000, pattern=request.param, special_tokens=[EOT, "<|pad|>"], name="book")
    assert tok.vocab_size == 3000
    return tok


def samples(specials):
    rng = random.Random(6)
    return [TEXT[5000:9000], UDHR[:3000], *("".join(rng.choices(FRAGMENTS, k=12)) for _ in range(200)), *specials]


@pytest.mark.parametrize("format", ["gpt2", "tokenizer.json", "tiktoken"])
def test_saved_and_loaded(native, trained, tmp_path, format):
    trained.save(tmp_path, format=format)
    loaded = native.load(tmp_path)
    assert loaded.special_tokens == trained.special_tokens
    if format != "tokenizer.json":  # whose expressions are another dialect
        assert loaded.pattern == trained.pattern  # nanochat issue 291
    for text in [*samples(trained.special_tokens), "12345"]:
        assert loaded.encode(text) == trained.encode(text), text


def test_tokenizers_reads_what_was_trained(native, trained, tmp_path):
    trained.save(tmp_path, format="tokenizer.json")
    peer = read_tokenizer_json(tmp_path / "tokenizer.json")
    for text in samples(trained.special_tokens):
        assert peer.encode(text).ids == trained.encode(text), text
    if trained.pattern == native.load("gpt2").pattern:
        trained.save(tmp_path)
        pair = read_pair_with_tokenizers(tmp_path)
        pair.add_special_tokens(["<|pad|>"])
        for text in samples(trained.special_tokens):
            assert pair.encode(text).ids == trained.encode(text), text


def test_tiktoken_reads_what_was_trained(trained, tmp_path):
    pytest.importorskip("tiktoken")
    trained.save(tmp_path, format="tiktoken")
    peer = read_tiktoken_file(tmp_path / "book.tiktoken", trained.pattern, trained.special_tokens)
    for text in samples(trained.special_tokens):
        assert peer.encode(text, allowed_special="all") == trained.encode(text), text
    assert peer.n_vocab == trained.vocab_size == 3000
