"""The added tokens of a tokenizer.json, and what its post-processor puts around a text."""

from typing import Any, NamedTuple

from .fields import Section, shown
from .model import Model


class Added(NamedTuple):
    content: str
    id: int
    lstrip: bool
    normalized: bool
    rstrip: bool
    single_word: bool
    special: bool

    @property
    def has_conditions(self) -> bool:
        return self.lstrip or self.rstrip or self.single_word


_KINDS = (str, int, bool, bool, bool, bool, bool)
"""Of the fields of `Added`."""


def read_added(file: Section, model: Model) -> list[Added]:
    """The added tokens by id. tokenizers numbers them itself, in the order of the file: the ids must be those numbers."""
    given = file.get("added_tokens", list) if file.content.get("added_tokens") is not None else []
    listed = [_added(file, number, item) for number, item in enumerate(given)]
    tokens: dict[str, Added] = {}
    inert = dict(model.inert)
    may_be_made = model.can_become({token.content for token in listed})
    highest = -1
    for number, token in enumerate(listed):
        content = token.content
        expected = model.vocabulary.get(content, inert.get(content))
        if expected is None:
            expected = max(highest + 1, model.size)
        highest = max(highest, expected)
        fault = None
        if not content:
            fault = "an empty added token"
        elif content in tokens:
            fault = f"the added token {shown(content)} is repeated"
        elif token.id != expected:
            fault = f"the added token {shown(content)} has the id {token.id}, for which tokenizers takes {expected}"
        elif content in may_be_made and not content.isascii():
            fault = f"the added token {shown(content)} is spelled as a token of other bytes in the vocabulary"
        if fault is not None:
            _section(file, number, given[number]).refuse(fault)
        tokens[content] = token
    return sorted(tokens.values(), key=lambda token: token.id)


def _added(file: Section, number: int, item: Any) -> Added:
    """One of what may be hundreds of thousands."""
    if type(item) is dict and tuple(map(type, fields := list(map(item.get, Added._fields)))) == _KINDS:
        return Added._make(fields)
    section = _section(file, number, item)
    return Added._make(section.get(field, kind) for field, kind in zip(Added._fields, _KINDS, strict=True))


def _section(file: Section, number: int, item: Any) -> Section:
    return Section(f"{file.where}: added_tokens {number}", item)


def read_around(file: Section) -> dict[str, list[int]] | None:
    """The ids before and after a text, or None."""
    if file.content.get("post_processor") is None:
        return None
    around = None
    pending = [file.section("post_processor")]
    while pending:
        processor = pending.pop(0)
        kind = processor.get("type", str)
        if kind == "Sequence":
            pending = processor.sections("processors") + pending
        elif kind in ("RobertaProcessing", "BertProcessing", "TemplateProcessing"):
            if around is not None:
                processor.refuse("two post-processors that add tokens")
            around = _template(processor) if kind == "TemplateProcessing" else _cls_and_sep(processor)
        elif kind != "ByteLevel":
            processor.refuse(f"the post-processor {shown(kind)}")
    return around if around and (around["before"] or around["after"]) else None


def _cls_and_sep(processor: Section) -> dict[str, list[int]]:
    ids = []
    for key in ("cls", "sep"):
        pair = processor.get(key, list)
        if len(pair) != 2 or type(pair[1]) is not int:
            processor.fail(f'expected a token and its id as "{key}"')
        ids.append(pair[1])
    return {"before": ids[:1], "after": ids[1:]}


def _template(processor: Section) -> dict[str, list[int]]:
    special_tokens = processor.section("special_tokens")
    around: dict[str, list[int]] = {"before": [], "after": []}
    place = "before"
    for item in processor.sections("single"):
        if "Sequence" in item.content:
            if place == "after" or item.section("Sequence").content.get("id") != "A":
                item.refuse("a template that does not have the text once")
            place = "after"
            continue
        token = special_tokens.section(item.section("SpecialToken").get("id", str))
        ids: list[Any] = token.get("ids", list)
        if not all(type(id) is int for id in ids):
            token.fail('expected integers as "ids"')
        around[place] += ids
    if place == "before":
        processor.refuse("a template that does not have the text once")
    return around
