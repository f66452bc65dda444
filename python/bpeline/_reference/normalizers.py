"""The normalizers of a tokenizer.json, as Hugging Face's tokenizers applies them."""

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InvalidTextError
from .regexes import compile_regex
from .stages import parse_ranges, split_matches
from .tokenizers_tables import LOWER, NORMALIZED
from .traced import Traced, joined

Normalizer = Callable[[Traced, int], Traced]
"""Of a text, and the most bytes that may come of it."""

WHITESPACE = "".join(map(chr, [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]))
WHITESPACE += "\u2028\u2029\u202f\u205f\u3000"


def strip(text: str, left: bool = False, right: bool = False) -> str:
    text = text.lstrip(WHITESPACE) if left else text
    return text.rstrip(WHITESPACE) if right else text


def normalized(normalizers: Iterable[Normalizer], text: Traced) -> Traced:
    """What normalizers make of a text, one after the other. Forty `Replace` that each double it would fill any memory."""
    given = len(text.text.encode())
    most = (1 << 20) + 1000 * given
    for normalizer in normalizers:
        try:
            text = normalizer(text, most)
        except OverflowError:
            raise InvalidTextError(f"the normalizer makes more than {most} bytes of {given}") from None
    return text


def normalizer_of(spec: dict[str, Any]) -> Normalizer:
    match spec["type"]:
        case "NFC" | "NFD" | "NFKC" | "NFKD" as form:
            return functools.partial(_unicode_form, form)
        case "Lowercase":
            return _lowercase
        case "Strip":
            return functools.partial(_stripped, spec["left"], spec["right"])
        case "Replace":
            (pattern,) = compile_regex(spec["regex"])
            return functools.partial(_replaced, pattern, spec["content"])
        case "Prepend":
            return lambda text, _: text.prepended(spec["text"])
    raise AssertionError("`spec.read` lets no other through")


@functools.cache
def _in_normalization() -> frozenset[int]:
    """The characters that tokenizers' tables (Unicode 9) know as more than themselves; newer ones stay as they are."""
    return frozenset(code for first, last in parse_ranges(NORMALIZED) for code in range(first, last + 1))


def normalize_unicode(form: str, text: str) -> str:
    """A Unicode form of a text, as tokenizers makes it.

    >>> from bpeline._reference.normalizers import normalize_unicode
    >>> normalize_unicode("NFKC", "e\\u0301 ㋿")
    'é ㋿'
    """
    known = _in_normalization()
    runs = itertools.groupby(text, lambda character: ord(character) in known)
    return "".join(
        unicodedata.normalize(form, "".join(run)) if is_known else "".join(run)  # type: ignore[arg-type]
        for is_known, run in runs
    )


@functools.cache
def _composed_backwards() -> frozenset[str]:
    """Characters of combining class 0 that may compose with the one before: vowel signs, later letters of Hangul."""
    decomposed = (unicodedata.normalize("NFD", chr(code)) for code in _in_normalization())
    return frozenset(part for parts in decomposed for part in parts[1:] if not unicodedata.combining(part))


def _begins_passage(form: str, character: str) -> bool:
    """Whether no character before this one can have to do with it."""
    if ord(character) not in _in_normalization():
        return True
    first = unicodedata.normalize("NFKD" if "K" in form else "NFD", character)[0]
    return not unicodedata.combining(first) and first not in _composed_backwards()


def _unicode_form(form: str, text: Traced, _: int) -> Traced:
    """Passage by passage; all that comes of a passage stands for all of it."""
    if text.text.isascii():
        return text
    starts = [at for at, character in enumerate(text.text) if at == 0 or _begins_passage(form, character)]
    passages = [text.slice(start, end) for start, end in itertools.pairwise([*starts, len(text.text)])]
    return joined(passage.put_for(normalize_unicode(form, passage.text)) for passage in passages)


@functools.cache
def _lower_forms() -> dict[str, str]:
    forms = {}
    for run in LOWER.split():
        first, last, step, distance = re.split("[-/:]", run, maxsplit=3)
        for code in range(int(first, 16), int(last, 16) + 1, int(step)):
            forms[chr(code)] = chr(code + int(distance))
    return forms | {"İ": "i\u0307"}


def _lowercase(text: Traced, _: int) -> Traced:
    forms = _lower_forms()
    characters = (text.slice(at, at + 1) for at in range(len(text.text)))
    return joined(character.put_for(forms.get(character.text, character.text)) for character in characters)


def _stripped(left: bool, right: bool, text: Traced, _: int) -> Traced:
    start = len(text.text) - len(strip(text.text, left=left))
    end = max(len(strip(text.text, right=right)), start)
    return text.slice(start, end)


def _replaced(pattern: re.Pattern[str], content: str, text: Traced, most: int) -> Traced:
    """Raises `OverflowError` if it comes to more than `most` bytes where a match is replaced."""
    parts, position, size = [], 0, 0
    for part, is_match in split_matches(text.text, pattern):
        source = text.slice(position, position + len(part))
        position += len(part)
        parts.append(source.put_for(content) if is_match else source)
        size += len((content if is_match else part).encode())
        if is_match and size > most:
            raise OverflowError
    return joined(parts)
