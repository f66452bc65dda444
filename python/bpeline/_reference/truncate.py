"""The longest prefix of a text that is a number of tokens at most."""

import itertools
from collections.abc import Sequence

from .._types import Errors, Special, Text
from .encode import Encoder, Piece
from .inputs import to_str
from .spans import token_ends

_CONTINUATION_BYTES = {bytes([byte]) for byte in range(0x80, 0xC0)}


def truncate(encoder: Encoder, text: Text, max_tokens: int, special: Special, errors: Errors) -> str:
    """The longest prefix that encodes to at most `max_tokens` tokens; see `Core.truncate`."""
    encoding = encoder.encoding
    pieces = list(encoder.pieces(text, special, errors))
    if encoding._route is not None:
        return _truncate_routed(encoder, to_str(text, errors), pieces, max_tokens, special)
    data = "".join(piece.text for piece in pieces).encode()
    # A cut can turn "  ", " x" into "   ": how many tokens a prefix has does not grow steadily with its length, so
    # there is no binary search.
    within_reach = max_tokens * encoding._longest_token
    prefixes = (
        data[:end].decode()
        for end in reversed(token_ends(encoding, pieces))
        if end <= within_reach and data[end : end + 1] not in _CONTINUATION_BYTES
    )
    return next(prefix for prefix in prefixes if _fits(encoder, prefix, max_tokens, special))


def _truncate_routed(encoder: Encoder, text: str, pieces: Sequence[Piece], max_tokens: int, special: Special) -> str:
    if sum(len(piece.ids) for piece in pieces) <= max_tokens:
        return text
    counts = [0, *itertools.accumulate(len(piece.ids) for piece in pieces)]
    begins = len(text)
    for number in reversed(range(len(pieces))):
        # A cut changes no piece before the one in front of it.
        settled = counts[max(number - 1, 0)]
        for start, end in reversed(pieces[number].spans or ()):
            # A token behind the cut may stand for something in front of it.
            is_between, begins = end <= begins, min(begins, start)
            if is_between and settled <= max_tokens and _fits(encoder, text[:end], max_tokens, special):
                return text[:end]
    return ""


def _fits(encoder: Encoder, text: str, max_tokens: int, special: Special) -> bool:
    count = 0
    for piece in encoder.pieces(text, special, "strict"):
        count += len(piece.ids)
        if count > max_tokens:
            return False
    return True
