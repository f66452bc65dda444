"""What a tokenizer.json says beyond vocabulary, merges and pattern, as JSON; rust/route/spec.rs says what it means.

`bpeline.tokenizer_json` writes it, but an encoding's data may hold anything: all that is read here is of the right kind.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..errors import EncodingFileError
from .messages import quote

Check: TypeAlias = Callable[[Any], bool]


class Spec(NamedTuple):
    """The fields of the JSON."""

    added: list[dict[str, Any]] | None
    """The added tokens by id, if they are more than special tokens with a literal."""
    inert: list[tuple[str, int]]
    """Tokens of the vocabulary that no text becomes."""
    normalizers: list[dict[str, Any]]
    prefix_space: bool
    """Whether a space goes before each part of the text that does not begin with one."""
    stages: list[dict[str, Any]] | None
    """How a part becomes pieces, if not by the encoding's pattern alone."""
    around: dict[str, list[int]] | None
    """The ids that `add_special_tokens` puts "before" and "after" a text."""

    @property
    def literals(self) -> dict[str, int]:
        """The tokens with literals that are not special."""
        return {token["content"]: token["id"] for token in self.added or [] if not token["special"]} | dict(self.inert)

    @property
    def ids(self) -> list[int]:
        """The ids that it may put into a text."""
        around = self.around or {"before": [], "after": []}
        return [*(token["id"] for token in self.added or []), *around["before"], *around["after"]]


def read(text: str) -> Spec:
    """Raises `EncodingFileError` for anything that is none."""
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise EncodingFileError("damaged") from None
    if not _is_spec(content):
        raise EncodingFileError("damaged")
    spec = Spec(*map(content.get, Spec._fields))
    for token in spec.added or []:
        if not token["content"]:
            raise EncodingFileError(f"the added token {quote('')} is empty")
    return spec


def extended(text: str, special_tokens: Mapping[str, int]) -> str:
    """A spec with more added tokens, if it lists them."""
    content = json.loads(text)
    if content["added"] is not None:
        conditions = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
        content["added"] += [
            {"content": literal, "id": id, "special": True, **conditions} for literal, id in special_tokens.items()
        ]
        content["added"].sort(key=lambda token: token["id"])
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _is(kind: type) -> Check:
    return lambda value: type(value) is kind


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 32


def _is_one_of(*choices: str) -> Check:
    return lambda value: type(value) is str and value in choices


def _is_list(item: Check) -> Check:
    return lambda value: type(value) is list and all(map(item, value))


def _is_none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_object(fields: Mapping[str, Check], may_lack: Iterable[str] = ()) -> Check:
    """With these fields and no others."""
    names, needed = set(fields), set(fields) - set(may_lack)
    return lambda value: (
        type(value) is dict
        and needed <= value.keys() <= names
        and all(fields[name](part) for name, part in value.items())
    )


def _is_typed(kinds: Mapping[str, Mapping[str, Check]]) -> Check:
    """An object that has the fields of its "type"; one that has none may have any."""
    checks = {kind: _is_object({"type": _is(str), **fields}) if fields else _is(dict) for kind, fields in kinds.items()}
    return lambda value: (
        type(value) is dict
        and type(value.get("type")) is str
        and value["type"] in checks
        and checks[value["type"]](value)
    )


_is_behavior = _is_one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

_is_added = _is_object(
    {
        "content": _is(str),
        "id": _is_id,
        **dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word", "special"), _is(bool)),
    }
)
_is_normalizer = _is_typed(
    {
        **{kind: {} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")},
        "Strip": {"left": _is(bool), "right": _is(bool)},
        "Replace": {"regex": _is(str), "content": _is(str)},
        "Prepend": {"text": _is(str)},
    }
)
_is_stage = _is_typed(
    {
        "Regex": {"regex": _is(str), "behavior": _is_behavior, "invert": _is(bool)},
        "Class": {"class": _is_one_of("Numeric", "Punctuation", "Whitespace"), "behavior": _is_behavior},
        "PrefixSpace": {},
        "Bytes": {},
    }
)


def _is_inert(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and type(value[0]) is str and _is_id(value[1])


_is_spec = _is_object(
    {
        "added": _is_none_or(_is_list(_is_added)),
        "inert": _is_list(_is_inert),
        "normalizers": _is_list(_is_normalizer),
        "prefix_space": _is(bool),
        "stages": _is_none_or(_is_list(_is_stage)),
        "around": _is_none_or(_is_object({"before": _is_list(_is_id), "after": _is_list(_is_id)})),
        "file": _is(dict),
    },
    may_lack=("added", "stages", "around"),
)
