"""An encoding as one block of bytes, the same from either backend.

"bpeline encoding 1\\n", SHA-256 of the body, body. In the body numbers are little-endian u32, and a block is its
length and its bytes:
    block name, block pattern
    u8 kind                                          0: pairs are ranked, 1: token bytes are, 2: pairs are, and whole
                                                     pieces are looked up first; 4 more if this comes next:
    block spec                                       what else there is (rust/route/spec.rs)
    number of special tokens, each id and block      by (id, literal)
    number of ordinary tokens, each id and block     by id
    kinds 0 and 2: number of rules, each left id and right id, in rank order
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import EncodingFileError
from .messages import quote, show_bytes

MAX_ID = 0xFF_FFFF  # so that no table by id exhausts the memory

_MAGIC = b"bpeline encoding 1\n"
_TOKEN_BYTES, _WHOLE_PIECES, _HAS_SPEC = 1, 2, 4


class Parts(NamedTuple):
    """What an encoding is made from."""

    name: str
    pattern: str
    tokens: dict[int, bytes]
    """The ordinary ones, by id."""
    merges: list[tuple[int, int]] | None
    """(left id, right id) in rank order; None where the bytes of tokens are ranked, by their ids."""
    special_tokens: dict[str, int]
    """By (id, literal)."""
    whole_pieces: bool = False
    """Whether a piece that is a token is looked up whole before any merge, though pairs are ranked."""
    spec: str | None = None
    """What else a tokenizer.json says, as JSON; see rust/route/spec.rs."""


def write(parts: Parts) -> bytes:
    body = _block(parts.name.encode()) + nameless_body(parts)
    return _MAGIC + hashlib.sha256(body).digest() + body


def nameless_body(parts: Parts) -> bytes:
    """All that fixes the ids."""
    kind = _TOKEN_BYTES if parts.merges is None else _WHOLE_PIECES if parts.whole_pieces else 0
    written = [
        _block(parts.pattern.encode()),
        bytes([kind | (0 if parts.spec is None else _HAS_SPEC)]),
        b"" if parts.spec is None else _block(parts.spec.encode()),
        _numbers([len(parts.special_tokens)]),
        *(_numbers([id]) + _block(literal.encode()) for literal, id in parts.special_tokens.items()),
        _numbers([len(parts.tokens)]),
        *(_numbers([id]) + _block(token) for id, token in parts.tokens.items()),
    ]
    if parts.merges is not None:
        written += [_numbers([len(parts.merges)]), *map(_numbers, parts.merges)]
    return b"".join(written)


def _numbers(numbers: Iterable[int]) -> bytes:
    return b"".join([number.to_bytes(4, "little") for number in numbers])


def _block(data: bytes) -> bytes:
    return _numbers([len(data)]) + data


def read(data: bytes) -> Parts:
    """What `write` wrote. Raises `EncodingFileError`."""
    if not data.startswith(_MAGIC):
        raise EncodingFileError('expected it to start with "bpeline encoding 1"')
    start = len(_MAGIC) + 32
    body = data[start:]
    if data[len(_MAGIC) : start] != hashlib.sha256(body).digest():
        raise EncodingFileError("the checksum does not match")
    reader = _Reader(body)
    try:
        name, pattern = reader.text(), reader.text()
        kind = reader.take(1)[0]
        spec = reader.text() if kind & _HAS_SPEC else None
        kind &= ~_HAS_SPEC
        specials = [(reader.number(), reader.text()) for _ in range(reader.number())]
        tokens = [(reader.number(), reader.block()) for _ in range(reader.number())]
        merges = None if kind == _TOKEN_BYTES else [(reader.number(), reader.number()) for _ in range(reader.number())]
    except (EOFError, UnicodeDecodeError):
        raise EncodingFileError("damaged") from None
    if kind > 2 or not reader.at_end():
        raise EncodingFileError("damaged")
    for fault in _faults(specials, tokens, merges or []):
        raise EncodingFileError(fault)
    special_tokens = {literal: id for id, literal in specials}
    return Parts(name, pattern, dict(tokens), merges, special_tokens, kind == _WHOLE_PIECES, spec)


class _Reader:
    """Reads from the front; `EOFError` past the end."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._body)

    def take(self, length: int) -> bytes:
        taken = self._body[self._at : self._at + length]
        if len(taken) < length:
            raise EOFError
        self._at += length
        return taken

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def block(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        return self.block().decode("utf-8")


def _faults(
    specials: list[tuple[int, str]], tokens: list[tuple[int, bytes]], merges: list[tuple[int, int]]
) -> Iterator[str]:
    """What no encoding could have written. Special tokens are checked further where an encoding is made."""
    literals = set()
    for _, literal in specials:
        if literal in literals:
            yield f"special token {quote(literal)} is repeated"
        literals.add(literal)

    by_id: dict[int, bytes] = {}
    ids: dict[bytes, int] = {}
    for id, token in tokens:
        if id > MAX_ID:
            yield f"a token has the id {id}, expected at most {MAX_ID}"
        if not token:
            yield f"the token with the id {id} is empty"
        if id in by_id:
            yield f"the tokens {show_bytes(by_id[id])} and {show_bytes(token)} have the same id {id}"
        if token in ids:
            yield f"the ids {ids[token]} and {id} have the same token {show_bytes(token)}"
        by_id[id], ids[token] = token, id
    for byte in range(256):
        if bytes([byte]) not in ids:
            yield f"the byte 0x{byte:02x} has no token"

    rules = set()
    for left, right in merges:
        for symbol in (left, right):
            if symbol not in by_id:
                yield f"a rule names the id {symbol}, which no token has"
        made = by_id[left] + by_id[right]
        if made not in ids:
            yield f"a rule makes {show_bytes(made)}, which is not in the vocabulary"
        if (left, right) in rules:
            yield f"the rule of {left} and {right} is repeated"
        rules.add((left, right))
