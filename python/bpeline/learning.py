"""Training: the same on both backends but for the counting and the merging, which are theirs (`PieceCounts`).

Texts are given to the backend some megabytes at a time, and files in blocks that end where the pattern lets them be cut, so
that memory follows the distinct pieces, not the corpus.
"""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from operator import index
from typing import Any, NamedTuple

from ._backend import Encoding, PieceCounts
from ._reference.data import MAX_ID
from ._reference.messages import quote
from ._reference.stages import BYTE_TO_CHARACTER
from .errors import InvalidTextError, TrainingError
from .train import Item, Progress, Ties, TrainingProgress

BLOCK = 1 << 21
"""Bytes of text that the backend is given at once."""

ALPHABET = sorted(BYTE_TO_CHARACTER)
"""The first symbols, in the order of their ids."""


def checked_special_tokens(special_tokens: Iterable[str]) -> list[str]:
    if isinstance(special_tokens, str):
        raise TypeError("special_tokens must be several literals, not one str")
    literals = list(special_tokens)
    for at, literal in enumerate(literals):
        if not isinstance(literal, str):
            raise TypeError(f"a special token must be str, not {type(literal).__name__}")
        if literal in literals[:at]:
            raise TrainingError(f"special_tokens has {quote(literal)} twice")
        if not literal:
            raise TrainingError('special_tokens has ""; a special token has at least one character')
    return literals


class Learning:
    """One training: the counts so far, and who is told of them."""

    def __init__(self, counts: PieceCounts, encoding: Encoding, threads: int | None, progress: Progress | None) -> None:
        self.counts, self.encoding = counts, encoding
        self.threads, self.progress = threads, progress
        self.bytes = 0

    def check(
        self,
        vocab_size: int,
        specials: int | None,
        min_frequency: int,
        max_token_length: int | None,
        ties: str,
        max_memory: int | None,
    ) -> None:
        least = self.encoding.vocab_size
        if not least <= index(vocab_size) <= MAX_ID + 1:
            has = "the tokens that it has" if specials is None else f"256 bytes and {specials} special tokens"
            raise TrainingError(f"vocab_size must be {least} ({has}) to {MAX_ID + 1}, not {vocab_size}")
        ranges = {
            "min_frequency": (min_frequency, 0),
            "max_token_length": (max_token_length, 1),
            "threads": (self.threads, 1),
            "max_memory": (max_memory, 1),
        }
        for setting, (value, least) in ranges.items():
            if value is not None and not least <= index(value) <= sys.maxsize:
                raise TrainingError(f"{setting} must be {least} to {sys.maxsize}, not {value}")
        if ties not in ("tokenizers", "first-seen"):
            raise TrainingError(f'ties must be "tokenizers" or "first-seen", not {ties!r}')

    # --- Counting ---

    def count(self, items: Iterable[Item], max_memory: int | None) -> None:
        if isinstance(items, str | bytes | bytearray | memoryview | os.PathLike):
            raise TypeError(f"items must be several texts and paths, not one {type(items).__name__}")
        began, lost, occurrences = time.perf_counter(), 0, 0
        for batch in _batches(items, self.counts.cut):
            self._add(batch)
            self.bytes += batch.size
            if max_memory is not None:
                # The rest is for merging.
                pieces, times = self.counts.prune(max_memory // 3)
                lost, occurrences = lost + pieces, occurrences + times
            if self.progress is not None:
                seconds = time.perf_counter() - began
                self.progress(TrainingProgress("counting", self.bytes, None, seconds))
        if lost:
            warnings.warn(
                f"max_memory={max_memory}: of the rarest pieces {lost:,} were forgotten, which occurred {occurrences:,} times; "
                "the counts of rare pairs are too low by as much",
                stacklevel=4,
            )
        if not len(self.counts):
            raise TrainingError("the corpus is empty: nothing in it is text between special tokens")

    def _add(self, batch: "_Batch") -> None:
        try:
            self.counts.add(batch.texts, first=batch.first, threads=self.threads)
        except InvalidTextError:
            if batch.path is None:
                raise
            try:
                batch.texts[0].decode()
            except UnicodeDecodeError as error:
                byte, at = error.object[error.start], batch.at + error.start
                message = f"{batch.path}: invalid UTF-8: byte 0x{byte:02x} at offset {at}"
                raise InvalidTextError(message) from None
            raise

    # --- Merging ---

    def learn(
        self, vocab_size: int, min_frequency: int, max_token_length: int | None, ties: Ties
    ) -> list[tuple[int, int]]:
        began, most = time.perf_counter(), vocab_size - self.encoding.vocab_size
        progress = self.progress

        def report(done: int) -> None:
            if progress is not None:
                progress(TrainingProgress("merging", done, most, time.perf_counter() - began))

        rules = self.counts.merges(
            most,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            ties=ties,
            threads=self.threads,
            progress=None if progress is None else report,
        )
        if len(rules) < most:
            size = self.encoding.vocab_size + len(rules)
            shorter = "" if max_token_length is None else f" and makes a token shorter than {max_token_length} bytes"
            warnings.warn(
                f"no pair is left that occurs {max(min_frequency, 1)} times{shorter}: the vocabulary has {size} tokens, "
                f"not {vocab_size}",
                stacklevel=3,
            )
        return rules


class _Batch(NamedTuple):
    """Some texts of the corpus, or a block of a file."""

    texts: list[Any]
    size: int
    first: int
    """The number of the first item."""
    path: str | None = None
    at: int = 0
    """Where in the file the block begins."""


def _batches(items: Iterable[Item], cut: Callable[[bytes], int]) -> Iterator[_Batch]:
    texts: list[Any] = []
    size = 0
    for number, item in enumerate(items):
        if type(item) is not str and isinstance(item, os.PathLike):
            if texts:
                yield _Batch(texts, size, number - len(texts))
            texts, size = [], 0
            for at, block in _blocks(item, cut):
                yield _Batch([block], len(block), number, os.fspath(item), at)
            continue
        texts.append(item)
        # What is no text the backend will refuse.
        size += len(item) if type(item) is str or isinstance(item, Sized) else 0
        if size + 64 * len(texts) >= BLOCK:
            yield _Batch(texts, size, number + 1 - len(texts))
            texts, size = [], 0
    if texts:
        yield _Batch(texts, size, number + 1 - len(texts))


def _blocks(path: "os.PathLike[str]", cut: Callable[[bytes], int]) -> Iterator[tuple[int, bytes]]:
    """A file in blocks, each cut where the pieces are those of the parts, and where each begins."""
    at, rest = 0, b""
    with open(path, "rb") as file:
        # Where no cut is known, more and more is read at once: all of it, in the end.
        while block := file.read(max(BLOCK, len(rest))):
            rest += block
            if length := cut(rest):
                yield at, rest[:length]
                at, rest = at + length, rest[length:]
    if rest:
        yield at, rest


def with_rules(make: type[Encoding], base: Encoding, rules: list[tuple[int, int]], name: str) -> Encoding:
    """The encoding with more rules, which make the ids from its size on."""
    specials = set(base.special_tokens.values())
    spelled = {
        id: str(base.id_to_token(id)) for id in range(base.vocab_size) if id not in specials and base.token_bytes(id)
    }
    merges = [(spelled[left], spelled[right]) for left, right in base.merges() or []]
    for new, (left, right) in enumerate(rules, base.vocab_size):
        spelled[new] = spelled[left] + spelled[right]
        merges.append((spelled[left], spelled[right]))
    vocabulary = {token: id for id, token in spelled.items()}
    return make.from_tokenizer_json("train", name, base.pattern, vocabulary, merges, base.special_tokens, False, None)
