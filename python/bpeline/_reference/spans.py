"""Where tokens end in a text, and which characters each stands for."""

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .encode import Piece, Pieces
from .encoding import Encoding
from .traced import Span


def token_ends(encoding: Encoding, pieces: Iterable[Piece]) -> list[int]:
    """0, and the byte of the text at which each token ends, where the pieces together are the text."""
    return [
        0,
        *itertools.accumulate(itertools.chain.from_iterable(_token_lengths(encoding, piece) for piece in pieces)),
    ]


def _token_lengths(encoding: Encoding, piece: Piece) -> list[int]:
    # A special token's literal may differ from its id's text, where two share the id.
    tokens = encoding._tokens
    return [len(piece.text.encode())] if len(piece.ids) == 1 else [len(tokens[id]) for id in piece.ids]


def with_spans(encoding: Encoding, pieces: Pieces) -> tuple[list[int], NDArray[np.int64]]:
    ids: list[int] = []
    spans: list[Span] = []
    position = 0  # in characters
    for piece in pieces:
        ids += piece.ids
        if piece.spans is not None:
            spans += piece.spans
            continue
        # The character that each byte belongs to.
        characters = [at for at, character in enumerate(piece.text, position) for _ in character.encode()]
        ends = itertools.accumulate(_token_lengths(encoding, piece), initial=0)
        spans += [(characters[start], characters[end - 1] + 1) for start, end in itertools.pairwise(ends)]
        position += len(piece.text)
    return ids, np.array(spans, np.int64).reshape(len(ids), 2)
