"""The four stages of byte-level BPE, one after the other, and decoding. Standard library only.

    text -> parts -> pieces -> symbols -> token ids
      special tokens  pattern  bytes    merging

This is the oracle: it is written to be read, and the native backend must give the same ids. Merging one piece of
n bytes takes O(n log n) time and O(n) memory; the other stages are linear for the patterns in use. The algorithm is
that of Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), on bytes as
in Radford et al., "Language Models are Unsupervised Multitask Learners" (2019).
"""

import functools
import heapq
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from .unicode_tables import CATEGORIES, SCRIPTS, WHITESPACE

# --- Stage 1: special tokens --------------------------------------------------------------------------------------


class SpecialTokens:
    """Cuts a text at special tokens: the leftmost first, and of those that start there the longest."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._ids = ids
        self._lengths = sorted({len(literal) for literal in ids}, reverse=True)
        # Only where a literal may start are the literals looked up: fast with none of them, and with 400,000.
        self._starts = re.compile("|".join(re.escape(first) for first in {literal[0] for literal in ids}) or "(?!)")

    def split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Yields each special token with its id, and the ordinary text between them with None."""
        end = 0
        for match in self._starts.finditer(text):
            start = match.start()
            if start < end:
                continue
            for length in self._lengths:
                literal = text[start : start + length]
                if literal in self._ids:
                    if end < start:
                        yield text[end:start], None
                    yield literal, self._ids[literal]
                    end = start + len(literal)
                    break
        if end < len(text):
            yield text[end:], None


# --- Stage 2: pre-tokenization ------------------------------------------------------------------------------------

# What the native engine calls `IN_TURN`: each pattern splits the pieces of the one before.
IN_TURN = "(?#then)"

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_FRONT = r"[^\r\n\p{L}\p{N}]?"

PATTERNS = {
    # From encoder.py of OpenAI's GPT-2.
    "gpt2": _GPT2,
    "r50k": _GPT2,
    "p50k": _GPT2,
    # From tiktoken_ext/openai_public.py.
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": (
        rf"{_FRONT}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_FRONT}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?|\p{{N}}{{1,3}}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}"
    ),
    # From the tokenizer.json of Llama 3, of Qwen 2 to 3, of DeepSeek V3, and the tekken.json of Mistral NeMo.
    "llama3": rf"{_CONTRACTIONS}|{_FRONT}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}",
    "qwen2": rf"{_CONTRACTIONS}|{_FRONT}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACE}",
    "deepseek_v3": IN_TURN.join(
        [
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACE}",
        ]
    ),
    "tekken": (
        rf"{_FRONT}{_UPPER}*{_LOWER}+|{_FRONT}{_UPPER}+{_LOWER}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACE}"
    ),
}

Ranges: TypeAlias = Sequence[tuple[int, int]]


def parse_ranges(table: str) -> Ranges:
    return [(int(first, 16), int(last, 16)) for first, last in (part.split("-") for part in table.split())]


def complement(ranges: Ranges) -> Ranges:
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), 0x10FFFF]
    return [(first, last) for first, last in zip(starts, ends, strict=True) if first <= last]


@functools.cache
def _class(name: str) -> str:
    r"""The characters of \s, \S, \p{Lu}, \p{L}, \P{L} and so on, as ranges for use inside [...].

    Python's own \s has U+001C to U+001F too, and `re` has no \p.
    """
    kind, category = name[1], name[3:-1]
    if kind in "sS":
        tables = [WHITESPACE]
    elif category in SCRIPTS:
        tables = [SCRIPTS[category]]
    else:
        tables = [CATEGORIES[key] for key in CATEGORIES if key.startswith(category)]
    ranges: Ranges = sorted(itertools.chain.from_iterable(map(parse_ranges, tables)))
    if kind in "SP":
        ranges = complement(ranges)
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in ranges)


# The parts of a regular expression that mean the same to Python's `re` and to the native engine, once the classes are
# written out, `$` is `\Z`, and of `[a&&b]`, an intersection, the b is looked for ahead. All else is refused: \w, \d and \b
# follow other tables.
_CLASS = r"\\[pP]\{(?:[LMNPSZ]|" + "|".join([*CATEGORIES, *SCRIPTS]) + r")\}|\\[sS]"
_ESCAPE = r"\\[nrtfv!-/:;=?@\[-`{-~]"
_ONE = rf"(?:[^\\\[\]&~-]|&(?!&)|~(?!~)|{_ESCAPE})"
# Ignoring case, Python also takes dotless and dotted I for i: without that letter the two agree.
_CASELESS = r"[A-HJ-Za-hj-z'|\[\]]+"
_MEMBERS = rf"-?(?:{_CLASS}|{_ONE}(?:-{_ONE})?)+-?"
_SYNTAX = re.compile(
    "|".join(
        [
            rf"(?P<set>\[(?:\^|(?!\^)){_MEMBERS}\])",
            rf"(?P<both>\[(?!\^){_MEMBERS}&&(?:\[(?:\^|(?!\^)){_MEMBERS}\]|(?!\^){_MEMBERS})\])",
            rf"(?P<name>{_CLASS})",
            r"(?P<end>\$)",
            rf"\(\?i:{_CASELESS}\)",
            r"\((?!\?)|\(\?(?:s?:|[=!>]|<[=!])|\)",
            r"\{[0-9]+(?:,[0-9]*)?\}",
            _ESCAPE,
            r"[^\\\[\](){}$]",
        ]
    )
)


def compile_pattern(pattern: str) -> list[re.Pattern[str]]:
    """The patterns for Python's `re`, to be used in turn.

    Raises `re.error` for what does not compile or could mean something else here.
    """
    return [re.compile(_translated(part)) for part in pattern.split(IN_TURN)]


def _translated(pattern: str) -> str:
    if re.fullmatch(rf"\(\?i\){_CASELESS}", pattern):
        pattern = f"(?i:{pattern[4:]})"
    translated = []
    position = 0
    while position < len(pattern):
        match = _SYNTAX.match(pattern, position)
        if match is None:
            raise re.error(f"the reference backend does not support {pattern[position : position + 8]}")
        part = match.group()
        if match["set"] or match["both"]:
            left, both, right = re.sub(_CLASS, lambda name: _class(name.group()), part).partition("&&")
            right = right[:-1] if right.startswith("[") else f"[{right}"
            part = f"(?:(?={right}){left}])" if both else left
        elif match["name"]:
            part = f"[{_class(part)}]"
        elif match["end"]:
            part = r"\Z"
        translated.append(part)
        position = match.end()
    return "".join(translated)


def split_pieces(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """Cuts a text into pieces by the first pattern, those by the second, and so on."""
    if not patterns:
        yield text
        return
    for piece in _split(text, patterns[0]):
        yield from split_pieces(piece, patterns[1:])


def _split(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Each match, and each stretch that nothing matches."""
    return (part for part, _ in split_matches(text, pattern))


def split_matches(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """The parts of a text, and whether each is a match. Empty matches are skipped."""
    position = end = 0
    while position <= len(text) and (match := pattern.search(text, position)):
        start, position = match.span()
        if start == position:
            position += 1
            continue
        if end < start:
            yield text[end:start], False
        yield match.group(), True
        end = position
    if end < len(text):
        yield text[end:], False


# --- Stage 3: byte mapping ----------------------------------------------------------------------------------------

# GPT-2's files write each byte as a printable character: itself, or for the other 68 one from U+0100 on
# (bytes_to_unicode in encoder.py of OpenAI's GPT-2). Inside the encoder a byte is the id of its token.
_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_TO_CHARACTER = [chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)]
CHARACTER_TO_BYTE = {character: byte for byte, character in enumerate(BYTE_TO_CHARACTER)}


def spell(token: bytes) -> str:
    """The spelling of a token's bytes in GPT-2's files."""
    return "".join(BYTE_TO_CHARACTER[byte] for byte in token)


def unspell(spelling: str) -> bytes:
    """The bytes of a spelling. Raises `KeyError` for a character outside the byte alphabet."""
    return bytes(CHARACTER_TO_BYTE[character] for character in spelling)


# --- Stage 4: merging ---------------------------------------------------------------------------------------------

Pairs: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]
"""(left id, right id) -> (rank, id): the merge rules."""

_GONE = -1  # no token id, so no pair with it has a rule


def merge(symbols: Sequence[int], pairs: Pairs) -> list[int]:
    """Merges the adjacent pair of the lowest rank, of those the leftmost, until no pair has a rule.

    The symbols are a linked list over their positions at the start. The queue holds every pair that has a rule, as
    (rank, position of its left symbol); an entry whose pair has since changed is dropped when it comes up.
    """
    end = len(symbols)
    symbols = [*symbols, _GONE]
    after = [*range(1, end + 1), end]
    before = [-1, *range(end)]  # -1 is the _GONE at the end

    def rule(left: int) -> tuple[int, int] | None:
        return pairs.get((symbols[left], symbols[after[left]]))

    queue = [(found[0], left) for left in range(end) if (found := rule(left))]
    heapq.heapify(queue)
    while queue:
        rank, left = heapq.heappop(queue)
        found = rule(left)
        if found is None or found[0] != rank:
            continue
        right = after[left]
        symbols[left], symbols[right] = found[1], _GONE
        after[left] = after[right]
        before[after[right]] = left
        for changed in (before[left], left):
            if found := rule(changed):
                heapq.heappush(queue, (found[0], changed))
    return [symbol for symbol in symbols if symbol != _GONE]


def splits(token: bytes, ids: Mapping[bytes, int]) -> Iterator[tuple[int, int]]:
    """Every way to make a token of two others. Where token bytes are ranked, as in tiktoken, each is a merge rule."""
    for cut in range(1, len(token)):
        left, right = ids.get(token[:cut]), ids.get(token[cut:])
        if left is not None and right is not None:
            yield left, right


def made_of(tokens: Mapping[int, bytes]) -> dict[int, tuple[int, int]]:
    """By id, the two tokens that merging makes each token of where token bytes are ranked, by their ids.

    These are the last two symbols of its own bytes, merged alone; no merging meets any other of its splits
    (rust/DESIGN.md, the lemma on splits). A token of which more symbols are left is made by none, and is not in the result.
    """
    byte_ids = {token[0]: id for id, token in tokens.items() if len(token) == 1}
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    found: dict[int, tuple[int, int]] = {}
    for id, token in sorted(tokens.items(), key=lambda item: (len(item[1]), item[0])):
        match merge([byte_ids[byte] for byte in token], pairs):
            case [left, right]:
                found[id] = (left, right)
                pairs[left, right] = (id, id)
    return dict(sorted(found.items()))


# --- Decoding -----------------------------------------------------------------------------------------------------


def decode(ids: Sequence[int], tokens: Mapping[int, bytes]) -> bytes:
    """The bytes of the tokens, one after the other. Raises `KeyError` for an id that has none."""
    return b"".join([tokens[id] for id in ids])
