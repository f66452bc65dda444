"""One call: what it was given, as it was then, and the encodings that come of it."""

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .encoding import Encoding, Input
from .inputs import NotPlain, Texts
from .layout import Range, padded_length, truncated

if TYPE_CHECKING:
    import tokenizers

    from .snapshot import Snapshot


class Batch:
    """The texts of a call, and all that its encodings depend on; they share it."""

    def __init__(
        self,
        snapshot: "Snapshot",
        inputs: Iterable[Sequence[Texts]],
        *,
        split_into_words: bool,
        add_special_tokens: bool,
        encode_special_tokens: bool,
        truncation: dict[str, Any] | None,
        padding: dict[str, Any] | None,
    ) -> None:
        self.snapshot = snapshot
        self.split_into_words = split_into_words
        self.add_special_tokens = add_special_tokens
        self.encode_special_tokens = encode_special_tokens
        self.truncation = truncation
        self.padding = padding
        self.padded_length = 0
        self._texts: Texts = []
        self._places: list[list[range]] = []  # of the sequences of each input
        for sequences in inputs:
            places = []
            for texts in sequences:
                places.append(range(len(self._texts), len(self._texts) + len(texts)))
                self._texts += texts
            self._places.append(places)
        self._ids = snapshot.encode(self._texts, encode_special_tokens)

    def encodings(self) -> list[Encoding]:
        """The encodings of the inputs. Raises `NotPlain` if only tokenizers can make them, or would raise."""
        inputs = []
        for number, places in enumerate(self._places):
            layout = self.snapshot.layout(pair=len(places) == 2, add_special_tokens=self.add_special_tokens)
            if layout is None:
                raise NotPlain
            ids = [_joined(self._ids, place) for place in places]
            ranges = truncated([len(sequence) for sequence in ids], self.truncation, layout.added)
            if ranges is None:
                raise NotPlain
            inputs.append(Input(number, places, ids, ranges, layout))
        runs = [input.layout.main(input.ranges) for input in inputs]
        if self.padding is not None:
            lengths = (sum(run.length for run in of_one) for of_one in runs)
            self.padded_length = padded_length(lengths, self.padding)
        return [Encoding(self, *pair) for pair in zip(inputs, runs, strict=True)]

    def offsets(self, places: list[range]) -> list[list[Range] | None]:
        """The offsets of the tokens of each sequence; None if only tokenizers can tell."""
        return [None if self._offsets is None else _joined(self._offsets, place) for place in places]

    def word_ids(self, places: list[range]) -> list[list[int] | None]:
        """The word of each token of each sequence; None if the pre-tokenizer made the words."""
        if not self.split_into_words:
            return [None] * len(places)
        lengths = [[len(self._ids[text]) for text in place] for place in places]
        return [_joined([[word] * n for word, n in enumerate(of_one)], range(len(of_one))) for of_one in lengths]

    @functools.cached_property
    def _offsets(self) -> list[list[Range]] | None:
        return self.snapshot.offsets(self._texts, self.encode_special_tokens)

    @functools.cached_property
    def real(self) -> "list[tokenizers.Encoding]":
        """What tokenizers makes of the inputs."""
        inputs: list[Any] = []
        for places in self._places:
            sequences: list[Any] = [self._texts[place.start : place.stop] for place in places]
            if not self.split_into_words:
                sequences = [text for [text] in sequences]
            inputs.append(sequences[0] if len(sequences) == 1 else tuple(sequences))
        return self.snapshot.encode_again(self, inputs)


def _joined(lists: Sequence[list[Any]], which: range) -> list[Any]:
    """The items of some of the lists. (Of one alone it is that list itself: not to be changed.)"""
    return lists[which[0]] if len(which) == 1 else list(itertools.chain.from_iterable(lists[i] for i in which))
