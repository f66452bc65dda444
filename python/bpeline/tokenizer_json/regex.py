"""Regular expressions of a tokenizer.json, which are Oniguruma's, as the backends' own (Rust's fancy-regex).

What means the same in both is copied as it is, so that a known pattern stays known by its text. What means something
else is written so that it means the same; what is not sure to is refused. Differences (Oniguruma 6.9, Ruby's syntax;
https://github.com/kkos/oniguruma/blob/master/doc/RE), each seen in `tokenizers.pre_tokenizers.Split`:

- `\\w` lacks the two zero-width joiners and, outside of a set, has the characters ² ³ ¹ ¼ ½ ¾;
- `^` and `$` are those of lines, but `^` is not behind a newline that ends the text; `\\Z` may be before one;
- `{1,3}+` is not possessive, it repeats; `{,3}` is `{0,3}`; `(?m)` lets the dot match newlines;
- a brace that begins no interval is itself;
- `\\b` is where `\\w` ends or begins, and `\\R` never matches one of two characters that end a line.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

CLASSES = frozenset(
    [
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No"),
        *("P", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "C", "Cc", "Cf"),
        *("Han", "Hiragana", "Katakana", "Hangul", "Latin", "Greek", "Cyrillic", "Arabic", "Thai", "Common"),
    ]
)
"""Those that have the same characters in both engines. (Each was compared on every character.)"""

WORD = "[\\w²³¹¼½¾&&[^\u200c\u200d]]"
WORD_IN_SET = "[\\w&&[^\u200c\u200d]]"
"""Oniguruma's `\\w`, alone and in a set."""

_AT_WORD_END = f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"
_AT_NO_WORD_END = f"(?:(?<={WORD})(?={WORD})|(?<!{WORD})(?!{WORD}))"
_LINE_BREAK = r"(?>\r\n|[\n-\r" + "\x85\u2028\u2029])"
_LINE_START, _LINE_END = r"(?:^|(?<=\n)(?!$))", r"(?=\n|$)"
_SPECIAL = frozenset(r"\.+*?()|[]{}^$#&-~/")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_PROPERTY = re.compile(r"[pP]\{(\^?)(\w+)\}")
_CODE = re.compile(r"x\{([0-9a-fA-F]{1,8})\}|u([0-9a-fA-F]{4})|x([0-7][0-9a-fA-F])")
_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
# What stands for one character.
_ONE = re.compile(r"\\[pP]\{\w+\}|\\.|\[(?:\\.|[^\[\]\\])+\]|[^\\\[\](){}*+?|^$]")
_GREEDY = re.compile(rf"(?:{_ONE.pattern})(?:[*+?]|{{\d+(?:,\d*)?}})")
_GROUP = re.compile(r"\((?:\?(?::|=|!|>|<=|<!|i:|m:|i\)|-i:))?")
# Letters that Oniguruma folds together: ß, ﬆ, ﬀ, ﬁ and ﬂ are the same as two of them when case is ignored.
_FOLDED_TOGETHER = re.compile(r"ss|st|ff|fi|fl", re.IGNORECASE)


class NotSupported(ValueError):
    """A regular expression, or a part of it, that is not sure to mean the same."""


class _Part(NamedTuple):
    text: str
    least: int
    """The fewest characters that it matches."""
    literal: str = ""
    """What it matches, if that is one character."""


def translate(pattern: str) -> str:
    """The expression that matches the same under fancy-regex. Raises `NotSupported`.

    >>> from bpeline.tokenizer_json.regex import translate
    >>> translate(r"\\p{N}{1,3}+|\\s+(?!\\S)|a$")
    '(?:\\\\p{N}{1,3})+|\\\\s+(?!\\\\S)|a(?=\\\\n|$)'
    """
    return _Translation(pattern).all()


def untranslate(regex: str) -> str:
    """The expression that means in Oniguruma what this one does under fancy-regex. Raises `NotSupported`.

    >>> from bpeline.tokenizer_json.regex import untranslate
    >>> untranslate(r"\\p{N}{1,3}+|\\s++$|a")
    '(?>\\\\p{N}{1,3})|\\\\s++\\\\z|a'
    """
    written = regex
    for theirs, ours in ((r"\w", WORD), (r"\w", WORD_IN_SET), ("$", _LINE_END), ("^", _LINE_START)):
        written = written.replace(ours, theirs)
    # Possessive here, a repetition of a repetition there; the ends of the text here, of a line there.
    changed = re.sub(rf"({_ONE.pattern})({{\d+(?:,\d*)?}})\+", r"(?>\1\2)", regex)
    changed = re.sub(r"(?<!\\)\$", r"\\z", re.sub(r"(?<![\\\[])\^", r"\\A", changed))
    for candidate in (written, changed):
        if translate(candidate) == regex:
            return candidate
    raise NotSupported("it is not sure how to write it")


def escape(text: str) -> str:
    """The expression that matches `text`.

    >>> from bpeline.tokenizer_json.regex import escape
    >>> escape("a.b")
    'a\\\\.b'
    """
    return "".join(map(_spelled, text))


def _spelled(character: str) -> str:
    return "\\" + character if character in _SPECIAL else character


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def all(self) -> str:
        front = ""
        ignore_case = False
        if self._pattern.startswith("(?i)"):
            front, self._at, ignore_case = "(?i)", 4, True
        text, least = self._alternatives(ignore_case)
        if self._at < len(self._pattern):
            self._refuse()
        if least == 0:
            raise NotSupported("it matches the empty text")
        return front + text

    def _alternatives(self, ignore_case: bool) -> tuple[str, int]:
        self._depth += 1
        if self._depth > 50:
            raise NotSupported("groups are nested too deep")
        texts, leasts = [], []
        while True:
            parts = list(self._sequence(ignore_case))
            texts.append("".join(part.text for part in parts))
            leasts.append(sum(part.least for part in parts))
            if ignore_case and _FOLDED_TOGETHER.search("".join(part.literal or " " for part in parts)):
                self._refuse("letters that fold together")
            if not self._take("|"):
                self._depth -= 1
                return "|".join(texts), min(leasts)

    def _sequence(self, ignore_case: bool) -> Iterator[_Part]:
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            yield self._quantified(self._atom(ignore_case))

    def _quantified(self, part: _Part) -> _Part:
        text, least = part.text, part.least
        quantified = False
        while self._at < len(self._pattern):
            start = self._at
            interval = _INTERVAL.match(self._pattern, start)
            if interval and not (interval[1] or interval[3]):
                interval = None  # "{}" and "{,}" are themselves
            if interval:
                self._at = interval.end()
                low = int(interval[1] or 0)
                high = int(interval[3]) if interval[3] else None if interval[2] else low
                if max(low, high or 0) > 1000:
                    raise NotSupported("a long repetition")
                if high is not None and high < low:
                    self._refuse("an interval from high to low")
                quantifier, fewest = f"{{{low}{',' if interval[2] else ''}{interval[3]}}}", low
                if interval[2] and self._take("?"):
                    quantifier += "?"
                elif self._pattern.startswith("?", self._at):
                    self._refuse("an interval with a question mark")
            elif self._pattern[start] in "*+?":
                self._at += 1
                quantifier, fewest = self._pattern[start], int(self._pattern[start] == "+")
                if self._take("+"):
                    quantifier += "+"
                elif self._take("?"):
                    quantifier += "?"
            else:
                break
            if quantified:
                if quantifier != "+" or not text.endswith("}"):
                    self._refuse("a repetition repeated")
                text = f"(?:{text})"
            if not part.text or (
                part.least == 0 and part.text.startswith(("(?=", "(?!", "(?<", "(?:(?<", "(?:^|", "^", "$"))
            ):
                self._refuse("nothing to repeat")
            text, least, quantified = text + quantifier, least * fewest, True
        if quantified:
            return _Part(text, least)
        return part

    def _atom(self, ignore_case: bool) -> _Part:
        character = self._pattern[self._at]
        if character == "(":
            return self._group(ignore_case)
        if character == "[":
            return _Part(self._set(ignore_case), 1)
        if character == "\\":
            return self._escape(ignore_case)
        if character in "*+?":
            self._refuse("nothing to repeat")
        self._at += 1
        if character == ".":
            return _Part(".", 1)
        if character == "^":
            return _Part(_LINE_START, 0)
        if character == "$":
            return _Part(_LINE_END, 0)
        return self._literal(character, character if character not in "{}]" else "\\" + character, ignore_case)

    def _literal(self, character: str, text: str, ignore_case: bool) -> _Part:
        if ignore_case and not character.isascii():
            self._refuse("letters beyond ASCII while case is ignored")
        return _Part(text, 1, character)

    def _group(self, ignore_case: bool) -> _Part:
        start = _GROUP.match(self._pattern, self._at)
        assert start
        kind = start.group()
        if (kind == "(" and self._pattern.startswith("(?", self._at)) or kind == "(?i)":
            self._refuse("a group of this kind")
        self._at = start.end()
        inside, least = self._alternatives({"(?i:": True, "(?-i:": False}.get(kind, ignore_case))
        if not self._take(")"):
            self._refuse("a group without an end")
        is_repeated = self._at < len(self._pattern) and self._pattern[self._at] in "*+?{"
        if kind == "(?>" and not is_repeated and _GREEDY.fullmatch(inside):
            return _Part(f"{inside}+", least)  # the same, as the patterns that are known write it
        opened = {"(": "(?:", "(?m:": "(?s:"}.get(kind, kind)
        return _Part(f"{opened}{inside})", 0 if kind in ("(?=", "(?!", "(?<=", "(?<!") else least)

    def _escape(self, ignore_case: bool) -> _Part:
        start = self._at
        next_two = self._pattern[start : start + 2]
        if next_two in (r"\A", r"\z", r"\Z"):
            self._at += 2
            return _Part({r"\A": "^", r"\z": "$", r"\Z": r"(?=\n?$)"}[next_two], 0)
        if next_two in (r"\b", r"\B"):
            self._at += 2
            return _Part(_AT_WORD_END if next_two == r"\b" else _AT_NO_WORD_END, 0)
        if next_two == r"\R":
            self._at += 2
            return _Part(_LINE_BREAK, 1)
        shorthand = self._class(in_set=False)
        if shorthand is not None:
            return _Part(shorthand, 1)
        character, text = self._escaped_character()
        return self._literal(character, text, ignore_case)

    def _class(self, in_set: bool) -> str | None:
        """A class that an escape names, or None."""
        start = self._at
        letter = self._pattern[start + 1 : start + 2]
        if letter and letter in "dDsShH":
            self._at += 2
            return self._pattern[start : self._at]
        if letter and letter in "wW":
            self._at += 2
            word = WORD_IN_SET if in_set else WORD
            return word if letter == "w" else "[^" + word[1:]
        named = _PROPERTY.match(self._pattern, start + 1)
        if named is None:
            return None
        if named[2] not in CLASSES:
            self._refuse(f"the class {named[2]}")
        self._at = named.end()
        if named[1]:
            return f"\\{'P' if named.group().startswith('p') else 'p'}{{{named[2]}}}"
        return self._pattern[start : self._at]

    def _escaped_character(self) -> tuple[str, str]:
        """A character, and how to write it."""
        start = self._at
        letter = self._pattern[start + 1 : start + 2]
        if letter and letter in _ESCAPES:
            self._at += 2
            return _ESCAPES[letter], self._pattern[start : self._at] if letter not in "ae" else _ESCAPES[letter]
        code = _CODE.match(self._pattern, start + 1)
        if code:
            self._at = code.end()
            number = int(code[1] or code[2] or code[3], 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                self._refuse("a code that is no character")
            return chr(number), _spelled(chr(number))
        if not letter or letter.isalnum() or letter == "_" or not letter.isascii() or not letter.isprintable():
            self._refuse()
        self._at += 2
        return letter, self._pattern[start : self._at] if letter not in " '\",:;<=>@`!%" else letter

    def _set(self, ignore_case: bool) -> str:
        """`[...]` of characters, ranges, classes and such sets."""
        self._depth += 1
        if self._depth > 50:
            raise NotSupported("sets are nested too deep")
        self._at += 1
        written = ["["]
        if self._take("^"):
            written.append("^")
        first = True
        while not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                self._refuse("a set without an end")
            if self._pattern.startswith("[:", self._at):
                self._refuse()
            if self._pattern.startswith("&&", self._at):
                if first or ignore_case or self._pattern.startswith(("-", "^", "&"), self._at + 2):
                    self._refuse()
                self._at += 2
                written.append("&&")
                first = True
                continue
            if self._pattern.startswith("[", self._at):
                inner = self._set(ignore_case)
                written.append(inner if inner.startswith("[^") or "&&" in inner else inner[1:-1])
                first = False
                continue
            named = self._class(in_set=True) if self._pattern[self._at] == "\\" else None
            if named is not None:
                if ignore_case:
                    self._refuse("a class while case is ignored")
                if self._pattern.startswith("-", self._at) and not self._pattern.startswith("-]", self._at):
                    self._refuse("a range of classes")
                written.append(named)
            else:
                written.append(self._range(first, ignore_case))
            first = False
        if first:
            self._refuse("an empty set")
        self._at += 1
        self._depth -= 1
        return "".join([*written, "]"])

    def _range(self, first: bool, ignore_case: bool) -> str:
        low, text = self._member(first)
        if self._pattern.startswith("-", self._at) and not self._pattern.startswith("-]", self._at):
            self._at += 1
            if self._pattern.startswith("[", self._at) or self._pattern.startswith(
                ("\\d", "\\s", "\\w", "\\p"), self._at
            ):
                self._refuse("a range of classes")
            high, high_text = self._member(False, behind_dash=True)
            if high < low:
                self._refuse("a range from high to low")
            text += f"-{high_text}"
        else:
            high = low
        if ignore_case and not high.isascii():
            self._refuse("letters beyond ASCII while case is ignored")
        return text

    def _member(self, first: bool, behind_dash: bool = False) -> tuple[str, str]:
        """A character of a set, and how to write it there."""
        if self._at >= len(self._pattern):
            self._refuse("a set without an end")
        character = self._pattern[self._at]
        if character == "\\":
            return self._escaped_character()
        if behind_dash and self._pattern.startswith("&&", self._at):
            self._refuse()
        if (character == "-" and not (first or self._pattern.startswith("-]", self._at))) or (
            character == "-" and behind_dash
        ):
            self._refuse("a dash in a set")
        self._at += 1
        # What the other engine would take for an operation.
        is_operator = character == "-" or (character in "&~" and self._pattern.startswith(character, self._at))
        return character, "\\" + character if is_operator else character

    def _take(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _refuse(self, what: str | None = None) -> NoReturn:
        raise NotSupported(what or f"{self._pattern[self._at : self._at + 8]!r}")
