"""Training, readable: count the pieces of a corpus, then merge the most frequent pair, again and again.

Nothing is kept up to date: each round counts all pairs of all pieces again. So it is slow (a round takes as long as
going through all distinct pieces) and hard to get wrong: the oracle of `rust/train`. The algorithm is that of Sennrich,
Haddow and Birch (2016); what is left open there follows Hugging Face tokenizers' `BpeTrainer`, so that the same corpus
gives the same merges:

- of pairs that are equally frequent the one with the lower left id is merged, then the one with the lower right id;
- pairs that overlap count each: `aaa` has two of `aa`;
- a token stays shorter than `max_token_length` bytes, but for tokens of two bytes, which may always be made.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from operator import index
from typing import Literal, TypeAlias, final

from .._types import Text
from ..errors import InvalidTextError, TrainingError
from .encoding import Encoding
from .inputs import to_str
from .messages import show_bytes
from .stages import split_pieces

Pair: TypeAlias = tuple[int, int]
Ties: TypeAlias = Literal["tokenizers", "first-seen"]

ENTRY_BYTES = 64
"""What a piece takes besides its bytes, about."""


@final
class PieceCounts:
    """How often each piece of a corpus occurs, by the pattern and special tokens of an encoding.

    >>> from bpeline._reference import Encoding, PieceCounts
    >>> counts = PieceCounts(Encoding.builtin("gpt2"))
    >>> counts.add(["to be<|endoftext|>or not to be"])
    >>> counts.items()
    [(b'to', 1), (b' be', 2), (b'or', 1), (b' not', 1), (b' to', 1)]
    """

    __slots__ = ("_counts", "_encoding")

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._counts: Counter[bytes] = Counter()

    def __len__(self) -> int:
        """Distinct pieces."""
        return len(self._counts)

    @property
    def memory(self) -> int:
        """Bytes that the counts take, about."""
        return sum(len(piece) + ENTRY_BYTES for piece in self._counts)

    def items(self) -> list[tuple[bytes, int]]:
        """Each piece and its count, in the order in which they were first seen."""
        return list(self._counts.items())

    def add(self, texts: Iterable[Text], *, first: int = 0, threads: int | None = None) -> None:
        """Counts the pieces of texts. Errors number them from `first` on."""
        for number, text in enumerate(texts, first):
            try:
                string = to_str(text, "strict")
            except (InvalidTextError, TypeError) as error:
                raise type(error)(f"document {number}: {error}") from None
            for part, special in self._encoding._special_token_cutter.split(string):
                if special is None:
                    pieces = split_pieces(part, self._encoding._compiled_pattern)
                    self._counts.update(piece.encode() for piece in pieces)

    def add_counts(self, counts: Mapping[bytes, int]) -> None:
        """Adds what was counted elsewhere."""
        for piece, count in counts.items():
            if piece and count:
                self._counts[bytes(piece)] += count

    def cut(self, data: bytes) -> int:
        """Where the text that begins with `data` may be cut, the pieces being those of the parts; 0 for nowhere known."""
        return 0

    def prune(self, most: int) -> tuple[int, int]:
        """If `memory` is above `most`, forgets the rarest pieces, all of a count, until it is at most half of that.

        Returns how many pieces, and how many occurrences of them, are lost.
        """
        memory, lost, occurrences = self.memory, 0, 0
        if memory <= most:
            return 0, 0
        while memory > most // 2 and self._counts:
            rarest = min(self._counts.values())
            for piece in [piece for piece, count in self._counts.items() if count == rarest]:
                memory -= len(piece) + ENTRY_BYTES
                lost, occurrences = lost + 1, occurrences + rarest
                del self._counts[piece]
        return lost, occurrences

    def merges(
        self,
        most: int,
        *,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        ties: Ties = "tokenizers",
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[Pair]:
        """At most `most` new rules for the encoding, (left id, right id) each. They make the ids from `vocab_size` on.

        The counts are used up.

        Fewer, if no pair is left that occurs `min_frequency` times. `progress` is told the number of rules so far.
        """
        encoding = self._encoding
        pieces = [encoding.merge_piece(piece) for piece in self._counts]
        counts = list(self._counts.values())
        self._counts.clear()
        tokens = dict(encoding._tokens)
        rules: list[Pair] = []

        def may_merge(pair: Pair) -> bool:
            length = sum(len(tokens[id]) for id in pair)
            return max_token_length is None or length == 2 or length < max_token_length

        for new in range(encoding.vocab_size, encoding.vocab_size + index(most)):
            best = _most_frequent(filter_pairs(count_pairs(pieces, counts), may_merge), ties)
            if best is None or best[1] < max(min_frequency, 1):
                break
            left, right = pair = best[0]
            token = tokens[left] + tokens[right]
            if token in encoding._ids:
                raise TrainingError(
                    f"the token {show_bytes(token)} would be learned, but the tokenizer has it already, with the id "
                    f"{encoding._ids[token]}, and its rules do not reach it"
                )
            tokens[new] = token
            rules.append(pair)
            pieces = [merge_pair(symbols, pair, new) for symbols in pieces]
            if progress is not None:
                progress(len(rules))
        return rules


def count_pairs(pieces: Iterable[list[int]], counts: Iterable[int]) -> dict[Pair, int]:
    """How often each pair occurs, in the order in which they are first seen."""
    totals: Counter[Pair] = Counter()
    for symbols, count in zip(pieces, counts, strict=True):
        for pair in pairwise(symbols):
            totals[pair] += count
    return totals


def filter_pairs(totals: dict[Pair, int], may_merge: Callable[[Pair], bool]) -> dict[Pair, int]:
    return {pair: count for pair, count in totals.items() if may_merge(pair)}


def _most_frequent(totals: dict[Pair, int], ties: Ties) -> tuple[Pair, int] | None:
    if not totals:
        return None
    most = max(totals.values())
    tied = (pair for pair, count in totals.items() if count == most)
    return (min(tied) if ties == "tokenizers" else next(tied)), most


def merge_pair(symbols: list[int], pair: Pair, new: int) -> list[int]:
    """The symbols with each pair made `new`, from the left."""
    if not any(found == pair for found in pairwise(symbols)):
        return symbols
    merged: list[int] = []
    at = 0
    while at < len(symbols):
        found = tuple(symbols[at : at + 2]) == pair
        merged.append(new if found else symbols[at])
        at += 2 if found else 1
    return merged
