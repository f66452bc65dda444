"""Special tokens in text: parsed, kept as text, refused; the longest literal wins; `extend`."""

import pytest

import bpeline
from tests.small import BYTE_TOKENS, EOT, vocab_text, write_pair

AS_TEXT = [27, 91, 437, 1659, 5239, 91, 29]


@pytest.fixture(scope="module")
def several(gpt2):
    return gpt2.extend({"<|end": 50257, "<|endof": 50258, "<|endoftext|><|": 50259, "a b": 50260, "é": 50261})


def test_parse_is_the_default(gpt2):
    assert gpt2.encode(EOT) == gpt2.encode(EOT, special="parse") == [50256]
    assert gpt2.encode(f"A{EOT}B{EOT}C") == [32, 50256, 33, 50256, 34]


def test_as_text(gpt2):
    assert gpt2.encode(EOT, special="text") == AS_TEXT
    assert gpt2.count(EOT, special="text") == 7
    assert gpt2.count_batch([EOT, EOT + EOT], special="text").tolist() == [7, len(gpt2.encode(EOT * 2, special="text"))]
    assert gpt2.encode_array(EOT, special="text").tolist() == AS_TEXT
    assert gpt2.encode_batch([EOT], special="text") == [AS_TEXT]
    assert gpt2.encode_ragged([EOT], special="text").to_lists() == [AS_TEXT]
    assert gpt2.encode_with_spans(EOT, special="text")[0] == AS_TEXT
    assert gpt2.encode_batch_with_spans([EOT], special="text")[0][0] == AS_TEXT
    assert gpt2.truncate(EOT, 1, special="text") == "<"
    assert gpt2.truncate(EOT, 1) == EOT


def test_as_text_is_one_text(gpt2):
    """The literal does not cut the text: a piece may span its ends."""
    text = f" {EOT}..."
    assert gpt2.encode(text, special="text") == gpt2.encode(" <|") + gpt2.encode("endoftext") + gpt2.encode("|>...")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EOT, 'special token "<|endoftext|>" at character 0'),
        ("abc" + EOT, 'special token "<|endoftext|>" at character 3'),
        ("é漢👍" + EOT + EOT, 'special token "<|endoftext|>" at character 3'),
        ("é漢👍".encode() + EOT.encode(), 'special token "<|endoftext|>" at byte 9'),
        (bytearray(b"\n" + EOT.encode()), 'special token "<|endoftext|>" at byte 1'),
    ],
)
def test_error(gpt2, text, message):
    methods = (
        gpt2.encode,
        gpt2.encode_array,
        gpt2.count,
        gpt2.encode_with_spans,
        lambda t, **o: gpt2.truncate(t, 5, **o),
    )
    for method in methods:
        with pytest.raises(bpeline.SpecialTokenError) as caught:
            method(text, special="error")
        assert str(caught.value) == message
    batches = (gpt2.encode_batch, gpt2.encode_ragged, gpt2.count_batch, gpt2.encode_batch_with_spans)
    for method in batches:
        with pytest.raises(bpeline.SpecialTokenError) as caught:
            method(["fine", text, EOT], special="error")
        assert str(caught.value) == f"document 1: {message}"
    assert issubclass(bpeline.SpecialTokenError, ValueError)


def test_error_does_not_mind_ordinary_text(gpt2):
    assert gpt2.encode("<|endoftext|", special="error") == AS_TEXT[:-1]


def test_the_longest_literal_wins_at_a_place(several):
    assert several.encode("<|endoftext|>") == [50256]
    assert several.encode("<|endoftext|") == [50258, *several.encode("text|")]
    assert several.encode("<|end.") == [50257, 13]
    assert several.encode("<|endoftext|><|") == [50259]
    assert several.encode("<|endoftext|><|endoftext|>") == [50259, *several.encode("endoftext|>")]


def test_the_leftmost_literal_wins(gpt2):
    tok = gpt2.extend({"ab": 50257, "bcdef": 50258})
    assert tok.encode("abcdef") == [50257, *gpt2.encode("cdef")]
    assert tok.encode("xbcdef") == [87, 50258]


def test_specials_of_any_characters(several):
    assert several.encode("xa bé") == [87, 50260, 50261]
    assert several.encode("xe\u0301") == several.encode("xe\u0301", special="text")  # no normalization


def test_a_set_parses_its_members_only(several):
    text = f"<|end{EOT}a b"
    assert several.encode(text, special={EOT}) == [
        *several.encode("<|end", special="text"),
        50256,
        *several.encode("a b", special="text"),
    ]
    for kind in (set, frozenset, list, tuple):
        assert several.encode(text, special=kind(["<|end", "a b"])) == [
            50257,
            50257,
            *several.encode("oftext|>", special="text"),
            50260,
        ]
    assert several.encode(text, special=set()) == several.encode(text, special="text")
    assert several.encode_batch([text] * 2, special=set()) == [several.encode(text, special="text")] * 2


def test_a_set_of_a_literal_inside_another(several):
    assert several.encode(EOT, special={"<|end"}) == [50257, *several.encode("oftext|>", special="text")]


@pytest.mark.parametrize("members", [{"<|pad|>"}, ["<|pad|>", EOT], (EOT, "<|pad|>")])
def test_a_set_with_a_stranger(gpt2, members):
    for call in (lambda: gpt2.encode("x", special=members), lambda: gpt2.encode_batch([], special=members)):
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == 'not a special token of this encoding: "<|pad|>"'


@pytest.mark.parametrize("value", ["all", "", "Parse", None, 5, {1}, [EOT, 5], b"parse"])
def test_other_values(gpt2, value):
    for call in (lambda: gpt2.encode("x", special=value), lambda: gpt2.count_batch(["x"], special=value)):
        with pytest.raises(ValueError) as caught:
            call()
        assert (
            str(caught.value) == f'special must be "parse", "text", "error" or a set of special tokens, not {value!r}'
        )


def test_special_ids_decode_to_their_literals(several):
    assert several.decode([50259, 50261, 50256]) == "<|endoftext|><|é<|endoftext|>"
    assert several.decode_bytes([50261]) == "é".encode()
    assert several.decode([32, 50259, 33], skip_special_tokens=True) == "AB"


def test_extend(gpt2, several):
    assert several.special_tokens == {
        **{EOT: 50256, "<|end": 50257, "<|endof": 50258, "<|endoftext|><|": 50259},
        **{"a b": 50260, "é": 50261},
    }
    assert several.vocab_size == 50262
    assert several != gpt2
    assert several.eot_token == 50256
    assert gpt2.special_tokens == {EOT: 50256}
    assert gpt2.extend(special_tokens={EOT: 50256}) == gpt2
    assert gpt2.extend({}) == gpt2
    assert several.encode_array("é").tolist() == [50261]
    assert gpt2.extend({"<x>": 65536}).encode_array("<x>a").tolist() == [65536, 64]


def test_two_literals_share_an_id(Tokenizer):
    """Two literals of one id (o200k_harmony has them): the one that sorts first is its text."""
    tok = Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"<|x|>": 300, "<|w|>": 300})
    assert tok.encode("<|x|><|w|>") == [300, 300]
    assert tok.decode([300]) == "<|w|>"
    assert tok.token_to_id("<|x|>") == 300
    assert tok.id_to_token(300) == "<|w|>"


def test_extend_of_a_shared_id(Tokenizer):
    """A literal given again keeps its id, shared or not; a new one may not share it."""
    tok = Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"<|x|>": 300, "<|w|>": 300})
    assert tok.extend({"<|x|>": 300, "<|w|>": 300}) == tok
    with pytest.raises(bpeline.EncodingFileError) as caught:
        tok.extend({"<|a|>": 300})
    assert str(caught.value) == 'special token "<|a|>" has the id 300, which the special token "<|w|>" has already'


EXTEND_FAULTS = {
    "other id": ({EOT: 50257}, 'special token "<|endoftext|>" has the id 50257, but it has 50256 already'),
    "taken": ({"<x>": 0}, 'special token "<x>" has the id 0, which the token b"!" has already'),
    "taken by a special": (
        {"<|pad|>": 50256},
        'special token "<|pad|>" has the id 50256, which the special token "<|endoftext|>" has already',
    ),
    "given twice": (
        {"<b>": 50300, "<a>": 50300},
        'special token "<a>" has the id 50300, which the special token "<b>" has already',
    ),
    "empty": ({"": 50257}, 'special token "" is empty'),
    "negative": ({"<x>": -7}, 'special token "<x>" has the id -7, expected 0 to 16777215'),
    "too large": ({"<x>": 2**24}, 'special token "<x>" has the id 16777216, expected 0 to 16777215'),
}


@pytest.mark.parametrize("name", EXTEND_FAULTS)
def test_extend_faults(gpt2, name):
    specials, expected = EXTEND_FAULTS[name]
    with pytest.raises(bpeline.EncodingFileError) as caught:
        gpt2.extend(specials)
    assert str(caught.value) == expected


def test_extended_encodings_are_saved_and_loaded(Tokenizer, tmp_path):
    base = Tokenizer.load(*write_pair(tmp_path, vocab_text()))
    tok = base.extend({"<|a|>": 257, "<|b c|>": 258})
    tok.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved") == tok
    assert Tokenizer.from_bytes(tok.to_bytes()).encode("a<|b c|>") == [BYTE_TOKENS[b"a"], 258]
