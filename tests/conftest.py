"""One suite, two backends.

A test that asks for `Tokenizer` (a class) or `gpt2` (a tokenizer) runs once per backend, with the
ids "native" and "reference"; one that asks for `both` gets the two classes to compare.
Without a native module the native runs are skipped, unless BPELINE_REQUIRE_NATIVE=1 (CI) makes
that a failure. Hypothesis draws the same examples on every run; HYPOTHESIS_PROFILE=explore draws
new ones, and more.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.backends import TOKENIZERS

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", parent=settings.get_profile("repeatable"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a few seconds; leave out with -m 'not slow'")
    config.addinivalue_line("markers", "engines: runs on Ray, Spark, Daft or Dask, for `make test-engines`")
    config.addinivalue_line("markers", "parity: compares with tiktoken and tokenizers")


def tokenizer_class(backend):
    cls = TOKENIZERS[backend]
    if cls is None:
        reason = "the native backend is absent or switched off"
        if os.environ.get("BPELINE_REQUIRE_NATIVE") == "1":
            pytest.fail(f"BPELINE_REQUIRE_NATIVE=1, but {reason}")
        pytest.skip(reason)
    return cls


@pytest.fixture(scope="session", params=["native", "reference"])
def backend(request):
    """The backend's name."""
    tokenizer_class(request.param)
    return request.param


@pytest.fixture(scope="session")
def Tokenizer(backend):
    """The tokenizer class of one backend."""
    return tokenizer_class(backend)


@pytest.fixture
def bp(tmp_path, monkeypatch):
    """Runs a command in this process, in an empty folder; a `str` on stdin is UTF-8."""
    testing = pytest.importorskip("typer.testing")
    from bpeline.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, stdin=b""):
        return testing.CliRunner().invoke(app, list(map(str, arguments)), input=stdin, prog_name="bpeline")

    return run


@pytest.fixture(scope="session")
def gpt2(Tokenizer):
    """GPT-2 on one backend."""
    return Tokenizer.load("gpt2")


@pytest.fixture(scope="session")
def native():
    """The native tokenizer class."""
    return tokenizer_class("native")


@pytest.fixture(scope="session")
def both():
    """The native and the reference tokenizer class."""
    return tokenizer_class("native"), tokenizer_class("reference")
