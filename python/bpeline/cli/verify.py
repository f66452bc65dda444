"""`bpeline verify`: is an output whole, and what its inputs give?"""

from typing import TYPE_CHECKING, Annotated

import typer

from bpeline.cli import options
from bpeline.cli.failure import Failure
from bpeline.cli.report import Report, Step, number, size

if TYPE_CHECKING:
    from bpeline.corpus.verify import Stage

OutArgument = Annotated[str, typer.Argument(metavar="OUT", help="A folder that `bpeline tokenize` has written.")]


def verify(
    out: OutArgument,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT",
            help="What it was made of; may be repeated.  (default: the inputs as recorded, if they have not changed)",
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Documents, evenly spread, to compare with the input; 0: none.")
    ] = 1000,
    all: Annotated[bool, typer.Option("--all", help="Compare every document.")] = False,
    encoding: options.EncodingOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Check the output of `bpeline tokenize`: files, ids, and documents against the input.

    A line a fault on standard output, with the file and the place; the exit code is 1 if there is one, or if the job is not finished.

    Example: bpeline verify tokens/
    """
    from bpeline.corpus.verify import verify_corpus

    report, checking = Report(quiet), Checking()
    inputs = against or (None if sample or all else [])
    try:
        with report.progress("", 0, step=checking):
            found = verify_corpus(out, inputs, encoding=encoding, sample=sample, all=all, progress=checking.update)
    except ImportError as error:
        raise Failure(str(error)) from error
    for fault in found.faults:
        print(fault)
    for stage, words in found.checked.items():
        report.line(stage, words)
    if not found.finished:
        report.line("job", "the job is not finished: the same `bpeline tokenize` goes on with it")
    done = "" if found.finished else " in what is done"
    report.line("result", (number(len(found.faults), "fault") if found.faults else "no fault") + done)
    if not found.ok:
        raise typer.Exit(1)


class Checking(Step):
    """How far the check is."""

    def __init__(self) -> None:
        super().__init__("checking", 0)

    def update(self, stage: "Stage") -> None:
        """Take what the check says."""
        self.name, self.done, self.total = stage.name, stage.done, stage.total

    def __str__(self) -> str:
        return f"{self.verb} {self.name}: {size(self.done)} of {size(self.total)}"
