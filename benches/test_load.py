"""From a name, from a file pair, from bytes, from ranks: how long until the first id."""

import pickle

import pytest


def test_built_in(benchmark, gpt2, Tokenizer):
    assert Tokenizer.load("gpt2").encode("hello world") == [31373, 995]
    benchmark(Tokenizer.load, "gpt2")


@pytest.mark.parametrize(
    ("name", "ids"), [("gpt2", [31373, 995]), ("cl100k_base", [15339, 1917]), ("o200k_base", [24912, 2375])]
)
def test_built_in_anew(benchmark, native, name, ids):
    """As in a new process: `load` keeps the encoding of a tokenizer that is still there."""

    def load():
        return native(native._Encoding.builtin(name))

    assert load().encode("hello world") == ids
    benchmark(load)


def test_rank_file(benchmark, native, tmp_path):
    """cl100k's, with one more newline: then it is not known by its content."""
    tok = native.load("cl100k_base")
    path = tok.save(tmp_path, format="tiktoken")[0]
    path.write_bytes(path.read_bytes() + b"\n")
    options = {"pattern": "cl100k", "special_tokens": tok.special_tokens}
    assert native.load(path, **options) == tok
    benchmark(native.load, path, **options)


@pytest.fixture(scope="session")
def folder(tok, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    tok.save(folder)
    return folder


def test_file_pair(benchmark, native, tok, folder):
    assert native.load(folder) == tok
    benchmark(native.load, folder)


def test_from_bytes(benchmark, native, tok):
    data = tok.to_bytes()
    assert native.from_bytes(data) == tok
    benchmark(native.from_bytes, data)


def test_from_ranks(benchmark, native, tok):
    ranks = {tok.token_bytes(i): i for i in range(50256)}
    made = native.from_ranks(ranks, pattern="gpt2", special_tokens=tok.special_tokens)
    assert made.encode("hello world") == [31373, 995]
    benchmark(native.from_ranks, ranks, pattern="gpt2")


def test_pickle_round_trip(benchmark, tok):
    assert pickle.loads(pickle.dumps(tok)) == tok
    benchmark(lambda: pickle.loads(pickle.dumps(tok)))


def test_save(benchmark, native, tok, tmp_path):
    tok.save(tmp_path)
    assert native.load(tmp_path) == tok
    benchmark(tok.save, tmp_path)
