"""The naive oracle as an encoder: specials, pieces, merging, ids, each by its definition."""

import json
import re
from pathlib import Path

from tests import naive
from tests.small import SPELL

BYTE_OF = {character: byte for byte, character in SPELL.items()}


def cut(text, specials):
    """Split at the special literals: leftmost, then longest. Odd parts are specials."""
    if not specials:
        return [text]
    longest_first = sorted(specials, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


class Oracle:
    """ids: {bytes: id}; rank: (left bytes, right bytes) -> rank or None; whole: look up the whole piece first."""

    def __init__(self, ids, rank, specials=(), pieces=naive.pieces, whole=False):
        self.ids, self.rank, self.specials, self.pieces, self.whole = ids, rank, dict(specials), pieces, whole

    def tokens(self, text, parse=True):
        """(id, bytes) of each token."""
        for i, part in enumerate(cut(text, self.specials if parse else ())):
            if i % 2:
                yield self.specials[part], part.encode()
                continue
            for piece in map(str.encode, self.pieces(part)):
                whole = self.whole and piece in self.ids
                for symbol in [piece] if whole else naive.merge(piece, self.rank):
                    yield self.ids[symbol], symbol

    def encode(self, text, parse=True):
        return [token_id for token_id, _ in self.tokens(text, parse)]

    @classmethod
    def of_pair(cls, vocab_path, merges_path):
        """From GPT-2's two files."""
        spelled = json.loads(Path(vocab_path).read_text(encoding="utf-8"))
        eot = spelled.pop("<|endoftext|>")
        raw = lambda token: bytes(BYTE_OF[c] for c in token)  # noqa: E731
        lines = Path(merges_path).read_text(encoding="utf-8").split("\n")[1:]
        ranks = {tuple(map(raw, line.split(" "))): rank for rank, line in enumerate(filter(None, lines))}
        ids = {raw(token): i for token, i in spelled.items()}
        return cls(ids, lambda left, right: ranks.get((left, right)), {"<|endoftext|>": eot})

    @classmethod
    def of_ranks(cls, ranks, specials=(), pieces=naive.pieces):
        """From token ranks: the rank of a pair is that of the joined bytes."""
        return cls(ranks, lambda left, right: ranks.get(left + right), specials, pieces, whole=True)
