"""The way of a text where more is to do than cutting out special tokens and following one pattern.

    document -> parts -> normalized parts -> parts -> pieces
      added tokens   normalizers    added tokens  stages

This is what Hugging Face's tokenizers does with a text before merging, step by step: AddedVocabulary, Normalizer,
PreTokenizer. Texts carry along which characters of the document each of their characters stands for.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import EncodingFileError, InvalidTextError
from .messages import quote
from .normalizers import WHITESPACE, Normalizer, normalized, normalizer_of, strip
from .regexes import compile_regex, named
from .spec import Spec
from .stages import BYTE_TO_CHARACTER, SpecialTokens, parse_ranges, split_matches, split_pieces
from .tokenizers_tables import NUMERIC, PUNCTUATION, WORD
from .traced import Traced, document, joined

# --- Added tokens -------------------------------------------------------------------------------------------------


class AddedTokens:
    """Cuts a text at added tokens with conditions."""

    def __init__(self, tokens: Sequence[dict[str, Any]], normalizers: Sequence[Normalizer]) -> None:
        self._tokens = tokens
        raw: dict[str, int] = {}
        normal: dict[str, int] = {}
        for number, token in enumerate(tokens):
            if not token["normalized"]:
                raw[token["content"]] = number
                continue
            content = quote(token["content"])
            try:
                literal = normalized(normalizers, document(token["content"])).text
            except InvalidTextError as fault:
                raise EncodingFileError(f"the added token {content}: {fault}") from None
            if not literal:
                raise EncodingFileError(f"the normalizer leaves nothing of the added token {content}")
            if literal in normal:
                other = quote(tokens[normal[literal]]["content"])
                raise EncodingFileError(f"the normalizer makes the same of the added tokens {other} and {content}")
            normal[literal] = number
        self._raw, self._normalized = SpecialTokens(raw), SpecialTokens(normal)

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
                start = max(len(strip(before, right=True)), end)
            if token["rstrip"]:
                stop += len(after) - len(strip(after, left=True))
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


# --- Stages of pre-tokenization -----------------------------------------------------------------------------------

Cut = Callable[[Traced], Iterable[Traced]]


def _stage(spec: dict[str, Any]) -> Cut:
    match spec["type"]:
        case "Regex" if spec["behavior"] == "Isolated":
            patterns = compile_regex(named(spec["regex"]))
            return lambda text: _slices(text, map(len, split_pieces(text.text, patterns)))
        case "Regex":
            (pattern,) = compile_regex(spec["regex"])
            return lambda text: _behave(
                spec["behavior"],
                text,
                [(len(part), found != spec["invert"]) for part, found in split_matches(text.text, pattern)],
            )
        case "Class":
            members = frozenset(WHITESPACE) if spec["class"] == "Whitespace" else _members(spec["class"])
            return lambda text: _behave(spec["behavior"], text, _runs(text.text, members))
        case "PrefixSpace":
            return lambda text: [text if text.text.startswith(" ") else text.prepended(" ")]
        case "Bytes":
            return _spelled
    raise AssertionError("`spec.read` lets no other through")


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
    """The way of a text."""

    def __init__(self, spec: Spec, patterns: Sequence[re.Pattern[str]]) -> None:
        self._normalizers = [normalizer_of(each) for each in spec.normalizers]
        self._added = AddedTokens(spec.added or [], self._normalizers)
        self._prefix_space = spec.prefix_space
        stages = spec.stages
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
            for inner_token, inner in self._added.cut(normalized(self._normalizers, part), True, parses):
                if inner_token is not None:
                    yield Part(inner_token, inner)
                    continue
                start = inner if not self._prefix_space or inner.text.startswith(" ") else inner.prepended(" ")
                for piece in self._pieces(start):
                    yield Part(None, piece)

    def _pieces(self, text: Traced) -> Iterable[Traced]:
        pieces: Iterable[Traced] = [text]
        for stage in self._stages:
            pieces = itertools.chain.from_iterable(map(stage, pieces))
        return (piece for piece in pieces if piece.text)


def route(spec: Spec, patterns: Sequence[re.Pattern[str]]) -> Route | None:
    """The way that a spec says, or None if it is the usual one."""
    is_usual = spec.added is None and spec.stages is None and not spec.normalizers and not spec.prefix_space
    return None if is_usual else Route(spec, patterns)
