"""`bpeline tokenize`: a corpus to the files that a trainer reads."""

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bpeline.cli import options
from bpeline.cli.failure import Failure
from bpeline.cli.report import Report, Step, number, size

if TYPE_CHECKING:
    from bpeline.corpus.job import Progress, Result
    from bpeline.corpus.plan import Plan
    from bpeline.corpus.tokenize import Prepared

Format = Literal["nanogpt", "llmc", "megatron", "datatrove", "npy", "parquet", "arrow"]
Kind = Literal["text", "lines", "jsonl", "json", "parquet", "arrow", "csv"]


def tokenize(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, globs or URLs: text, JSON lines and arrays, Parquet, Arrow, CSV, also compressed; `-`: standard input.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The folder to write to.")],
    format: Annotated[Format, typer.Option("--format", "-f", help="What reads the output.")] = "nanogpt",
    encoding: options.EncodingOption = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="The field or column that holds the text.")] = "text",
    separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What stands between two documents of a text file.  (default: a file is a document)"
        ),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="What all inputs are, whatever their names; `lines`: text, each line a document.  (default: by suffix)"
        ),
    ] = None,
    eot: Annotated[
        Literal["append", "prepend", "none"] | None,
        typer.Option(help="Where end-of-text goes.  (default: where the format wants it)"),
    ] = None,
    eot_token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="The token that is end-of-text.  (default: <|endoftext|>)")
    ] = None,
    special: options.SpecialOption = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the names of files begin with.")] = "corpus",
    shard_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens in a file, for formats of several.")
    ] = None,
    val_fraction: Annotated[
        float, typer.Option(metavar="F", help="The share of the documents, chosen by a hash, that is for validation.")
    ] = 0.0,
    shuffle_seed: Annotated[
        int | None, typer.Option(metavar="S", help="Put the documents into a random order, that of this seed.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that goes along, in tables; may be repeated.")
    ] = None,
    dtype: Annotated[
        Literal["auto", "u16", "u32"], typer.Option(help="The type of the ids; auto: the narrowest that fits.")
    ] = "auto",
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="A document that cannot be read: stop, or leave it out and list it.")
    ] = "stop",
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite/--resume", help="Replace an earlier output, or go on with a job that was not finished."
        ),
    ] = False,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="What reads and encodes: this machine, or a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The Ray cluster.  (default: that of RAY_ADDRESS, or a new one here)"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and an estimate; write nothing.")] = False,
    threads: options.ThreadsOption = None,
    quiet: options.QuietOption = False,
) -> None:
    """Tokenize a corpus into the files that a trainer reads.

    A job that was killed goes on where it was when the same command is given again, and comes to the same bytes.

    Example: bpeline tokenize data/ -o tokens/
    """
    from bpeline.corpus.tokenize import encoder_of, prepare

    try:
        job = prepare(
            inputs,
            output,
            column=column,
            separator=separator,
            kind=kind,
            keep=keep or (),
            on_error=on_error,
            encoding=encoding or "gpt2",
            format=format,
            eot=eot,
            eot_token=eot_token,
            special=special or "text",
            name=name,
            shard_tokens=shard_tokens,
            val_fraction=val_fraction,
            shuffle_seed=shuffle_seed,
            dtype=dtype,
        )
        encode = encoder_of(engine, address, threads)
    except ImportError as error:
        raise Failure(str(error)) from error
    report = Report(quiet)
    describe(report, job, output)
    if dry_run:
        show_estimate(report, job, threads)
        return
    from bpeline.corpus.job import run

    step = Tokenizing(sum(source.size or 0 for source in job.plan.sources))
    with report.progress("", 0, step=step):
        result = run(
            job.plan,
            job.out,
            job.read,
            job.version,
            threads=threads,
            overwrite=overwrite,
            progress=step.update,
            encode=encode,
        )
    summarize(report, job.plan, result, output)


class Tokenizing(Step):
    """How far the job is, in words."""

    def __init__(self, total: int) -> None:
        super().__init__("tokenizing", total)
        self.now: Progress | None = None
        self.first: Progress | None = None

    def update(self, progress: "Progress") -> None:
        """Take what the job says."""
        self.first = self.first or progress
        self.now, self.done, self.name = progress, min(progress.size, self.total or progress.size), progress.source

    def __str__(self) -> str:
        now, first = self.now, self.first
        if now is None or first is None:
            return f"{self.verb} ({size(self.total)})"
        done = f"{size(self.done)} of {size(self.total)}" if self.total else size(now.size)
        seconds = now.seconds - first.seconds
        rest = ""
        if seconds > 0:
            rest = f", {(now.text_bytes - first.text_bytes) / 1e6 / seconds:,.1f} MB/s"
            pace = (now.size - first.size) / seconds
            if self.total and pace > 0:
                rest += f", {duration((self.total - self.done) / pace)} left"
        return f"{done}, {number(now.documents, 'document')}, {number(now.tokens, 'token')}{rest}"


def describe(report: Report, job: "Prepared", output: str) -> None:
    """What the job takes, and what it makes of it."""
    plan = job.plan
    kinds = Counter(source.kind for source in plan.sources)
    each = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    known = [source.size for source in plan.sources if source.size is not None]
    total = f", {size(sum(known))}" if len(known) == len(plan.sources) else ""
    report.line("input", f"{number(len(plan.sources), 'file')} ({each}){total}")
    report.line("documents", documents_of(plan, set(kinds)))
    for problem in job.left_out[:3]:
        report.line("left out", str(problem))
    if len(job.left_out) > 3:
        report.line("", f"and {number(len(job.left_out) - 3, 'file')} more")
    where = {"append": "after", "prepend": "before"}.get(plan.eot)
    token = plan.tokenizer.id_to_token(plan.eot_id) if plan.eot_id is not None else None
    eot = f"{token} ({plan.eot_id}) {where} each document" if where else "no end-of-text"
    if where and not plan.eot_if_empty:
        eot += " that is not empty"
    report.line("encoding", f"{plan.tokenizer.name}, {eot}, special tokens in texts: {plan.special}")
    shards = f", files of {number(plan.shard_tokens, 'token')}" if plan.shard_tokens else ""
    split = f", {plan.val_fraction:.3%} of the documents for validation" if plan.val_fraction else ""
    order = f", in the random order of seed {plan.shuffle_seed}" if plan.shuffle_seed is not None else ""
    report.line("output", f"{output}: {plan.format}, {plan.dtype.name}{shards}{split}{order}")


def documents_of(plan: "Plan", kinds: set[str]) -> str:
    """What a document is, in words."""
    options, words = plan.sources[0].options, []
    if "text" in kinds:
        words.append(f"texts between {options.separator!r}" if options.separator else "each text file")
    if "lines" in kinds:
        words.append("each line")
    if kinds - {"text", "lines"}:
        words.append(f"{options.column!r} of each row")
    return ", ".join(words)


def show_estimate(report: Report, job: "Prepared", threads: int | None) -> None:
    """What the job would come to."""
    from bpeline.corpus.estimate import estimate

    found = estimate(job.plan, job.read, threads)
    if found is None:
        report.line("estimate", "none: the size of the input is not known")
        return
    about = "" if found.is_exact else "about "
    report.line("estimate", f"{about}{number(found.documents, 'document')}, {number(found.tokens, 'token')}")
    report.line("", f"about {size(found.tokens * job.plan.dtype.itemsize)} of ids, {duration(found.seconds)}")


def summarize(report: Report, plan: "Plan", result: "Result", output: str) -> None:
    """What came of it, and what to do next."""
    manifest, seconds = result.manifest, max(result.seconds, 1e-9)
    ratio = f" ({manifest.text_bytes / result.tokens:.2f} bytes a token)" if result.tokens else ""
    report.line("text", f"{number(result.documents, 'document')}, {size(manifest.text_bytes)}")
    report.line("tokens", f"{result.tokens:,}{ratio}")
    if result.text_bytes:
        report.line("speed", f"{result.text_bytes / 1e6 / seconds:,.1f} MB/s ({seconds:.1f} s)")
    if result.skipped:
        report.line("skipped", f"{result.skipped:,}, listed in {Path(output) / 'skipped.jsonl'}")
    files = result.files
    for path in files[:4]:
        report.line("file" if path is files[0] else "", f"{path} ({size(path.stat().st_size)})")
    if len(files) > 4:
        report.line("", f"and {number(len(files) - 4, 'file')} more")
    if not result.text_bytes and manifest.text_bytes:
        report.line("note", "all of it was done before, so nothing was to do")
    elif result.text_bytes < manifest.text_bytes:
        report.line(
            "note", f"went on from an earlier run, which did {size(manifest.text_bytes - result.text_bytes)} of it"
        )
    if not result.documents:
        report.line("note", "the input holds no documents")
    if plan.format == "nanogpt" and not plan.val_fraction:
        report.line("note", "nanoGPT reads val.bin too: --val-fraction 0.001 makes it")
    report.line("next", f"bpeline verify {shlex.quote(output)}")


def duration(seconds: float) -> str:
    """A time, as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
