"""Documents -> runs of ids: encoding, end-of-text, and large documents in parts.

A document that comes in parts is encoded up to the last place where it can be cut without changing an id
(`Core._safe_cut`); the rest waits for the next part. Whatever is written is whole in that sense, so a run says where a job goes on
after it: which batch is read again, and how much of it is done.

What depends on the batches before is settled first and in order (`Encoder.begin`). The work is then the same whenever and in
whichever thread it is done (`Begun.run`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BpelineError, CorpusError
from .documents import Documents, Place, Problem, offsets_of
from .plan import Plan

HASHED = 4096
"""The bytes at the beginning of a document that put it into a split: equal documents go to the same one."""

ENDING = 1 << 16
"""The bytes at the end of a part that are looked at first for a place to cut it."""


@dataclass(frozen=True)
class Run:
    """The ids of some documents of one file, one after another."""

    ids: NDArray[Any]
    """Those of the text."""
    ends: NDArray[np.int64]
    """Where documents end in the tokens; what is behind the last end is of a document that goes on in the next run."""
    numbers: NDArray[np.int64]
    """Of each document that ends, and of one more, among those of its file that are used."""
    source: int | None
    """The number of the file; None where documents come in another order."""
    after: dict[str, Any]
    """Where the job goes on after this run; JSON."""
    in_val: NDArray[np.bool_] | None = None
    """Whether a document goes to the validation split; as long as `numbers`."""
    kept: pa.RecordBatch | None = None
    problems: tuple[Problem, ...] = ()
    text_bytes: int = 0
    size: int = 0
    """Bytes of the input, as stored there."""
    eot: tuple[NDArray[np.int64], int] | None = None
    """Before which of the ids end-of-text goes, and what it is."""

    def __len__(self) -> int:
        return len(self.ids) + (0 if self.eot is None else len(self.eot[0]))

    @cached_property
    def tokens(self) -> NDArray[Any]:
        """The ids with end-of-text. Whoever writes them puts them together: that is a tenth of the encoder's time."""
        return self.ids if self.eot is None else _insert(self.ids, *self.eot)


@dataclass(frozen=True)
class Begun:
    """What becomes a run once its texts are encoded."""

    plan: Plan
    texts: pa.Array
    parts: dict[str, Any]
    """What the run has beside its ids."""
    ended: int
    """How many of the documents end here."""
    begun: bool
    """Whether the first began before."""
    open: bool
    """Whether the last of the texts goes on."""

    def run(self, threads: int | None) -> Run:
        """Encode the texts."""
        plan, tokenizer = self.plan, self.plan.tokenizer
        try:
            if plan.eot_id is None:
                lists = tokenizer.encode_arrow(self.texts, threads=threads, special=plan.special)
            else:
                lists = tokenizer._encode_documents(
                    self.texts,
                    threads=threads,
                    special=plan.special,
                    end_of_text=plan.eot_id,
                    place=plan.eot,
                    if_empty=plan.eot_if_empty,
                    begun=self.begun,
                    open=self.open,
                )
        except BpelineError as error:
            url, before = plan.sources[self.parts["source"]].url, int(self.parts["numbers"][0])
            raise type(error)(f"{url}: {_renumbered(str(error), before)}") from None
        array = pa.array(lists)
        ids, offsets = array.values.to_numpy(), array.offsets.to_numpy()
        return Run(ids=ids, ends=offsets[1 : self.ended + 1], **self.parts)


class Encoder:
    """Makes runs of documents, in order; `resume` is what the last run of the job before said."""

    def __init__(self, plan: Plan, threads: int | None, resume: dict[str, Any] | None) -> None:
        self._plan, self._threads = plan, threads
        self._resume = resume
        self._source, self._used = -1, 0
        self._waiting: list[pa.Buffer] = []
        """Parts of a document that could not be cut yet."""
        self._is_begun, self._in_val = False, False
        self._problems: tuple[Problem, ...] = ()
        self._size = 0

    @property
    def start(self) -> Place | None:
        """Where reading begins."""
        return Place(**self._resume["place"]) if self._resume and self._resume["place"] else None

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to read."""
        return self._resume is not None and self._resume["place"] is None

    def runs(self, batches: Iterable[Documents]) -> Iterator[Run]:
        """The runs of all batches."""
        for begun in self.all(batches):
            yield begun.run(self._threads)

    def all(self, batches: Iterable[Documents]) -> Iterator[Begun]:
        """All batches, begun in order."""
        for documents in batches:
            begun = self.begin(documents)
            if begun is not None:
                yield begun
        if self._problems:  # of files at the end that gave no documents
            parts = {
                "numbers": np.zeros(1, np.int64),
                "source": None,
                "after": {"place": None},
                "problems": self._problems,
                "size": self._size,
            }
            yield Begun(self._plan, pa.array([], pa.large_string()), parts, 0, False, False)
        if self._waiting or self._is_begun:
            raise CorpusError(f"{self._url()}: ended within a document")

    def one(self, documents: Documents) -> Run | None:
        """The run of a batch; None if there is nothing yet to be said of it."""
        begun = self.begin(documents)
        return None if begun is None else begun.run(self._threads)

    def begin(self, documents: Documents) -> Begun | None:
        """The next batch, to be encoded; None if there is nothing yet to be said of it."""
        documents = self._without_special(documents)
        texts, kept, place = documents.texts, documents.kept, documents.place
        if pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type):
            texts = texts.cast(pa.large_string())
        if place.source != self._source:
            self._source, self._used = place.source, 0
        self._size += documents.size
        done, skipped = 0, 0
        if self._resume is None or not (self._resume["documents"] or self._resume["bytes"]):
            self._problems += documents.problems  # else they were told before
        if self._resume is not None:
            texts, kept, done, skipped = self._go_on(texts, kept, place)
        count = len(texts)
        if not count:  # what was left out is told with the next run: a job goes on behind documents alone
            return None
        is_open = documents.open and count > 0
        edges: dict[int, Any] = {}
        """Texts that are not what the reader gave."""
        if count and (self._waiting or skipped):
            edges[0] = [*self._waiting, texts[0].as_buffer()[skipped:]]
        rest, cut = None, 0
        if is_open:
            last = texts[count - 1].as_buffer()[skipped if count == 1 else 0 :]
            before = sum(part.size for part in self._waiting) if count == 1 else 0
            if not self._plan.val_fraction or before + last.size >= HASHED:
                cut = self._cut(last)
            if not cut and count == 1:
                self._waiting.append(last)
                return None
            rest = last[cut:]
            if cut:
                edges[count - 1] = [*(self._waiting if count == 1 else ()), last[:cut]]
            else:  # nothing is said of it yet
                texts = texts.slice(0, count - 1)
        in_val = self._split(texts)
        if edges:
            texts = _with_edges(texts, edges)
        ended = count - is_open
        after: dict[str, Any] = {
            "place": {key: int(number) for key, number in asdict(place).items()},
            "documents": done + ended,
            "bytes": cut + (skipped if count == 1 else 0) if is_open else 0,
            "begun": bool(cut),
            "in_val": bool(in_val[-1]) if in_val is not None and cut else False,
            "used": self._used + ended,
        }
        offsets = offsets_of(texts)
        parts = {
            "numbers": np.arange(self._used, self._used + ended + 1),
            "source": place.source,
            "after": after,
            "in_val": in_val if in_val is None or cut else np.append(in_val, False),
            "kept": kept if kept is None else kept.slice(0, ended),
            "problems": self._problems,
            "text_bytes": int(offsets[-1] - offsets[0]),
            "size": self._size,
        }
        begun = Begun(self._plan, texts, parts, ended, self._is_begun, bool(cut))
        self._waiting = [rest] if rest is not None and rest.size else []
        self._is_begun, self._in_val = after["begun"], after["in_val"]
        self._used, self._problems, self._size = after["used"], (), 0
        return begun

    def _cut(self, text: pa.Buffer) -> int:
        """Where a text that goes on can be cut, or 0: near its end if possible, which saves looking at the rest."""
        start = max(text.size - ENDING, 0)
        while start and 0x80 <= text[start] < 0xC0:  # within a character
            start -= 1
        for begin in (start, 0) if start else (0,):
            cut = self._plan.tokenizer._safe_cut(text[begin:], special=self._plan.special)
            if cut:
                return begin + cut
        return 0

    def _without_special(self, documents: Documents) -> Documents:
        """Documents that hold special tokens are left out where that is an error, and errors are skipped.

        One that comes in parts is not: what was written of it stays, so it stops the job.
        """
        plan, texts = self._plan, documents.texts
        if (
            plan.special != "error"
            or plan.on_error != "skip"
            or documents.open
            or documents.place.part
            or not len(texts)
        ):
            return documents
        import pyarrow.compute as pc

        is_good, problems = np.ones(len(texts), bool), list(documents.problems)
        for literal in plan.tokenizer.special_tokens:
            holds = pc.match_substring(texts.cast(pa.large_string()), literal).to_numpy(zero_copy_only=False)
            for index in np.flatnonzero(holds & is_good).tolist():
                number, url = documents.place.document + index + 1, plan.sources[documents.place.source].url
                problems.append(Problem(url, f"document {number} holds the special token {literal}"))
            is_good &= ~holds
        mask = pa.array(is_good)
        kept = None if documents.kept is None else documents.kept.filter(mask)
        return replace(documents, texts=texts.filter(mask), kept=kept, problems=tuple(problems))

    def _go_on(self, texts: pa.Array, kept: Any, place: Place) -> tuple[pa.Array, Any, int, int]:
        """The first batch of a job that goes on, without what is done of it."""
        assert self._resume is not None
        resume, self._resume = self._resume, None
        if asdict(place) != resume["place"] or resume["documents"] > len(texts):
            raise CorpusError(
                f"{self._url()}: does not read as before, so the job cannot go on; --overwrite starts it anew"
            )
        self._is_begun, self._in_val, self._used = resume["begun"], resume["in_val"], resume["used"]
        done = resume["documents"]
        return texts.slice(done), kept if kept is None else kept.slice(done), done, resume["bytes"]

    def _url(self) -> str:
        return self._plan.sources[self._source].url

    def with_eot(
        self, offsets: NDArray[np.int64], ended: int, goes_on: bool
    ) -> tuple[tuple[NDArray[np.int64], int] | None, NDArray[np.int64]]:
        """Of ids that were made elsewhere: before which end-of-text goes, and where the documents end once it is there."""
        plan, count = self._plan, len(offsets) - 1
        if plan.eot_id is None:
            return None, offsets[1 : ended + 1]
        gets = np.ones(count, bool)
        if not plan.eot_if_empty:
            gets = np.diff(offsets) > 0
            if count and self._is_begun:
                gets[0] = True
        if plan.eot == "append":
            gets, places = gets[:ended], offsets[1 : ended + 1]
        else:
            if count and self._is_begun:
                gets[0] = False
            if ended < count and not goes_on:
                gets[ended] = False
            places = offsets[:-1]
        return (places[gets], plan.eot_id), offsets[1 : ended + 1] + np.cumsum(gets)[:ended]

    def _split(self, texts: pa.Array) -> NDArray[np.bool_] | None:
        """Which documents are for validation; None if none is asked for."""
        plan = self._plan
        if not plan.val_fraction:
            return None
        hashes = np.empty(len(texts), "<u8")
        waiting = b"".join(self._waiting)[:HASHED]
        for index, text in enumerate(texts):
            start = waiting + text.as_buffer()[: HASHED - len(waiting)]
            hashes[index] = int.from_bytes(blake2b(start, digest_size=8).digest(), "little")
            waiting = b""
        in_val: NDArray[np.bool_] = np.less(hashes, plan.val_below)
        if self._is_begun and len(in_val):
            in_val[0] = self._in_val
        return in_val


def _renumbered(message: str, before: int) -> str:
    """A message of the encoder with the number, from 1, that the document has in its file."""
    return re.sub(r"^document (\d+)", lambda found: f"document {before + int(found[1]) + 1}", message)


def _with_edges(texts: pa.Array, edges: dict[int, Any]) -> pa.Array:
    """The texts, some of them (the first, the last) made anew of parts."""
    begin, parts = 0, []
    for index, pieces in sorted(edges.items()):
        parts += [_binary(texts.slice(begin, index - begin)), _one_text(b"".join(pieces))]
        begin = index + 1
    parts = [part for part in (*parts, _binary(texts.slice(begin))) if len(part)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _binary(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.large_string()).cast(pa.large_binary())


def _one_text(text: bytes) -> pa.Array:
    """An array of one text, where it lies."""
    offsets = pa.py_buffer(np.array([0, len(text)], np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(text)])


def _insert(tokens: NDArray[Any], places: NDArray[np.int64], id: int) -> NDArray[Any]:
    """The tokens with `id` before each of the places, which are in order: 0.4 ns a token."""
    joined = np.empty(len(tokens) + len(places), tokens.dtype)
    is_token = np.ones(len(joined), bool)
    at = places + np.arange(len(places))
    is_token[at] = False
    joined[at] = id
    joined[is_token] = tokens
    return joined
