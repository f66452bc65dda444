"""The typer app, and the one place where an exception becomes a line on stderr and an exit code.

0 done, 1 bad input, 2 wrong usage, 130 interrupted (Ctrl-C), 141 the reader of our output has gone (`| head`; nothing
is printed), 143 terminated. Files named by `-o` are whole or absent in every case.
"""

import io
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import bpeline
from bpeline.cli.compare_vocab import compare_vocab
from bpeline.cli.count import count
from bpeline.cli.decode import decode
from bpeline.cli.encode import encode
from bpeline.cli.failure import Failure, complain
from bpeline.cli.info import info
from bpeline.cli.inspect import inspect
from bpeline.cli.show import show
from bpeline.cli.tokenize import tokenize
from bpeline.cli.train import train
from bpeline.cli.verify import verify


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn what is raised inside into one readable line. What is not listed here is a bug and keeps its traceback."""
    try:
        yield
        sys.stdout.flush()
        return
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        drop_stdout()
        raise typer.Exit(141) from None
    except (Failure, bpeline.BpelineError) as error:
        complain(error)
    except OSError as error:
        drop_stdout()
        is_write = error.errno is not None and error.filename is None
        complain(Failure.of(error, "standard output" if is_write else error.filename))
    except MemoryError:
        complain("not enough memory")
    raise typer.Exit(1)


def drop_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush cannot fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(TyperGroup):
    """The group of all commands."""

    def invoke(self, ctx: Any) -> Any:
        with exit_codes():
            return super().invoke(ctx)


def version(asked: bool) -> None:
    """Print the version if asked."""
    if asked:
        with exit_codes():
            print(f"bpeline {bpeline.__version__} ({bpeline.backend()} backend, Python {platform.python_version()})")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="bpeline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (tokenize, verify, inspect, encode, decode, count, show, info, train, compare_vocab):
    app.command()(command)


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Text to token ids and back: byte-level BPE, exactly as GPT-2 does it.

    Example: bpeline encode book.txt -o ids.npy
    """


def terminated(*_: object) -> None:
    """Unwind, so that no half-written file stays. A second signal ends the process as it is."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(143)


def run() -> None:
    """Run the command line of this process."""
    signal.signal(signal.SIGTERM, terminated)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files and tokens can always be printed
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")
    app(prog_name="bpeline")
