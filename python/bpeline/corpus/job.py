"""A job: documents are read, encoded and written, each in threads of its own, from where the manifest says on.

    reader ── Documents ──> encoders, a batch each ── Run, in order ──> writer

At most a few batches wait between two of them, so memory is a few batches whatever the size of the corpus. An error anywhere ends all
three; what the manifest says is done stays so.
"""

import itertools
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from .. import errors
from . import shuffle
from .documents import Documents, Place, Source
from .encoder import Begun, Encoder, Run
from .folder import Folder
from .formats import FORMATS, Names
from .manifest import Manifest, is_own
from .overlap import Behind, mapped
from .plan import Plan, differences, is_gone
from .spool import is_part
from .writer import SKIPPED, Writer

Read: TypeAlias = Callable[[Source, Place | None], Iterator[Documents]]
Encode: TypeAlias = Callable[[Plan, dict[str, Any] | None], Generator[Run]]
"""Makes the runs of a plan from where an earlier job was (`Run.after`): on this machine (`encoded`), or on others."""
DEPTH = 6
"""Batches, of 2 MB as a rule: so many milliseconds that one of the threads may be held up and the others are not."""
WORKERS = 4
"""Batches that are encoded at once, at most. Threads that share one wait for each other at its end; at that of a job, or where
reading is slow, it is quicker all the same."""


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    size: int
    """Bytes of the input that have been read, as stored there."""
    total_size: int | None
    """Of how many; None if that cannot be known."""
    documents: int
    tokens: int
    text_bytes: int
    """Bytes of the text in UTF-8."""
    seconds: float
    """Since this run of the job began."""
    source: str
    """The file that is read."""
    skipped: int = 0


@dataclass(frozen=True)
class Result:
    """What a job has come to. The numbers are those of the whole output, whoever made it."""

    out: Path
    manifest: Manifest
    seconds: float
    text_bytes: int
    """Bytes of text that this run of the job encoded: less than those of the output if the job went on from an earlier one."""

    @property
    def documents(self) -> int:
        """Documents of the output."""
        return self.manifest.documents

    @property
    def tokens(self) -> int:
        """Tokens of the output, with end-of-text."""
        return self.manifest.tokens

    @property
    def skipped(self) -> int:
        """Documents and files that were left out."""
        return self.manifest.skipped

    @property
    def files(self) -> list[Path]:
        """The files of the output, without the manifest."""
        return [self.out / name for shard in self.manifest.shards for name in shard.files]


def run(
    plan: Plan,
    out: Path,
    read: Read,
    version: str,
    *,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    encode: Encode | None = None,
) -> Result:
    """Do what the plan says, or what of it is not done."""
    encode = encode or (lambda plan, after: encoded(plan, after, read, threads))
    began = time.monotonic()
    with Folder(out) as folder:
        manifest = begin(folder, plan, version, overwrite)
        before = manifest.text_bytes
        if not manifest.finished:
            writer = Writer(folder, plan, manifest)
            try:
                drive = _Drive(plan, writer, began, progress)
                if plan.shuffle_seed is None:
                    _tokenize(plan, drive, encode, (manifest.resume or {}).get("after"))
                else:
                    ordered = shuffle.first_pass(plan), out / shuffle.FOLDER, read, version
                    _shuffle(folder, plan, drive, manifest, run(*ordered, progress=progress, encode=encode))
                writer.finish()
                tidy(folder)
            finally:
                writer.close()
        return Result(out, manifest, time.monotonic() - began, manifest.text_bytes - before)


def begin(folder: Folder, plan: Plan, version: str, overwrite: bool) -> Manifest:
    """The manifest of a new job, or of the one in the folder if it is the same."""
    old = Manifest.read(folder.path)
    asked = plan.to_json()
    if old is None:
        foreign = [name for name in folder.files() if not is_own(name)]
        if foreign:
            raise errors.CorpusError(
                f"{folder.path}: holds {foreign[0]} and no manifest.json, so it is no output of bpeline; choose another folder"
            )
        return _new(folder, asked, version)
    skips = skips_from_now(old.plan, asked)
    found = [] if overwrite or skips else differences(old.plan, asked)
    if not found and old.version != version and not old.finished:
        found = [f"bpeline was {old.version}, is {version}"]
    gives_way = found and not any(map(is_gone, found)) and not has_begun(folder.path)
    if overwrite or gives_way:
        clear(folder, old)
        return _new(folder, asked, version)
    if found:
        raise errors.CorpusError(f"{folder.path}: {_refusal(old, found)}")
    check_files(folder, old)
    if skips:
        old.plan = asked
        old.write(folder)
    if old.finished:
        tidy(folder)
    return old


def skips_from_now(old: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Whether a job differs only in that it does not stop at what cannot be used.

    What was written before the first such document, it would have written too; all, if there was none.
    """
    read = old["read"] | {"on_error": "skip"}
    return bool(old["read"] != read and not differences(old | {"read": read}, asked))


def _new(folder: Folder, plan: dict[str, Any], version: str) -> Manifest:
    manifest = Manifest(plan, version)
    manifest.write(folder)
    return manifest


def _refusal(old: Manifest, found: list[str]) -> str:
    """Why a job does not go on with what an earlier one did."""
    told = "; ".join(found[:3])
    if not old.finished and all(map(is_gone, found)):
        return (
            f"holds the output of a job that is not finished ({told}); bring it back, and the same command goes on, or "
            "--overwrite starts anew"
        )
    state = "" if old.finished else ", which is not finished"
    return f"holds the output of another job{state} ({told}); --overwrite replaces it"


def has_begun(path: Path) -> bool:
    """Whether the manifest of a folder counts anything that would be lost."""
    manifest = Manifest.read(path)
    return manifest is not None and (
        manifest.finished or bool(manifest.shards) or manifest.resume is not None or has_begun(path / shuffle.FOLDER)
    )


def tidy(folder: Folder) -> None:
    """Remove what nobody needs once a job is done; one that was killed at its very end has not come to it."""
    folder.remove(filter(is_part, folder.files()))
    shutil.rmtree(folder.path / shuffle.FOLDER, ignore_errors=True)


def check_files(folder: Folder, manifest: Manifest) -> None:
    """Whether all files that are listed are there, with their sizes."""
    for shard in manifest.shards:
        for name, facts in shard.files.items():
            path = folder.path / name
            size = path.stat().st_size if path.exists() else None
            if size != facts["bytes"]:
                state = "is gone" if size is None else f"has {size} bytes, expected {facts['bytes']}"
                raise errors.CorpusError(f"{path}: {state}; --overwrite makes it anew")


def clear(folder: Folder, manifest: Manifest) -> None:
    """Remove what an earlier job has written; the manifest, which is not of a finished job any more, stays."""
    manifest.finished = False
    manifest.write(folder)
    folder.remove(manifest.names())
    plan = manifest.plan
    layout, names = FORMATS[plan["format"]], Names(plan["name"], plan["val_fraction"] > 0)
    for split in ("train", "val"):  # renamed, but not listed any more
        for number in itertools.count(sum(shard.split == split for shard in manifest.shards)):
            finals = [name for all in layout.finals(names, split, number).values() for name in all]
            there = [name for name in finals if (folder.path / name).exists()]
            folder.remove(there)
            if not there or layout.shard_tokens is None:
                break
    folder.remove([SKIPPED])
    tidy(folder)


class _Drive:
    """Hands runs to the writer, and tells how far it is."""

    def __init__(self, plan: Plan, writer: Writer, began: float, progress: Callable[[Progress], None] | None) -> None:
        self._plan, self._writer, self._began, self._progress = plan, writer, began, progress

    def __call__(self, runs: Iterator[Run], size: int, total: int | None) -> None:
        """All runs; `size` bytes of the input, of `total`, are done before the first."""
        manifest, progress = self._writer.manifest, self._progress
        documents, tokens = manifest.documents, manifest.tokens
        text_bytes, skipped = manifest.text_bytes, manifest.skipped
        fault = None
        with Behind[Run](self._writer.write, DEPTH) as behind:
            try:
                for run in runs:
                    behind.put(run)
                    size, documents, tokens = size + run.size, documents + len(run.ends), tokens + len(run)
                    text_bytes, skipped = text_bytes + run.text_bytes, skipped + len(run.problems)
                    if progress is not None:
                        url = "" if run.source is None else self._plan.sources[run.source].url
                        seconds = time.monotonic() - self._began
                        progress(Progress(size, total, documents, tokens, text_bytes, seconds, url, skipped))
            except errors.CorpusError as error:
                fault = error
        if fault is not None:
            if (
                manifest.resume is not None or manifest.shards
            ):  # what is lost otherwise is so little that another job may take its place
                self._writer.checkpoint()
            raise fault


def encoded(
    plan: Plan, after: dict[str, Any] | None, read: Read, threads: int | None, begin: int = 0, end: int | None = None
) -> Generator[Run]:
    """The runs of the files from `begin` to `end`, made here; of the first of them what an earlier job left (`after`)."""
    encoder = Encoder(plan, threads, after)
    if encoder.is_done:
        return
    start = encoder.start
    first = start.source if start else begin

    def batches() -> Iterator[Documents]:
        for source in plan.sources[first:end]:
            try:
                yield from read(source, start if start and source.number == first else None)
            except FileNotFoundError as error:
                raise errors.CorpusError(
                    f"{source.url}: is gone since the job was planned; bring it back, and the same command goes on"
                ) from error

    threads = threads or cores()
    workers = min(threads, WORKERS)
    share = -(-threads // workers)

    def encode(begun: Begun, waiting: int) -> Run:
        return begun.run(share if waiting >= workers else threads)

    yield from mapped(encode, encoder.all(batches()), workers, max(DEPTH, 2 * workers))


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tokenize(plan: Plan, drive: _Drive, encode: Encode, after: dict[str, Any] | None) -> None:
    """From the input to the writer."""
    sizes = [source.size for source in plan.sources]
    place = after["place"] if after else None
    done = sum(size or 0 for size in sizes[: place["source"]]) if place else 0
    runs = encode(plan, after)
    try:
        drive(runs, done, None if None in sizes else sum(size or 0 for size in sizes))
    finally:
        runs.close()


def _shuffle(folder: Folder, plan: Plan, drive: _Drive, manifest: Manifest, first_pass: Result) -> None:
    """From the output of the first pass to the writer, and what the first pass knows alone."""
    done = manifest.tokens * plan.dtype.itemsize
    runs = shuffle.second_pass(plan, first_pass.out, (manifest.resume or {}).get("after"))
    drive(runs, done, first_pass.tokens * plan.dtype.itemsize)
    manifest.text_bytes, manifest.skipped = first_pass.manifest.text_bytes, first_pass.skipped
    manifest.by_source = first_pass.manifest.by_source
    if (first_pass.out / SKIPPED).exists():  # else it was moved before a kill
        (first_pass.out / SKIPPED).replace(folder.path / SKIPPED)
