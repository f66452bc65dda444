"""Whether a pattern matches all text.

It does if white space, letters, numbers and all other characters each have an alternative that matches at least one of
them, wherever it stands: then something matches at every position. The alternatives known to do that are those of the
published patterns. Of any other pattern nothing is known, and it is taken to drop text.
"""

import re
from collections.abc import Iterator

_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CASED = [
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+",
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*",
]
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

# One of the sets of each line must be among the alternatives.
_COVERING: list[list[set[str]]] = [
    [{r"\s"}, {r"\s+"}],
    [
        *({front + letters} for front in ("", " ?") for letters in (r"\p{L}+", r"\p{L}++", r"[\p{L}]+")),
        *({letters} for letters in (r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]?+\p{L}++")),
        set(_CASED),
        {alternative + _SUFFIX for alternative in _CASED},
    ],
    [
        *({front + numbers} for front in ("", " ?") for numbers in (r"\p{N}+", r"\p{N}++", r"[\p{N}]+")),
        *({numbers} for numbers in (r"\p{N}", r"\p{N}{1,2}", r"\p{N}{1,3}", r"\p{N}{1,3}+")),
    ],
    [
        {rf" ?[^\s\p{{L}}\p{{N}}]{rest}"}
        for rest in ("+", "++", r"+[\r\n]*", r"++[\r\n]*+", r"+[\r\n/]*", r"++[\r\n/]*+")
    ],
]

# What could hide a bar from `_alternatives`, or leave out the front of a match.
_UNUSUAL = re.compile(r"\[\^?\]|\(\?#|\(\?[a-zA-Z-]*x|\\K")


def matches_all_text(pattern: str) -> bool:
    """Whether the pattern is known to leave nothing of any text unmatched.

    >>> matches_all_text(r" ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+"), matches_all_text(r"\\w+|\\s+")
    (True, False)
    """
    if _UNUSUAL.search(pattern):
        return False
    alternatives = set(_alternatives(pattern))
    return all(any(one <= alternatives for one in ones) for ones in _COVERING)


def _alternatives(pattern: str) -> Iterator[str]:
    """The parts of a pattern between the bars that are in no group or set."""
    start, place, groups, sets = 0, 0, 0, 0
    while place < len(pattern):
        character = pattern[place]
        if character == "\\":
            place += 1
        elif character == "[":
            sets += 1
        elif character == "]" and sets:
            sets -= 1
        elif sets == 0:
            groups += (character == "(") - (character == ")")
            if character == "|" and groups == 0:
                yield pattern[start:place]
                start = place + 1
        place += 1
    yield pattern[start:]
