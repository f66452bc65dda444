"""Compares the documents of an output with its inputs, encoded once more.

All documents in the order of the input: two streams, token by token. A sample: the inputs are read as a whole, since only that tells which
document is the n-th, and the documents of the sample are encoded, and decoded too. All documents of a shuffled corpus: a sum for each thousandth
of the output, of a hash of each token, its place and its document, is the same whatever the order of summing, so that neither side has
to be held or sought in.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from . import inputs as files
from .documents import Documents, Source
from .encoder import Encoder, Run
from .opening import STDIN, stamp
from .output import Output, Stream
from .plan import Plan
from .readers import read
from .sample import Sample
from .shuffle import restored
from .stored import Fault
from .sums import Sums
from .writer import documents_of

if TYPE_CHECKING:
    from .tokenize import Inputs
    from .verify import Stage

Batches = Iterator[Documents]


def compare(
    output: Output,
    streams: list[Stream],
    against: "Inputs | None",
    sample: int,
    all: bool,
    checked: dict[str, str],
    tell: "Callable[[Stage], None]",
) -> Iterator[Fault]:
    """The faults; what was compared is put into `checked`."""
    sources = _sources(output, against, checked)
    if not sources:
        return
    seen = [[0, 0] for _ in sources]
    plan, total = output.plan_for(sources), sum(stream.documents for stream in streams)
    is_shuffled = plan.shuffle_seed is not None
    if not output.can_tell_documents and is_shuffled:
        checked["source"] = "not compared: nothing tells the documents apart, and they are shuffled"
        return
    everything = all or sample >= total or not output.can_tell_documents
    batches = _batches(sources, seen, tell)
    if not everything:
        faults, count = Sample(output, streams, plan, sample).compare(batches), min(sample, total)
    elif is_shuffled:
        faults, count = _shuffled(streams, plan, batches), total
    else:
        faults, count = _in_order(streams, plan, batches), total
    found = list(faults) or list(_by_source(output, sources, seen))
    checked["source"] = (
        f"{count:,} of {total:,} documents, encoded again from {len(sources):,} file{'s' * (len(sources) != 1)} of the input"
    )
    yield from found


def _sources(output: Output, against: "Inputs | None", checked: dict[str, str]) -> list[Source]:
    """The files to compare with; none, and why, where that cannot be done."""
    if against is not None:
        kinds = {source.kind for source in output.sources}
        kind = kinds.pop() if len(kinds) == 1 else None
        if not isinstance(against, str) and not hasattr(against, "__fspath__") and not list(against):
            checked["source"] = "not compared, as asked"
            return []
        options = output.sources[0].options if output.sources else None
        found = files.find(against, options, kind=kind)
        return [replace(source, number=number) for number, source in enumerate(found)]
    for source in output.sources:
        try:
            now = stamp(source.url)[1]
            reason = "has changed" if now != source.stamp else "" if now else "is a pipe"
            reason = "is standard input" if source.url == STDIN else reason
        except OSError:
            reason = "is not there"
        if reason:
            checked["source"] = f"not compared: {source.url} {reason}; --against names the input"
            return []
    if not output.sources:
        checked["source"] = "not compared: the input has no files"
    return output.sources


def _batches(sources: list[Source], seen: list[list[int]], tell: "Callable[[Stage], None]") -> Batches:
    """All documents; `seen` gets how many each file has, and their bytes."""
    from .verify import Stage

    total, done = sum(source.size or 0 for source in sources), 0
    for source in sources:
        for documents in read(source, None):
            texts = documents.texts
            if pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type):
                texts = texts.cast(pa.large_string())
            seen[source.number][0] += len(texts) - documents.open
            seen[source.number][1] += pc.sum(pc.binary_length(texts)).as_py() or 0
            yield replace(documents, texts=texts, kept=None)
            done += documents.size
            tell(Stage("source", done, total))


def _by_split(runs: Iterator[Run]) -> Iterator[tuple[str, NDArray[Any], NDArray[np.int64]]]:
    """Split, tokens, ends."""
    for run in runs:
        if run.in_val is None:
            yield "train", run.tokens, run.ends
            continue
        for split, is_in in (("train", ~run.in_val), ("val", run.in_val)):
            _, tokens, ends, _ = documents_of(run, is_in)
            yield split, tokens, ends


def _by_source(output: Output, sources: list[Source], seen: list[list[int]]) -> Iterator[Fault]:
    """Whether the manifest counts what the files have."""
    manifest, there = output.manifest, sum(text_bytes for _, text_bytes in seen)
    if manifest.text_bytes != there:
        yield Fault("manifest.json", f"counts {manifest.text_bytes:,} bytes of text, the source has {there:,}")
    if len(sources) != len(output.sources):
        return
    counted = [[row[0], row[2]] for row in manifest.by_source] + [[0, 0]] * (len(seen) - len(manifest.by_source))
    for source, found, expected in zip(sources, counted, seen, strict=True):
        if found != expected:
            words = " with ".join((f"{found[0]:,} documents", f"{found[1]:,} bytes"))
            yield Fault(
                "manifest.json", f"counts {words} of {source.url}, which has {expected[0]:,} with {expected[1]:,}"
            )


# --- All, in order ---


def _in_order(streams: list[Stream], plan: Plan, batches: Batches) -> Iterator[Fault]:
    cursors = {stream.split: _Cursor(stream) for stream in streams}
    for split, tokens, ends in _by_split(Encoder(plan, None, None).runs(batches)):
        yield from cursors[split].expect(tokens, ends)
    for cursor in cursors.values():
        yield from cursor.finish()


class _Cursor:
    """A place in a stream, up to which it is as expected."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.token, self.document, self.is_lost = stream, 0, 0, False
        self._blocks = stream.blocks()
        self._ids: list[NDArray[Any]] = []
        self._ends = self._wanted = np.zeros(0, np.int64)
        """Ends of documents that have not been compared: those that are there, those that the source gives."""
        self._compared, self._has_ends = 0, stream.tells_documents
        self._read = 0

    def expect(self, tokens: NDArray[Any], ends: NDArray[np.int64]) -> Iterator[Fault]:
        """Compare with what comes next."""
        if self.is_lost:
            return
        while self._read < self.token + len(tokens):
            block = next(self._blocks, None)
            if block is None:
                break
            self._ids.append(block.ids)
            self._ends = np.concatenate([self._ends, block.ends + self._read])
            self._read += len(block.ids)
        there = np.concatenate(self._ids) if self._ids else tokens[:0]
        found, self._ids = there[: len(tokens)], [there[len(tokens) :]]
        same = found == tokens[: len(found)]
        if not same.all() or len(found) < len(tokens):
            place = int(np.argmin(same)) if not same.all() else len(found)
            yield from self._differs(tokens, found, ends, place)
            return
        self._wanted = np.concatenate([self._wanted, ends + self.token])
        yield from self._compare_ends()
        self.token += len(tokens)
        self.document += len(ends)

    def finish(self) -> Iterator[Fault]:
        """What is left over."""
        if not self.is_lost and self.token != self.stream.tokens:
            file, at = self.stream.place(self.token)
            more = self.stream.tokens - self.token
            yield Fault(file, f"has {more:,} more tokens from token {at:,} on than the source gives")
        elif not self.is_lost and self.document != self.stream.documents:
            yield Fault(
                "manifest.json",
                f"counts {self.stream.documents:,} documents of {self.stream.split}, the source has {self.document:,}",
            )

    def _compare_ends(self) -> Iterator[Fault]:
        """As far as they are known on both sides: one of a document without tokens may come with the next block."""
        count = min(len(self._ends), len(self._wanted)) if self._has_ends else 0
        differs = self._ends[:count] != self._wanted[:count]
        if differs.any():
            bad = int(np.argmax(differs))
            file, at = self.stream.place(int(self._ends[bad]))
            wanted, number = at + int(self._wanted[bad] - self._ends[bad]), self._compared + bad
            self.is_lost = True
            message = (
                f"document {number:,} of {self.stream.split} ends at token {at:,}, expected {wanted:,} by the source"
            )
            yield Fault(file, message)
        self._ends, self._wanted = self._ends[count:], self._wanted[count if self._has_ends else len(self._wanted) :]
        self._compared += count

    def _differs(
        self, tokens: NDArray[Any], found: NDArray[Any], ends: NDArray[np.int64], place: int
    ) -> Iterator[Fault]:
        self.is_lost = True
        file, at = self.stream.place(self.token + place)
        number = self.document + int(np.searchsorted(ends, place, "right"))
        is_value = place < len(found)
        there = f"is {found[place]}" if is_value else "is missing"
        yield Fault(
            file,
            f"token {at:,}, of document {number:,} of {self.stream.split}, {there}, expected {tokens[place]} by the source",
        )


# --- All, in another order ---


def _shuffled(streams: list[Stream], plan: Plan, batches: Batches) -> Iterator[Fault]:
    sides = {stream.split: (Sums(stream.documents), Sums(stream.documents)) for stream in streams}
    for stream in streams:
        for block in stream.blocks():
            sides[stream.split][0].add(block.ids, block.ends, lambda numbers: numbers)
    for split, tokens, ends in _by_split(Encoder(plan, None, None).runs(batches)):
        sums, key = sides[split][1], f"{plan.shuffle_seed}:{plan.splits.index(split)}"
        sums.add(tokens, ends, lambda numbers, n=sums.count, key=key: restored(numbers, n, key))  # type: ignore[misc]
    for stream in streams:
        there, wanted = sides[stream.split]
        if wanted.seen != stream.documents:
            yield Fault(
                "manifest.json",
                f"counts {stream.documents:,} documents of {stream.split}, the source has {wanted.seen:,}",
            )
            continue
        for bucket in np.flatnonzero(there.sums != wanted.sums)[:3]:
            first, last = there.range_of(int(bucket))
            yield Fault(
                stream.place(0)[0],
                f"of the documents {first:,} to {last:,} of {stream.split} one at least is not that of the source",
            )
