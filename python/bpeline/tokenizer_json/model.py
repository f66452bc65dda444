"""The model of a tokenizer.json: vocabulary and merge rules."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

from ..errors import EncodingFileError
from .fields import Section, shown

MAX_ID = 0xFF_FFFF

_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
ALPHABET = [chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)]
"""How GPT-2's files, and these, spell each byte."""

_SPELLED = re.compile("[" + re.escape("".join(ALPHABET)) + "]+")

_SERVED_BY = {
    "WordPiece": "Hugging Face tokenizers or transformers serve it",
    "Unigram": "Hugging Face tokenizers or sentencepiece serve it",
    "WordLevel": "Hugging Face tokenizers serves it",
}


class Model(NamedTuple):
    """A vocabulary, spelled."""

    where: str
    vocabulary: dict[str, int]
    """By id."""
    merges: list[tuple[str, str]]
    inert: list[tuple[str, int]]
    """What is no spelling of bytes, so that no text becomes it."""
    ignore_merges: bool
    made: frozenset[str]
    """What some rule makes."""
    size: int
    """Of the vocabulary in the file."""

    def id_of(self, token: str) -> int | None:
        id = self.vocabulary.get(token)
        return id if id is not None else dict(self.inert).get(token)

    def can_become(self, token: str) -> bool:
        """Whether a piece may be this token of the vocabulary."""
        return len(token) == 1 or token in self.made or self.ignore_merges

    def without(self, added: Iterable[Any]) -> "Model":
        """What is left when added tokens that no piece can be are taken away."""
        literals = {token.content for token in added}
        vocabulary = self.vocabulary
        gone = {token for token in literals & vocabulary.keys() if not self.can_become(token)}
        merges = self.merges
        if gone:
            vocabulary = {token: id for token, id in vocabulary.items() if token not in gone}
            merges = [(left, right) for left, right in merges if left not in gone and right not in gone]
        inert = [(token, id) for token, id in self.inert if token not in literals]
        return self._replace(vocabulary=vocabulary, merges=merges, inert=inert)


def read_model(model: Section) -> Model:
    kind = model.content.get("type")
    if kind is None:
        kind = _guessed_kind(model)
    if kind != "BPE":
        served = _SERVED_BY.get(kind)
        model.refuse(f"the model {shown(kind)}, which is not BPE" + (f" ({served})" if served else ""))
    if model.content.get("dropout"):
        model.refuse(f"a dropout of {model.content['dropout']}, which makes ids random")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key, str, ""):
            model.refuse(f'the {key} "{model.content[key]}"')
    entries = _entries(model)
    spelled = {token: id for token, id in entries.items() if _SPELLED.fullmatch(token)}
    inert = (
        [(token, id) for token, id in entries.items() if token not in spelled] if len(spelled) < len(entries) else []
    )
    if any(not token for token, _ in inert):
        model.fail("the empty token is in the vocabulary")
    missing = [(byte, character) for byte, character in enumerate(ALPHABET) if character not in spelled]
    if missing:
        _refuse_missing(model, missing)
    merges = _merges(model)
    known = entries.keys()
    for number, (left, right) in enumerate(merges, start=1):
        if left not in known or right not in known or left + right not in known:
            unknown = next(symbol for symbol in (left, right, left + right) if symbol not in known)
            model.fail(f"merge {number}: {shown(unknown)} is not in the vocabulary")
    if inert:
        merges = [pair for pair in merges if all(symbol in spelled for symbol in pair)]
    made = frozenset(left + right for left, right in merges)
    ignore_merges = model.get("ignore_merges", bool, False)
    return Model(model.where, spelled, merges, inert, ignore_merges, made, len(entries))


def _guessed_kind(model: Section) -> str:
    """Files of old say no type."""
    if "merges" in model.content:
        return "BPE"
    if isinstance(model.content.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in model.content else "WordLevel"


def _entries(model: Section) -> dict[str, int]:
    """The vocabulary by id."""
    entries: dict[str, int] = model.get("vocab", dict)
    ids = entries.values()
    if not all(type(id) is int and 0 <= id <= MAX_ID for id in ids):
        token, id = next((t, id) for t, id in entries.items() if type(id) is not int or not 0 <= id <= MAX_ID)
        model.fail(f"token {shown(token)} has the id {shown(id)}, expected 0 to {MAX_ID}")
    if len(set(ids)) < len(entries):
        owners: dict[int, str] = {}
        for token, id in entries.items():
            if id in owners:
                model.refuse(f"the tokens {shown(owners[id])} and {shown(token)} have the same id {id}")
            owners[id] = token
    return dict(sorted(entries.items(), key=lambda entry: entry[1]))


def _merges(model: Section) -> list[tuple[str, str]]:
    """The pairs in the order of their ranks. Of a pair that is repeated, the last counts."""
    merges = []
    for number, merge in enumerate(model.get("merges", list), start=1):
        pair = tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) if isinstance(merge, list) else ()
        if len(pair) != 2 or not all(isinstance(symbol, str) and symbol for symbol in pair):
            model.fail(f"merge {number}: expected two symbols, found {shown(merge)}")
        merges.append(pair)
    if len(set(merges)) < len(merges):
        merges = list(reversed(dict.fromkeys(reversed(merges))))
    return merges


def _refuse_missing(model: Section, missing: list[tuple[int, str]]) -> NoReturn:
    if len(missing) > 128 or model.content.get("byte_fallback"):
        kind = "BPE with byte fallback" if model.content.get("byte_fallback") else "BPE over characters"
        model.refuse(
            f"{kind}: its vocabulary is not of bytes; Hugging Face tokenizers or sentencepiece serve it "
            f"({len(missing)} bytes have no token)"
        )
    byte, character = missing[0]
    raise EncodingFileError(f"{model.where}: the byte 0x{byte:02x} has no token, expected {shown(character)}")
