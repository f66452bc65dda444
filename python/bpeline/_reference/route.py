"""The way of a text where more is to do than cutting out special tokens and following one pattern.

    document -> parts -> normalized parts -> parts -> pieces
      added tokens   normalizers    added tokens  stages

This is what Hugging Face's tokenizers does with a text before merging, step by step: AddedVocabulary, Normalizer,
PreTokenizer. Texts carry along which characters of the document each of their characters stands for.
"""

import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import EncodingFileError
from ..tokenizer_json.regex import WORD as ONIGURUMA_WORD
from ..tokenizer_json.regex import WORD_IN_SET
from .messages import quote
from .stages import BYTE_TO_CHARACTER, SpecialTokens, compile_pattern, parse_ranges, split_matches, split_pieces
from .tokenizers_tables import LOWER, NORMALIZED, NUMERIC, PUNCTUATION, WORD

# --- Texts that know where they come from -------------------------------------------------------------------------

Span = tuple[int, int]


class Traced(NamedTuple):
    """A text, and for each of its characters the first character of the document that it stands for and the one behind the last."""

    text: str
    spans: Sequence[Span]

    def slice(self, start: int, end: int) -> "Traced":
        return Traced(self.text[start:end], self.spans[start:end])

    def span(self, start: int, end: int) -> Span:
        return self.spans[start][0], self.spans[end - 1][1]

    def put_for(self, text: str) -> "Traced":
        """`text` in the place of all of this."""
        return Traced(text, [self.span(0, len(self.text))] * len(text) if self.text else [])

    def prepended(self, front: str) -> "Traced":
        """With `front`, which stands for what the first character does. Nothing goes before an empty text."""
        return joined([self.slice(0, 1).put_for(front), self]) if self.text else self


def document(text: str) -> Traced:
    return Traced(text, [(at, at + 1) for at in range(len(text))])


def joined(parts: Iterable[Traced]) -> Traced:
    listed = list(parts)
    return Traced("".join(part.text for part in listed), list(itertools.chain.from_iterable(p.spans for p in listed)))


# --- Regular expressions ------------------------------------------------------------------------------------------


def _raw(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@functools.cache
def _words() -> dict[str, str]:
    ranges = parse_ranges(WORD)
    joiners = (0x200C, 0x200D)
    assert joiners in ranges, "they are a range of their own"
    without = _raw(range_ for range_ in ranges if range_ != joiners)
    return {ONIGURUMA_WORD: without + "²³¹¼½¾", WORD_IN_SET: without, r"\w": _raw(ranges)}


def compile_regex(regex: str) -> list[re.Pattern[str]]:
    """The expressions for Python's `re`, to be used in turn, of one that `bpeline.tokenizer_json` gave."""
    written, depth, at = [], 0, 0
    words = _words()
    for token in re.finditer("|".join([*map(re.escape, words), r"\\.|\[|\]|[^\\\[\]]+"]), regex, re.DOTALL):
        part = token.group()
        if part in words:
            part = words[part] if depth else f"[{words[part]}]"
        elif part in (r"\d", r"\D"):
            part = r"\p{Nd}" if part == r"\d" else r"\P{Nd}"
        depth += (part == "[") - (part == "]")
        written.append(part)
        at = token.end()
    try:
        return compile_pattern("".join(written) + regex[at:])
    except (re.error, OverflowError, RecursionError) as error:
        reason = getattr(error, "msg", error)
        raise EncodingFileError(f"pattern {quote(regex)} cannot be used: {reason}") from None


# --- Added tokens -------------------------------------------------------------------------------------------------


class AddedTokens:
    """Cuts a text at added tokens with conditions."""

    def __init__(self, tokens: Sequence[dict[str, Any]], normalize: Callable[[Traced], Traced]) -> None:
        self._tokens = tokens
        raw: dict[str, int] = {}
        normalized: dict[str, int] = {}
        for number, token in enumerate(tokens):
            if not token["normalized"]:
                raw[token["content"]] = number
                continue
            literal = normalize(document(token["content"])).text
            content = quote(token["content"])
            if not literal:
                raise EncodingFileError(f"the normalizer leaves nothing of the added token {content}")
            if literal in normalized:
                other = quote(tokens[normalized[literal]]["content"])
                raise EncodingFileError(f"the normalizer makes the same of the added tokens {other} and {content}")
            normalized[literal] = number
        self._raw, self._normalized = SpecialTokens(raw), SpecialTokens(normalized)

    def cut(
        self, text: Traced, normalized: bool, parses: Callable[[str], bool]
    ) -> Iterator[tuple[dict[str, Any] | None, Traced]]:
        """Each token with its literal and what it strips, and the text between them with None.

        The longest literal wins at each place, whatever its flags say; only then is it asked for.
        """
        all_text = text.text
        cutter = self._normalized if normalized else self._raw
        end = position = 0
        for literal, number in cutter.split(all_text):
            start, position = position, position + len(literal)
            if number is None:
                continue
            token = self._tokens[number]
            before, after = all_text[:start], all_text[position:]
            if token["special"] and not parses(token["content"]):
                continue
            if token["single_word"] and (_is_word(before[-1:]) or _is_word(after[:1])):
                continue
            stop = position
            if token["lstrip"]:
                start = max(len(_strip(before, right=True)), end)
            if token["rstrip"]:
                stop += len(after) - len(_strip(after, left=True))
            if end < start:
                yield None, text.slice(end, start)
            # What another one stripped may have been the start of this one; or all of it, and then it is none.
            if start < stop:
                yield token, text.slice(start, stop)
            end = stop
        if end < len(all_text):
            yield None, text.slice(end, len(all_text))


@functools.cache
def _members(name: str) -> frozenset[str]:
    table = {"Numeric": NUMERIC, "Punctuation": PUNCTUATION, "Word": WORD}[name]
    return frozenset(chr(code) for first, last in parse_ranges(table) for code in range(first, last + 1))


def _is_word(character: str) -> bool:
    return character in _members("Word") if character else False


_WHITESPACE = "".join(map(chr, [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]))
_WHITESPACE += "\u2028\u2029\u202f\u205f\u3000"


def _strip(text: str, left: bool = False, right: bool = False) -> str:
    text = text.lstrip(_WHITESPACE) if left else text
    return text.rstrip(_WHITESPACE) if right else text


# --- Normalizers --------------------------------------------------------------------------------------------------

Normalizer = Callable[[Traced], Traced]


def _normalizer(spec: dict[str, Any]) -> Normalizer:
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
            return lambda text: text.prepended(spec["text"])
    raise EncodingFileError("damaged")


@functools.cache
def _in_normalization() -> frozenset[int]:
    """The characters that tokenizers' tables (Unicode 9) know as more than themselves; newer ones stay as they are."""
    return frozenset(code for first, last in parse_ranges(NORMALIZED) for code in range(first, last + 1))


def normalize_unicode(form: str, text: str) -> str:
    """A Unicode form of a text, as tokenizers makes it.

    >>> from bpeline._reference.route import normalize_unicode
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


def _unicode_form(form: str, text: Traced) -> Traced:
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


def _lowercase(text: Traced) -> Traced:
    forms = _lower_forms()
    characters = (text.slice(at, at + 1) for at in range(len(text.text)))
    return joined(character.put_for(forms.get(character.text, character.text)) for character in characters)


def _stripped(left: bool, right: bool, text: Traced) -> Traced:
    start = len(text.text) - len(_strip(text.text, left=left))
    end = max(len(_strip(text.text, right=right)), start)
    return text.slice(start, end)


def _replaced(pattern: re.Pattern[str], content: str, text: Traced) -> Traced:
    parts, position = [], 0
    for part, is_match in split_matches(text.text, pattern):
        source = text.slice(position, position + len(part))
        position += len(part)
        parts.append(source.put_for(content) if is_match else source)
    return joined(parts)


# --- Stages of pre-tokenization -----------------------------------------------------------------------------------

Cut = Callable[[Traced], Iterable[Traced]]


def _stage(spec: dict[str, Any]) -> Cut:
    match spec["type"]:
        case "Regex" if spec["behavior"] == "Isolated":
            patterns = compile_regex(spec["regex"])
            return lambda text: _slices(text, map(len, split_pieces(text.text, patterns)))
        case "Regex":
            (pattern,) = compile_regex(spec["regex"])
            return lambda text: _behave(
                spec["behavior"],
                text,
                [(len(part), found != spec["invert"]) for part, found in split_matches(text.text, pattern)],
            )
        case "Class":
            members = frozenset(_WHITESPACE) if spec["class"] == "Whitespace" else _members(spec["class"])
            return lambda text: _behave(spec["behavior"], text, _runs(text.text, members))
        case "PrefixSpace":
            return lambda text: [text if text.text.startswith(" ") else text.prepended(" ")]
        case "Bytes":
            return _spelled
    raise EncodingFileError("damaged")


def _runs(text: str, members: frozenset[str]) -> list[tuple[int, bool]]:
    """The lengths of the characters that are members, each alone, and of the runs of others."""
    runs: list[tuple[int, bool]] = []
    for is_member, run in itertools.groupby(text, members.__contains__):
        length = len(list(run))
        runs += [(1, True)] * length if is_member else [(length, False)]
    return runs


def _slices(text: Traced, lengths: Iterable[int]) -> Iterator[Traced]:
    end = 0
    for length in lengths:
        start, end = end, end + length
        yield text.slice(start, end)


def _behave(behavior: str, text: Traced, parts: list[tuple[int, bool]]) -> Iterable[Traced]:
    """The pieces of a text that is made up of parts of these lengths, some of which are matches."""
    if behavior == "Removed":
        pieces = _slices(text, [length for length, _ in parts])
        return [piece for piece, (_, is_match) in zip(pieces, parts, strict=True) if not is_match]
    if behavior == "MergedWithNext":
        return _slices(text, reversed(_merged(reversed(parts), lambda after, now: now and not after)))
    joins = {
        "Contiguous": lambda before, now: before == now,
        "MergedWithPrevious": lambda before, now: now and not before,
        "Isolated": lambda before, now: False,
    }
    return _slices(text, _merged(parts, joins[behavior]))


def _merged(parts: Iterable[tuple[int, bool]], joins: Callable[[bool, bool], bool]) -> list[int]:
    lengths: list[int] = []
    before = False
    for length, is_match in parts:
        if lengths and joins(before, is_match):
            lengths[-1] += length
        else:
            lengths.append(length)
        before = is_match
    return lengths


def _spelled(text: Traced) -> list[Traced]:
    """Each byte as the character that files spell it by."""
    characters = (text.slice(at, at + 1) for at in range(len(text.text)))
    return [joined(c.put_for("".join(BYTE_TO_CHARACTER[byte] for byte in c.text.encode())) for c in characters)]


# --- Put together -------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """An added token and what it stands for; or a piece, whose token is None."""

    token: dict[str, Any] | None
    text: Traced


class Route:
    """The way of a text; `spec` is what rust/route/spec.rs describes."""

    def __init__(self, spec: dict[str, Any], patterns: Sequence[re.Pattern[str]]) -> None:
        self._normalizers = [_normalizer(normalizer) for normalizer in spec["normalizers"]]
        self._added = AddedTokens(spec["added"] or [], self._normalized)
        self._prefix_space: bool = spec["prefix_space"]
        stages = spec["stages"]
        self._stages: list[Cut]
        if stages is None:
            self._stages = [lambda text: _slices(text, map(len, split_pieces(text.text, patterns)))]
        else:
            self._stages = [_stage(stage) for stage in stages]
        self.is_spelled = any(stage["type"] == "Bytes" for stage in stages or [])
        """Whether pieces are spelled."""

    def parts(self, text: str, parses: Callable[[str], bool]) -> Iterator[Part]:
        """The added tokens and the pieces of a document. `parses` says which special tokens become their ids."""
        for token, part in self._added.cut(document(text), False, parses):
            if token is not None:
                yield Part(token, part)
                continue
            for inner_token, inner in self._added.cut(self._normalized(part), True, parses):
                if inner_token is not None:
                    yield Part(inner_token, inner)
                    continue
                start = inner if not self._prefix_space or inner.text.startswith(" ") else inner.prepended(" ")
                for piece in self._pieces(start):
                    yield Part(None, piece)

    def _normalized(self, text: Traced) -> Traced:
        for normalizer in self._normalizers:
            text = normalizer(text)
        return text

    def _pieces(self, text: Traced) -> Iterable[Traced]:
        pieces: Iterable[Traced] = [text]
        for stage in self._stages:
            pieces = itertools.chain.from_iterable(map(stage, pieces))
        return (piece for piece in pieces if piece.text)


def route(spec: str, patterns: Sequence[re.Pattern[str]]) -> Route | None:
    """The way that a spec says, or None if it is the usual one."""
    content = json.loads(spec)
    is_usual = content["added"] is None and content["stages"] is None
    if is_usual and not content["normalizers"] and not content["prefix_space"]:
        return None
    return Route(content, patterns)
