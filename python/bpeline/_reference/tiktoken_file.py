"""Rank files, as tiktoken reads them: on each line the bytes of a token in base64, a space, and its rank.

Ranks may have gaps and come in any order. Stricter than tiktoken, which skips what is no base64 and takes the last of
two lines that have the same token. A rank file says neither the pattern nor the special tokens: they are the caller's,
or of a built-in encoding whose file this is, known by its hash. They are never guessed.
"""

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping

from ..errors import EncodingFileError
from . import files
from .data import MAX_ID, Parts
from .messages import cut, quote, show_bytes
from .recipes import of_rank_file

_FIELD = re.compile(r"[^ \t]+")
_INTEGER = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def read_tiktoken_file(path: str, pattern: str | None, special_tokens: Mapping[str, int] | None, name: str) -> Parts:
    """What the file and the caller say. Raises `EncodingFileError` for any fault in the file."""
    data = files.read(path)
    tokens = _tokens(path, files.text(path, data))
    known = of_rank_file(hashlib.sha256(data).hexdigest())
    if pattern is None:
        if known is None:
            raise EncodingFileError(
                f"{path}: a rank file does not say how a text is cut into pieces: pass pattern= (a name or a regular "
                "expression) and special_tokens=, or load the folder if it has the bpeline.json that `save` writes"
            )
        pattern = known.pattern
    if special_tokens is None:
        special_tokens = known.special_tokens if known else {}
    return Parts(name, pattern, tokens, None, dict(special_tokens))


def _tokens(path: str, text: str) -> dict[int, bytes]:
    tokens: dict[int, bytes] = {}
    lines_of_tokens: dict[bytes, int] = {}
    lines_of_ranks: dict[int, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line:
            continue
        where = f"{path}: line {number}"
        fields = _FIELD.findall(line)
        if len(fields) != 2:
            raise EncodingFileError(f"{where}: expected a token in base64, a space and its rank, found {quote(line)}")
        token = decode_base64(fields[0])
        if token is None:
            raise EncodingFileError(f"{where}: {quote(fields[0])} is not base64")
        # The length first: Python refuses to read thousands of digits.
        rank = fields[1]
        if not _INTEGER.fullmatch(rank) or len(rank) > len(str(MAX_ID)) or int(rank) > MAX_ID:
            raise EncodingFileError(
                f"{where}: the token {show_bytes(token)} has the rank {cut(rank)}, expected 0 to {MAX_ID}"
            )
        id = int(rank)
        if token in lines_of_tokens:
            raise EncodingFileError(f"{where}: the token {show_bytes(token)} repeats line {lines_of_tokens[token]}")
        if id in lines_of_ranks:
            raise EncodingFileError(f"{where}: the rank {id} repeats line {lines_of_ranks[id]}")
        lines_of_tokens[token] = lines_of_ranks[id] = number
        tokens[id] = token
    for byte in range(256):
        if bytes([byte]) not in lines_of_tokens:
            raise EncodingFileError(f"{path}: the byte 0x{byte:02x} has no token")
    return tokens


def decode_base64(text: str) -> bytes | None:
    """The bytes, at least one; None unless `text` is what an encoder would have written."""
    try:
        token = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return token if b64encode(token) == text.encode() and token else None
