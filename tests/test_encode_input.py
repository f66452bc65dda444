"""What `encode` and its relatives take as text, and what they say to anything else."""

import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from tests.texts import repaired

TEXT = "naïve 漢字 👍\r\n don't"


def calls(tok):
    """Every method that takes one text, as text -> ids or count."""
    return {
        "encode": tok.encode,
        "encode_array": lambda text, **o: tok.encode_array(text, **o).tolist(),
        "encode_batch": lambda text, **o: tok.encode_batch([text], **o)[0],
        "encode_ragged": lambda text, **o: tok.encode_ragged([text], **o).to_lists()[0],
        "encode_with_spans": lambda text, **o: tok.encode_with_spans(text, **o)[0],
        "encode_batch_with_spans": lambda text, **o: tok.encode_batch_with_spans([text], **o)[0][0],
        "count": lambda text, **o: tok.count(text, **o),
        "count_batch": lambda text, **o: tok.count_batch([text], **o).tolist()[0],
        "truncate": lambda text, **o: tok.encode(tok.truncate(text, 10**6, **o), special="text"),
    }


METHODS = list(calls(bpeline.load("gpt2")))
BATCHES = [name for name in METHODS if "batch" in name or "ragged" in name]


def expect(name, ids):
    return len(ids) if name.startswith("count") else ids


@pytest.mark.parametrize("name", METHODS)
def test_bytes_likes(gpt2, name):
    call, data, ids = calls(gpt2)[name], TEXT.encode(), gpt2.encode(TEXT)
    spread = bytearray(2 * len(data))
    spread[::2] = data
    for text in (
        TEXT,
        data,
        bytearray(data),
        memoryview(data),
        memoryview(bytearray(data)),
        memoryview(spread)[::2],  # not contiguous
        memoryview(data[::-1])[::-1],
        array.array("B", data),
        np.frombuffer(data, dtype=np.uint8),
    ):
        assert call(text) == expect(name, ids)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", ["", b"", bytearray(), memoryview(b"")], ids=lambda text: type(text).__name__)
def test_empty(gpt2, name, text):
    assert calls(gpt2)[name](text) == expect(name, [])


def test_subclasses_of_str_and_bytes(gpt2):
    class Text(str):
        def __str__(self):
            return "other"

    class Data(bytes):
        pass

    assert gpt2.encode(Text("hello world")) == gpt2.encode(Data(b"hello world")) == [31373, 995]


def test_a_writable_buffer_is_not_kept(gpt2):
    data = bytearray(b"hello world")
    assert gpt2.encode(data) == [31373, 995]
    data.clear()  # a kept export would refuse this
    assert data == b""


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", [None, 5, 1.5, ["a"], ("a",), {"a": 1}, object], ids=repr)
def test_other_types(gpt2, name, value):
    with pytest.raises(TypeError) as caught:
        calls(gpt2)[name](value)
    prefix = "document 0: " if name in BATCHES else ""
    assert str(caught.value) == f"{prefix}text must be str or a bytes-like object, not {type(value).__name__}"


WIDE = [
    (np.array([31373, 995], dtype=np.uint16), "ndarray of 2-byte items"),
    (np.array([31373, 995]), "ndarray of 8-byte items"),
    (np.array([], dtype=np.uint32), "ndarray of 4-byte items"),
    (array.array("H", b"hi"), "array of 2-byte items"),
    (memoryview(b"hi there").cast("I"), "memoryview of 4-byte items"),
]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("value", "kind"), WIDE, ids=[kind for _, kind in WIDE])
def test_buffers_of_wider_items(gpt2, name, value, kind):
    """Ids, most likely: their bytes are no text, even where they happen to be UTF-8."""
    with pytest.raises(TypeError) as caught:
        calls(gpt2)[name](value)
    prefix = "document 0: " if name in BATCHES else ""
    assert str(caught.value) == f"{prefix}text must be str or a bytes-like object, not {kind}"


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("text", "message", "replaced"),
    [
        ("\ud83d", "surrogate U+D83D at character 0", "\ufffd"),
        ("é漢\udc4d!", "surrogate U+DC4D at character 2", "é漢\ufffd!"),
        ("👍\udfff", "surrogate U+DFFF at character 1", "👍\ufffd"),
        ("a\ud83d\udc4db", "surrogate U+D83D at character 1", "a👍b"),
        ("\udc4d\ud83d", "surrogate U+DC4D at character 0", "\ufffd\ufffd"),
        ("\ud83d\ud83d\udc4d", "surrogate U+D83D at character 0", "\ufffd👍"),
        (b"ok\xff", "invalid UTF-8: byte 0xff at offset 2", "ok\ufffd"),
        (b"\xe6\xbc", "invalid UTF-8: byte 0xe6 at offset 0", "\ufffd"),
        (b"a\xe6\xbc!\xf0\x9f\x91", "invalid UTF-8: byte 0xe6 at offset 1", "a\ufffd!\ufffd"),
        (b"\xed\xa0\xbd\xed\xb1\x8d", "invalid UTF-8: byte 0xed at offset 0", "\ufffd" * 6),
        (b"\xc0\x80", "invalid UTF-8: byte 0xc0 at offset 0", "\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "invalid UTF-8: byte 0xf4 at offset 0", "\ufffd" * 4),
        (bytearray(b"hello \x80"), "invalid UTF-8: byte 0x80 at offset 6", "hello \ufffd"),
    ],
    ids=ascii,
)
def test_invalid_text(gpt2, name, text, message, replaced):
    call = calls(gpt2)[name]
    for options in ({}, {"errors": "strict"}):
        with pytest.raises(bpeline.InvalidTextError) as caught:
            call(text, **options)
        assert str(caught.value) == ("document 0: " if name in BATCHES else "") + message
    assert call(text, errors="replace") == expect(name, gpt2.encode(replaced))
    assert issubclass(bpeline.InvalidTextError, ValueError)


def test_surrogates_of_the_reports(gpt2):
    assert gpt2.encode("\ud83d\udc4d", errors="replace") == [41840, 235]
    assert gpt2.encode("\ud83d", errors="replace") == [4210]


@given(st.binary(max_size=24))
def test_replace_is_bytes_decode(gpt2, data):
    assert gpt2.encode(data, errors="replace") == gpt2.encode(data.decode("utf-8", "replace"))
    try:
        data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(bpeline.InvalidTextError) as caught:
            gpt2.encode(data)
        assert str(caught.value) == f"invalid UTF-8: byte {data[error.start]:#04x} at offset {error.start}"
    else:
        assert gpt2.decode_bytes(gpt2.encode(data)) == data


@given(repaired)
def test_replace_in_a_str_is_utf_16(gpt2, text):
    """A surrogate pair becomes its character, a lone one U+FFFD: what a round trip through UTF-16 does."""
    fixed = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if len(fixed.encode("utf-16-le")) == len(text.encode("utf-16-le", "surrogatepass")):
        assert gpt2.encode(text, errors="replace") == gpt2.encode(fixed)
        assert gpt2.decode(gpt2.encode(text, errors="replace")) == fixed


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", ["ignore", "", "Strict", None, 5], ids=repr)
def test_other_values_of_errors(gpt2, name, value):
    with pytest.raises(ValueError) as caught:
        calls(gpt2)[name]("valid", errors=value)
    assert str(caught.value) == f'errors must be "strict" or "replace", not {value!r}'


def test_options_are_keywords(gpt2):
    for call in (gpt2.encode, gpt2.encode_array, gpt2.count, gpt2.encode_with_spans):
        with pytest.raises(TypeError):
            call("x", "text")
        with pytest.raises(TypeError):
            call("x", nonsense=1)
        with pytest.raises(TypeError):
            call()


@given(
    st.lists(
        st.one_of(st.sampled_from(["a" * 15, "é" * 7, "\u07ff\u0800\uffff漢", "👍", "\ud83d", "\udc4d"]), repaired),
        max_size=12,
    ).map("".join)
)
def test_any_string_is_transcoded_as_python_does(gpt2, text):
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert gpt2.decode(gpt2.encode(text, errors="replace", special="text")) == whole
    surrogates = [at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff"]
    if surrogates:
        with pytest.raises(bpeline.InvalidTextError, match=f" at character {surrogates[0]}$"):
            gpt2.encode(text)
    else:
        assert gpt2.decode(gpt2.encode(text)) == text
