"""OpenAI's GPT-2 file pair: vocab.json (spelling -> id) and merges.txt (a rule a line).

Everything is checked, and each fault is named with its file, its line and what was expected. vocab.json is one flat
object, read by a small reader of its own: a general JSON parser drops repeated keys silently and loses the lines.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from ..errors import EncodingFileError
from . import files
from .data import MAX_ID
from .messages import code_point, cut, quote, show
from .recipes import END_OF_TEXT
from .stages import BYTE_TO_CHARACTER, CHARACTER_TO_BYTE, unspell

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_VALUE = re.compile(r"[^ \t\n\r,}]*")
_INTEGER = re.compile(r"0|[1-9][0-9]*")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_ESCAPE = re.compile(r"u([0-9a-fA-F]{4})")
_LOW_SURROGATE_ESCAPE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class Entry(NamedTuple):
    token: str
    id: int
    line: int


def read_gpt2_files(
    vocab: str, merges: str, special_tokens: Mapping[str, int] | None
) -> tuple[dict[int, bytes], list[tuple[int, int]], dict[str, int]]:
    """Tokens, merge rules and special tokens of the two files. Without `special_tokens` there is one, <|endoftext|>."""
    vocab_text, merges_text = (files.text(path, files.read(path)) for path in (vocab, merges))
    entries = list(VocabReader(vocab, vocab_text).entries())
    _check_ids(vocab, entries)
    all_ids = {entry.token: entry.id for entry in entries}
    if special_tokens is None:
        if END_OF_TEXT not in all_ids:
            raise EncodingFileError(
                f"{vocab}: no token {quote(END_OF_TEXT)}; name the special tokens with special_tokens="
            )
        special_tokens = {END_OF_TEXT: all_ids[END_OF_TEXT]}
    for literal, id in special_tokens.items():
        if all_ids.get(literal, id) != id:
            raise EncodingFileError(
                f"special token {quote(literal)} has the id {id}, but {vocab} gives it {all_ids[literal]}"
            )
    ids = _ordinary_ids(vocab, entries, special_tokens)
    rules = list(_read_merges(merges, merges_text, ids))
    _check_made(vocab, merges, ids, rules)
    return {id: unspell(spelling) for spelling, id in ids.items()}, rules, dict(special_tokens)


def _check_made(vocab: str, merges: str, ids: Mapping[str, int], rules: list[tuple[int, int]]) -> None:
    """Every token of two or more bytes needs a rule that makes it: the sign of a file that lost some of its lines."""
    spellings = {id: spelling for spelling, id in ids.items()}
    made = {spellings[left] + spellings[right] for left, right in rules}
    unmade = [spelling for spelling in ids if len(spelling) > 1 and spelling not in made]
    if unmade:
        raise EncodingFileError(
            f"{merges}: no rule makes {quote(unmade[0])} of {vocab} (tokens without a rule: {len(unmade)}); the file "
            "lost lines, or special_tokens= should name special tokens"
        )


class VocabReader:
    """Reads one flat JSON object of spelling -> id."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._at = 0

    def entries(self) -> Iterator[Entry]:
        self._skip_space()
        if not self._take("{"):
            self._fail(f"expected a JSON object, found {self._found()}")
        self._skip_space()
        lines: dict[str, int] = {}
        more = not self._take("}")
        line, counted = 1, 0
        while more:
            line += self._text.count("\n", counted, self._at)
            counted = self._at
            token = self._token(line)
            id = self._id(token, line)
            if token in lines:
                self._fail(f"token {quote(token)} is repeated (first on line {lines[token]})", line)
            lines[token] = line
            yield Entry(token, id, line)
            self._skip_space()
            more = not self._take("}")
            if more and not self._take(","):
                self._fail(f"expected ',' or '}}' after token {quote(token)}, found {self._found()}")
            self._skip_space()
        if self._at < len(self._text):
            self._fail(f"content after the JSON object: {self._found()}")

    def _token(self, line: int) -> str:
        if not self._take('"'):
            self._fail(f"expected a token in double quotes, found {self._found()}")
        parts = []
        while True:
            parts.append(self._match(_PLAIN))
            if self._take('"'):
                break
            if self._at == len(self._text):
                self._fail("expected '\"' to end a token, found end of file", line)
            if not self._take("\\"):
                self._fail(f"control character {code_point(self._next())} in a token", line)
            parts.append(self._escape(line))
        token = "".join(parts)
        if not token:
            self._fail("empty token", line)
        return token

    def _escape(self, line: int) -> str:
        """What follows a backslash."""
        kind = self._next()
        if kind in _ESCAPES:
            self._at += 1
            return _ESCAPES[kind]
        first = _UNICODE_ESCAPE.match(self._text, self._at)
        if first is None:
            self._fail(f"bad escape {show(kind)} in a token", line)
        self._at = first.end()
        code = int(first[1], 16)
        if 0xD800 <= code < 0xDC00 and (second := _LOW_SURROGATE_ESCAPE.match(self._text, self._at)):
            self._at = second.end()
            return chr(0x10000 + ((code - 0xD800) << 10) + int(second[1], 16) - 0xDC00)
        if 0xD800 <= code < 0xE000:
            self._fail(f"lone surrogate U+{code:04X} in a token", line)
        return chr(code)

    def _id(self, token: str, line: int) -> int:
        self._skip_space()
        if not self._take(":"):
            self._fail(f"expected ':' after token {quote(token)}, found {self._found()}")
        self._skip_space()
        value = self._match(_VALUE)
        if not value:
            self._fail(f"expected a non-negative integer after token {quote(token)}, found {self._found()}")
        if not _INTEGER.fullmatch(value):
            self._fail(f"token {quote(token)} has the value {cut(value)}, expected a non-negative integer", line)
        # The length first: Python refuses to read thousands of digits.
        if len(value) > len(str(MAX_ID)) or int(value) > MAX_ID:
            self._fail(f"token {quote(token)} has the id {cut(value)}, expected at most {MAX_ID}", line)
        return int(value)

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _found(self) -> str:
        return show(self._next())

    def _take(self, character: str) -> bool:
        found = self._next() == character
        self._at += found
        return found

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match, "each of these patterns matches the empty string"
        self._at = match.end()
        return match.group()

    def _skip_space(self) -> None:
        self._match(_SPACE)

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        if line is None:
            line = 1 + self._text.count("\n", 0, self._at)
        raise EncodingFileError(f"{self._file}: line {line}: {message}")


def _check_ids(file: str, entries: list[Entry]) -> None:
    size = len(entries)
    owners: dict[int, str] = {}
    for token, id, line in entries:
        if id < size and id not in owners:
            owners[id] = token
            continue
        taken = f"which token {quote(owners[id])} has already; " if id in owners else ""
        raise EncodingFileError(
            f"{file}: line {line}: token {quote(token)} has the id {id}, "
            f"{taken}expected every id from 0 to {size - 1} exactly once"
        )


def _ordinary_ids(file: str, entries: list[Entry], special_tokens: Mapping[str, int]) -> dict[str, int]:
    ids = {}
    for token, id, line in entries:
        if token in special_tokens:
            continue
        for character in token:
            if character not in CHARACTER_TO_BYTE:
                raise EncodingFileError(
                    f"{file}: line {line}: token {quote(token)} contains {code_point(character)}, "
                    "which is outside the byte alphabet"
                )
        ids[token] = id
    for byte, character in enumerate(BYTE_TO_CHARACTER):
        if character not in ids:
            raise EncodingFileError(f"{file}: the byte 0x{byte:02x} has no token, expected {quote(character)}")
    return ids


def _read_merges(file: str, text: str, ids: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        # Only the first line may be a comment: "# #" and "## ##" are rules.
        if not line or (number == 1 and line.startswith("#version")):
            continue
        where = f"{file}: line {number}"
        left, _, right = line.partition(" ")
        if not left or not right or " " in right:
            raise EncodingFileError(f"{where}: expected two symbols and one space, found {quote(line)}")
        for symbol in (left, right):
            if symbol not in ids:
                raise EncodingFileError(f"{where}: symbol {quote(symbol)} is not in the vocabulary")
        if left + right not in ids:
            made = quote(left + right)
            raise EncodingFileError(
                f"{where}: {quote(left)} + {quote(right)} makes {made}, which is not in the vocabulary"
            )
        if line in lines:
            raise EncodingFileError(f"{where}: the rule {quote(line)} repeats line {lines[line]}")
        lines[line] = number
        yield ids[left], ids[right]
