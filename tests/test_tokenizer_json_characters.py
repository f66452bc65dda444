"""Every character in the normalizers and classes of a tokenizer.json: the same as tokenizers makes of it.

With a vocabulary of bytes alone the ids of a text are what is left of it, so that equal ids say equal texts.
"""

import json
import unicodedata

import pytest

from bpeline import tokenizer_json
from tests.parity.samples import scalars
from tests.small import ALPHABET

pytestmark = [pytest.mark.parity, pytest.mark.slow]

tokenizers = pytest.importorskip("tokenizers")

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
# Pieces of one character go: whether a class cuts a character off from its neighbours shows in what is left.
DROP_ALONE = {"type": "Split", "pattern": {"Regex": r"\A.\z"}, "behavior": "Removed", "invert": False}
INERT = "\U000f0000"
BLOCK = 5_000


def both_of(cls, normalizer, cutters):
    """The tokenizer and its peer."""
    content = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*cutters, BYTES]},
        "model": {"type": "BPE", "vocab": {c: id for id, c in enumerate(ALPHABET)}, "merges": []},
    }
    text = json.dumps(content)
    ours = cls(cls._Encoding.from_tokenizer_json("file", "file", *tokenizer_json.read(text, "file")))
    return ours, tokenizers.Tokenizer.from_str(text)


def texts(backend, form):
    """Every character in its turn, in texts of thousands; the reference takes some, and all that has to do with marks."""
    chosen = list(scalars())
    if backend == "reference":
        known = [c for c in chosen if unicodedata.decomposition(c) or unicodedata.combining(c) or c.lower() != c]
        chosen = known + chosen[::37]
    for at in range(0, len(chosen), BLOCK):
        yield "".join(form.format(c) if c not in "{}" else c for c in chosen[at : at + BLOCK])


def compare(cls, backend, form, normalizer=None, cutters=()):
    ours, peer = both_of(cls, normalizer, cutters)
    for text in texts(backend, form):
        if ours.encode(text) != peer.encode(text).ids:
            wrong = [c for c in text if ours.encode(form.format(c)) != peer.encode(form.format(c)).ids]
            raise AssertionError(f"{len(wrong)} characters differ, among them {wrong[:5]!a}")


@pytest.mark.parametrize("kind", ["NFC", "NFD", "NFKC", "NFKD", "Lowercase"])
@pytest.mark.parametrize("form", ["{}" + INERT, "{}\u0334\u0301\u0323"])
def test_normalizers(Tokenizer, backend, kind, form):
    compare(Tokenizer, backend, form, normalizer={"type": kind})


@pytest.mark.parametrize("side", ["left", "right"])
def test_strip(Tokenizer, backend, side):
    """Each in a text of its own, or only the first would count."""
    flags = {"strip_left": side == "left", "strip_right": side == "right"}
    ours, peer = both_of(Tokenizer, {"type": "Strip", **flags}, ())
    for character in [c for c in scalars() if ord(c) < 0x3100 or ord(c) in (0xFEFF, 0xE0020)]:
        assert ours.encode(character) == peer.encode(character).ids, ascii(character)


@pytest.mark.parametrize(
    "cutter",
    [
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
    ],
    ids=lambda cutter: cutter["type"],
)
def test_classes(Tokenizer, backend, cutter):
    compare(Tokenizer, backend, "ab{}", cutters=[cutter, DROP_ALONE])


REGEXES = [
    *(r"\w", r"[^\w\s]+", r"\W", r"\d", r"\p{M}", r"[\p{P}\p{S}]", r"(?i:[ks])", r".", r"b\b|\ba"),
    *(r"[\p{Han}\p{Katakana}\p{Thai}\p{Latin}]", r"[\p{L}\p{M}&&[^\p{Han}\p{Common}\p{Arabic}]]"),
]


@pytest.mark.parametrize("regex", REGEXES)
def test_regular_expressions(Tokenizer, backend, regex):
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": False}
    compare(Tokenizer, backend, "ab{}", cutters=[split])


def test_single_words(Tokenizer):
    """What counts as part of a word beside an added token."""
    flags = {"single_word": True, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    content = {
        "added_tokens": [{"id": 256, "content": "word", **flags}],
        "pre_tokenizer": BYTES,
        "model": {"type": "BPE", "vocab": {c: id for id, c in enumerate(ALPHABET)}, "merges": []},
    }
    text = json.dumps(content)
    ours = Tokenizer(Tokenizer._Encoding.from_tokenizer_json("file", "file", *tokenizer_json.read(text, "file")))
    peer = tokenizers.Tokenizer.from_str(text)
    for character in scalars(stride=11):
        sample = f"word{character}-{character}word"
        assert ours.encode(sample) == peer.encode(sample).ids, ascii(character)
