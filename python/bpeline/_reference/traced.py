"""Texts that know which characters of a document they come from."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Span = tuple[int, int]


class Traced(NamedTuple):
    """A text, and for each of its characters the first character of the document that it stands for and the one behind the last."""

    text: str
    spans: Sequence[Span]

    def slice(self, start: int, end: int) -> "Traced":
        return Traced(self.text[start:end], self.spans[start:end])

    def span(self, start: int, end: int) -> Span:
        return self.spans[start][0], self.spans[end - 1][1]

    def put_for(self, text: str) -> "Traced":
        """`text` in the place of all of this."""
        return Traced(text, [self.span(0, len(self.text))] * len(text) if self.text else [])

    def prepended(self, front: str) -> "Traced":
        """With `front`, which stands for what the first character does. Nothing goes before an empty text."""
        return joined([self.slice(0, 1).put_for(front), self]) if self.text else self


def document(text: str) -> Traced:
    return Traced(text, [(at, at + 1) for at in range(len(text))])


def joined(parts: Iterable[Traced]) -> Traced:
    listed = list(parts)
    return Traced("".join(part.text for part in listed), list(itertools.chain.from_iterable(p.spans for p in listed)))
