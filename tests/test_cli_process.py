"""The command line as a process: `python -m bpeline`, pipes, signals, missing extras."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("typer")

ENVIRONMENT = os.environ | {"PYTHONWARNINGS": "ignore", "COLUMNS": "200"}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def bp(*arguments, **options):
    command = [sys.executable, "-m", "bpeline", *map(str, arguments)]
    return subprocess.run(command, capture_output="stdout" not in options, env=ENVIRONMENT, **options)


def test_python_m_bpeline(tmp_path):
    done = bp("encode", "-q", input=b"Hello, world\n")
    assert (done.stdout, done.stderr, done.returncode) == (b"15496 11 995 198\n", b"", 0)


def test_pipe_there_and_back():
    text = "naïve 漢字\r\n".encode()
    ids = bp("encode", "-q", input=text).stdout
    assert bp("decode", input=ids).stdout == text


def test_a_file_name_that_is_not_utf8(tmp_path):
    name = os.fsdecode(b"caf\xe9.txt")
    try:
        (tmp_path / name).write_bytes(b"a")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    done = bp("count", name, cwd=tmp_path)
    assert done.stdout == b"1\t1\t1\t1.0\tcaf\xe9.txt\n" and done.returncode == 0
    absent = bp("count", os.fsdecode(b"\xe9"), cwd=tmp_path)
    assert absent.returncode == 1 and absent.stderr.count(b"\n") == 1


def test_a_terminal_that_is_not_utf8():
    done = subprocess.run(
        [sys.executable, "-m", "bpeline", "show", "é漢a"],
        env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.stdout.splitlines()[0] == b'"\\xe9" 2634' and done.returncode == 0


@posix
def test_a_closed_pipe_is_quiet(tmp_path):
    (tmp_path / "long.txt").write_text("a b c " * 40_000)
    command = [sys.executable, "-m", "bpeline", "encode", "-q", str(tmp_path / "long.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout.read(10) == b"64 275 269"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["encode", "-q"], ["decode"], ["count"], ["show", "8"], ["info"], ["--version"]])
def test_a_full_disk_behind_stdout(arguments):
    with open("/dev/full", "wb") as full:
        done = bp(*arguments, stdout=full, stderr=subprocess.PIPE, input=b"8")
    assert (done.stderr, done.returncode) == (b"bpeline: standard output: No space left on device\n", 1)


@posix
@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [(signal.SIGINT, 130, b"bpeline: interrupted\n"), (signal.SIGTERM, 143, b"")],
)
def test_signals_leave_no_file(tmp_path, sent, code, message):
    process = subprocess.Popen(
        [sys.executable, "-m", "bpeline", "encode", "-o", "ids.npy"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    with process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]  # it waits for its standard input
        process.send_signal(sent)
        assert process.wait(timeout=30) == code
        assert process.stderr.read() == message
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_second_sigterm_prints_nothing(tmp_path):
    """The first unwinds, and the interpreter waits for its threads then."""
    code = "import bpeline.cli.app as app, os, signal; signal.signal(signal.SIGTERM, app.terminated)\n"
    code += "try: os.kill(os.getpid(), signal.SIGTERM)\nexcept SystemExit: os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")


@posix
def test_a_job_outlives_who_watched_it(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.txt").write_text("hello")
    command = [sys.executable, "-m", "bpeline", "tokenize", str(tmp_path / "a.txt"), "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        process.stderr.close()
    assert process.returncode == 0 and (tmp_path / "out/train.bin").read_bytes() == b"\x8d\x7a\x50\xc4"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from bpeline.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    line = f"bpeline: the command line needs {missing}, which is not installed"
    assert done.stderr == f"{line}: python -m pip install typer rich\n"
    assert (done.stdout, done.returncode) == ("", 2)


def test_import_bpeline_needs_no_extra():
    code = "import sys, bpeline; print({'typer', 'rich', 'click'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("arguments", [["encode", "x.txt", "-o", "x.txt"], ["decode", "x.txt", "-o", "./x.txt"]])
def test_an_output_that_is_the_input_is_refused(tmp_path, arguments):
    (tmp_path / "x.txt").write_text("8 9")
    done = bp(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        f"bpeline: {arguments[3]}: is the input, which the output would replace\n".encode(),
    )
    assert (tmp_path / "x.txt").read_text() == "8 9"


@posix
@pytest.mark.parametrize(("closed", "name"), [("<&-", "standard input"), (">&-", "standard output")])
def test_a_closed_stream(closed, name):
    command = f'"{sys.executable}" -m bpeline count {closed}'
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, f"bpeline: {name} is closed\n".encode())


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
{use}
"""


def test_interrupted_while_modules_are_loaded():
    code = INTERRUPTED.format(name="bpeline.cli.app", use="import bpeline.cli; bpeline.cli.main()")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (ran.returncode, ran.stderr) == (130, b"bpeline: interrupted\n")


def test_interrupted_while_numpy_is_loaded():
    """That is at the first array; the crate through which the native module makes it would panic."""
    use = "import bpeline; bpeline.load('gpt2').encode_array('hello')"
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED.format(name="numpy", use=use)], capture_output=True)
    assert ran.stderr.endswith(b"KeyboardInterrupt\n") and b"panicked" not in ran.stderr
