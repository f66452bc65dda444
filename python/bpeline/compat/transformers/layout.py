"""Where the tokens of an encoding come from: what tokenizers does to ids after the model, on lengths alone.

tokenizers truncates the sequences of an input, hands them to the post-processor, which sets special tokens around
them, and pads. None of that looks at the ids, so it is done here on ranges: an encoding is a few runs of tokens, each
a range of a sequence, special tokens, or padding, and its lists are made from the runs when they are asked for.

The rules of truncation are those of `truncate_encodings` in tokenizers (tokenizers/src/utils/truncation.rs and
tokenizer/encoding.rs). What a post-processor does is not known from its name but seen, by letting it process made-up
encodings. Where tokenizers would raise, or does what is not described here, the answer is None and the caller lets
tokenizers do the call. Time and memory: a few steps for each encoding, however long.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from tokenizers import Encoding

Range: TypeAlias = tuple[int, int]
"""Start and stop in the tokens of a sequence."""


class Run(NamedTuple):
    """Tokens in a row that have one origin."""

    length: int
    type_id: int
    sequence: int | None = None  # of the input; None for special tokens and padding, which have ids and tokens here
    start: int = 0  # of the range in that sequence
    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    attention: int = 1


class Slot(NamedTuple):
    """Where a post-processor puts a sequence; what overflows may get another type id."""

    sequence: int
    type_id: int
    overflow_type_id: int


class Layout(NamedTuple):
    """What a post-processor makes of an input of one sequence, or of a pair."""

    pieces: tuple[Slot | Run, ...]

    @property
    def added(self) -> int:
        """How many tokens are added to those of the sequences."""
        return sum(piece.length for piece in self.pieces if isinstance(piece, Run))

    def main(self, ranges: Sequence[Sequence[Range]]) -> list[Run]:
        """The encoding, given the ranges that each sequence is cut into."""
        return [_fill(piece, ranges[piece.sequence][0]) if isinstance(piece, Slot) else piece for piece in self.pieces]

    def overflowing(self, ranges: Sequence[Sequence[Range]]) -> list[list[Run]]:
        """The encodings beside it, as `Encoding.merge` in tokenizers orders them: each cut with each of the other."""
        main: list[Run] = []
        others: list[list[Run]] = []
        for piece in self.pieces:
            if isinstance(piece, Run):
                first, rest = piece, []
            else:
                kept, *cut = ranges[piece.sequence]
                first = _fill(piece, kept)
                rest = [_fill(piece, part, overflow=True) for part in cut]
            others = [
                *([*other, run] for other in others for run in (first, *rest)),
                *([*main, run] for run in rest),
            ]
            main = [*main, first]
        return others


def read_layout(post_processor: Any, *, pair: bool, add_special_tokens: bool) -> Layout | None:
    """The layout of a post-processor of tokenizers; None if it does more than setting tokens around the sequences.

    Without one it is None too: then tokenizers forgets which sequence the tokens come from (transformers sets one).
    """
    if post_processor is None:
        return None
    sequences = [_made_up(sequence) for sequence in range(1 + pair)]
    seen = post_processor.process(*map(_encoding, sequences), add_special_tokens=add_special_tokens)
    layout = _layout_of(seen, sequences)
    ranges = [[(0, 2), (1, 3), (3, 5)]] * len(sequences)
    expected = [layout.main(ranges), *layout.overflowing(ranges)]
    found = [seen, *seen.overflowing]
    same = len(expected) == len(found) and all(map(_is_made_of, found, expected, [sequences] * len(found)))
    return layout if same else None


def truncated(lengths: Sequence[int], settings: dict[str, Any] | None, added: int) -> list[list[Range]] | None:
    """The ranges that each sequence of an input is cut into, first that which is kept.

    `settings` are those that `tokenizers.Tokenizer.truncation` gives.
    """
    whole = [[(0, length)] for length in lengths]
    if settings is None:
        return whole
    limit = settings["max_length"] - added
    remove = sum(lengths) - limit
    if limit <= 0:
        return None
    if remove <= 0:
        return whole
    kept = list(lengths)
    match settings["strategy"]:
        case "longest_first":
            kept = [limit] if len(lengths) == 1 else _shared(lengths[0], lengths[1], limit)
        case "only_first":
            kept[0] -= remove
        case "only_second" if len(lengths) == 2:
            kept[1] -= remove
        case _:
            return None
    stride, left = settings["stride"], settings["direction"].lower() == "left"
    ranges = []
    for length, most in zip(lengths, kept, strict=True):
        if most < length and not stride < most:
            return None
        ranges.append(_cut(length, most, stride, left))
    return ranges


def padded(runs: list[Run], length: int, settings: dict[str, Any]) -> list[Run]:
    """The runs with padding up to a length, if they are shorter."""
    missing = length - sum(run.length for run in runs)
    if missing <= 0:
        return runs
    ids, tokens = (settings["pad_id"],) * missing, (settings["pad_token"],) * missing
    padding = Run(missing, settings["pad_type_id"], ids=ids, tokens=tokens, attention=0)
    return [padding, *runs] if settings["direction"].lower() == "left" else [*runs, padding]


def padded_length(lengths: Iterable[int], settings: dict[str, Any]) -> int:
    """The length that the encodings of a batch are padded to; `settings` as `tokenizers.Tokenizer.padding` gives them."""
    length: int = max(lengths, default=0) if settings["length"] is None else settings["length"]
    multiple = settings["pad_to_multiple_of"]
    return length if not multiple else -(-length // multiple) * multiple


def _fill(slot: Slot, part: Range, overflow: bool = False) -> Run:
    start, stop = part
    return Run(stop - start, slot.overflow_type_id if overflow else slot.type_id, slot.sequence, start)


def _shared(first: int, second: int, limit: int) -> list[int]:
    """How many tokens of each sequence of a pair are kept: the longer gives first."""
    fewer, more = sorted((first, second))
    more = fewer if fewer > limit else max(fewer, limit - fewer)
    if fewer + more > limit:
        fewer, more = limit // 2, limit - limit // 2
    return [more, fewer] if first > second else [fewer, more]


def _cut(length: int, most: int, stride: int, left: bool) -> list[Range]:
    """Ranges of at most `most` tokens, each sharing `stride` with the one before."""
    if most >= length:
        return [(0, length)]
    step, ranges = most - stride, [(0, most)]
    while ranges[-1][1] < length:
        start = ranges[-1][0] + step
        ranges.append((start, min(start + most, length)))
    return [(length - stop, length - start) for start, stop in ranges] if left else ranges


def _made_up(sequence: int) -> list[int]:
    """Ids that no vocabulary has."""
    return [2**32 - 1 - 5 * sequence - i for i in range(5)]


def made_up_encoding(ids: Iterable[int], tokens: list[str], offsets: Sequence[Range]) -> Encoding:
    """An encoding of tokenizers that no tokenizer made."""
    return _from_state(_state(list(ids), tokens, 0) | {"offsets": offsets})


def _encoding(ids: list[int]) -> Encoding:
    """An encoding of the first two ids, with two that overflow."""
    type_id = int(ids != _made_up(0))
    state = _state(ids[:2], ["x"] * 2, type_id)
    state["overflowing"] = [_state(ids[1:3], ["x"] * 2, type_id), _state(ids[3:5], ["x"] * 2, type_id)]
    return _from_state(state)


def _state(ids: list[int], tokens: list[str], type_id: int) -> dict[str, Any]:
    return {
        "ids": ids,
        "type_ids": [type_id] * len(ids),
        "tokens": tokens,
        "words": [0] * len(ids),
        "offsets": [[0, 1]] * len(ids),
        "special_tokens_mask": [0] * len(ids),
        "attention_mask": [1] * len(ids),
        "overflowing": [],
        "sequence_ranges": {},
    }


def _from_state(state: dict[str, Any]) -> Encoding:
    encoding = Encoding()
    encoding.__setstate__(json.dumps(state).encode())
    return encoding


def _layout_of(seen: Encoding, sequences: list[list[int]]) -> Layout:
    """What the encoding looks like; `_is_made_of` tells whether it is that."""
    overflow_types: dict[int, int] = {}
    for other in seen.overflowing:
        overflow_types |= dict(zip(other.ids, other.type_ids, strict=True))
    pieces: list[Slot | Run] = []
    tokens = list(zip(seen.ids, seen.type_ids, seen.tokens, strict=True))
    while tokens:
        id, type_id, token = tokens.pop(0)
        found = [sequence for sequence, ids in enumerate(sequences) if id == ids[0]]
        if found and tokens:
            tokens.pop(0)
            pieces.append(Slot(found[0], type_id, overflow_types.get(sequences[found[0]][3], type_id)))
        else:
            pieces.append(Run(1, type_id, ids=(id,), tokens=(token,)))
    return Layout(tuple(pieces))


def _is_made_of(seen: Encoding, runs: list[Run], sequences: list[list[int]]) -> bool:
    columns = seen.ids, seen.type_ids, seen.sequence_ids, seen.special_tokens_mask, seen.attention_mask
    expected: list[tuple[int, int, int | None, int, int]] = []
    for run in runs:
        if run.sequence is None:
            expected += [(id, run.type_id, None, 1, 1) for id in run.ids]
        else:
            ids = sequences[run.sequence][run.start : run.start + run.length]
            expected += [(id, run.type_id, run.sequence, 0, 1) for id in ids]
    return list(zip(*columns, strict=True)) == expected
