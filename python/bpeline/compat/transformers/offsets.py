"""The offsets of tokens as tokenizers gives them, from spans.

bpeline's spans are the offsets of tokenizers but for two things. A normalizer of bpeline gives one span to all the
characters that it looks at together: so offsets are taken where the normalizers leave the texts as they are, from a
tokenizer without them. And a post-processor may trim the spaces of tokens off their offsets (`trim_offsets` of
ByteLevel and RobertaProcessing); the rule is that of `process_offsets` in tokenizers
(tokenizers/src/pre_tokenizers/byte_level.rs), and is tried on the post-processor itself. What is not covered is None.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import tokenizers

from .layout import Range, made_up_encoding

_SPACES = frozenset(
    "Ġ\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)

_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")


class Trimming:
    """What a post-processor does to offsets: one trimming or several in turn, or none."""

    def __init__(self, section: dict[str, Any] | None) -> None:
        self.in_turn = list(_trimmings(section))  # whether each leaves alone the space that add_prefix_space put there

    def of(self, tokens: Sequence[str], offsets: list[Range]) -> list[Range]:
        """The offsets of those tokens of an encoding that come from one sequence."""
        for leaves_prefix in self.in_turn:
            offsets = [
                _trimmed(token, start, stop, leaves_prefix and (number == 0 or start == 0))
                for number, (token, (start, stop)) in enumerate(zip(tokens, offsets, strict=True))
            ]
        return offsets

    def is_that_of(self, post_processor: Any) -> bool:
        """Whether a post-processor of tokenizers does this, tried on what may be in a token and its offsets."""
        tokens = ["".join(part) for size in range(4) for part in itertools.product("Ġa\u3000", repeat=size)]
        for start, length in itertools.product((0, 1, 7), (0, 1, 3)):
            offsets = [(start, start + length)] * len(tokens)
            encoding = made_up_encoding(range(len(tokens)), tokens, offsets)
            if post_processor.process(encoding, add_special_tokens=False).offsets != self.of(tokens, offsets):
                return False
        return True


def read_trimming(section: dict[str, Any] | None, post_processor: Any) -> Trimming | None:
    """The trimming of a post-processor; None if it does something else to offsets."""
    trimming = Trimming(section)
    return trimming if post_processor is None or trimming.is_that_of(post_processor) else None


def read_normalizers(section: dict[str, Any] | None, added: Sequence[str]) -> list[Any] | None:
    """The normalizers one by one; None unless they can be asked whether they leave a text as it is.

    They can if they leave each part of such a text as it is too, and the added tokens that they are applied to.
    """
    members, found = [section], []
    while members:
        member = members.pop()
        if member is None:
            continue
        if member["type"] == "Sequence":
            members += member["normalizers"]
        elif member["type"] in _FORMS:
            found.append(getattr(tokenizers.normalizers, member["type"])())
        else:
            return None
    return found if all(leave(token, found) for token in added) else None


def leave(text: str, normalizers: Sequence[Any]) -> bool:
    """Whether each of the normalizers leaves a text as it is."""
    return all(normalizer.normalize_str(text) == text for normalizer in normalizers)


def _trimmings(section: dict[str, Any] | None) -> Iterator[bool]:
    if section is None:
        return
    if section["type"] == "Sequence":
        yield from itertools.chain.from_iterable(map(_trimmings, section["processors"]))
    elif section.get("trim_offsets"):
        yield section["add_prefix_space"]


def _trimmed(token: str, start: int, stop: int, leaves_one: bool) -> Range:
    if token[:1] not in _SPACES and token[-1:] not in _SPACES:
        return start, stop
    before = sum(1 for _ in itertools.takewhile(_SPACES.__contains__, token))
    after = sum(1 for _ in itertools.takewhile(_SPACES.__contains__, reversed(token)))
    if before > 1 or not leaves_one:
        start = min(start + before, stop)
    if after and stop >= after:
        stop = max(stop - after, start)
    return start, stop
