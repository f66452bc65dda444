"""An encoding as a tokenizer.json. What the file cannot say is an error, never a loss."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._reference.stages import IN_TURN, PATTERNS, made_of, unspell
from .regex import NotSupported, untranslate

if TYPE_CHECKING:
    from .._native import Encoding

_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_CONDITIONS = ("single_word", "lstrip", "rstrip", "normalized")


class CannotSay(ValueError):
    """Why an encoding is none that the file can hold."""


class _Rules(NamedTuple):
    merges: Iterable[tuple[int, int]]
    whole_pieces: bool
    """Whether a piece that is a token must be looked up before merging."""


class _Vocabulary(NamedTuple):
    ids: dict[str, int]
    """By id, with the added tokens: there tokenizers looks up what ids they have."""
    apart: set[str]
    """Added tokens that are not in there, but get their ids one after the other."""


def write(encoding: "Encoding") -> str:
    """The text of the file. Raises `CannotSay`.

    >>> import bpeline, json
    >>> from bpeline.tokenizer_json.writer import write
    >>> json.loads(write(bpeline.load("gpt2").encoding))["pre_tokenizer"]["type"]
    'ByteLevel'
    """
    rules = _rules(encoding)
    spec: dict[str, Any] = json.loads(encoding.spec) if encoding.spec else {"added": None, "file": None}
    added = spec["added"]
    if added is None:
        plain = dict.fromkeys(_CONDITIONS, False) | {"special": True}
        added = [{"id": id, "content": literal, **plain} for literal, id in encoding.special_tokens.items()]
    inside = set(spec["file"]["inside"]) if spec["file"] else set()
    vocabulary = _vocabulary(encoding, added, inside, rules.whole_pieces)
    sections = spec["file"] or {
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(encoding.pattern),
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
    }
    spell = [str(encoding.id_to_token(id)) for id in range(encoding.vocab_size)]
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": sections["normalizer"],
        "pre_tokenizer": sections["pre_tokenizer"],
        "post_processor": sections["post_processor"],
        "decoder": sections["decoder"],
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": rules.whole_pieces,
            "vocab": {token: id for token, id in vocabulary.ids.items() if token not in vocabulary.apart},
            "merges": [f"{spell[left]} {spell[right]}" for left, right in rules.merges],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def _rules(encoding: "Encoding") -> _Rules:
    """The rules as pairs. Where token bytes are ranked, those that merging can meet, each with the rank of what it makes."""
    merges = encoding.merges()
    if merges is not None:
        return _Rules(merges, encoding.whole_pieces)
    special = set(encoding.special_tokens.values())
    ids = [id for id in range(encoding.vocab_size) if id not in special]
    tokens = {id: token for id in ids if (token := encoding.token_bytes(id)) is not None}
    made = made_of(tokens)
    # Where rules make every token of its bytes, it is the same whether pieces are looked up first.
    return _Rules(made.values(), len(made) + 256 < len(tokens))


def _pre_tokenizer(pattern: str) -> dict[str, Any]:
    if pattern == PATTERNS["gpt2"]:
        return _BYTE_LEVEL
    splits = [
        {"type": "Split", "pattern": {"Regex": _oniguruma(part)}, "behavior": "Isolated", "invert": False}
        for part in pattern.split(IN_TURN)
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, _BYTE_LEVEL | {"use_regex": False}]}


def _oniguruma(pattern: str) -> str:
    try:
        return untranslate(pattern)
    except NotSupported as reason:
        raise CannotSay(f'its pattern "{pattern[:40]}" may mean something else there: {reason}') from None


def _vocabulary(encoding: "Encoding", added: list[dict[str, Any]], inside: set[str], whole_pieces: bool) -> _Vocabulary:
    ids: dict[str, int] = {}
    for id in range(encoding.vocab_size):
        token = encoding.id_to_token(id)
        if token is not None:
            if token in ids:
                raise CannotSay(f'the special token "{token[:40]}" is spelled like an ordinary token')
            ids[token] = id
    for item in added:
        content, id = item["content"], item["id"]
        if content not in ids:
            raise CannotSay(
                f'the special tokens "{encoding.id_to_token(id)}" and "{content[:40]}" share the id {id}, '
                "of which tokenizers finds only one in a text"
            )
        if ids[content] != id:
            raise CannotSay(f'the special token "{content[:40]}" is spelled like an ordinary token')
    apart: set[str] = set()
    if whole_pieces:
        # Here a piece that is in the vocabulary is that token: what was not in it should not get there.
        apart = {item["content"] for item in added} - inside
        if sorted(ids[token] for token in apart) != list(range(len(ids) - len(apart), len(ids))):
            if any(_may_be_piece(encoding, token) for token in apart):
                raise CannotSay("its added tokens do not follow the vocabulary, which is looked up whole")
            apart = set()
    return _Vocabulary(ids, apart)


def _may_be_piece(encoding: "Encoding", literal: str) -> bool:
    """Whether some piece may be spelled like this; of a pattern that is not known, any.

    Those that are known match every text from end to end, and look around whitespace alone: what is one piece in some
    text is one by itself.
    """
    try:
        text = unspell(literal).decode()
    except (KeyError, UnicodeDecodeError):
        return False
    is_known = encoding.pattern in PATTERNS.values() and IN_TURN not in encoding.pattern
    return not is_known or encoding.matches(text) == [text]
