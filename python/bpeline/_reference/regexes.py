"""The regular expressions that `bpeline.tokenizer_json` gives, for Python's `re`."""

import functools
import re

from ..errors import EncodingFileError
from ..tokenizer_json.regex import WORD as ONIGURUMA_WORD
from ..tokenizer_json.regex import WORD_IN_SET, escape
from .messages import quote
from .stages import PATTERNS, Ranges, compile_pattern, complement, parse_ranges
from .tokenizers_tables import WORD


def _raw(ranges: Ranges) -> str:
    """Ranges as they stand in [...]."""
    return "".join(f"{escape(chr(first))}-{escape(chr(last))}" for first, last in ranges)


@functools.cache
def _words() -> dict[str, str]:
    ranges = parse_ranges(WORD)
    joiners = (0x200C, 0x200D)
    assert joiners in ranges, "they are a range of their own"
    in_set = [range_ for range_ in ranges if range_ != joiners]
    alone = sorted([*in_set, (0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE)])
    words = {ONIGURUMA_WORD: alone, WORD_IN_SET: in_set}
    words[r"\h"] = [(ord(first), ord(last)) for first, last in ("09", "AF", "af")]
    negated = {r"\H" if word == r"\h" else f"[^{word[1:]}": complement(of) for word, of in words.items()}
    return {word: _raw(of) for word, of in [*words.items(), *negated.items(), (r"\w", ranges)]}


def named(pattern: str) -> str:
    """The regular expression of a name, or what is one itself."""
    regex = PATTERNS.get(pattern, pattern)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", regex):
        raise EncodingFileError(
            f"pattern {quote(regex)} is no known name ({', '.join(PATTERNS)}), and as a regular expression it "
            "would match only itself"
        )
    return regex


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
