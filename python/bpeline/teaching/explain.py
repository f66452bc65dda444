"""A real byte-level encoding, stage by stage: what `encode` does to a text, made visible.

    text -> parts -> pieces -> bytes -> mapped characters -> merges by rank -> ids

The stages are those of the reference backend, the merges are done one by one over what the tokenizer says of its own
encoding, and the ids are compared with those that it gives. A piece of n bytes takes O(n^2) time and memory here, so that
there is a limit to n.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .._reference import data, spec
from .._reference.regexes import compile_regex
from .._reference.route import Route, route
from .._reference.stages import SpecialTokens, spell, split_pieces, unspell
from .._types import Special
from ..show import quoted
from ..tokenizer import Methods

LONGEST_PIECE = 1_000  # in bytes
MOST_PIECES = 40  # in a repr or a notebook cell; str() and html() show all


class Merge(NamedTuple):
    """One merge: its rank, which symbol of the piece it made, and the symbols of the piece after it."""

    rank: int
    at: int
    symbols: tuple[bytes, ...]


@dataclass(frozen=True)
class Piece:
    """A piece of the text, or a special token (then `content` is its literal, and there are no merges)."""

    content: bytes
    ids: tuple[int, ...]
    merges: tuple[Merge, ...] = ()
    special: bool = False
    whole: bool = False
    """Whether the piece was found in the vocabulary as it is, so that the merges were not needed."""

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The symbols that are left in the end."""
        return (self.content,) if self.whole or self.special else self.symbols[-1]

    @property
    def symbols(self) -> list[tuple[bytes, ...]]:
        """The symbols at the start, which are single bytes, and after each merge."""
        return [tuple(bytes([byte]) for byte in self.content), *(merge.symbols for merge in self.merges)]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The stages of one text. As text when it is printed, as HTML in a notebook."""

    text: str
    name: str
    """Of the encoding."""
    pieces: tuple[Piece, ...]

    @property
    def ids(self) -> list[int]:
        return [id for piece in self.pieces for id in piece.ids]

    @property
    def parts(self) -> list[Piece | bytes]:
        """The special tokens, and the text between them (as it is after the tokenizer's normalizer, if it has one)."""
        parts: list[Piece | bytes] = []
        for piece in self.pieces:
            if piece.special:
                parts.append(piece)
            elif parts and isinstance(parts[-1], bytes):
                parts[-1] += piece.content
            else:
                parts.append(piece.content)
        return parts

    def distinct(self) -> list[Piece]:
        """The pieces that are merged, each once."""
        return list(dict.fromkeys(piece for piece in self.pieces if not piece.special))

    def plain(self, most: int | None = None) -> str:
        """The stages as text; of the pieces, the first `most` in full, or all."""
        pieces = self.distinct()
        left_out = 0 if most is None else max(len(pieces) - most, 0)
        lines = [
            f"{quoted(self.text.encode())} in {_bare(self.name.encode())}",
            "",
            "1. special tokens are cut out",
            "   " + "  ".join(_label(part) for part in self.parts),
            "2. the pattern cuts the rest into pieces",
            "   " + "  ".join(_label(piece) for piece in self.pieces),
            "3. a piece is bytes, each written as a character; pairs merge, the lowest rank first",
            *(line for piece in pieces[:most] for line in _lines(piece)),
            *([f"   … and {left_out:,} more pieces"] if left_out else []),
            "4. what is left are tokens, and these are their ids",
            "   " + " ".join(map(str, self.ids)),
        ]
        return "\n".join(line.rstrip() for line in lines)

    def html(self, most: int | None = None) -> str:
        """The stages as an HTML fragment that needs nothing else: no style sheet, no script."""
        from .explain_html import html

        return html(self, most)

    def _repr_html_(self) -> str:
        return self.html(MOST_PIECES)

    def __repr__(self) -> str:
        return self.plain(MOST_PIECES)

    def __str__(self) -> str:
        return self.plain()


def explain(text: str, tokenizer: Methods, *, special: Special = "parse") -> Explanation:
    """How a tokenizer of `bpeline.load` comes to the ids of a text. `special` is that of its `encode`.

    Errors are those of `encode`, `TypeError` for a tokenizer of another kind, `EncodingFileError` for a regular expression that
    only the native backend knows, and `ValueError` for a piece of more than 1,000 bytes. The first call for an encoding
    takes some tenths of a second.

    >>> import bpeline
    >>> from bpeline.teaching import explain
    >>> print(explain(" the", bpeline.load("gpt2")))
    " the" in gpt2
    <BLANKLINE>
    1. special tokens are cut out
       " the"
    2. the pattern cuts the rest into pieces
       " the"
    3. a piece is bytes, each written as a character; pairs merge, the lowest rank first
       " the"
          bytes        20 74 68 65
          characters   Ġ t h e
          rank      0  Ġt h e
          rank      2  Ġt he
          rank      6  Ġthe
          ids          262
    4. what is left are tokens, and these are their ids
       262
    """
    if not isinstance(tokenizer, Methods):
        raise TypeError(f"tokenizer must be one of bpeline.load, not {type(tokenizer).__name__}")
    if not isinstance(text, str):
        raise TypeError(f"text must be str, not {type(text).__name__}")
    ids = tokenizer.encode(text, special=special)
    explanation = Explanation(text, tokenizer.name, tuple(_rules(tokenizer).pieces(text, special)))
    assert explanation.ids == ids, "the stages lead to the ids of encode"
    return explanation


class Rules:
    """What an encoding says of itself, as tables to look things up in."""

    def __init__(self, parts: data.Parts) -> None:
        self._specials = parts.special_tokens
        self._patterns: Sequence[re.Pattern[str]] = compile_regex(parts.pattern)
        self._route: Route | None = None if parts.spec is None else route(spec.read(parts.spec), self._patterns)
        self._ids = {token: id for id, token in parts.tokens.items()}
        self._ranks = {
            (parts.tokens[left], parts.tokens[right]): rank for rank, (left, right) in enumerate(parts.merges or [])
        }
        self._ranks_tokens = parts.merges is None
        self._looks_up_wholes = self._ranks_tokens or parts.whole_pieces

    def pieces(self, text: str, special: Special) -> Iterator[Piece]:
        parses = list(self._specials if special in ("parse", "error") else [] if special == "text" else special)
        merged = functools.cache(self._merged)  # a piece that comes again is merged once
        if self._route is not None:
            for token, traced in self._route.parts(text, parses.__contains__):
                if token is not None:
                    yield Piece(token["content"].encode(), (token["id"],), special=True)
                else:
                    yield merged(unspell(traced.text) if self._route.is_spelled else traced.text.encode())
            return
        for part, id in SpecialTokens({literal: self._specials[literal] for literal in parses}).split(text):
            if id is not None:
                yield Piece(part.encode(), (id,), special=True)
            else:
                yield from (merged(piece.encode()) for piece in split_pieces(part, self._patterns))

    def _merged(self, piece: bytes) -> Piece:
        if len(piece) > LONGEST_PIECE:
            raise ValueError(f"a piece of {len(piece):,} bytes is too long to explain (at most {LONGEST_PIECE:,})")
        symbols = tuple(bytes([byte]) for byte in piece)
        merges: list[Merge] = []
        while True:
            ranks = map(self._rank, symbols, symbols[1:])
            ranked = [(rank, at) for at, rank in enumerate(ranks) if rank is not None]
            if not ranked:
                break
            rank, at = min(ranked)
            symbols = (*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :])
            merges.append(Merge(rank, at, symbols))
        whole = self._looks_up_wholes and piece in self._ids
        ids = tuple(self._ids[symbol] for symbol in ((piece,) if whole else symbols))
        return Piece(piece, ids, tuple(merges), whole=whole)

    def _rank(self, left: bytes, right: bytes) -> int | None:
        """Where there is no list of pairs, the bytes that a pair makes are ranked, by their id."""
        return self._ids.get(left + right) if self._ranks_tokens else self._ranks.get((left, right))


@functools.lru_cache(maxsize=4)
def _rules(tokenizer: Methods) -> Rules:
    return Rules(data.read(tokenizer.to_bytes()))


def _label(part: Piece | bytes) -> str:
    if isinstance(part, bytes):
        return quoted(part)
    return _bare(part.content) if part.special else quoted(part.content)


def _bare(text: bytes) -> str:
    """Without quotes; what could harm a terminal is an escape all the same."""
    return quoted(text)[1:-1]


def _lines(piece: Piece) -> Iterator[str]:
    yield f"   {quoted(piece.content)}" + ("   is a token as a whole" if piece.whole and len(piece.content) > 1 else "")
    yield f"      bytes        {piece.content.hex(' ')}"
    yield f"      characters   {' '.join(spell(piece.content))}"
    for rank, _, symbols in piece.merges:
        yield f"      rank {rank:>6}  {' '.join(map(spell, symbols))}"
    yield f"      ids          {' '.join(map(str, piece.ids))}"
