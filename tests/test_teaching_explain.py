"""bpeline.teaching.explain: the stages of real encodings, as data, text and HTML."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpeline
from bpeline import tokenizer_json
from bpeline._reference import stages
from bpeline.teaching import BPETokenizer, explain
from tests.backends import ReferenceTokenizer
from tests.random_tokenizer_json import text as random_text
from tests.random_tokenizer_json import tokenizer_json as random_file

ENCODINGS = ["gpt2", "cl100k_base", "o200k_base"]
TEXT = "Hello, tokenization<|endoftext|> wörld  漢 <b>\n"


def check(text, tokenizer, **options):
    """The ids are those of `encode`, each merge joins two neighbours, and nothing is lost on the way."""
    explanation = explain(text, tokenizer, **options)
    assert explanation.ids == tokenizer.encode(text, **options)
    for piece in explanation.distinct():
        for before, merge in zip(piece.symbols, piece.merges, strict=False):
            at = merge.at
            assert merge.symbols == (*before[:at], before[at] + before[at + 1], *before[at + 2 :])
        assert b"".join(piece.tokens) == piece.content
        assert [tokenizer.token_to_id(token) for token in piece.tokens] == list(piece.ids)
    assert explanation.plain().split("\n")[-1].split() == list(map(str, explanation.ids))
    assert explanation.html().startswith("<div")
    return explanation


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=st.text("abt  'é漢\n1!", max_size=30) | st.text(max_size=20))
def test_any_text(name, text):
    explanation = check(text, bpeline.load(name))
    assert b"".join(piece.content for piece in explanation.pieces) == text.encode()


def test_both_backends(Tokenizer):
    tokenizer = Tokenizer.load("gpt2")
    assert check(TEXT, tokenizer).ids == tokenizer.encode(TEXT)


def test_merges_of_gpt2():
    (piece,) = explain(" the", bpeline.load("gpt2")).pieces
    assert [(merge.rank, merge.symbols) for merge in piece.merges] == [
        (0, (b" t", b"h", b"e")),
        (2, (b" t", b"he")),
        (6, (b" the",)),
    ]
    assert piece.ids == (262,) and not piece.whole


def test_ranks_are_those_of_the_files(tmp_path):
    bpeline.load("gpt2").save(tmp_path)
    lines = (tmp_path / "merges.txt").read_text("utf-8").split("\n")[1:]
    for piece in explain(TEXT, bpeline.load("gpt2")).distinct():
        for before, merge in zip(piece.symbols, piece.merges, strict=False):
            assert lines[merge.rank] == " ".join(map(stages.spell, before[merge.at : merge.at + 2]))


def test_a_piece_that_is_a_token_is_looked_up():
    (piece,) = explain(" the", bpeline.load("cl100k_base")).pieces
    assert piece.whole and piece.ids == (279,) and piece.merges[-1].symbols == (b" the",)
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256}  # which no merge reaches
    (piece,) = check("abc", bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2")).pieces
    assert piece.whole and piece.ids == (256,) and piece.merges == () and piece.tokens == (b"abc",)


def test_an_encoding_without_merges(tmp_path):
    vocab = {stages.spell(bytes([byte])): byte for byte in range(256)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", "utf-8")
    tokenizer = bpeline.load(tmp_path / "vocab.json", tmp_path / "merges.txt", special_tokens={})
    assert check("abé", tokenizer).ids == [97, 98, 195, 169]


def test_special_tokens():
    gpt2 = bpeline.load("gpt2").extend({"<|pad|>": 50257})
    text = "a<|pad|><|endoftext|>b"
    assert [piece.special for piece in check(text, gpt2).pieces] == [False, True, True, False]
    assert [piece.special for piece in check(text, gpt2, special={"<|pad|>"}).pieces].count(True) == 1
    assert not any(piece.special for piece in check(text, gpt2, special="text").pieces)
    assert check("a", gpt2, special="error").ids == [64]
    with pytest.raises(bpeline.SpecialTokenError):
        explain(text, gpt2, special="error")


def test_a_special_token_is_no_merge():
    ranks = {bytes([byte]): byte for byte in range(256)}
    tokenizer = bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={"ab": 300})
    assert check("ab", tokenizer, special="text").ids == [97, 98]
    assert check("ab", tokenizer).ids == [300]


def test_a_normalizer_shows(tmp_path):
    gpt2 = bpeline.load("gpt2")
    gpt2.save(tmp_path, format="tokenizer.json")
    file = tmp_path / "tokenizer.json"
    content = json.loads(file.read_text("utf-8"))
    content["normalizer"] = {"type": "Lowercase"}
    file.write_text(json.dumps(content), "utf-8")
    explanation = check("HELLO World<|endoftext|>", bpeline.load(file))
    assert [piece.content for piece in explanation.pieces] == [b"hello", b" world", b"<|endoftext|>"]
    assert explanation.parts[0] == b"hello world"


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_any_tokenizer_json(rng):
    pytest.importorskip("tokenizers")
    content = json.dumps(random_file(rng))
    try:
        tokenizers = [
            cls(cls._Encoding.from_tokenizer_json("file", "random", *tokenizer_json.read(content, "file")))
            for cls in (ReferenceTokenizer, bpeline.Tokenizer)
        ]
    except bpeline.EncodingFileError:
        return  # not byte-level BPE, or an expression that only the native backend knows
    for text in [random_text(rng) for _ in range(4)]:
        explanation = explain(text, tokenizers[-1])
        assert explanation.ids == tokenizers[-1].encode(text)
        assert all(b"".join(piece.tokens) == piece.content for piece in explanation.pieces)


def test_faults():
    gpt2 = bpeline.load("gpt2")
    with pytest.raises(TypeError, match=r"^tokenizer must be one of bpeline.load, not BPETokenizer$"):
        explain("a", BPETokenizer())
    with pytest.raises(TypeError, match=r"^text must be str, not bytes$"):
        explain(b"a", gpt2)
    with pytest.raises(ValueError, match=r"^a piece of 1,001 bytes is too long to explain \(at most 1,000\)$"):
        explain("a" * 1001, gpt2)
    with pytest.raises(bpeline.InvalidTextError):
        explain("\ud800", gpt2)


def test_text():
    lines = explain("Hi, Hi<|endoftext|>", bpeline.load("cl100k_base")).plain().split("\n")
    assert lines == [
        '"Hi, Hi<|endoftext|>" in cl100k_base',
        "",
        "1. special tokens are cut out",
        '   "Hi, Hi"  <|endoftext|>',
        "2. the pattern cuts the rest into pieces",
        '   "Hi"  ","  " Hi"  <|endoftext|>',
        "3. a piece is bytes, each written as a character; pairs merge, the lowest rank first",
        '   "Hi"   is a token as a whole',
        "      bytes        48 69",
        "      characters   H i",
        "      rank  13347  Hi",
        "      ids          13347",
        '   ","',
        "      bytes        2c",
        "      characters   ,",
        "      ids          11",
        '   " Hi"   is a token as a whole',
        "      bytes        20 48 69",
        "      characters   Ġ H i",
        "      rank    473  ĠH i",
        "      rank  21694  ĠHi",
        "      ids          21694",
        "4. what is left are tokens, and these are their ids",
        "   13347 11 21694 100257",
    ]


def test_a_repr_is_not_endless():
    explanation = explain(" ".join(map(str, range(100))), bpeline.load("gpt2"))
    count = len(explanation.distinct())
    assert repr(explanation).count("bytes   ") == 40 and f"… and {count - 40} more pieces" in repr(explanation)
    assert str(explanation).count("bytes   ") == count
    assert explanation._repr_html_().count("<table") == 40 and explanation.html().count("<table") == count


class Table(HTMLParser):
    """The rows of all tables as (label, [(text, colspan)]), and what tags and attributes there are."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags, self.attributes, self._cell = [], set(), set(), False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attributes)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self._cell = True
            self.rows[-1].append(["", int(dict(attributes).get("colspan", 1))])

    def handle_endtag(self, tag):
        self._cell = self._cell and tag != "td"

    def handle_data(self, data):
        if self._cell:
            self.rows[-1][-1][0] += data


def test_html_is_a_table_of_symbols():
    table = Table(explain(" the", bpeline.load("gpt2")).html())
    assert table.rows == [
        [["bytes", 1], ["20", 1], ["74", 1], ["68", 1], ["65", 1]],
        [["characters", 1], ["Ġ", 1], ["t", 1], ["h", 1], ["e", 1]],
        [["rank 0", 1], ["Ġt", 2], ["h", 1], ["e", 1]],
        [["rank 2", 1], ["Ġt", 2], ["he", 2]],
        [["rank 6", 1], ["Ġthe", 4]],
        [["ids", 1], ["262", 4]],
    ]


def test_hostile_text_reaches_neither_terminal_nor_page():
    text = "\x1b]0;x\x07 \x9b31m \u202e <script>alert('1')</script> <b title=\"x\"> &amp;"
    ranks = {bytes([byte]): byte for byte in range(256)}
    special = "<img src=x onerror=alert(1)>\x1b[2J"
    tokenizer = bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={special: 256}, name="<i>\x1b[2J")
    explanation = explain(text + special, tokenizer)
    assert explanation.ids[-1] == 256
    for control in ("\x07", "\x9b", "\u202e", "\x1b"):
        assert control not in explanation.plain() and control not in explanation.html()
    table = Table(explanation.html())
    assert table.tags == {"div", "span", "table", "tr", "td", "b"}
    assert table.attributes == {"style", "title", "colspan"}
    assert not re.search(r"<b[^>]", explanation.html())


def test_empty_text():
    explanation = explain("", bpeline.load("gpt2"))
    assert explanation.ids == [] and explanation.pieces == () and "0 tokens" in explanation.html()
