"""tekken.json: ids, special tokens, what is refused and how, and mistral-common on the same file."""

import json
import random
from base64 import b64encode

import pytest

import bpeline
from tests.small import EOT
from tests.texts import FRAGMENTS

PATTERN = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TOKENS = [*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b" a", b"\xe6\xbc", b"xyz", b"beyond"]
NAMED = ["<unk>", "<s>", "</s>", "[INST]"]


def entry(rank, token):
    return {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": token.decode(errors="replace")}


def content(version="v3", size=271, specials=10):
    """10 special tokens and the first 261 tokens."""
    return {
        "config": {
            "pattern": PATTERN,
            "num_vocab_tokens": len(TOKENS),
            "default_vocab_size": size,
            "default_num_special_tokens": specials,
            "version": version,
        },
        "vocab": [entry(rank, token) for rank, token in enumerate(TOKENS)],
        "special_tokens": [{"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(NAMED)],
    }


def write(folder, data, name="tekken.json"):
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_ids(Tokenizer, tmp_path):
    tok = Tokenizer.load(write(tmp_path, content(), "tekken_1.json"))
    assert (tok.name, tok.vocab_size, tok.pattern) == ("tekken_1", 271, PATTERN)
    assert tok.special_tokens == {name: i for i, name in enumerate([*NAMED, *(f"<SPECIAL_{i}>" for i in range(4, 10))])}
    assert tok.encode("abc ab xyz") == [267, 42, 266, 42, 270]
    assert tok.encode("<s>ab[INST]<SPECIAL_9>") == [1, 266, 3, 9]
    assert tok.encode("beyond", special="text") == [b + 10 for b in b"beyond"]
    assert tok.decode(tok.encode("漢字<s>")) == "漢字<s>"


def test_a_file_without_names(Tokenizer, tmp_path):
    data = content(size=361, specials=100)
    del data["special_tokens"]
    tok = Tokenizer.load(write(tmp_path, data))
    assert len(tok.special_tokens) == 100
    assert tok.encode("[AVAILABLE_TOOLS][TOOL_CONTENT]<SPECIAL_20>ab") == [5, 19, 20, 356]


def test_both_backends_read_the_same(both, tmp_path):
    path = write(tmp_path, content())
    assert both[0].load(path) == both[1].load(path)


def test_saved_as_a_rank_file(Tokenizer, tmp_path):
    tok = Tokenizer.load(write(tmp_path, content()))
    tok.save(tmp_path / "saved", format="tiktoken")
    assert Tokenizer.load(tmp_path / "saved") == tok
    tok.save(tmp_path, format="tiktoken")  # beside the file it was made from
    assert Tokenizer.load(tmp_path) == tok


def test_the_callers_word_counts(Tokenizer, tmp_path):
    tok = Tokenizer.load(write(tmp_path, content()), pattern="gpt2", special_tokens={EOT: 3})
    assert tok.special_tokens == {EOT: 3}
    assert tok.encode(f" ab{EOT}") == [42, 266, 3]


def without(key):
    def change(data):
        del data[key]

    return change


def setting(*path):
    *where, key, value = path

    def change(data):
        for step in where:
            data = data[step]
        data[key] = value

    return change


FAULTS = {
    "no config": (without("config"), "config is missing or not an object"),
    "no vocab": (without("vocab"), "vocab is missing or not a list"),
    "pattern": (setting("config", "pattern", None), "config.pattern is missing or not a string"),
    "size a text": (
        setting("config", "default_vocab_size", "271"),
        "config.default_vocab_size is missing or not an integer",
    ),
    "size true": (
        setting("config", "default_vocab_size", True),
        "config.default_vocab_size is missing or not an integer",
    ),
    "size negative": (
        setting("config", "default_vocab_size", -1),
        "config.default_vocab_size is -1, expected 0 to 16777215",
    ),
    "too small": (
        setting("config", "default_num_special_tokens", 300),
        "default_vocab_size 271 is less than default_num_special_tokens 300",
    ),
    "cut": (setting("config", "default_vocab_size", 273), "vocab has 262 tokens, expected at least 263"),
    "an entry": (setting("vocab", 7, None), "vocab[7].rank is missing or not an integer"),
    "rank": (setting("vocab", 7, "rank", 8), "vocab[7].rank is 8, expected 7"),
    "rank huge": (setting("vocab", 7, "rank", 10**60), f"vocab[7].rank is 1{'0' * 39}…, expected 0 to 16777215"),
    "no bytes": (setting("vocab", 7, "token_bytes", None), "vocab[7].token_bytes is missing or not a string"),
    "not base64": (setting("vocab", 7, "token_bytes", "B"), 'vocab[7].token_bytes "B" is not base64'),
    "empty": (setting("vocab", 7, "token_bytes", ""), 'vocab[7].token_bytes "" is not base64'),
    "repeated": (
        setting("vocab", 260, "token_bytes", "AA=="),
        'vocab[260].token_bytes: the token b"\\x00" is that of rank 0',
    ),
    "byte missing": (setting("vocab", 33, "token_bytes", "YWE="), "the byte 0x21 has no token"),
    "special tokens an object": (setting("special_tokens", {}), "special_tokens is missing or not a list"),
    "special rank": (setting("special_tokens", 1, "rank", 2), "special_tokens[1].rank is 2, expected 1"),
    "special name": (
        setting("special_tokens", 1, "token_str", 2),
        "special_tokens[1].token_str is missing or not a string",
    ),
    "special twice": (
        setting("special_tokens", 3, "token_str", "<s>"),
        "special_tokens[3].token_str repeats special_tokens[1]",
    ),
    "too many special": (
        lambda data: data["config"].update(default_num_special_tokens=3, default_vocab_size=264),
        "special_tokens has 4 entries, expected at most 3",
    ),
    "a name of the reader's": (
        setting("special_tokens", 3, "token_str", "<SPECIAL_5>"),
        "<SPECIAL_5> is the name of another special token",
    ),
    "no names though it should": (
        lambda data: (data["config"].update(version="v11"), data.pop("special_tokens")),
        'special_tokens is missing, which a file of version "v11" needs',
    ),
    "version": (
        lambda data: (data["config"].update(version="new"), data.pop("special_tokens")),
        'special_tokens is missing, which a file of version "new" needs',
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(Tokenizer, tmp_path, name):
    change, expected = FAULTS[name]
    data = content()
    change(data)
    path = write(tmp_path, data)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(path)
    assert str(caught.value) == f"{path}: {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "config is missing or not an object"),
        ("", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (
            "version https://git-lfs.github.com/spec/v1\n",
            "a git-lfs pointer, not the file itself: fetch it with `git lfs pull`",
        ),
        ("[" * 100_000, "not JSON: "),
    ],
)
def test_a_file_of_another_kind(Tokenizer, tmp_path, text, expected):
    path = write(tmp_path, text)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@pytest.mark.parity
def test_mistral_common_says_the_same(Tokenizer, tmp_path):
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    data = content(size=361, specials=100)
    del data["special_tokens"]
    path = write(tmp_path, data)
    tok, peer = Tokenizer.load(path), tekken.Tekkenizer.from_file(path)
    assert tok.vocab_size == peer.n_words
    assert {literal: peer.get_special_token(literal) for literal in tok.special_tokens} == tok.special_tokens
    rng = random.Random(4)
    for text in ("".join(rng.choices([*FRAGMENTS, "ab", "abc", "xyz"], k=12)) for _ in range(300)):
        assert tok.encode(text, special="text") == peer.encode(text, bos=False, eos=False)
