"""`to_bytes` and `from_bytes`: the layout, the round trip, and data that someone has tampered with."""

import hashlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpeline
from tests.small import BYTE_TOKENS, EOT, vocab_text, write_pair

MAGIC = b"bpeline encoding 1\n"
BYTES = {bytes([byte]): byte for byte in range(256)}


def seal(body):
    """A body behind a right magic and a right checksum."""
    return MAGIC + hashlib.sha256(body).digest() + body


def u32(number):
    return struct.pack("<I", number)


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return u32(len(data)) + data


def body(name="x", pattern="gpt2-like", kind=0, specials=((256, EOT),), tokens=None, merges=()):
    """The layout of the specification, written out."""
    tokens = sorted((i, token) for token, i in BYTE_TOKENS.items()) if tokens is None else tokens
    data = string(name) + string(pattern) + bytes([kind])
    data += u32(len(specials)) + b"".join(u32(i) + string(literal) for i, literal in specials)
    data += u32(len(tokens)) + b"".join(u32(i) + string(token) for i, token in tokens)
    if kind == 0:
        data += u32(len(merges)) + b"".join(u32(left) + u32(right) for left, right in merges)
    return data


def body_of(tok):
    """The same from a tokenizer's accessors."""
    specials = sorted((i, literal) for literal, i in tok.special_tokens.items())
    taken = {i for i, _ in specials}
    tokens = [(i, tok.token_bytes(i)) for i in range(tok.vocab_size) if i not in taken]
    tokens = [(i, token) for i, token in tokens if token is not None]
    merges = tok.encoding.merges()
    return body(tok.name, tok.pattern, 1 if merges is None else 0, specials, tokens, merges or ())


@pytest.fixture(scope="module")
def pair(Tokenizer, tmp_path_factory):
    paths = write_pair(tmp_path_factory.mktemp("pair"), vocab_text(["ab", "abc", "bc"]), "b c\na b\na bc\nab c\n")
    return Tokenizer.load(*paths, special_tokens={EOT: 259, "<|x|>": 259, "<|far é|>": 70000})


@pytest.fixture(scope="module")
def ranks(Tokenizer):
    return Tokenizer.from_ranks(
        BYTES | {b"ab": 300, b"abc": 290}, pattern=r"\p{L}+|[^\p{L}]+", special_tokens={EOT: 400}
    )


@pytest.fixture(params=["gpt2", "pair", "ranks"])
def tok(request, gpt2):
    return request.getfixturevalue(request.param)


def test_layout(tok):
    assert tok.to_bytes() == seal(body_of(tok))
    name = string(tok.name)
    assert tok.encoding.fingerprint == hashlib.sha256(body_of(tok)[len(name) :]).digest()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_round_trip(Tokenizer, tok, kind):
    loaded = Tokenizer.from_bytes(kind(tok.to_bytes()))
    assert loaded == tok
    assert loaded.to_bytes() == tok.to_bytes()
    assert (loaded.name, loaded.pattern, loaded.vocab_size) == (tok.name, tok.pattern, tok.vocab_size)
    assert loaded.special_tokens == tok.special_tokens
    assert loaded.encoding.merges() == tok.encoding.merges()
    for text in ("", "abc abcabc", f"ab{EOT}bc", "漢字", "<|far é|>"):
        assert loaded.encode(text) == tok.encode(text)
        assert loaded.decode(loaded.encode(text)) == text


def test_backends_write_the_same_bytes(both, tmp_path):
    native, reference = both
    paths = write_pair(tmp_path, vocab_text(["ab", "abc"]), "a b\nab c\n")
    makers = [
        lambda cls: cls.load("gpt2"),
        lambda cls: cls.load(*paths, pattern=r"\p{L}+|[^\p{L}]+", special_tokens={EOT: 258, "<x>": 300}),
        lambda cls: cls.from_ranks(BYTES | {b"ab": 300}, pattern="gpt2", special_tokens={EOT: 400}),
        lambda cls: cls.load("gpt2").extend({"<|pad|>": 50257}),
    ]
    for make in makers:
        assert make(native).to_bytes() == make(reference).to_bytes()
        assert make(native).encoding.fingerprint == make(reference).encoding.fingerprint
        assert native.from_bytes(make(reference).to_bytes()) == make(native)


def test_the_name_is_not_part_of_the_encoding(Tokenizer):
    one, two = (Tokenizer.from_bytes(seal(body(name=name, pattern="a+"))) for name in ("one", "two"))
    assert one == two
    assert hash(one) == hash(two)
    assert (one.name, two.name) == ("one", "two")


def refuse(Tokenizer, data):
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.from_bytes(data)
    return str(caught.value)


def test_what_is_no_encoding(Tokenizer, pair):
    start = 'encoding data: expected it to start with "bpeline encoding 1"'
    for data in (
        b"",
        b"bpeline",
        MAGIC[:-1],
        b"bpeline encoding 2\n" + pair.to_bytes()[len(MAGIC) :],
        b"\x80\x04pickle" * 9,
    ):
        assert refuse(Tokenizer, data) == start


def test_damage_shows_in_the_checksum(Tokenizer, pair):
    data = pair.to_bytes()
    checksum = "encoding data: the checksum does not match"
    for end in (len(MAGIC) + 32, len(data) // 2, len(data) - 1):
        assert refuse(Tokenizer, data[:end]) == checksum
    for at in (len(MAGIC), len(MAGIC) + 31, len(MAGIC) + 32, len(data) // 2, len(data) - 1):
        flipped = bytearray(data)
        flipped[at] ^= 1
        assert refuse(Tokenizer, flipped) == checksum
    assert refuse(Tokenizer, data + b"\0") == checksum


def test_damage_behind_a_right_checksum(Tokenizer):
    whole = body(pattern="a+")
    assert Tokenizer.from_bytes(seal(whole)).vocab_size == 257
    for data in (b"", whole[:-1], whole[:3], whole[: len(whole) // 2], whole + b"\0"):
        assert refuse(Tokenizer, seal(data)) == "encoding data: damaged"


HUGE = u32(2**32 - 1)
HOSTILE = {
    "name longer than the data": HUGE + b"abc",
    "name not utf-8": body(name=b"\xff"),
    "pattern longer than the data": string("x") + HUGE,
    "pattern not utf-8": body(pattern=b"\xff"),
    "special not utf-8": body(specials=[(256, b"\xff")]),
    "unknown kind": body(kind=2),
    "four thousand million specials": string("x") + string("a+") + b"\0" + HUGE,
    "four thousand million tokens": string("x") + string("a+") + b"\0" + u32(0) + HUGE,
    "four thousand million merges": body(pattern="a+")[:-4] + HUGE,
    "token longer than the data": string("x") + string("a+") + b"\1" + u32(0) + u32(1) + u32(0) + HUGE + b"a",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lengths(Tokenizer, name):
    assert refuse(Tokenizer, seal(HOSTILE[name])) == "encoding data: damaged"


def tokens_and(*extra):
    return sorted([*((i, token) for token, i in BYTE_TOKENS.items()), *extra])


SEMANTIC = {
    "byte missing": body(pattern="a+", tokens=tokens_and()[:-1]),
    "token without bytes": body(pattern="a+", tokens=[*tokens_and(), (300, b"")]),
    "id twice": body(pattern="a+", tokens=[*tokens_and(), (255, b"ab")]),
    "id too large": body(pattern="a+", tokens=[*tokens_and(), (2**24, b"ab")]),
    "token twice": body(pattern="a+", tokens=[*tokens_and(), (300, b"a")]),
    "merge of an unknown id": body(pattern="a+", merges=[(64, 900)]),
    "merge that makes nothing": body(pattern="a+", merges=[(64, 65)]),
    "merge twice": body(pattern="a+", tokens=[*tokens_and(), (300, b"ab")], merges=[(64, 65), (64, 65)]),
    "special taken": body(pattern="a+", specials=[(64, "<x>")]),
    "special empty": body(pattern="a+", specials=[(256, "")]),
    "special too large": body(pattern="a+", specials=[(2**24, "<x>")]),
    "special twice": body(pattern="a+", specials=[(256, "<x>"), (257, "<x>")]),
    "pattern": body(pattern="("),
    "pattern a name": body(pattern="cl100k_base"),
}


@pytest.mark.parametrize("name", SEMANTIC)
def test_semantic_faults(Tokenizer, name):
    message = refuse(Tokenizer, seal(SEMANTIC[name]))
    assert message.startswith("encoding data: ")
    assert len(message) > len("encoding data: ")


@pytest.mark.parametrize("name", [name for name in SEMANTIC if name != "pattern"])
def test_semantic_faults_read_the_same(both, name):
    assert refuse(both[0], seal(SEMANTIC[name])) == refuse(both[1], seal(SEMANTIC[name]))


def test_a_token_that_no_rule_makes(Tokenizer, tmp_path):
    """A file pair with one is refused, for it may have lost lines; data behind a checksum has not: it is never used."""
    tokens = tokens_and((256, b"ab"), (257, b"abc"))
    tok = Tokenizer.from_bytes(seal(body(pattern="[a-c]+", specials=[(258, EOT)], tokens=tokens, merges=[(64, 65)])))
    assert tok.encode("abc") == [256, BYTE_TOKENS[b"c"]]
    assert tok.decode([257]) == "abc"
    with pytest.raises(bpeline.EncodingFileError) as caught:
        tok.save(tmp_path / "saved", format="tiktoken")
    assert str(caught.value).endswith('ranked by token, another rule or none makes the token "abc"')
    assert not (tmp_path / "saved").exists()


SMALL = body(pattern="a+", specials=[(257, EOT)], tokens=tokens_and((256, b"ab")), merges=[(64, 65)])


@settings(max_examples=200)
@given(st.data())
def test_any_damage_behind_a_right_checksum(both, data):
    edited = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(edited)))
        edited[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    outcomes = []
    for cls in both:
        try:
            outcomes.append(cls.from_bytes(seal(bytes(edited))).encoding.fingerprint)
        except ValueError as error:
            outcomes.append((type(error), str(error)))
    if not str(outcomes[0]).count("cannot be used"):  # the engine's words are its own
        assert outcomes[0] == outcomes[1]
    else:
        assert outcomes[1][1].split(": ")[:2] == outcomes[0][1].split(": ")[:2]
