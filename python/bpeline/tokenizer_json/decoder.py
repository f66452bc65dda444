"""The decoder of a tokenizer.json: it must come to no more than putting the bytes of the tokens in a row.

ByteLevel does that, and so does a file without a decoder as far as bpeline goes. What comes before ByteLevel sees each
token as it is spelled; it is taken if it changes none. What comes behind sees the whole text, which a decoder that is
given one token at a time never has. An added token is its own text here: tokenizers puts what the normalizer makes of it,
and its ByteLevel takes one for spelled bytes if it can be (`<é>`, for a byte that is no UTF-8).
"""

import re
from collections.abc import Callable, Iterable

from .._reference.stages import BYTE_TO_CHARACTER
from .fields import Section, shown
from .text import flat

_ALPHABET = frozenset(BYTE_TO_CHARACTER)
_FALLBACK = re.compile("<0x[0-9A-Fa-f+][0-9A-Fa-f]>")


def check_decoder(file: Section, tokens: Iterable[str]) -> None:
    """`tokens` are all of them as they are spelled. Raises `EncodingFileError` for a decoder that does more."""
    if file.content.get("decoder") is None:
        return
    all_tokens = list(tokens)
    is_bytes = is_fused = False
    for section in flat(file.section("decoder"), "decoders"):
        kind = section.get("type", str)
        if kind not in ("ByteLevel", "Fuse", "Replace", "Strip", "ByteFallback"):
            section.refuse(
                f"the decoder {shown(kind)}; supported are ByteLevel and Fuse, and before ByteLevel "
                "Replace, Strip and ByteFallback where they change no token"
            )
        if kind == "ByteLevel":
            if is_bytes:
                section.refuse("a second ByteLevel")
            is_bytes = True
            if is_fused and (stranger := next((t for t in all_tokens if not _ALPHABET.issuperset(t)), None)):
                section.refuse(f"the decoder ByteLevel behind Fuse: with the token {shown(stranger)} no text is bytes")
        elif kind == "Fuse":
            is_fused = True
        elif is_bytes or is_fused:
            section.refuse(f"the decoder {kind} on all of the text, which is never at hand when tokens come one by one")
        elif changed := next(filter(_changes(section, kind), all_tokens), None):
            section.refuse(f"the decoder {kind}, which changes the token {shown(changed)}")
    if not is_bytes:
        file.refuse("a decoder without ByteLevel: it leaves the tokens as they are spelled")


def _changes(section: Section, kind: str) -> Callable[[str], object]:
    """Whether a decoder changes a token."""
    if kind == "ByteFallback":
        return _FALLBACK.fullmatch
    if kind == "Replace":
        pattern = section.section("pattern")
        if "String" not in pattern.content:
            pattern.refuse("a regular expression in a decoder")
        literal: str = pattern.get("String", str)
        return lambda token: literal in token
    character = section.get("content", str)
    starts, stops = section.get("start", int) > 0, section.get("stop", int) > 0
    return lambda token: (starts and token.startswith(character)) or (stops and token.endswith(character))
