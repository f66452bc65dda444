"""The package as a whole: public names, version, typing, docstrings and their examples."""

import doctest
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import inspect
import os
import pkgutil
import subprocess
import sys
import tomllib

import pytest

import bpeline
from tests.small import HERE

PUBLIC = {
    *("load", "encodings", "backend", "Tokenizer", "TokenBatch", "ArrowTokens", "StreamDecoder", "__version__"),
    *("BpelineError", "ArrowError", "EncodingFileError", "InvalidTextError", "SpecialTokenError", "TokenIdError"),
}
HAS_PYARROW = importlib.util.find_spec("pyarrow") is not None
OPTIONAL = ("bpeline.cli", "bpeline.__main__", "bpeline._native", "bpeline.builtin", "bpeline.compat.transformers")
OPTIONAL += ("bpeline.integrations.ray",) if HAS_PYARROW else ("bpeline.corpus", "bpeline.integrations")
OPTIONAL += () if importlib.util.find_spec("matplotlib") else ("bpeline.corpus.plots", "bpeline.corpus.report")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(bpeline.__path__, "bpeline.")
    if not module.name.startswith(OPTIONAL)
)


def test_public_names():
    missing = {name for name in PUBLIC if not hasattr(bpeline, name)}
    assert missing == set()
    assert set(bpeline.__all__) >= PUBLIC
    assert all(hasattr(bpeline, name) for name in bpeline.__all__)


def test_errors():
    bases = {
        "ArrowError": ValueError,
        "EncodingFileError": ValueError,
        "InvalidTextError": ValueError,
        "SpecialTokenError": ValueError,
        "TokenIdError": IndexError,
    }
    for name, base in bases.items():
        error = getattr(bpeline, name)
        assert issubclass(error, bpeline.BpelineError)
        assert issubclass(error, base)
    assert issubclass(bpeline.BpelineError, Exception)


def test_version():
    cargo = HERE.parent / "Cargo.toml"
    with cargo.open("rb") as file:
        assert tomllib.load(file)["package"]["version"] == bpeline.__version__
    try:
        installed = importlib.metadata.version("bpeline")
    except importlib.metadata.PackageNotFoundError:
        return  # run from the source tree
    assert installed == bpeline.__version__


def test_types_are_shipped():
    folder = importlib.resources.files("bpeline")
    assert folder.joinpath("py.typed").is_file()
    assert folder.joinpath("_native.pyi").is_file()


def test_the_built_in_vocabularies_are_small():
    """Two ids of three bytes for each token; `tests/dist_check.py` looks at the wheel."""
    folder = importlib.resources.files("bpeline") / "builtin"
    sizes = {entry.name: entry.stat().st_size for entry in folder.iterdir() if entry.suffix == ".pairs"}
    tokens = {"gpt2": 50_000, "p50k_base": 24, "cl100k_base": 100_000, "o200k_base": 199_742}
    assert sizes == {f"{name}.pairs": 6 * count for name, count in tokens.items()}


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert module.__doc__
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(module):
        sources = "".join(example.source for example in test.examples)
        if "install()" in sources:  # in place of tiktoken, which other tests compare with
            run_alone(test)
        elif HAS_PYARROW or "import pyarrow" not in sources:
            runner.run(test)
    assert runner.summarize().failed == 0


ALONE = """
import doctest, importlib, sys
runner = doctest.DocTestRunner()
for test in doctest.DocTestFinder().find(importlib.import_module(sys.argv[1])):
    if test.name == sys.argv[2]:
        runner.run(test)
results = runner.summarize()
sys.exit(results.failed or not results.attempted)
"""


def run_alone(test):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", ALONE, test.globs["__name__"], test.name]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples():
    """The public classes and functions carry an example that was run above, or in the package's own docstring."""
    finder = doctest.DocTestFinder()
    modules = [bpeline, *map(importlib.import_module, MODULES)]
    attempted = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert attempted >= 10
    assert doctest.testmod(bpeline).failed == 0


def test_public_things_are_documented():
    for name in bpeline.__all__:
        if callable(getattr(bpeline, name)):
            assert inspect.getdoc(getattr(bpeline, name)), name
    for cls in (bpeline.Tokenizer, bpeline.TokenBatch, bpeline.ArrowTokens, bpeline.StreamDecoder):
        for name, member in inspect.getmembers(cls):
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{cls.__name__}.{name}"


def test_backends_have_one_interface(both):
    native, reference = both
    public = lambda cls: {name for name in dir(cls) if not name.startswith("_")}  # noqa: E731
    assert public(native) == public(reference)
    assert public(native._Encoding) == public(reference._Encoding)
    for name in public(native):
        ours, theirs = getattr(native, name), getattr(reference, name)
        if callable(ours) and not isinstance(ours, property):
            parameters = [
                [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values() if p.name != "self"]
                for method in (ours, theirs)
            ]
            assert parameters[0] == parameters[1], name


def test_importing_is_light():
    """The core needs numpy alone: none of the optional packages is imported with it."""
    heavy = [
        "typer",
        "rich",
        "tiktoken",
        "tokenizers",
        "regex",
        "IPython",
        "pyarrow",
        "polars",
        "torch",
        "ray",
        "pyspark",
    ]
    script = f"import sys, bpeline; bpeline.load('gpt2').encode('x'); print([n for n in {heavy} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
