"""What the static methods of `Encoding` are given, checked."""

from collections.abc import Mapping
from operator import index
from typing import Any

from ..errors import EncodingFileError, InvalidTextError
from .data import MAX_ID
from .messages import code_point, quote, show_bytes


def checked_ranks(ranks: Mapping[bytes, int]) -> dict[int, bytes]:
    """The tokens by rank. Raises `EncodingFileError` for ranks from which no encoding can be made."""
    for token, rank in ranks.items():
        if not isinstance(token, bytes):
            raise TypeError(f"ranks: a token must be bytes, not {type(token).__name__}")
        if not token:
            raise EncodingFileError(f"ranks: the empty token has the rank {rank}")
        if not 0 <= index(rank) <= MAX_ID:
            raise EncodingFileError(f"ranks: the token {show_bytes(token)} has the rank {rank}, expected 0 to {MAX_ID}")
    tokens: dict[int, bytes] = {}
    for rank, token in sorted((index(rank), token) for token, rank in ranks.items()):
        if rank in tokens:
            both = f"{show_bytes(tokens[rank])} and {show_bytes(token)}"
            raise EncodingFileError(f"ranks: the tokens {both} have the same rank {rank}")
        tokens[rank] = token
    for byte in range(256):
        if bytes([byte]) not in ranks:
            raise EncodingFileError(f"ranks: the byte 0x{byte:02x} has no token")
    return tokens


def checked_mapping(special_tokens: Any) -> dict[str, int]:
    """The argument `special_tokens`, checked to be one."""
    if special_tokens is None:
        return {}
    if not isinstance(special_tokens, Mapping):
        kind = type(special_tokens).__name__
        raise TypeError(f"special_tokens must be a mapping of str to int, not {kind}")
    for literal in special_tokens:
        if not isinstance(literal, str):
            raise TypeError(f"a special token must be str, not {type(literal).__name__}")
    return dict(special_tokens)


def checked_special_tokens(
    special_tokens: Mapping[str, int], literals: Mapping[str, int], tokens: Mapping[int, bytes], may_share: bool
) -> dict[str, int]:
    """The special tokens by (id, literal). Where ids may be shared, theirs and those of `literals` may be a token's of the same bytes."""
    by_id = sorted((index(id), literal) for literal, id in special_tokens.items())
    for id, literal in by_id:
        if not literal:
            raise EncodingFileError('special token "" is empty')
        try:
            literal.encode()
        except UnicodeEncodeError as error:
            position = error.start
            raise InvalidTextError(f"surrogate {code_point(literal[position])} at character {position}") from None
        if not 0 <= id <= MAX_ID:
            raise EncodingFileError(f"special token {quote(literal)} has the id {id}, expected 0 to {MAX_ID}")
    for id, literal in [*by_id, *((id, literal) for literal, id in literals.items())]:
        if id in tokens and not (may_share and tokens[id] == literal.encode()):
            raise EncodingFileError(
                f"special token {quote(literal)} has the id {id}, which the token {show_bytes(tokens[id])} has already"
            )
    return {literal: id for id, literal in by_id}
