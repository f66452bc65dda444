"""The normalizer and the pre-tokenizer of a tokenizer.json: what a text goes through before merging."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._reference.stages import IN_TURN, PATTERNS
from .fields import Section, shown
from .model import over_characters
from .regex import NotSupported, escape, translate

GPT2 = PATTERNS["gpt2"]
"""What ByteLevel cuts by."""

# They match every text from end to end: whether matches alone, or also what lies between, become pieces is the same.
_COVERING = {PATTERNS[name] for name in ("gpt2", "llama3", "qwen2", "o200k", "tekken")}

_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

Stage = dict[str, Any]


class Pieces(NamedTuple):
    """How text becomes pieces: by a pattern, or in stages."""

    pattern: str | None
    stages: list[Stage] | None
    prefix_space: bool = False


def read_normalizers(file: Section) -> list[dict[str, Any]]:
    if file.content.get("normalizer") is None:
        return []
    return [_normalizer(section) for section in flat(file.section("normalizer"), "normalizers")]


def flat(section: Section, members: str) -> Iterator[Section]:
    """A section, or those of a sequence and of the sequences in it."""
    if section.content.get("type") == "Sequence":
        for member in section.sections(members):
            yield from flat(member, members)
    else:
        yield section


def _normalizer(section: Section) -> dict[str, Any]:
    kind = section.get("type", str)
    if kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase"):
        return {"type": kind}
    if kind == "Strip":
        return {"type": kind, "left": section.get("strip_left", bool), "right": section.get("strip_right", bool)}
    if kind == "Replace":
        return {"type": kind, "regex": _pattern(section), "content": section.get("content", str)}
    if kind == "Prepend":
        if not section.get("prepend", str):
            section.refuse("to prepend nothing, at which tokenizers repeats the first character")
        return {"type": kind, "text": section.content["prepend"]}
    section.refuse(f"the normalizer {shown(kind)}")


def _pattern(section: Section) -> str:
    """The regular expression of a section, or that of its literal."""
    pattern = section.section("pattern")
    if "String" in pattern.content:
        literal = pattern.get("String", str)
        if not literal:
            pattern.refuse("an empty pattern")
        return _no_name(escape(literal))
    regex: str = pattern.get("Regex", str)
    try:
        return _no_name(translate(regex))
    except NotSupported as reason:
        pattern.refuse(f"the regular expression {shown(regex)}: {reason}")


def _no_name(regex: str) -> str:
    """The same, but not the name of a pattern."""
    return f"(?:{regex})" if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", regex) else regex


def read_pre_tokenizer(file: Section) -> Pieces:
    if file.content.get("pre_tokenizer") is None:
        file.refuse(f"no pre-tokenizer: the text is not cut into pieces, nor is it bytes{_as_sentencepiece(file)}")
    members = list(flat(file.section("pre_tokenizer"), "pretokenizers"))
    stages: list[Stage] = []
    is_bytes = prefix_space = False
    for number, section in enumerate(members):
        kind = section.get("type", str)
        if kind != "ByteLevel":
            if is_bytes and stages[-1] != {"type": "Bytes"}:
                stages.append({"type": "Bytes"})
            stages.append(_stage(section, kind))
            continue
        if is_bytes:
            section.refuse("a second ByteLevel")
        is_bytes = True
        if section.get("add_prefix_space", bool):
            if number == 0 and len(members) == 1:
                prefix_space = True
            else:
                stages.append({"type": "PrefixSpace"})
        if section.get("use_regex", bool, True):
            stages.append(_regex(GPT2, "Isolated", False))
        if number < len(members) - 1:
            stages.append({"type": "Bytes"})
    if not is_bytes:
        names = ", ".join(str(section.content.get("type")) for section in members)
        file.refuse(
            f"the pre-tokenizer {names} without ByteLevel: the tokens are not of bytes{_as_sentencepiece(file)}"
        )
    if stages and all(map(_keeps_all, stages)):
        return Pieces(IN_TURN.join(stage["regex"] for stage in stages), None, prefix_space)
    return Pieces(None, stages, prefix_space)


def _as_sentencepiece(file: Section) -> str:
    """The end of a reason, for models that have the tokens for it."""
    model = file.section("model")
    return f": {over_characters(model)}" if model.content.get("byte_fallback") else ""


def _keeps_all(stage: Stage) -> bool:
    """Whether a pattern says all of a stage: matches are pieces, and so is what lies between."""
    if stage["type"] != "Regex":
        return False
    covers = stage["behavior"] == "Removed" and stage["invert"] and stage["regex"] in _COVERING
    return covers or stage["behavior"] == "Isolated"


def _regex(regex: str, behavior: str, invert: bool) -> Stage:
    return {"type": "Regex", "regex": regex, "behavior": behavior, "invert": invert}


def _stage(section: Section, kind: str) -> Stage:
    if kind == "Split":
        behavior = section.choice("behavior", _BEHAVIORS)
        return _regex(_pattern(section), behavior, section.get("invert", bool))
    if kind == "Digits":
        behavior = "Isolated" if section.get("individual_digits", bool) else "Contiguous"
        return {"type": "Class", "class": "Numeric", "behavior": behavior}
    if kind == "Punctuation":
        behavior = section.choice("behavior", _BEHAVIORS, "Isolated")
        return {"type": "Class", "class": "Punctuation", "behavior": behavior}
    if kind == "Whitespace":
        return _regex(r"\w+|[^\w\s]+", "Removed", True)
    if kind == "WhitespaceSplit":
        return {"type": "Class", "class": "Whitespace", "behavior": "Removed"}
    if kind == "Metaspace":
        section.refuse(
            'the pre-tokenizer "Metaspace", SentencePiece\'s (Hugging Face tokenizers or sentencepiece serve it)'
        )
    section.refuse(f"the pre-tokenizer {shown(kind)}")
