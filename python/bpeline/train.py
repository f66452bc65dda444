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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from ._backend import Core, Encoding, PieceCounts
from ._reference.data import MAX_ID
from ._reference.messages import quote
from ._reference.stages import BYTE_TO_CHARACTER
from ._types import Text
from .errors import InvalidTextError, TrainingError

if TYPE_CHECKING:
    from typing import Self

    _Base = Core  # that the concrete class inherits
else:
    _Base = object

Item: TypeAlias = "Text | os.PathLike[str]"
Ties: TypeAlias = Literal["tokenizers", "first-seen"]

BLOCK = 1 << 21
"""Bytes of text that the backend is given at once."""

ALPHABET = sorted(BYTE_TO_CHARACTER)
"""The first symbols, in the order of their ids."""


class TrainingProgress(NamedTuple):
    """How far a training is."""

    stage: Literal["counting", "merging"]
    done: int
    """Bytes counted (of a `str`, characters), or rules learned."""
    total: int | None
    """Of them, if that is known: there may be fewer rules."""
    seconds: float
    """Since the stage began."""

    @property
    def seconds_left(self) -> float | None:
        """As it looks now: the first rules take longest."""
        return self.seconds * (self.total - self.done) / self.done if self.total and self.done else None


Progress: TypeAlias = Callable[[TrainingProgress], object]


class Trained(_Base):
    """How a tokenizer is trained; a part of `Tokenizer`."""

    __slots__ = ()

    _Encoding: ClassVar[type[Encoding]]
    _PieceCounts: ClassVar[type[PieceCounts]]

    @classmethod
    def train(
        cls,
        items: Iterable[Item],
        vocab_size: int,
        *,
        pattern: str = "gpt2",
        special_tokens: Iterable[str] = ("<|endoftext|>",),
        min_frequency: int = 2,
        max_token_length: int | None = None,
        initial_alphabet: Literal["bytes"] = "bytes",
        ties: Ties = "tokenizers",
        threads: int | None = None,
        progress: Progress | None = None,
        max_memory: int | None = None,
        name: str = "trained",
        cache_bytes: int | None = None,
    ) -> "Self":
        """A tokenizer learned from a corpus: the most frequent pair of symbols becomes a token, again and again.

        In `items`, which may be of any length and is gone through once, a `str` (or bytes-like) is a text and a path
        object is a file of UTF-8 text. `special_tokens` get the first ids, the 256 bytes the next, then come the learned
        tokens, `vocab_size` in all; literals of special tokens are cut out of the texts and never learned. `pattern`
        is a regular expression or the name of one, and part of the result.

        A pair must occur `min_frequency` times. `max_token_length` is as in Hugging Face tokenizers: tokens stay shorter
        than so many bytes, but two bytes may always become one. `ties` decides between equally frequent pairs:
        "tokenizers" takes the one with the lowest ids, and gives the merges of their `BpeTrainer` with the full byte-level
        alphabet; "first-seen" takes the one that comes first in the corpus. The result does not depend on `threads` (None:
        one for each core).

        `progress` is called with a `TrainingProgress`. `max_memory`, in bytes, is about how much memory training may take:
        where the distinct pieces need more, the rarest are forgotten, with a warning.

        If the corpus runs out of pairs the vocabulary is smaller, with a warning. Raises `TrainingError` for a corpus without
        text and for settings that cannot be, `InvalidTextError` for text that is not valid Unicode, `TypeError` for an item
        that is no text and no path.

        >>> import bpeline
        >>> tok = bpeline.Tokenizer.train(["low lower lowest", "newest"], 260, special_tokens=[])
        >>> [tok.id_to_token(id) for id in range(256, 260)]
        ['lo', 'we', 'st', 'Ġlo']
        """
        if initial_alphabet != "bytes":
            raise TrainingError(f'initial_alphabet must be "bytes", not {initial_alphabet!r}')
        specials = _special_tokens(special_tokens)
        ids = {literal: id for id, literal in enumerate(specials)}
        vocabulary = {character: id for id, character in enumerate(ALPHABET, len(ids))}
        base = cls._Encoding.from_tokenizer_json("train", name, pattern, vocabulary, [], ids, False, None)
        learning = _Learning(cls._PieceCounts(base), base, threads, progress)
        learning.check(vocab_size, len(specials), min_frequency, max_token_length, ties, max_memory)
        learning.count(items, max_memory)
        rules = learning.learn(vocab_size, min_frequency, max_token_length, ties)
        return cls(_with_rules(cls._Encoding, base, rules, name), cache_bytes=cache_bytes)

    def train_more(
        self,
        items: Iterable[Item],
        vocab_size: int,
        *,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        ties: Ties = "tokenizers",
        threads: int | None = None,
        progress: Progress | None = None,
        max_memory: int | None = None,
        name: str | None = None,
    ) -> "Self":
        """A tokenizer that has all of this one's tokens and rules, and more of them learned from `items`.

        The corpus is first encoded with this tokenizer; what is learned merges its tokens further and gets the ids
        from `self.vocab_size` on. So tokens and ids in use stay, though a text may have fewer of them, and training to 1,000
        tokens and then, on the same corpus, to 2,000 is the same as training to 2,000 at once. Pattern, special
        tokens and, unless one is given, name are those of this tokenizer; the other options, warnings and errors are those of `train`.

        Raises `TrainingError` for a tokenizer that ranks token bytes instead of pairs (rank files), or that does more than
        special tokens and one pattern (some tokenizer.json).

        >>> import bpeline
        >>> tok = bpeline.load("gpt2").train_more(["Zyzzyva! "] * 9, 50260)
        >>> [tok.id_to_token(id) for id in range(50257, tok.vocab_size)]
        ['Zy', 'zzyva', 'Zyzzyva']
        """
        encoding = self.encoding
        if encoding.merges() is None:
            raise TrainingError(
                f"{quote(encoding.name)} ranks token bytes, and pairs are learned: it cannot be trained further"
            )
        if encoding.spec is not None or encoding.whole_pieces:
            raise TrainingError(
                f"{quote(encoding.name)} does more than special tokens and one pattern: it cannot be trained further"
            )
        learning = _Learning(self._PieceCounts(encoding), encoding, threads, progress)
        learning.check(vocab_size, None, min_frequency, max_token_length, ties, max_memory)
        learning.count(items, max_memory)
        rules = learning.learn(vocab_size, min_frequency, max_token_length, ties)
        return type(self)(
            _with_rules(self._Encoding, encoding, rules, name or encoding.name), cache_bytes=self.cache_bytes
        )


def _special_tokens(special_tokens: Iterable[str]) -> list[str]:
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


class _Learning:
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


def _with_rules(make: type[Encoding], base: Encoding, rules: list[tuple[int, int]], name: str) -> Encoding:
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
