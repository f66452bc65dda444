"""Compares the documents of an output with its inputs, encoded once more.

All documents in the order of the input: two streams, token by token. A sample: the inputs are read as a whole, since only that tells which
document is the n-th, and the documents of the sample are encoded, and decoded too. All documents of a shuffled corpus: a sum for each thousandth
of the output, of a hash of each token, its place and its document, is the same whatever the order of summing, so that neither side has
to be held or sought in.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import CorpusError
from . import encoder as encoding
from . import inputs as files
from .documents import Documents, Source
from .encoder import Encoder, Run
from .opening import has_changed
from .output import Output, Stream
from .plan import Plan
from .readers import read
from .shuffle import permuted, restored
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
        faults, count = _Sample(output, streams, plan, sample).compare(batches), min(sample, total)
    elif is_shuffled:
        faults, count = _shuffled(streams, plan, batches), total
    else:
        faults, count = _in_order(streams, plan, batches), total
    found = list(faults) or list(_by_source(output, sources, seen))
    checked["source"] = f"{count:,} of {total:,} documents, encoded again from {len(sources):,} files of the input"
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
            reason = "is standard input" if source.url == "-" else "has changed" if has_changed(source) else ""
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


# --- A sample ---


class _Sample:
    """Some documents, evenly spread: numbers in the order of the source, and where they are in the output."""

    def __init__(self, output: Output, streams: list[Stream], plan: Plan, count: int) -> None:
        self._output, self._plan = output, plan
        self._streams = {stream.split: stream for stream in streams}
        total = sum(stream.documents for stream in streams)
        self._chosen: dict[str, dict[int, int]] = {}
        """Of each split, numbers in the order of the source to numbers in the output."""
        self._spans: dict[tuple[str, int], tuple[int, int]] = {}
        for index, stream in enumerate(streams):
            some = -(-count * stream.documents // total)
            places = np.unique(np.linspace(0, max(stream.documents - 1, 0), some).astype(np.uint64))[: stream.documents]
            numbers = places
            if plan.shuffle_seed is not None:
                numbers = permuted(places, stream.documents, f"{plan.shuffle_seed}:{index}")
            self._chosen[stream.split] = dict(sorted(zip(numbers.tolist(), places.tolist(), strict=True)))
            self._find(stream, places.astype(np.int64))
        self._order: list[tuple[str, int, str]] = []
        """Split, number in the output, and source of the documents of the sample, in the order of the source."""
        self._counts = dict.fromkeys(self._streams, 0)

    def compare(self, batches: Batches) -> Iterator[Fault]:
        """The faults, one a document at most."""
        index = offset = 0
        is_bad = False
        for run in Encoder(self._plan, None, None).runs(self._picked(batches)):
            begin = 0
            for end in [*run.ends.tolist(), None]:
                tokens = run.tokens[begin:end]
                if end is None and not len(tokens):
                    break
                if not is_bad:
                    faults = list(self._document(index, offset, tokens, end is not None))
                    is_bad = bool(faults)
                    yield from faults
                offset, begin = offset + len(tokens), end or 0
                if end is not None:
                    index, offset, is_bad = index + 1, 0, False
        for split, count in self._counts.items():
            if count != self._streams[split].documents:
                yield Fault(
                    "manifest.json",
                    f"counts {self._streams[split].documents:,} documents of {split}, the source has {count:,}",
                )

    def _document(self, index: int, offset: int, tokens: NDArray[Any], is_end: bool) -> Iterator[Fault]:
        """Compare a part of a document, from a token on."""
        split, number, source = self._order[index]
        stream, (first, last) = self._streams[split], self._spans[split, number]
        length = len(tokens)
        there = stream.read(first + offset, min(first + offset + length, last))
        same = there == tokens[: len(there)]
        where = f"of document {number:,} of {split} ({source})"
        if not same.all() or len(there) < length:
            place = int(np.argmin(same)) if not same.all() else len(there)
            file, at = stream.place(first + offset + place)
            found = f"is {there[place]}" if place < len(there) else "is missing"
            yield Fault(file, f"token {at:,}, {where}, {found}, expected {tokens[place]} by the source")
        elif is_end and first + offset + length != last:
            file, at = stream.place(first + offset + length)
            yield Fault(file, f"token {at:,}, {where}, is one more than the source gives")
        elif is_end and offset == 0 and (text := self._texts.pop(index, None)) is not None:
            yield from self._decoded(there, text, stream.place(first), where)

    def _decoded(self, ids: NDArray[Any], text: bytes, place: tuple[str, int], where: str) -> Iterator[Fault]:
        plan, file = self._plan, place[0]
        if plan.eot == "append" and len(ids):
            ids = ids[:-1]
        elif plan.eot == "prepend":
            ids = ids[1:]
        found = plan.tokenizer.decode_bytes(ids)
        if found != text:
            at = next(
                (n for n, (a, b) in enumerate(zip(found, text, strict=False)) if a != b), min(len(found), len(text))
            )
            yield Fault(
                file,
                f"token {place[1]:,}, {where}: decodes to {found[at : at + 20]!r} at byte {at:,}, expected {text[at : at + 20]!r}",
            )

    def _find(self, stream: Stream, places: NDArray[np.int64]) -> None:
        """Where the documents of the sample are."""
        documents = tokens = begin = 0
        for block in stream.blocks():
            low, high = np.searchsorted(places, [documents, documents + len(block.ends)])
            for place in places[low:high]:
                end = tokens + int(block.ends[place - documents])
                first = begin if place == documents else tokens + int(block.ends[place - documents - 1])
                self._spans[stream.split, int(place)] = first, end
            documents += len(block.ends)
            if len(block.ends):
                begin = tokens + int(block.ends[-1])
            tokens += len(block.ids)

    def _picked(self, batches: Batches) -> Batches:
        """The batches with nothing in them but the documents of the sample."""
        self._texts: dict[int, bytes] = {}
        can_decode = self._plan.tokenizer.encoding.spec is None and self._plan.special != "parse"
        goes_on = is_in = False
        for documents in _long_enough(batches):
            texts = documents.texts
            mask = np.zeros(len(texts), bool)
            if goes_on and len(texts):
                mask[0] = is_in
            for number in range(int(goes_on), len(texts)):
                split = self._split(texts[number])
                place = self._chosen[split].get(self._counts[split])
                self._counts[split] += 1
                if place is not None:
                    mask[number] = True
                    whole = not (documents.open and number == len(texts) - 1)
                    if can_decode and whole:
                        self._texts[len(self._order)] = texts[number].as_buffer().to_pybytes()
                    self._order.append((split, place, self._plan.sources[documents.place.source].url))
            if len(texts):
                is_in = bool(mask[-1])
                goes_on = documents.open
            yield replace(documents, texts=texts.filter(pa.array(mask)), open=documents.open and is_in, problems=())

    def _split(self, text: Any) -> str:
        if not self._plan.val_fraction:
            return "train"
        start = text.as_buffer()[: encoding.HASHED]
        below = int.from_bytes(blake2b(start, digest_size=8).digest(), "little") < self._plan.val_below
        return "val" if below else "train"


def _long_enough(batches: Batches) -> Batches:
    """The same documents, such that the first part of each that comes in parts has the bytes that its split goes by."""
    held: Documents | None = None
    for documents in batches:
        if held is not None:
            joined = held.texts[-1].as_py() + documents.texts[0].as_py()
            texts = pa.concat_arrays(
                [_large(held.texts[:-1]), pa.array([joined], pa.large_string()), _large(documents.texts[1:])]
            )
            documents = replace(held, texts=texts, open=documents.open, size=held.size + documents.size)
            held = None
        if documents.open and len(documents.texts[-1].as_buffer()) < encoding.HASHED and documents.place.part == 0:
            held = documents
            continue
        yield documents
    if held is not None:
        raise CorpusError("the input ended within a document")


def _large(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.large_string())
