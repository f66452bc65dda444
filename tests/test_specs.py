"""Specs that no reader of a tokenizer.json wrote: both backends take the same ones, and refuse the others in the same words."""

import copy
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.small import ALPHABET

TOKEN = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
SPEC = {
    "added": [TOKEN | {"content": "<s>", "id": 256}, TOKEN | {"content": "[x]", "id": 257, "normalized": True}],
    "around": {"before": [256], "after": []},
    "file": {},
    "inert": [["<é>", 258]],
    "normalizers": [
        {"type": "NFC"},
        {"type": "Strip", "left": True, "right": False},
        {"type": "Replace", "regex": "a+", "content": "b"},
        {"type": "Prepend", "text": "_"},
    ],
    "prefix_space": False,
    "stages": [
        {"type": "Regex", "regex": "[a-z]+", "behavior": "Isolated", "invert": False},
        {"type": "Regex", "regex": "[a-c]+", "behavior": "Removed", "invert": True},
        {"type": "Class", "class": "Numeric", "behavior": "Contiguous"},
        {"type": "PrefixSpace"},
        {"type": "Bytes"},
    ],
}


def places(value, path=()):
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


JUNK = [
    None,
    True,
    0,
    -1,
    0.5,
    300,
    2**24,
    2**40,
    "",
    "x",
    "gpt2",
    "NFC",
    "Bytes",
    [],
    [256],
    [["x", 1]],
    {},
    {"type": "NFC"},
]
PLACES = list(places(SPEC))


def outcome(cls, spec):
    vocabulary = {character: id for id, character in enumerate(ALPHABET)}
    specials = {"<s>": 256, "[x]": 257}
    contents = ("a+", vocabulary, [], specials, False, json.dumps(spec))
    try:
        return cls._Encoding.from_tokenizer_json("file", "name", *contents).fingerprint
    except ValueError as error:
        return type(error), str(error).removeprefix("file: ")


@settings(max_examples=300)
@given(
    place=st.sampled_from(PLACES),
    deed=st.sampled_from(["replace", "remove", "add", "repeat"]),
    junk=st.sampled_from(JUNK),
)
@example(place=("stages", 0, "regex"), deed="replace", junk="x")
@example(place=("added", 0, "content"), deed="replace", junk="")
@example(place=("inert", 0, 1), deed="replace", junk=0)
def test_damage(both, place, deed, junk):
    spec = copy.deepcopy(SPEC)
    *path, key = place
    at = spec
    for step in path:
        at = at[step]
    if deed == "remove":
        del at[key]
    elif deed == "replace":
        at[key] = junk
    elif isinstance(at, list):
        at.insert(key, junk if deed == "add" else at[key])
    else:
        at["type" if deed == "repeat" else "other"] = junk
    native, reference = (outcome(cls, spec) for cls in both)
    assert native == reference


def test_it_is_whole(Tokenizer):
    assert len(outcome(Tokenizer, SPEC)) == 32


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "NaN", json.dumps(SPEC).replace("false", "NaN", 1), "[" * 10_000]
)
def test_no_spec(Tokenizer, text):
    vocabulary = {character: id for id, character in enumerate(ALPHABET)}
    with pytest.raises(ValueError, match=r"damaged$"):
        Tokenizer._Encoding.from_tokenizer_json("file", "name", "a+", vocabulary, [], {}, False, text)
