"""Compares some documents of an output with its inputs.

The inputs are read as a whole, since only that tells which document is the n-th; the documents of the sample alone are encoded, and
decoded too.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import CorpusError
from . import encoder as encoding
from .documents import Documents
from .encoder import Encoder
from .output import Output, Stream
from .plan import Plan
from .shuffle import permuted
from .stored import Fault

Batches = Iterator[Documents]
HELD = 1 << 24
"""Tokens of the sample that are held: in a shuffled output the source asks for them here and there, and a table gives them by the group."""


class Sample:
    """Some documents, evenly spread: numbers in the order of the source, and where they are in the output."""

    def __init__(self, output: Output, streams: list[Stream], plan: Plan, count: int) -> None:
        self._output, self._plan = output, plan
        self._streams = {stream.split: stream for stream in streams}
        total = sum(stream.documents for stream in streams)
        self._chosen: dict[str, dict[int, int]] = {}
        """Of each split, numbers in the order of the source to numbers in the output."""
        self._spans: dict[tuple[str, int], tuple[int, int]] = {}
        self._held: dict[tuple[str, int], NDArray[Any]] = {}
        held = 0
        for index, stream in enumerate(streams):
            some = -(-count * stream.documents // total)
            places = np.unique(np.linspace(0, max(stream.documents - 1, 0), some).astype(np.uint64))[: stream.documents]
            numbers = places
            if plan.shuffle_seed is not None:
                numbers = permuted(places, stream.documents, f"{plan.shuffle_seed}:{index}")
            self._chosen[stream.split] = dict(sorted(zip(numbers.tolist(), places.tolist(), strict=True)))
            for place, begin, end in stream.spans(places.astype(np.int64)):
                self._spans[stream.split, place] = begin, end
                if plan.shuffle_seed is not None and held + end - begin <= HELD:
                    self._held[stream.split, place] = stream.read(begin, end)
                    held += end - begin
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
        held = self._held.get((split, number))
        if held is not None:
            there = held[offset : offset + length]
        else:
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
