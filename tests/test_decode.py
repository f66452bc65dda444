"""Decoding: every form in which ids arrive, every id that is none, and the bytes that are no text."""

import array
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from tests.small import EOT, vocab_text, write_pair

IDS = [31373, 995, 11, 220, 50256, 0]
TEXT = "hello world, <|endoftext|>!"
INTEGERS = ["u1", "i1", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"]
ids_of_gpt2 = st.lists(st.integers(0, 50256), max_size=30)


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def forms(ids):
    wide = np.array(ids, dtype=np.int64)
    spread = np.zeros((len(ids), 3), dtype=np.uint16)
    spread[:, 1] = ids
    return [
        list(ids),
        tuple(ids),
        (i for i in ids),
        iter(ids),
        dict.fromkeys(ids) if len(set(ids)) == len(ids) else list(ids),
        [np.int64(i) for i in ids],
        [np.uint16(i) for i in ids],
        [Index(i) for i in ids],
        wide,
        wide.astype(np.uint16),
        wide.astype(">u4"),
        wide[::-1].copy()[::-1],
        spread[:, 1],
        array.array("H", ids),
        array.array("q", ids),
        memoryview(array.array("I", ids)),
        memoryview(array.array("H", [x for i in ids for x in (i, 7)]))[::2],
    ]


def test_forms(gpt2):
    for form in forms(IDS):
        assert gpt2.decode(form) == TEXT
    for form in forms(IDS):
        assert gpt2.decode_bytes(form) == TEXT.encode()
    assert gpt2.decode_batch(forms(IDS)) == [TEXT] * len(forms(IDS))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_dtypes(gpt2, dtype):
    small = [64, 65, 66, 0, 127]
    array_of_ids = np.array(small, dtype=dtype)
    assert gpt2.decode(array_of_ids) == gpt2.decode(small)
    assert gpt2.decode_bytes(array_of_ids[::2]) == gpt2.decode_bytes(small[::2])
    assert gpt2.decode(array_of_ids[:0]) == ""
    if np.dtype(dtype).itemsize > 1:
        assert gpt2.decode(np.array([31373 % 32768, 995], dtype=dtype)) == "hello world"
    assert gpt2.decode(np.frombuffer(array_of_ids.tobytes(), dtype=dtype)) == gpt2.decode(small)  # read-only


@pytest.mark.parametrize("empty", [[], (), range(0), np.array([], dtype=np.uint16), array.array("H")], ids=repr)
def test_empty(gpt2, empty):
    assert gpt2.decode(empty) == ""
    assert gpt2.decode_bytes(empty) == b""


@pytest.mark.parametrize("bad", [-1, 50257, 65535, 2**32, 2**32 + 64, 2**64, 2**64 + 64, -(2**63), 10**30])
def test_bad_ids(gpt2, bad):
    message = f"token id {bad} is not in the vocabulary (valid ids: 0 to 50256)"
    for form in (list, tuple, iter, lambda ids: list(map(Index, ids))):
        for call in (gpt2.decode, gpt2.decode_bytes):
            with pytest.raises(bpeline.TokenIdError) as caught:
                call(form([64, bad, 64]))
            assert str(caught.value) == message
    assert issubclass(bpeline.TokenIdError, IndexError)


@pytest.mark.parametrize(
    ("dtype", "bad"),
    [
        *[("i1", -1), ("<i2", -1), (">i2", -2), ("u2", 50257), (">u2", 65535), ("<i4", -5), ("<u4", 2**32 - 1)],
        *[("<i8", -1), (">i8", 2**32), ("<u8", 2**64 - 1), ("<u8", 2**32 + 64), ("<i8", 2**63 - 1)],
    ],
)
def test_bad_ids_in_arrays(gpt2, dtype, bad):
    for call in (gpt2.decode, gpt2.decode_bytes):
        with pytest.raises(bpeline.TokenIdError) as caught:
            call(np.array([64, bad], dtype=dtype))
        assert str(caught.value) == f"token id {bad} is not in the vocabulary (valid ids: 0 to 50256)"


def test_holes(Tokenizer, tmp_path):
    tok = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab"]), "a b\n")).extend({"<|far|>": 300})
    assert tok.decode([256, 257, 300]) == "ab<|endoftext|><|far|>"
    for bad in (258, 299):
        for ids in ([bad], np.array([bad])):
            with pytest.raises(bpeline.TokenIdError) as caught:
                tok.decode(ids)
            assert str(caught.value) == f"token id {bad} is unused in this encoding (valid ids: 0 to 300)"
    with pytest.raises(bpeline.TokenIdError) as caught:
        tok.decode([301])
    assert str(caught.value) == "token id 301 is not in the vocabulary (valid ids: 0 to 300)"


@pytest.mark.parametrize("value", [1.0, "64", None, b"a", [64]], ids=repr)
def test_ids_that_are_no_integers(gpt2, value):
    for call in (gpt2.decode, gpt2.decode_bytes):
        with pytest.raises(TypeError) as caught:
            call([64, value])
        assert str(caught.value) == f"token ids must be integers, not {type(value).__name__}"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool", "complex128", "U3", "datetime64[s]"])
def test_arrays_that_are_no_integers(gpt2, dtype):
    ids = np.array([0, 1]).astype(dtype)
    for call in (gpt2.decode, gpt2.decode_bytes):
        with pytest.raises(TypeError) as caught:
            call(ids)
        assert str(caught.value) == f"token ids must be integers, not an array of {ids.dtype}"


@pytest.mark.parametrize("shape", [(), (2, 3), (1, 1, 1)])
def test_arrays_that_are_not_one_dimensional(gpt2, shape):
    for call in (gpt2.decode, gpt2.decode_bytes):
        with pytest.raises(ValueError) as caught:
            call(np.zeros(shape, dtype=np.uint16))
        assert str(caught.value) == f"token ids must be one-dimensional, not {len(shape)}-dimensional"


def test_other_arguments(gpt2):
    for value in (5, None, 1.5, "abc"):
        with pytest.raises(TypeError):
            gpt2.decode(value)
    with pytest.raises(TypeError) as caught:
        gpt2.decode(array.array("d", [1.0]))
    assert str(caught.value) == "token ids must be integers, not an array of d"


@given(ids_of_gpt2)
def test_bytes_are_the_tokens_bytes(gpt2, ids):
    data = b"".join(map(gpt2.token_bytes, ids))
    assert gpt2.decode_bytes(ids) == data
    assert gpt2.decode_bytes(np.array(ids, dtype=np.uint16)) == data
    assert gpt2.decode(ids) == data.decode("utf-8", "replace")
    for errors in ("ignore", "backslashreplace", "surrogateescape"):
        assert gpt2.decode(ids, errors=errors) == data.decode("utf-8", errors)


def test_errors_are_those_of_bytes_decode(gpt2):
    broken = gpt2.encode("👍")[:1] + gpt2.encode("!")
    assert gpt2.decode_bytes(broken) == b"\xf0\x9f\x91!"
    assert gpt2.decode(broken) == "\ufffd!"
    assert gpt2.decode(broken, errors="ignore") == "!"
    assert gpt2.decode(broken, errors="backslashreplace") == r"\xf0\x9f\x91!"
    with pytest.raises(UnicodeDecodeError) as caught:
        gpt2.decode(broken, errors="strict")
    assert (caught.value.start, caught.value.object) == (0, b"\xf0\x9f\x91!")
    with pytest.raises(LookupError):
        gpt2.decode(broken, errors="nonsense")
    assert gpt2.decode_batch([broken, [64]], errors="ignore") == ["!", "a"]
    assert gpt2.decode([31373], errors="strict") == "hello"


def test_skip_special_tokens(gpt2):
    ids = gpt2.encode(f"{EOT}a{EOT}b{EOT}")
    assert gpt2.decode(ids, skip_special_tokens=True) == "ab"
    assert gpt2.decode_bytes(ids, skip_special_tokens=True) == b"ab"
    assert gpt2.decode(np.array(ids), skip_special_tokens=True) == "ab"
    assert gpt2.decode(gpt2.encode(EOT, special="text"), skip_special_tokens=True) == EOT
    assert gpt2.decode([50256], skip_special_tokens=True) == ""
    with pytest.raises(bpeline.TokenIdError):
        gpt2.decode([50257], skip_special_tokens=True)


@pytest.mark.parametrize("count", [4095, 4096, 4097, 20_000])
def test_more_ids_than_are_decoded_in_one_go(gpt2, count):
    ids = [(i * i + 7 * i) % 50257 for i in range(count)]
    data = b"".join(map(gpt2.token_bytes, ids))
    text = data.decode("utf-8", "replace")
    for form in (ids, tuple(ids), iter(ids), np.array(ids), np.array(ids, dtype=np.uint16), np.repeat(ids, 2)[::2]):
        assert gpt2.decode_bytes(form) == data
    assert gpt2.decode(ids) == gpt2.decode(np.array(ids, dtype=np.uint32)) == text
    for place in (0, 4094, count - 1):
        bad = np.array(ids)
        bad[place] = 2**32 + place
        for form in (bad, bad.tolist(), bad.tolist().__iter__()):
            with pytest.raises(bpeline.TokenIdError, match=f"token id {2**32 + place} is not in the vocabulary"):
                gpt2.decode_bytes(form)


class Clearing(Index):
    """Changes the list that it is read from."""

    def __init__(self, value, change):
        super().__init__(value)
        self.change = change

    def __index__(self):
        self.change()
        return self.value


def test_a_list_that_changes_while_it_is_read(gpt2):
    """What Python makes of it matters little, as long as no item is read that is gone."""
    ids = [64] * 10_000
    ids[5000] = Clearing(65, lambda: ids.__delitem__(slice(100, None)))
    assert gpt2.decode_bytes(ids) in (b"a" * 5000 + b"b", b"a" * 100)
    ids = [64] * 10
    ids[5] = Clearing(65, lambda: ids.__setitem__(6, 66))
    assert gpt2.decode_bytes(ids) in (b"aaaaabcaaa", b"aaaaabaaaa")
    ids = [Clearing(65, lambda: ids.clear())]
    assert gpt2.decode_bytes(ids) in (b"b", b"")


class Number(int):
    def __index__(self):
        return 65


def test_subclasses_of_int(gpt2):
    assert gpt2.decode_bytes([True, Number(64)]) == gpt2.decode_bytes([1, 64])


@given(
    st.lists(
        st.sampled_from(["plain text of sixteen", " ", "é", "ÿ", "Ā", "漢字", "\uffff", "👍", "\0", "\x7f"]),
        max_size=40,
    ),
    st.integers(0, 60),
    st.sampled_from(["replace", "strict", "ignore"]),
)
def test_strings_of_every_width(gpt2, atoms, length, errors):
    text = "a" * length + "".join(atoms)
    decoded = gpt2.decode(gpt2.encode(text), errors=errors)
    assert (decoded, hash(decoded), len(decoded), sys.getsizeof(decoded)) == (
        text,
        hash(text),
        len(text),
        sys.getsizeof(("." + text)[1:]),
    )
