"""The stages, put together: a text to pieces and their ids."""

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from .._types import Errors, Special, Text
from ..errors import SpecialTokenError
from . import stages
from .encoding import Encoding
from .inputs import to_str
from .messages import quote
from .route import Route
from .traced import Span


class Piece(NamedTuple):
    """A piece or special token of a text, and its ids."""

    text: str
    ids: Sequence[int]
    spans: Sequence[Span] | None = None
    """What each id stands for, in characters of the document; None where the pieces together are the document."""


Pieces: TypeAlias = Iterator[Piece]

# Room for most pieces of a large corpus: an entry takes about 300 bytes.
_DEFAULT_CACHE_BYTES = 32 << 20


class Encoder:
    """Encodes with one encoding, and keeps the ids of pieces that it has met."""

    def __init__(self, encoding: Encoding, cache_bytes: int | None) -> None:
        self.encoding = encoding
        self.cache_bytes = _DEFAULT_CACHE_BYTES if cache_bytes is None else cache_bytes
        self._cache: dict[str, Sequence[int]] = {}
        self._cached_bytes = 0

    def pieces(self, text: Text, special: Special, errors: Errors, add_special_tokens: bool = False) -> Pieces:
        """The pieces and special tokens of a text, in order, and before and after them what `add_special_tokens` puts there."""
        string = to_str(text, errors)
        cutter = self.cutter(special)
        around = self.encoding._around if add_special_tokens else {"before": [], "after": []}
        yield from (Piece("", (id,), [(0, 0)]) for id in around["before"])
        if self.encoding._route is None:
            yield from self._usual_pieces(string, cutter, special, isinstance(text, str))
        else:
            yield from self._routed_pieces(string, self.encoding._route, special, isinstance(text, str))
        yield from (Piece("", (id,), [(len(string), len(string))]) for id in around["after"])

    def _usual_pieces(self, string: str, cutter: stages.SpecialTokens, special: Special, is_str: bool) -> Pieces:
        position = 0
        for part, id in cutter.split(string):
            if id is None:
                for piece in stages.split_pieces(part, self.encoding._compiled_pattern):
                    yield Piece(piece, self._piece_ids(piece))
            elif special == "error":
                raise _special_token_error(part, string[:position], is_str)
            else:
                yield Piece(part, (id,))
            position += len(part)

    def _routed_pieces(self, string: str, route: Route, special: Special, is_str: bool) -> Pieces:
        if special == "error":
            for token, part in route.parts(string, lambda literal: True):
                if token is not None and token["special"]:
                    raise _special_token_error(token["content"], string[: part.spans[0][0]], is_str)
        for token, part in route.parts(string, lambda literal: self._is_parsed(literal, special)):
            if token is not None:
                yield Piece(part.text, (token["id"],), [part.span(0, len(part.text))])
                continue
            if route.is_spelled:
                data, of_bytes = stages.unspell(part.text), list(part.spans)
            else:
                data = part.text.encode()
                of_bytes = [span for c, span in zip(part.text, part.spans, strict=True) for _ in c.encode()]
            ids = self._bytes_ids(data)
            ends = list(itertools.accumulate(len(self.encoding._tokens[id]) for id in ids))
            spans = [(of_bytes[a][0], of_bytes[b - 1][1]) for a, b in itertools.pairwise([0, *ends])]
            yield Piece(part.text, ids, spans)

    def _is_parsed(self, literal: str, special: Special) -> bool:
        return special in ("parse", "error") or (special != "text" and literal in special)

    def _piece_ids(self, piece: str) -> Sequence[int]:
        ids = self._cache.get(piece)
        if ids is None:
            ids = self._bytes_ids(piece.encode())
            self._remember(piece, ids)
        return ids

    def _bytes_ids(self, piece: bytes) -> Sequence[int]:
        encoding = self.encoding
        whole = encoding._whole_pieces.get(piece)
        if whole is not None:
            return (whole,)
        return tuple(stages.merge([encoding._byte_ids[byte] for byte in piece], encoding._pairs))

    def _remember(self, piece: str, ids: Sequence[int]) -> None:
        size = sys.getsizeof(piece) + sys.getsizeof(ids) + 100  # about what an entry of a dict takes
        if self._cached_bytes + size > self.cache_bytes:
            self._cache.clear()
            self._cached_bytes = 0
        if size <= self.cache_bytes:
            self._cache[piece] = ids
            self._cached_bytes += size

    def cutter(self, special: Special) -> stages.SpecialTokens:
        """What cuts a text at the special tokens that become their ids or an error."""
        if special in ("parse", "error"):
            return self.encoding._special_token_cutter
        if special == "text":
            return stages.SpecialTokens({})
        if isinstance(special, set | frozenset | list | tuple) and all(isinstance(literal, str) for literal in special):
            ids = self.encoding.special_tokens
            for literal in special:
                if literal not in ids:
                    raise ValueError(f"not a special token of this encoding: {quote(literal)}")
            return stages.SpecialTokens({literal: ids[literal] for literal in special})
        raise ValueError(f'special must be "parse", "text", "error" or a set of special tokens, not {special!r}')


def _special_token_error(token: str, before: str, is_str: bool) -> SpecialTokenError:
    unit, position = ("character", len(before)) if is_str else ("byte", len(before.encode()))
    return SpecialTokenError(f"special token {quote(token)} at {unit} {position}")
