"""The model of a tokenizer.json: vocabulary and merge rules."""

import itertools
import re
from typing import Any, NamedTuple, NoReturn

from .._reference.data import MAX_ID
from .._reference.stages import BYTE_TO_CHARACTER
from ..errors import EncodingFileError
from .fields import Section, shown

_SERVED_BY = {
    "WordPiece": "Hugging Face tokenizers or transformers serve it",
    "Unigram": "Hugging Face tokenizers or sentencepiece serve it",
    "WordLevel": "Hugging Face tokenizers serves it",
}


def over_characters(model: Section) -> str:
    """What a BPE model is whose tokens are not of bytes, and what serves it."""
    kind = "SentencePiece's BPE with byte fallback" if model.content.get("byte_fallback") else "BPE over characters"
    return f"{kind} (Hugging Face tokenizers or sentencepiece serve it)"


class Model(NamedTuple):
    """A vocabulary, spelled."""

    vocabulary: dict[str, int]
    """By id."""
    merges: list[tuple[str, str]]
    inert: list[tuple[str, int]]
    """What is no spelling of bytes, so that no text becomes it."""
    ignore_merges: bool
    size: int
    """Of the vocabulary in the file."""

    def can_become(self, tokens: set[str]) -> set[str]:
        """Those of these tokens that are in the vocabulary and that a piece may be."""
        known = tokens & self.vocabulary.keys()
        if not known or self.ignore_merges:
            return known
        made = {token for left, right in self.merges if (token := left + right) in known}
        return made | {token for token in known if len(token) == 1}

    def without(self, tokens: set[str]) -> "Model":
        """What is left when these tokens, which no piece can be, are taken away."""
        vocabulary, merges = self.vocabulary, self.merges
        if not tokens.isdisjoint(vocabulary):
            vocabulary = {token: id for token, id in vocabulary.items() if token not in tokens}
            merges = [(left, right) for left, right in merges if left not in tokens and right not in tokens]
        inert = [(token, id) for token, id in self.inert if token not in tokens]
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
    spelled, inert = _spelled(entries)
    missing = [(byte, character) for byte, character in enumerate(BYTE_TO_CHARACTER) if character not in spelled]
    if missing:
        _refuse_missing(model, missing)
    merges = _merges(model)
    if inert:
        strange = {token for token, _ in inert}
        merges = [(left, right) for left, right in merges if left not in strange and right not in strange]
    ignore_merges = model.get("ignore_merges", bool, False)
    return Model(spelled, merges, inert, ignore_merges, len(entries))


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


def _spelled(entries: dict[str, int]) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """The tokens that spell bytes, and the others."""
    strangers = set("".join(entries)).difference(BYTE_TO_CHARACTER)
    if not strangers and "" not in entries:
        return entries, []
    stranger = re.compile("[" + re.escape("".join(sorted(strangers))) + "]" if strangers else "(?!)")
    inert = [(token, id) for token, id in entries.items() if not token or stranger.search(token)]
    others = dict(inert)
    return {token: id for token, id in entries.items() if token not in others}, inert


def _merges(model: Section) -> list[tuple[str, str]]:
    """The pairs in the order of their ranks."""
    given = model.get("merges", list)
    parts: list[Any] = [merge.split(" ") if isinstance(merge, str) else merge for merge in given]
    # Most files have no fault: all of them at once.
    if not (set(map(type, parts)) <= {list} and set(map(len, parts)) <= {2}):
        _fail_merge(model, given, parts)
    merges: list[tuple[str, str]] = list(map(tuple, parts))
    if not (set(map(type, itertools.chain.from_iterable(merges))) <= {str}) or "" in itertools.chain.from_iterable(
        merges
    ):
        _fail_merge(model, given, parts)
    return merges


def _fail_merge(model: Section, given: list[Any], parts: list[Any]) -> NoReturn:
    """For the first that is no pair of symbols."""
    for number, pair in enumerate(parts, start=1):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, str) and s for s in pair)):
            model.fail(f"merge {number}: expected two symbols, found {shown(given[number - 1])}")
    raise AssertionError("one of them is none")


def _refuse_missing(model: Section, missing: list[tuple[int, str]]) -> NoReturn:
    if len(missing) > 128 or model.content.get("byte_fallback"):
        model.refuse(f"{over_characters(model)}: its vocabulary is not of bytes, {len(missing)} of which have no token")
    byte, character = missing[0]
    raise EncodingFileError(f"{model.where}: the byte 0x{byte:02x} has no token, expected {shown(character)}")
