"""What a text became: a `tokenizers.Encoding` in all but its making.

The ids are bpeline's. Masks, type ids and sequence ids follow from the runs of the layout, offsets from spans; each is
made when it is asked for. What is left (`char_to_token`, `word_to_chars`, the words of a text that was not split into
words, pickling, ...) is answered by a real `tokenizers.Encoding`: tokenizers encodes the batch again, with a copy of
the tokenizer as it was. So those cost what they cost in tokenizers, and calls that do not ask for them cost nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .layout import Layout, Range, Run, padded

if TYPE_CHECKING:
    import tokenizers

    from .batch import Batch


class Input(NamedTuple):
    """One text, or pair of texts, of a batch. The lists have one item for each of its sequences."""

    number: int
    places: list[range]  # where its texts lie in the batch: one, or as many as the words it was split into
    ids: list[list[int]]
    ranges: list[list[Range]]
    layout: Layout


class Encoding:
    """The tokens of a text or pair of texts, with the attributes and methods of a `tokenizers.Encoding`."""

    __slots__ = ("_batch", "_input", "_overflow", "_real", "_runs")

    def __init__(self, batch: "Batch", input: Input, runs: list[Run], overflow: int | None = None) -> None:
        self._batch = batch
        self._input = input
        self._runs = runs if batch.padding is None else padded(runs, batch.padded_length, batch.padding)
        self._overflow = overflow  # its number in the `overflowing` of another
        self._real: tokenizers.Encoding | None = None

    @property
    def real(self) -> "tokenizers.Encoding":
        """The `tokenizers.Encoding` that this one stands for, made when it is first needed."""
        if self._real is None:
            real = self._batch.real[self._input.number]
            if self._overflow is not None:
                real = real.overflowing[self._overflow]
            if real.ids != self.ids:
                raise RuntimeError("bpeline and tokenizers disagree about the ids of a text: please report it")
            self._real = real
        return self._real

    @property
    def ids(self) -> list[int]:
        return self._from("ids", self._input.ids, lambda run: run.ids)

    @property
    def type_ids(self) -> list[int]:
        return self._from_runs("type_ids", lambda run: run.type_id)

    @property
    def attention_mask(self) -> list[int]:
        return self._from_runs("attention_mask", lambda run: run.attention)

    @property
    def special_tokens_mask(self) -> list[int]:
        return self._from_runs("special_tokens_mask", lambda run: int(run.sequence is None))

    @property
    def sequence_ids(self) -> list[int | None]:
        return self._from_runs("sequence_ids", lambda run: run.sequence)

    @property
    def n_sequences(self) -> int:
        return len(self._input.ids) if self._real is None else self._real.n_sequences

    @property
    def tokens(self) -> list[str]:
        spelled = [self._batch.snapshot.spell(ids) for ids in self._input.ids]
        return self._from("tokens", spelled, lambda run: run.tokens)

    @property
    def offsets(self) -> list[Range]:
        offsets = self._batch.offsets(self._input.places)
        trimming = self._batch.snapshot.trimming
        if trimming is None or not trimming.in_turn:
            return self._from("offsets", offsets, lambda run: [(0, 0)] * run.length)
        spelled = (self._batch.snapshot.spell(ids) for ids in self._input.ids)
        pairs = zip(spelled, offsets, strict=True)
        known = [(tokens, spans) for tokens, spans in pairs if tokens is not None and spans is not None]
        if self._real is not None or len(known) < len(offsets):
            return self.real.offsets
        values: list[Range] = []
        for run in self._runs:
            if run.sequence is None:
                values += [(0, 0)] * run.length
            else:
                tokens, spans = known[run.sequence]
                part = slice(run.start, run.start + run.length)
                values += trimming.of(tokens[part], spans[part])
        return values

    @property
    def word_ids(self) -> list[int | None]:
        return self._from("word_ids", self._batch.word_ids(self._input.places), lambda run: [None] * run.length)

    @property
    def overflowing(self) -> "Sequence[Encoding | tokenizers.Encoding]":
        cut = sum(len(ranges) > 1 for ranges in self._input.ranges)
        if self._real is not None or (self._overflow is not None and cut == 2):
            return self.real.overflowing  # those of a pair cut twice have an `overflowing` of their own
        if self._overflow is not None or cut == 0:
            return []
        others = self._input.layout.overflowing(self._input.ranges)
        return [Encoding(self._batch, self._input, runs, number) for number, runs in enumerate(others)]

    def __len__(self) -> int:
        return sum(run.length for run in self._runs) if self._real is None else len(self._real)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real, name)

    def __repr__(self) -> str:
        return repr(self.real)

    def __reduce__(self) -> Any:
        return _as_it_is, (self.real,)

    def _from_runs(self, name: str, value: Callable[[Run], Any]) -> list[Any]:
        """An attribute that is the same for all tokens of a run."""
        if self._real is not None:
            return list(getattr(self._real, name))
        values: list[Any] = []
        for run in self._runs:
            values += [value(run)] * run.length
        return values

    def _from(
        self, name: str, sequences: Sequence[list[Any] | None], others: Callable[[Run], Sequence[Any]]
    ) -> list[Any]:
        """An attribute whose values the sequences have, or None if that is not known here."""
        if self._real is not None or any(values is None for values in sequences):
            return list(getattr(self.real, name))
        values: list[Any] = []
        for run in self._runs:
            if run.sequence is None:
                values += others(run)
            else:
                values += (sequences[run.sequence] or [])[run.start : run.start + run.length]
        return values


def _as_it_is(encoding: "tokenizers.Encoding") -> "tokenizers.Encoding":
    """What a pickled encoding becomes."""
    return encoding
