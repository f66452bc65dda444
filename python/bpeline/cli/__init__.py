"""The command line: one file per command, `app` puts them together. Needs the `cli` extra (typer and rich)."""

import sys


def main() -> None:
    """The entry point `bpeline`. Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted."""
    for name, stream in (("standard input", sys.stdin), ("standard output", sys.stdout)):
        if stream is None and sys.stderr is not None:
            print(f"bpeline: {name} is closed", file=sys.stderr)
        if stream is None:
            sys.exit(1)
    try:
        from bpeline.cli.app import run

        run()
    except KeyboardInterrupt:  # while modules are loaded; later `app` takes care of it
        print("bpeline: interrupted", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "bpeline").split(".")[0]
        if missing == "bpeline":
            raise
        remedy = "python -m pip install typer rich"
        print(f"bpeline: the command line needs {missing}, which is not installed: {remedy}", file=sys.stderr)
        sys.exit(2)
