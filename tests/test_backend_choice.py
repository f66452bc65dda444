"""Which backend a fresh interpreter gets, and that the choice is never silent."""

import os
import subprocess
import sys

import pytest

import bpeline
from tests.backends import TOKENIZERS

SHOW = (
    "import bpeline; print(bpeline.backend(), bpeline.load('gpt2').backend, bpeline.load('gpt2').encode('hello world'))"
)
BLOCK = "import sys; sys.modules['bpeline._native'] = None\n"


def run(script, *options, **env):
    path = os.pathsep.join(filter(None, sys.path))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("BPELINE_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *options, "-c", script],
        env={**inherited, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_reference_by_request():
    result = run(SHOW, "-W", "error", BPELINE_BACKEND="reference")
    assert (result.stdout, result.stderr) == ("reference reference [31373, 995]\n", "")


def test_native_by_request(native):
    result = run(SHOW, "-W", "error", BPELINE_BACKEND="native")
    assert (result.stdout, result.stderr) == ("native native [31373, 995]\n", "")


def test_native_unless_told_otherwise(native):
    result = run(SHOW, "-W", "error")
    assert (result.stdout, result.stderr) == ("native native [31373, 995]\n", "")


def test_empty_is_unset(native):
    result = run(SHOW, "-W", "error", BPELINE_BACKEND="")
    assert (result.stdout, result.stderr) == ("native native [31373, 995]\n", "")
    result = run(BLOCK + SHOW, BPELINE_BACKEND="")
    assert result.stdout == "reference reference [31373, 995]\n"
    assert "RuntimeWarning" in result.stderr


def test_without_native_the_reference_says_so():
    result = run(BLOCK + SHOW)
    assert result.stdout == "reference reference [31373, 995]\n"
    assert "RuntimeWarning" in result.stderr
    for help in ("Rust", "pip install --force-reinstall", "BPELINE_BACKEND=reference"):
        assert help in result.stderr
    assert result.stderr.count("RuntimeWarning") == 1


def test_without_native_a_request_silences():
    result = run(BLOCK + SHOW, BPELINE_BACKEND="reference")
    assert (result.stdout, result.stderr) == ("reference reference [31373, 995]\n", "")


def test_without_native_a_request_for_it_fails():
    result = run(BLOCK + SHOW, BPELINE_BACKEND="native")
    assert result.returncode == 1
    assert "ImportError" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("value", ["rust", "Native", "python"])
def test_other_values(value):
    result = run(SHOW, BPELINE_BACKEND=value)
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert all(name in message for name in ("native", "reference", value))


def test_this_process():
    assert bpeline.backend() in TOKENIZERS
    assert bpeline.load("gpt2").backend == bpeline.backend()


LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONWARNDEFAULTENCODING": "1"},
]
FILES = """
import sys, warnings, locale
from pathlib import Path
locale.getpreferredencoding = lambda do_setlocale=True: "cp1252"
from tests.backends import TOKENIZERS
from tests.small import vocab_text, write_pair
folder = Path(sys.argv[1]); (folder / "pair").mkdir()
tok = TOKENIZERS[sys.argv[2]].load(*write_pair(folder / "pair", vocab_text(["\\u0120a", "\\u010a\\u010a"]), "\\u0120 a\\n\\u010a \\u010a\\n"))
assert tok.encode("b a\\n\\n") == [65, 256, 257], tok.encode("b a\\n\\n")
words = tok.extend({"<|\\u6f22 \\u5b57|>": 259})
words.save(folder / "saved")
assert TOKENIZERS[sys.argv[2]].load(folder / "saved") == words
words.save(folder / "tik", format="tiktoken"); words.save(folder / "hf", format="tokenizer.json")
assert TOKENIZERS[sys.argv[2]].load("gpt2").encode("\\u6f22\\u5b57") == [162, 120, 95, 27764, 245]
print("equal")
"""


@pytest.mark.parametrize("env", LOCALES, ids=["C", "POSIX", "latin-1", "warned"])
def test_21_files_are_utf_8_in_every_locale(backend, tmp_path, env):
    script = f"import sys; sys.argv[1:] = [{str(tmp_path)!r}, {backend!r}]\n" + FILES
    options = ["-W", "error::EncodingWarning"] if "PYTHONWARNDEFAULTENCODING" in env else []
    result = run(script, *options, **env)
    assert result.stdout == "equal\n", result.stderr
