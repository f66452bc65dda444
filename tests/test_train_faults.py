"""What cannot be trained is said the same way by both backends."""

import re

import pytest

import bpeline
from bpeline import InvalidTextError, TrainingError
from tests.small import ALPHABET

CORPUS = ["low lower lowest"] * 3
SETTINGS = [
    ({"vocab_size": 10}, "vocab_size must be 257 (256 bytes and 1 special tokens) to 16777216, not 10"),
    ({"vocab_size": 256}, "vocab_size must be 257"),
    ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, "vocab_size must be 258 (256 bytes and 2 special tokens)"),
    ({"vocab_size": 16_777_217}, "to 16777216, not 16777217"),
    ({"min_frequency": -1}, "min_frequency must be 0 to 9223372036854775807, not -1"),
    ({"min_frequency": 2**70}, f"min_frequency must be 0 to 9223372036854775807, not {2**70}"),
    ({"max_token_length": 0}, "max_token_length must be 1 to 9223372036854775807, not 0"),
    ({"threads": 0}, "threads must be 1 to 9223372036854775807, not 0"),
    ({"max_memory": 0}, "max_memory must be 1 to 9223372036854775807, not 0"),
    ({"ties": "random"}, 'ties must be "tokenizers" or "first-seen", not \'random\''),
    ({"initial_alphabet": "ascii"}, "initial_alphabet must be \"bytes\", not 'ascii'"),
    ({"special_tokens": ["<a>", "<a>"]}, 'special_tokens has "<a>" twice'),
    ({"special_tokens": [""]}, 'special_tokens has ""; a special token has at least one character'),
]


@pytest.mark.parametrize(("options", "message"), SETTINGS)
def test_settings(Tokenizer, options, message):
    with pytest.raises(TrainingError, match=re.escape(message)) as error:
        Tokenizer.train(CORPUS, **{"vocab_size": 300} | options)
    assert isinstance(error.value, bpeline.BpelineError) and isinstance(error.value, ValueError)


@pytest.mark.parametrize("corpus", [[], [""], ["", ""], ["<|endoftext|>"], ["<|endoftext|><|endoftext|>", ""]])
def test_an_empty_corpus(Tokenizer, corpus):
    with pytest.raises(TrainingError, match=r"^the corpus is empty: nothing in it is text between special tokens$"):
        Tokenizer.train(corpus, 257)


def test_a_corpus_that_is_forgotten(Tokenizer):
    with pytest.warns(UserWarning, match="of the rarest pieces"), pytest.raises(TrainingError, match="is empty"):
        Tokenizer.train(CORPUS, 300, max_memory=9)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("a text", "items must be several texts and paths, not one str"),
        (b"a text", "items must be several texts and paths, not one bytes"),
        (["a", 5], "document 1: text must be str or a bytes-like object, not int"),
        (["a", None], "document 1: text must be str or a bytes-like object, not NoneType"),
    ],
)
def test_items(Tokenizer, items, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Tokenizer.train(items, 300)


def test_one_path_is_not_several_items(Tokenizer, tmp_path):
    with pytest.raises(TypeError, match=r"not one (Posix|Windows)Path"):
        Tokenizer.train(tmp_path / "a.txt", 300)
    with pytest.raises(FileNotFoundError):
        Tokenizer.train([tmp_path / "a.txt"], 300)


def test_text_that_is_not_unicode(Tokenizer, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("fine", encoding="utf-8")
    with pytest.raises(InvalidTextError, match=r"^document 2: surrogate U\+D800 at character 1$"):
        Tokenizer.train(["a", tmp_path / "a.txt", "a\ud800"], 300)
    with pytest.raises(InvalidTextError, match=r"^document 1: invalid UTF-8: byte 0xff at offset 2$"):
        Tokenizer.train(["a", b"ab\xff"], 300)
    monkeypatch.setattr("bpeline.learning.BLOCK", 64)
    path = tmp_path / "b.txt"
    path.write_bytes(b"word " * 100 + b"\xff" + b" word" * 100)
    with pytest.raises(InvalidTextError, match=f"^{re.escape(str(path))}: invalid UTF-8: byte 0xff at offset 500$"):
        Tokenizer.train([path], 300)


def test_special_tokens_are_literals(Tokenizer):
    with pytest.raises(TypeError, match="special_tokens must be several literals, not one str"):
        Tokenizer.train(CORPUS, 300, special_tokens="<|endoftext|>")
    with pytest.raises(TypeError, match="a special token must be str, not int"):
        Tokenizer.train(CORPUS, 300, special_tokens=[5])


def test_a_pattern_that_is_none(Tokenizer):
    with pytest.raises(bpeline.EncodingFileError, match='pattern "nonsense" is no known name'):
        Tokenizer.train(CORPUS, 300, pattern="nonsense")


def test_what_cannot_be_trained_further(Tokenizer):
    with pytest.raises(
        TrainingError, match=r'^"cl100k_base" ranks token bytes, and pairs are learned: it cannot be trained further$'
    ):
        Tokenizer.load("cl100k_base").train_more(CORPUS, 100_300)
    with pytest.raises(
        TrainingError, match=r"vocab_size must be 50257 \(the tokens that it has\) to 16777216, not 300"
    ):
        Tokenizer.load("gpt2").train_more(CORPUS, 300)


def test_a_token_that_is_there_but_not_reached(Tokenizer):
    # "abc" is a token, but its rule needs "bc", and "ab" goes first.
    spelled = {token: id for id, token in enumerate([*ALPHABET, "ab", "bc", "abc"])}
    rules = [("a", "b"), ("b", "c"), ("a", "bc")]
    encoding = Tokenizer._Encoding.from_tokenizer_json("test", "test", "gpt2", spelled, rules, {}, False, None)
    message = 'the token b"abc" would be learned, but the tokenizer has it already, with the id 258'
    with pytest.raises(TrainingError, match=message):
        Tokenizer(encoding).train_more(["abc abc abc"], 300)
