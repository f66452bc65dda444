"""Tokenizers as values: equality, hash, repr, copies, pickles, immutability."""

import copy
import multiprocessing
import pickle

import pytest

from tests.backends import TOKENIZERS
from tests.small import EOT, vocab_text, write_pair

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}


@pytest.fixture(scope="module")
def pair(Tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    return Tokenizer.load(*write_pair(folder, vocab_text(["ab"]), "a b\n"), special_tokens={EOT: 257, "<x>": 300})


@pytest.fixture(scope="module")
def ranks(Tokenizer):
    return Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens={EOT: 400})


@pytest.fixture(params=["gpt2", "pair", "ranks", "extended"])
def tok(request, gpt2):
    if request.param == "extended":
        return gpt2.extend({"<|pad|>": 50257})
    return request.getfixturevalue(request.param)


def test_equality(Tokenizer, gpt2, pair, ranks):
    assert gpt2 == Tokenizer.load("gpt2")
    assert hash(gpt2) == hash(Tokenizer.load("gpt2"))
    assert gpt2 == Tokenizer.load("gpt2", cache_bytes=0)
    assert len({gpt2, pair, ranks, Tokenizer.load("gpt2"), Tokenizer.from_ranks(RANKS, pattern="gpt2")}) == 4
    assert gpt2 != pair != ranks
    assert gpt2 != "gpt2"
    assert gpt2 is not None
    assert (gpt2 == 5) is False


def test_repr(gpt2, pair, backend):
    assert repr(gpt2) == f"<bpeline.Tokenizer gpt2: 50,257 tokens, {backend} backend>"
    assert repr(pair) == f"<bpeline.Tokenizer {pair.name}: 301 tokens, {backend} backend>"
    assert gpt2.backend == backend


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(tok, protocol):
    loaded = pickle.loads(pickle.dumps(tok, protocol))
    assert type(loaded) is type(tok)
    assert loaded == tok
    assert loaded.name == tok.name
    assert loaded.special_tokens == tok.special_tokens
    assert loaded.encode(f"ab abc{EOT} <x>") == tok.encode(f"ab abc{EOT} <x>")


def test_a_built_in_travels_by_name(Tokenizer, gpt2):
    data = pickle.dumps(gpt2)
    assert len(data) < 300
    assert b"gpt2" in data
    assert len(pickle.dumps(gpt2.extend({"<|pad|>": 50257}))) > 100_000  # by content


def test_cache_bytes_travel(Tokenizer):
    tok = Tokenizer.load("gpt2", cache_bytes=4321)
    assert pickle.loads(pickle.dumps(tok)).cache_bytes == 4321
    assert copy.deepcopy(tok).cache_bytes == 4321


def test_an_encoding_is_shared_by_its_pickles(pair):
    data = pickle.dumps(pair)
    one, two = pickle.loads(data), pickle.loads(data)
    assert one.encoding is two.encoding


def test_copies_are_the_tokenizer(tok):
    assert copy.copy(tok) is tok
    assert copy.deepcopy(tok) is tok
    assert copy.deepcopy({"tok": [tok]})["tok"][0] is tok


@pytest.mark.parametrize(
    "name", ["encoding", "name", "pattern", "vocab_size", "special_tokens", "cache_bytes", "new", "encode"]
)
def test_immutable(gpt2, name):
    with pytest.raises((AttributeError, TypeError)):
        setattr(gpt2, name, "changed")
    assert gpt2.encode("hello world") == [31373, 995]
    with pytest.raises((AttributeError, TypeError)):
        setattr(gpt2.encoding, name, "changed")
    with pytest.raises((AttributeError, TypeError)):
        delattr(gpt2, name)
    assert not hasattr(gpt2, "new")
    assert not hasattr(gpt2, "__dict__")


def encode_in_child(job):
    tok, text = job
    return type(tok).__name__, tok.backend, tok.encode(text), tok.decode(tok.encode(text))


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_a_pool_of_processes(backend, gpt2, pair, method):
    texts = ["hello world", f"ab{EOT}<x>", "漢字"]
    jobs = [(tok, text) for tok in (gpt2, pair) for text in texts]
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map_async(encode_in_child, jobs).get(timeout=120)
    name = TOKENIZERS[backend].__name__
    assert results == [(name, backend, tok.encode(text), text) for tok, text in jobs]
    assert results[0][2] == [31373, 995]
    assert results[4][2] == [256, 257, 300]
