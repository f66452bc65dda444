"""The fixtures of the tests, and what the benchmarks share: texts, and the ids that the reference gives them."""

import pytest

from benches import corpus
from tests.backends import ReferenceTokenizer
from tests.conftest import Tokenizer, backend, gpt2, native  # noqa: F401


@pytest.fixture(scope="session")
def reference():
    """GPT-2 on the reference: the known values."""
    return ReferenceTokenizer.load("gpt2")


@pytest.fixture(scope="session")
def tok(native):  # noqa: F811
    """GPT-2 on the native backend."""
    return native.load("gpt2")


@pytest.fixture(scope="session")
def batch(tok, reference):
    """Documents and their ids one by one; the reference encodes the start of each."""
    texts = corpus.documents()
    ids = [tok.encode(text) for text in texts]
    assert all(tok.encode(text[:500]) == reference.encode(text[:500]) for text in texts)
    assert [tok.decode(one) for one in ids] == texts
    return texts, ids


@pytest.fixture(autouse=True)
def megabytes(request, benchmark):
    """Note MB/s of a benchmark that named its bytes in `extra_info`."""
    yield
    size = benchmark.extra_info.get("bytes")
    if size and benchmark.stats:
        benchmark.extra_info["MB/s"] = round(size / benchmark.stats.stats.median / 1e6, 2)
