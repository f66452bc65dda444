"""Which tokens at the end of a text may change with the text that follows, as tiktoken guesses it.

The bytes of the last piece are unstable, and of the white space before it. What may come in their place: a token that
begins with them; a token that begins with the end of them, after what is before it has been encoded anew; and the two
parts that a last white space character splits them into. The guess is tiktoken's, to the id. All of it is Python, and
each possible token costs an encoding: milliseconds after a word, a second after two spaces.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core_bpe import CoreBPE


def lengthen(core: "CoreBPE", ids: list[int], unstable: int) -> int:
    """How many of the last ids are unstable, if `unstable` are of the last piece: the white space before it, too."""

    def is_space(id: int) -> bool:
        return not core.is_special(id) and not (core.token_bytes(id) or b" ").strip(b" \n\t")

    if unstable and is_space(ids[-unstable]):
        while unstable < len(ids) and is_space(ids[-unstable - 1]):
            unstable += 1
    return unstable


def completions(core: "CoreBPE", unstable: bytes) -> set[tuple[int, ...]]:
    """The sequences of ids that may come in the place of bytes at the end of a text."""
    found: set[tuple[int, ...]] = {
        (core.encode_single_token(token),) for token in _beginning_with(core.sorted_tokens(), unstable)
    }
    for cut in range(1, len(unstable)):
        for token in _beginning_with(core.sorted_tokens(), unstable[cut:]):
            ids = _encode(core, unstable[:cut] + token)
            found.add(_covering(core, ids, len(unstable)))
    last = _last_character(unstable)
    if _is_white_space(last) and len(last.encode()) < len(unstable):
        space = last.encode()
        found.add((*core.merge(unstable.removesuffix(space)), *core.merge(space)))
    return found


def _beginning_with(tokens: list[bytes], start: bytes) -> Iterator[bytes]:
    for place in range(bisect_left(tokens, start), len(tokens)):
        if not tokens[place].startswith(start):
            return
        yield tokens[place]


def _encode(core: "CoreBPE", data: bytes) -> list[int]:
    try:
        return core.encode_ordinary(data.decode())
    except UnicodeDecodeError:
        return core.merge(data)


def _covering(core: "CoreBPE", ids: list[int], size: int) -> tuple[int, ...]:
    """The first ids, until they have that many bytes."""
    count = 0
    while size > 0:
        size -= len(core.token_bytes(ids[count]) or b"")
        count += 1
    return tuple(ids[:count])


def _last_character(data: bytes) -> str:
    """The character that ends the data, or nothing."""
    for size in range(1, 5):
        try:
            return data[-size:].decode()[-1:]
        except UnicodeDecodeError:
            continue
    return ""


def _is_white_space(character: str) -> bool:
    """As Unicode has it, which four of the characters that `str.isspace` knows are not."""
    return character.isspace() and not "\x1c" <= character <= "\x1f"
