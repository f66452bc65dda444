"""`bpeline.inspect_corpus`: what an output holds, counted in one pass with constant memory.

Of each document four numbers are summed over its tokens: how many, their bytes, a hash, and how many are of U+FFFD, which stands where an
encoding was read as another. Lengths and bytes a token go into histograms; hashes are kept, and once there are too many, just those
whose low bits are zero, so that documents that are equal are kept together.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..tokenizer import Methods
    from .output import Output, Stream

KEPT = 1 << 22
"""Hashes of documents that are held: 64 MB with the numbers of the documents."""
SHORT = 8
"""Tokens of a document, at most, that has next to nothing in it."""
DENSE = 2.0
"""Bytes a token below which a document is none of what the encoding was made for: binary data, another language, noise."""
RATIOS = np.linspace(0, 12, 121)
PERCENTILES = (1, 10, 25, 50, 75, 90, 99)
MOJIBAKE = tuple(mark.encode() for mark in ("�", "Ã", "â€", "Â", "ï¿½"))
"""What shows where UTF-8 was read as something else."""


@dataclass(frozen=True)
class Notable:
    """A document that stands out."""

    number: int
    """Among all documents of the output, those for validation at the end."""
    tokens: int
    bytes: int
    times: int = 1
    """How often it is there."""


@dataclass
class Statistics:
    """What an output holds. `documents` and what follows of them are empty where nothing tells documents apart."""

    output: "Output"
    tokens: int = 0
    text_bytes: int = 0
    """Bytes that the tokens decode to, end-of-text apart."""
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How often each id is there."""
    documents: int = 0
    empty: int = 0
    short: int = 0
    """Documents of at most SHORT tokens that are not empty."""
    dense: int = 0
    """Documents of more than SHORT tokens and less than DENSE bytes a token."""
    broken: int = 0
    """Documents with U+FFFD."""
    lengths: NDArray[np.int64] = field(default_factory=lambda: np.zeros(64 * 64, np.int64))
    """Documents by their tokens, in the buckets of `bucket`."""
    ratios: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(RATIOS) - 1, np.int64))
    """Documents of more than SHORT tokens by their bytes a token, between RATIOS."""
    longest: list[Notable] = field(default_factory=list)
    densest: list[Notable] = field(default_factory=list)
    repeated: list[Notable] = field(default_factory=list)
    """Documents that are there most often, the first of each."""
    duplicates: int = 0
    """Documents that were there before: about, if `hashes_kept` is below 1."""
    hashes_kept: float = 1.0
    """The share of the documents that were compared with each other."""

    def percentile(self, percent: float) -> int:
        """The tokens that so many of the documents have at most; within 2 % of the truth."""
        if not self.documents:
            return 0
        reached = np.searchsorted(np.cumsum(self.lengths), max(percent / 100 * self.documents, 1e-9))
        return int(edge(np.array([reached]))[0])

    def most_frequent(self, count: int) -> list[tuple[int, int]]:
        """Ids and how often they are there."""
        order = np.argsort(-self.counts, kind="stable")[:count]
        return [(int(id), int(self.counts[id])) for id in order if self.counts[id]]

    def never_used(self) -> NDArray[np.int64]:
        """The ids of the vocabulary that are nowhere."""
        from .ids import known_ids

        return np.flatnonzero(known_ids(self.output.tokenizer) & (self.counts == 0))

    def suspicious(self, count: int) -> list[tuple[int, int]]:
        """The most frequent ids whose tokens suggest that an encoding of characters was mistaken for another."""
        token_bytes = self.output.tokenizer.encoding.token_bytes
        found = [
            (int(id), int(self.counts[id]))
            for id in np.flatnonzero(self.counts)
            if any(mark in (token_bytes(int(id)) or b"") for mark in MOJIBAKE)
        ]
        return nlargest(count, found, key=lambda item: item[1])

    def shares(self) -> list[tuple[str, int, int, int]]:
        """Of each input file its name, documents, tokens, and bytes of text, the largest first."""
        rows = zip(self.output.sources, self.output.manifest.by_source, strict=False)
        return sorted(((source.url, *map(int, row)) for source, row in rows), key=lambda row: -row[2])  # type: ignore[misc]


def inspect_corpus(
    out: str | os.PathLike[str],
    *,
    encoding: "str | Methods | None" = None,
    progress: Callable[[int, int], None] | None = None,
) -> Statistics:
    """Count what the output of `tokenize_corpus` holds. `progress` is told the tokens that are done, and all.

    Raises `CorpusError` if `out` holds no output that can be read; `bpeline.verify_corpus` tells more.

    >>> import pathlib, tempfile, bpeline
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("hello world")
    >>> _ = bpeline.tokenize_corpus(folder / "a.txt", folder / "tokens")
    >>> found = inspect_corpus(folder / "tokens")
    >>> found.documents, found.tokens, found.text_bytes, found.percentile(50)
    (1, 3, 11, 3)
    """
    try:
        from ..errors import CorpusError
        from .output import Output
    except ModuleNotFoundError as error:
        raise ImportError(f"a corpus needs {error.name}: python -m pip install 'bpeline[corpus]'") from error
    output = Output(out, encoding)
    found = Statistics(output)
    counter = _Counter(found)
    total = sum(stream.tokens for stream in output.streams())
    try:
        for stream in output.streams():
            counter.stream(stream, lambda done: progress(done, total) if progress else None)
    except (IndexError, ValueError, OSError) as error:
        message = f"{Path(out)}: cannot be read ({' '.join(str(error).split())}); bpeline verify tells what is wrong"
        raise CorpusError(message) from error
    counter.finish()
    return found


def bucket(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exact up to 64, then 64 buckets for each power of two.

    >>> bucket(np.array([0, 1, 63, 64, 65, 128, 129, 130])).tolist()
    [0, 1, 63, 64, 65, 128, 128, 129]
    """
    power = np.frexp(np.maximum(lengths, 1).astype(np.float64))[1].astype(np.int64) - 1
    shift = np.maximum(power - 6, 0)
    return np.where(lengths < 64, lengths, (shift + 1) * 64 + (lengths >> shift) - 64)


def edge(buckets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least length of each bucket.

    >>> edge(bucket(np.array([0, 1, 63, 64, 65, 128, 129, 1 << 40]))).tolist()
    [0, 1, 63, 64, 65, 128, 128, 1099511627776]
    """
    shift = np.maximum(buckets // 64 - 1, 0)
    return np.where(buckets < 64, buckets, (buckets % 64 + 64) << shift)


class _Counter:
    """Adds up blocks."""

    def __init__(self, found: Statistics) -> None:
        from .ids import token_sizes

        self.found, tokenizer = found, found.output.tokenizer
        self._sizes = token_sizes(tokenizer)
        eot = found.output.asked["eot"]["id"]
        if eot is not None:
            self._sizes = self._sizes.copy()
            self._sizes[eot] = 0
        replacement = "�".encode()
        token_bytes = tokenizer.encoding.token_bytes
        self._broken = np.array([replacement in (token_bytes(id) or b"") for id in range(tokenizer.vocab_size)])
        found.counts = np.zeros(tokenizer.vocab_size, np.int64)
        self._carried = [0, 0, 0, 0]
        """Tokens, bytes, hash, tokens of U+FFFD of the document that goes on."""
        self._hashes: list[NDArray[np.uint64]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._held, self._bits = 0, 0

    def stream(self, stream: "Stream", tell: Callable[[int], None]) -> None:
        """Add all of a stream."""
        found, before = self.found, self.found.documents
        for block in stream.blocks():
            ids = block.ids
            if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= len(found.counts)):
                raise ValueError(f"{block.stored.main} has an id that is not in the vocabulary")
            found.tokens += len(ids)
            found.counts += np.bincount(ids, minlength=len(found.counts))
            if found.output.can_tell_documents:
                self._documents(ids, block.ends)
            tell(found.tokens)
        if found.documents - before != stream.documents and found.output.can_tell_documents:
            raise ValueError(f"{stream.split} has {found.documents - before} documents, expected {stream.documents}")

    def _documents(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        from .shuffle import mixed
        from .sums import ODD

        starts = np.concatenate([[0], ends])
        sizes = self._sizes[ids]
        within = np.arange(len(ids)) - np.repeat(starts, np.diff(starts, append=len(ids)))
        within[: starts[1] if len(ends) else len(ids)] += self._carried[0]
        hashes = mixed(ids.astype(np.uint64) * ODD[0] + within.astype(np.uint64) * ODD[1])
        sums = []
        for index, values in enumerate(
            (np.ones(len(ids), np.int64), sizes, hashes, self._broken[ids].astype(np.int64))
        ):
            running = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values, dtype=values.dtype)])
            each = np.diff(running[starts])
            carried = np.array([self._carried[index]], values.dtype)
            tail = running[-1:] - running[starts[-1:]]
            if len(each):
                each[:1] += carried
            else:
                tail += carried
            self._carried[index] = int(tail[0])
            sums.append(each)
        self._add(*sums)

    def _add(self, tokens: Any, sizes: Any, hashes: Any, broken: Any) -> None:
        found, first = self.found, self.found.documents
        numbers = np.arange(first, first + len(tokens))
        found.documents += len(tokens)
        found.empty += int((sizes == 0).sum())
        found.short += int(((tokens <= SHORT) & (sizes > 0)).sum())
        found.broken += int((broken > 0).sum())
        found.lengths += np.bincount(bucket(tokens), minlength=len(found.lengths))
        is_long = tokens > SHORT
        ratio = sizes[is_long] / tokens[is_long]
        found.ratios += np.histogram(np.minimum(ratio, RATIOS[-1]), RATIOS)[0]
        found.dense += int((ratio < DENSE).sum())
        found.longest = _best(found.longest, numbers, tokens, sizes, tokens)
        found.densest = _best(found.densest, numbers[is_long], tokens[is_long], sizes[is_long], -ratio)
        keep = (sizes > 0) & (hashes & np.uint64((1 << self._bits) - 1) == 0)
        self._hashes.append(hashes[keep])
        self._numbers.append(numbers[keep])
        self._held += int(keep.sum())
        while self._held > KEPT:
            self._bits += 1
            all_hashes, all_numbers = np.concatenate(self._hashes), np.concatenate(self._numbers)
            keep = all_hashes & np.uint64((1 << self._bits) - 1) == 0
            self._hashes, self._numbers = [all_hashes[keep]], [all_numbers[keep]]
            self._held = int(keep.sum())

    def finish(self) -> None:
        """What is known at the end."""
        found = self.found
        found.text_bytes = int(found.counts @ self._sizes)
        if not self._hashes:
            return
        hashes, numbers = np.concatenate(self._hashes), np.concatenate(self._numbers)
        _, firsts, times = np.unique(hashes, return_index=True, return_counts=True)
        found.hashes_kept = 1 / (1 << self._bits)
        found.duplicates = int((len(hashes) - len(firsts)) / found.hashes_kept)
        order = sorted(np.flatnonzero(times > 1).tolist(), key=lambda n: (-times[n], numbers[firsts[n]]))[:5]
        found.repeated = [Notable(int(numbers[firsts[n]]), 0, 0, int(times[n])) for n in order]


def _best(before: list[Notable], numbers: Any, tokens: Any, sizes: Any, score: Any) -> list[Notable]:
    """The five of the highest score, of these documents and those before."""
    best = np.argsort(-score, kind="stable")[:5]
    new = [Notable(int(numbers[n]), int(tokens[n]), int(sizes[n])) for n in best]
    key = (lambda one: one.tokens) if score is tokens else (lambda one: -one.bytes / one.tokens)
    return nlargest(5, before + new, key=key)


# --- Documents ---


def documents(output: "Output", numbers: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """The ids of some documents, by their numbers among all of the output, in order; those for validation come last."""
    before = 0
    for stream in output.streams():
        inside = sorted({number - before for number in numbers if 0 <= number - before < stream.documents})
        for number, begin, end in stream.spans(np.array(inside, np.int64)):
            yield before + number, stream.read(begin, end)
        before += stream.documents


def text_of(output: "Output", ids: NDArray[Any]) -> str:
    """The text of a document, without its end-of-text."""
    rule, eot = output.asked["eot"]["rule"], output.asked["eot"]["id"]
    if rule == "append" and len(ids) and ids[-1] == eot:
        ids = ids[:-1]
    elif rule == "prepend" and len(ids) and ids[0] == eot:
        ids = ids[1:]
    return output.tokenizer.decode(ids)


def source_of(output: "Output", number: int) -> str | None:
    """The file that a document comes from; None if that is not known."""
    from .shuffle import permuted

    manifest = output.manifest
    if output.names.is_split or not manifest.by_source:
        return None
    if (seed := output.asked["shuffle_seed"]) is not None:
        number = int(permuted(np.array([number], np.uint64), manifest.documents, f"{seed}:0")[0])
    ends = np.cumsum([row[0] for row in manifest.by_source])
    index = int(np.searchsorted(ends, number, "right"))
    return output.sources[index].url if index < len(ends) else None


def search(output: "Output", text: str, most: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The first documents that hold a text."""
    before = found = 0
    for stream in output.streams():
        for number, begin, end in stream.spans(np.arange(stream.documents)):
            ids = stream.read(begin, end)
            if text in text_of(output, ids):
                yield before + number, ids
                found += 1
                if found == most:
                    return
        before += stream.documents
