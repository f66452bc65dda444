"""`bpeline.verify_corpus`: is the output of a job what its manifest says, and what its inputs give?

First the files: names, sizes, hashes, headers, indices. Then the ids: each in the vocabulary, end-of-text at the edges of documents and nowhere
else, as many documents and tokens as are counted. Then the inputs (`against.py`): documents are encoded once more and compared. Each
stage streams; what a stage finds damaged the next one leaves alone.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tokenizer import Methods
    from .output import Output, Stream
    from .stored import Fault
    from .tokenize import Inputs

SAMPLE = 1000


@dataclass
class Verified:
    """What was found."""

    out: Path
    finished: bool
    """Whether the job is done."""
    faults: "list[Fault]" = field(default_factory=list)
    checked: dict[str, str] = field(default_factory=dict)
    """What was checked, in words, by the stage: "files", "ids", "source"."""

    @property
    def ok(self) -> bool:
        """Whether the output is whole and without a fault."""
        return self.finished and not self.faults


@dataclass(frozen=True)
class Stage:
    """How far a check is: bytes of the output, or of the input, that are done."""

    name: str
    done: int
    total: int


def verify_corpus(
    out: str | os.PathLike[str],
    against: "Inputs | None" = None,
    *,
    encoding: "str | Methods | None" = None,
    sample: int = SAMPLE,
    all: bool = False,
    progress: Callable[[Stage], None] | None = None,
) -> Verified:
    """Check the output of `tokenize_corpus`: files, ids, and documents against the inputs.

    `against` names the inputs (as `tokenize_corpus` takes them); without it those of the manifest are used if they are still there and have
    not changed; an empty list compares nothing. `sample` documents, evenly spread, or with `all` each one, are encoded
    again; the result tells how many were. `encoding` is needed where the name in the manifest loads nothing here. A job that is not
    finished is checked as far as it has come; it is not `ok`.

    Raises `CorpusError` if `out` holds no manifest that can be read, the encoding is not the job's, or an input cannot be read. What is
    wrong with the output is no exception but a fault.

    >>> import pathlib, tempfile, bpeline
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("hello world")
    >>> _ = bpeline.tokenize_corpus(folder / "a.txt", folder / "tokens")
    >>> verify_corpus(folder / "tokens").ok
    True
    >>> _ = (folder / "tokens" / "train.bin").write_bytes(bytes(6))
    >>> found = verify_corpus(folder / "tokens")
    >>> print(found.faults[1])
    train.bin: has the ends of 0 documents, expected 1 by manifest.json
    """
    try:
        from . import against as sources
        from .output import Output
    except ModuleNotFoundError as error:
        raise ImportError(f"a corpus needs {error.name}: python -m pip install 'bpeline[corpus]'") from error
    output = Output(out, encoding)
    found = Verified(output.folder, output.manifest.finished)
    tell = progress or (lambda stage: None)
    damaged = _files(output, found, tell)
    streams = output.streams()
    _ids(output, streams, found, damaged, tell)
    if damaged:
        found.checked["source"] = "not compared: first the files must be whole"
    elif not found.finished:
        found.checked["source"] = "not compared: the job is not finished"
    else:
        found.faults += sources.compare(output, streams, against, sample, all, found.checked, tell)
    return found


def _files(output: "Output", found: Verified, tell: Callable[[Stage], None]) -> set[str]:
    """Names, sizes, hashes, headers and indices; the files whose ids cannot be read are returned."""
    from .stored import Fault

    manifest, damaged, done = output.manifest, set[str](), 0
    total = sum(facts["bytes"] for shard in manifest.shards for facts in shard.files.values())
    found.faults += [Fault("manifest.json", message) for message in _sums(output)]
    found.faults += [*_names(output), *_foreign(output), *_skipped(output), *_growing(output)]
    for shard in manifest.shards:
        stored, faults = output.stored(shard), list[Fault]()
        for name, facts in shard.files.items():
            path = output.folder / name
            if not path.is_file():
                faults.append(Fault(name, f"is missing, expected {facts['bytes']:,} bytes"))
            else:
                size, digest = _hashed(path, lambda size, done=done: tell(Stage("files", done + size, total)))  # type: ignore[misc]
                if size != facts["bytes"]:
                    faults.append(Fault(name, f"has {size:,} bytes, expected {facts['bytes']:,} by manifest.json"))
                if digest != facts["sha256"]:
                    message = f"its SHA-256 is {digest[:16]}..., expected {facts['sha256'][:16]}... by manifest.json"
                    faults.append(Fault(name, message))
            done += facts["bytes"]
        if all((output.folder / name).is_file() for name in stored.names.values()):
            inner = list(stored.faults())
            faults += inner
        if len(faults) and (not all((output.folder / name).is_file() for name in stored.names.values()) or inner):
            damaged.add(stored.main)
        found.faults += faults
    count = sum(len(shard.files) for shard in manifest.shards)
    which = f"{_counted(count, 'file')} of {_counted(len(manifest.shards), 'shard')}"
    found.checked["files"] = f"{which}: names, sizes, SHA-256, headers, indices"
    return damaged


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _hashed(path: Path, tell: Callable[[int], None]) -> tuple[int, str]:
    """The size of a file, and its SHA-256."""
    state, size = hashlib.sha256(), 0
    with open(path, "rb", buffering=0) as file:
        while some := file.read(1 << 22):
            state.update(some)
            size += len(some)
            tell(size)
    return size, state.hexdigest()


def _sums(output: "Output") -> Iterator[str]:
    """What is wrong with the numbers of the manifest, among themselves."""
    manifest = output.manifest
    if not manifest.finished:
        return
    for index, name in enumerate(
        ("documents", "tokens", "text_bytes") if output.sources else ()
    ):  # a Ray dataset has none
        by_source = sum(row[index] for row in manifest.by_source)
        if by_source != getattr(manifest, name):
            yield f"counts {getattr(manifest, name):,} {name}, and {by_source:,} of all inputs together"
    for name in ("documents", "tokens"):
        total, parts = getattr(manifest, name), sum(getattr(shard, name) for shard in manifest.shards)
        if total != parts:
            yield f"counts {total:,} {name}, and its shards have {parts:,}"
    vocab_size = output.asked["encoding"]["vocab_size"]
    if vocab_size != output.tokenizer.vocab_size:
        yield f"gives the encoding {vocab_size:,} ids, expected {output.tokenizer.vocab_size:,}"
    for stream in output.streams():
        before = [0, 0]
        for shard in (stored.shard for stored in stream.shards if stored.shard.first):
            first, last = shard.first or [], shard.last or []
            if not before <= first <= last or last[0] >= len(output.sources):
                yield f"says that {stream.split} shard {shard.number} has the documents from {first} to {last}, after {before}"
            before = last


def _names(output: "Output") -> "Iterator[Fault]":
    """Whether the shards are numbered one by one and have the files that the format gives them."""
    from .stored import Fault

    layout, names = output.layout, output.names
    for stream in output.streams():
        for number, stored in enumerate(stream.shards):
            shard = stored.shard
            if shard.number != number:
                yield Fault(
                    "manifest.json", f"has no {stream.split} shard {number}, and one of the number {shard.number}"
                )
                break
            finals = layout.finals(names, stream.split, number)
            if len(shard.files) != len(finals) or set(shard.files) - {
                name for some in finals.values() for name in some
            }:
                wanted = ", ".join(" or ".join(some) for some in finals.values())
                yield Fault(
                    "manifest.json",
                    f"lists {', '.join(shard.files)} for {stream.split} shard {number}, expected {wanted}",
                )
        if output.manifest.finished and not stream.shards:
            yield Fault("manifest.json", f"lists no {stream.split} shard")


def _foreign(output: "Output") -> "Iterator[Fault]":
    """Files that no job has written, or that another has; but for a page of `inspect`, which no reader takes for data."""
    from .shuffle import FOLDER
    from .spool import is_part
    from .stored import Fault
    from .writer import SKIPPED

    manifest = output.manifest
    own = {"manifest.json", *manifest.names(), *([SKIPPED] if manifest.skipped else [])}
    for name in sorted(os.listdir(output.folder)):
        if name in own or name.endswith(".html") or (not manifest.finished and (is_part(name) or name == FOLDER)):
            continue
        yield Fault(name, "is not listed in manifest.json, so it is not of this output")


def _skipped(output: "Output") -> "Iterator[Fault]":
    from .stored import Fault
    from .writer import SKIPPED

    if output.manifest.skipped and output.manifest.finished:
        try:
            with open(output.folder / SKIPPED, "rb") as file:
                lines = sum(1 for _ in file)
        except FileNotFoundError:
            yield Fault(SKIPPED, f"is missing, expected {output.manifest.skipped:,} lines")
            return
        if lines != output.manifest.skipped:
            yield Fault(SKIPPED, f"has {lines:,} lines, expected {output.manifest.skipped:,} by manifest.json")


def _growing(output: "Output") -> "Iterator[Fault]":
    """Whether the files of shards that grow are there, as far as the manifest counts them."""
    from .folder import PART
    from .stored import Fault

    for split, state in ((output.manifest.resume or {}).get("splits") or {}).items():
        for spool in state["open"]:
            finals = output.layout.finals(output.names, split, spool["number"])
            for kind, length in spool["files"].items():
                part = f"{split}_{spool['number']:06d}.{kind}{PART}"
                there = [path for name in (part, *finals.get(kind, ())) if (path := output.folder / name).is_file()]
                size = there[0].stat().st_size if there else 0
                if size < length:
                    yield Fault(part, f"has {size:,} bytes, expected {length:,} at least by manifest.json")


def _ids(
    output: "Output", streams: "list[Stream]", found: Verified, damaged: set[str], tell: Callable[[Stage], None]
) -> None:
    """Each id, and each edge of a document, of the shards that can be read."""
    from .ids import Checker

    checker, done = Checker(output), 0
    total = sum(stream.tokens for stream in streams) * output.facts.dtype.itemsize
    for stream in streams:
        whole = [stored.main not in damaged for stored in stream.shards]
        if output.layout.cuts_documents and not all(whole):  # what follows may begin within a document
            whole[whole.index(False) :] = [False] * (len(whole) - whole.index(False))
            stream.is_whole = False
        stream.shards = [stored for stored, is_whole in zip(stream.shards, whole, strict=True) if is_whole]
        for block in stream.blocks():
            found.faults += checker.block(stream, block)
            done += block.ids.nbytes
            tell(Stage("ids", done, total))
        found.faults += checker.finish(stream, is_whole=output.manifest.finished and not damaged)
    left_out = f"; not those of {', '.join(sorted(damaged))}" if damaged else ""
    words = "in the vocabulary"
    if output.asked["eot"]["rule"] != "none":
        words += ", end-of-text at each document"
    if not output.can_tell_documents:
        words += " not checked, as texts may hold it" if output.asked["eot"]["rule"] != "none" else ""
        words += "; documents not counted, as nothing tells them apart"
    found.checked["ids"] = (
        f"{_counted(checker.tokens, 'id')} of {_counted(checker.documents, 'document')}: {words}{left_out}"
    )
