"""What a person reads on stderr while ids go elsewhere: progress, a line a file, a summary."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SOON, OFTEN, SELDOM = 0.4, 0.1, 10.0  # seconds: until a bar appears, between its updates, between plain lines


def size(count: int) -> str:
    """A number of bytes, as people say it; MB are millions."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if count >= 10**power:
            return f"{count / 10**power:.2f} {unit}"
    return number(count, "byte")


def number(count: int, noun: str) -> str:
    """`1 token`, `1,234 tokens`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


class Step:
    """How far a command is: what it works on, and the bytes that are done."""

    def __init__(self, verb: str, total: int) -> None:
        self.verb, self.total, self.name, self.done = verb, total, "", 0

    def __str__(self) -> str:
        done = f": {size(self.done)} of {size(self.total)} done" if self.done else f" ({size(self.total)})"
        return f"{self.verb} {self.name}{done if self.total else ''}"


class Report:
    """Writes to stderr, or nothing at all if quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    @cached_property
    def console(self) -> "Console":
        """Standard error. (Rich takes longer to import than many a command does its work.)"""
        from rich.console import Console

        class Stderr(Console):
            def on_broken_pipe(self) -> None:
                """Say nothing more: the work outlives who watched it."""
                self.quiet = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())

        return Stderr(stderr=True, quiet=self.quiet, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def line(self, label: str, text: "str | Text") -> None:
        """A label in bold, and what it labels."""
        from rich.text import Text

        self.console.print(Text.assemble((f"{label:<10}", "bold"), text))

    @contextmanager
    def progress(self, verb: str, total: int, hidden: bool = False, step: Step | None = None) -> Iterator[Step]:
        """A bar in a terminal, a line every ten seconds elsewhere; nothing for what is done at once."""
        step, ended = step or Step(verb, total), threading.Event()
        if self.quiet or hidden:
            yield step
            return
        thread = threading.Thread(target=self._watch, args=(step, ended), daemon=True)
        thread.start()
        try:
            yield step
        finally:
            ended.set()
            thread.join()

    def _watch(self, step: Step, ended: threading.Event) -> None:
        if not ended.wait(SOON):
            (self._bar if self.console.is_terminal else self._lines)(step, ended)

    def _bar(self, step: Step, ended: threading.Event) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
        with Progress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task("", total=step.total or None)
            while not ended.wait(OFTEN):  # one long document: nothing is known until it is done, the bar only moves
                bar.update(task, description=str(step), total=step.total if step.done else None, completed=step.done)

    def _lines(self, step: Step, ended: threading.Event) -> None:
        start = time.perf_counter()
        while not ended.wait(SELDOM):
            self.console.print(f"{step}, {time.perf_counter() - start:.0f} s")
