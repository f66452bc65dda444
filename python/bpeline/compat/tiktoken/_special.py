"""Which special tokens a text may hold: tiktoken's two arguments, and what they amount to."""

import functools
import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Literal, NoReturn, TypeAlias

Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
Disallowed: TypeAlias = Literal["all"] | Collection[str]
Option: TypeAlias = Literal["error", "parse", "text"]
"""Words of bpeline's `special`."""

NONE: AbstractSet[str] = set()


def check(text: str, allowed: Allowed, disallowed: Disallowed, every: set[str]) -> AbstractSet[str]:
    """The special tokens that are allowed, after a look for those that are not. `every` has all there are."""
    if is_all(allowed):
        allowed = every
    if is_all(disallowed):
        disallowed = every - allowed  # type: ignore[operator]
    if disallowed and (found := _any_of(frozenset(disallowed)).search(text)):
        raise_disallowed_special_token(found.group())
    return allowed  # type: ignore[return-value]


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raises the `ValueError` that says which special token a text must not hold, and what to do."""
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


@functools.lru_cache(maxsize=128)
def _any_of(literals: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(literal) for literal in literals))


def is_all(special: object) -> bool:
    return isinstance(special, str) and special == "all"


def as_option(allowed: object, disallowed: object) -> Option | None:
    """What the two amount to as bpeline's `special`, if to one of its words."""
    if is_all(allowed):
        return "parse" if is_all(disallowed) or not disallowed else None
    # Another empty thing than a set is an error, but not here.
    if isinstance(allowed, (set, frozenset)) and not allowed:
        return "error" if is_all(disallowed) else "text" if not disallowed else None
    return None
