"""Arrow data made by hand: what is wrong with it is told, by both backends in the same words, and all of it is given back."""

import ctypes
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from bpeline._reference.arrow_structs import Array, Schema, in_capsule
from tests.arrow_arrays import Made, OneArray, OneStream, offsets, view

TEXTS = b"hello world"  # "hello", "", " world"
PLACES = offsets(0, 5, 5, 11)
LONG = b"a text of more than twelve bytes"
MAX = 2**63 - 1


def one(format, length, buffers, /, **fields):
    made = Made()
    return made, OneArray(made.schema(format), made.array(length, buffers, **fields))


def table(rows, columns, format="+s", **fields):
    made = Made()
    schemas = [made.schema(kind) for kind, _, _ in columns]
    arrays = [made.array(length, buffers) for _, length, buffers in columns]
    return made, OneArray(made.schema(format, schemas), made.array(rows, [None], arrays, **fields))


def read(result):
    """An ArrowTokens without any other package: the offsets and ids of its whole array."""
    schema, array = result.__arrow_c_array__()
    kind, lists = in_capsule(schema, Schema), in_capsule(array, Array)
    assert (kind.format, kind.children[0].contents.format) in [(b"+L", b"S"), (b"+L", b"I")]
    ids = lists.children[0].contents
    ends = np.ctypeslib.as_array((ctypes.c_int64 * (lists.length + 1)).from_address(lists.buffers[1])).tolist()
    width = ctypes.c_uint16 if kind.children[0].contents.format == b"S" else ctypes.c_uint32
    tokens = np.ctypeslib.as_array((width * ids.length).from_address(ids.buffers[1])).tolist()
    bits = lists.buffers[0]
    present = [
        bits is None or bool(ctypes.c_uint8.from_address(bits + i // 8).value >> (i % 8) & 1)
        for i in range(lists.length)
    ]
    assert lists.null_count == present.count(False)
    return [tokens[a:b] if there else None for a, b, there in zip(ends[:-1], ends[1:], present, strict=True)]


def test_what_is_right_is_read(gpt2):
    expected = [[31373], [], [995]]
    for format, buffers in {
        "u": [None, PLACES, TEXTS],
        "z": [b"\xff", PLACES, TEXTS],
        "U": [None, offsets(0, 5, 5, 11, width=8), TEXTS],
        "Z": [b"\x07", offsets(0, 5, 5, 11, width=8), TEXTS],
        "vu": [None, view(b"hello") + view() + view(b" world"), b""],
        "vz": [None, view(b"hello") + view() + view(b" world"), None],
    }.items():
        made, column = one(format, 3, buffers)
        assert read(gpt2.encode_arrow(column)) == expected, format
        del column
        assert made.released == {"schema": 1, "array": 1, "stream": 0}
    _, column = one(
        "vu", 1, [None, view(LONG, buffer=1, offset=3), b"", b"..." + LONG, offsets(0, 3 + len(LONG), width=8)]
    )
    assert read(gpt2.encode_arrow(column)) == [gpt2.encode(LONG)]
    _, column = one("u", 2, [b"\x04", PLACES, TEXTS], offset=1)
    assert read(gpt2.encode_arrow(column)) == [None, [995]]
    _, column = table(2, [("u", 3, [None, PLACES, TEXTS])], offset=1)
    assert read(gpt2.encode_arrow(column)) == [[], [995]]


def test_empty_arrays_need_no_memory(gpt2):
    for format, buffers in {"u": [None] * 3, "U": [None, b"", b""], "vu": [None] * 3}.items():
        made, column = one(format, 0, buffers)
        assert read(gpt2.encode_arrow(column)) == []
    made = Made()
    assert read(gpt2.encode_arrow(OneStream(made.stream(made.schema(), [])))) == []
    assert made.released == {"schema": 1, "array": 0, "stream": 1}


MALFORMED = {
    "length": ("u", -1, [None, PLACES, TEXTS], {}, "malformed Arrow data: length -1"),
    "offset": ("u", 3, [None, PLACES, TEXTS], {"offset": -7}, "malformed Arrow data: offset -7"),
    "both": ("u", 3, [None, PLACES, TEXTS], {"offset": MAX}, f"malformed Arrow data: offset {MAX} and length 3"),
    "too long": ("u", MAX, [None, PLACES, TEXTS], {}, f"malformed Arrow data: offset 0 and length {MAX}"),
    "buffers": ("u", 3, [None, PLACES], {}, "malformed Arrow data: 2 buffers, expected 3"),
    "view buffers": ("vu", 1, [None, view()], {}, "malformed Arrow data: 2 buffers, expected 3 or more"),
    "endless buffers": ("vu", 1, [None, view(), None], {"n_buffers": MAX}, f"malformed Arrow data: {MAX} buffers, expected 3 or more"),
    "no buffers": ("u", 1, [None] * 3, {"buffers": None}, "malformed Arrow data: no buffers"),
    "no offsets": ("u", 1, [None, None, TEXTS], {}, "malformed Arrow data: neither offsets nor views"),
    "no views": ("vu", 1, [None, None, None], {}, "malformed Arrow data: neither offsets nor views"),
    "children": ("u", 1, [None, PLACES, TEXTS], {"n_children": 2}, "malformed Arrow data: 2 children, expected 0"),
    "released": ("u", 1, [None, PLACES, TEXTS], {"release": None}, "malformed Arrow data: the array is released already"),
    "backwards": ("u", 2, [None, offsets(0, 5, 3), TEXTS], {}, "document 1: malformed Arrow data: a text from 5 to 3"),
    "negative": ("u", 1, [None, offsets(-4, 3), TEXTS], {}, "document 0: malformed Arrow data: a text from -4 to 3"),
    "negative end": ("U", 1, [None, offsets(0, -(2**63), width=8), TEXTS], {}, f"document 0: malformed Arrow data: a text from 0 to {-(2**63)}"),
    "backwards, null": ("u", 2, [b"\x01", offsets(0, 5, 3), TEXTS], {}, "document 1: malformed Arrow data: a text from 5 to 3"),
    "no text": ("u", 2, [None, offsets(0, 0, 3), None], {}, "document 1: malformed Arrow data: a text from 0 to 3"),
    "view length": ("vu", 1, [None, view(length=-1), None], {}, "document 0: malformed Arrow data: a text of -1 bytes at 0 in buffer 0"),
    "view of no buffer": ("vu", 1, [None, view(length=13), None], {}, "document 0: malformed Arrow data: a text of 13 bytes at 0 in buffer 0"),
    "view of buffer": ("vu", 1, [None, view(length=13, buffer=1), LONG, offsets(32, width=8)], {}, "document 0: malformed Arrow data: a text of 13 bytes at 0 in buffer 1"),
    "view of buffer -1": ("vu", 1, [None, view(length=13, buffer=-1), LONG, offsets(32, width=8)], {}, "document 0: malformed Arrow data: a text of 13 bytes at 0 in buffer -1"),
    "view before": ("vu", 1, [None, view(length=13, offset=-1), LONG, offsets(32, width=8)], {}, "document 0: malformed Arrow data: a text of 13 bytes at -1 in buffer 0"),
    "view behind": ("vu", 2, [None, view(b"a") + view(length=13, offset=20), LONG, offsets(32, width=8)], {}, "document 1: malformed Arrow data: a text of 13 bytes at 20 in buffer 0"),
    "view of null": ("vu", 1, [None, view(length=13), None, offsets(32, width=8)], {}, "document 0: malformed Arrow data: a text of 13 bytes at 0 in buffer 0"),
    "view without sizes": ("vu", 1, [None, view(length=13), LONG, None], {}, "document 0: malformed Arrow data: a text of 13 bytes at 0 in buffer 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_arrays(gpt2, name):
    format, length, buffers, fields, message = MALFORMED[name]
    made, column = one(format, length, buffers, **fields)
    for _ in range(2):
        with pytest.raises(bpeline.ArrowError) as caught:
            gpt2.encode_arrow(column)
        assert str(caught.value) == message
        del caught
        if name != "released":
            assert made.released == {"schema": 1, "array": 1, "stream": 0}
        made, column = one(format, length, buffers, **fields)


def test_nulls_hide_what_views_say(gpt2):
    _, column = one("vu", 2, [b"\x02", view(length=-9) + view(b"hello"), None])
    assert read(gpt2.encode_arrow(column)) == [None, [31373]]


def test_malformed_tables(gpt2):
    texts = ("u", 3, [None, PLACES, TEXTS])
    for rows, fields, message in (
        (4, {}, "a column of 3 in a table of 4 rows"),
        (3, {"offset": 1}, "a column of 3 in a table of 4 rows"),
        (3, {"offset": MAX}, None),
        (-3, {}, "length -3"),
        (3, {"n_children": 0}, "0 children, expected 1"),
        (3, {"n_buffers": 3}, "3 buffers, expected 1"),
        (3, {"buffers": None}, "a table without its buffers or its column"),
        (3, {"children": None}, "a table without its buffers or its column"),
    ):
        _, column = table(rows, [texts], **fields)
        with pytest.raises(bpeline.ArrowError) as caught:
            gpt2.encode_arrow(column)
        assert message is None or str(caught.value) == f"malformed Arrow data: {message}"


def test_tables_without_their_column(gpt2):
    for children in (None, (ctypes.POINTER(Schema) * 1)(), "array"):
        _, column = table(3, [("u", 3, [None, PLACES, TEXTS])])
        if children == "array":
            column.array.children[0] = ctypes.POINTER(Array)()
            message = "a table without its buffers or its column"
        else:
            column.schema.children = children
            message = "a table without its column"
        with pytest.raises(bpeline.ArrowError) as caught:
            gpt2.encode_arrow(column)
        assert str(caught.value) == f"malformed Arrow data: {message}"


def test_a_released_struct_is_an_error(gpt2):
    made, column = one("u", 3, [None, PLACES, TEXTS])
    gpt2.encode_arrow(column)
    with pytest.raises(bpeline.ArrowError) as caught:
        gpt2.encode_arrow(column)
    assert str(caught.value) == "malformed Arrow data: the schema is released already"
    made = Made()
    column = OneStream(made.stream(made.schema(), []))
    gpt2.encode_arrow(column)
    with pytest.raises(bpeline.ArrowError) as caught:
        gpt2.encode_arrow(column)
    assert str(caught.value) == "malformed Arrow data: the stream is released already"


@pytest.mark.parametrize(
    ("error", "message"),
    [((5, b"the disk is gone"), "the disk is gone"), ((5, b""), "errno 5"), ((22, None), "errno 22")],
)
def test_a_stream_that_fails(gpt2, error, message):
    made = Made()
    arrays = [made.array(3, [None, PLACES, TEXTS]) for _ in range(2)]
    with pytest.raises(bpeline.ArrowError) as caught:
        gpt2.encode_arrow(OneStream(made.stream(made.schema(), arrays, error)))
    assert str(caught.value) == f"the Arrow stream failed: {message}"
    assert made.released == {"schema": 1, "array": 2, "stream": 1}


def test_documents_are_numbered_over_the_stream(gpt2):
    made = Made()
    good = lambda: made.array(3, [None, PLACES, TEXTS])  # noqa: E731
    bad = made.array(2, [None, offsets(0, 2, 1), TEXTS])
    with pytest.raises(bpeline.ArrowError) as caught:
        gpt2.encode_arrow(OneStream(made.stream(made.schema(), [good(), good(), bad, good()])))
    assert str(caught.value) == "document 7: malformed Arrow data: a text from 2 to 1"
    bad = made.array(2, [None, offsets(0, 2, 4), b"ok\xff."])
    with pytest.raises(bpeline.InvalidTextError) as caught:
        gpt2.encode_arrow(OneStream(made.stream(made.schema(), [good(), bad])))
    assert str(caught.value) == "document 4: invalid UTF-8: byte 0xff at offset 0"
    made = Made()
    bad = made.array(2, [None, offsets(0, 2, 4), b"ok\xff."])
    result = gpt2.encode_arrow(OneStream(made.stream(made.schema(), [good(), bad])), errors="replace")
    assert read(result)[3:] == [gpt2.encode("ok"), gpt2.encode("\ufffd.")]
    assert made.released == {"schema": 1, "array": 2, "stream": 1}


@pytest.mark.parametrize("format", ["vu", "u"])
@pytest.mark.parametrize("threads", [1, 2])
def test_text_is_never_believed_to_be_utf8(gpt2, format, threads):
    for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\x80", b"\xc0\x80"):
        buffers = [None, view(bad), None] if format == "vu" else [None, offsets(0, len(bad)), bad]
        _, column = one(format, 1, buffers)
        with pytest.raises(bpeline.InvalidTextError) as theirs:
            gpt2.encode_ragged([bad])
        with pytest.raises(bpeline.InvalidTextError) as caught:
            gpt2.encode_arrow(column, threads=threads)
        assert str(caught.value) == str(theirs.value)


# --- Types ---

OTHERS = {
    **{"n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32"},
    **{"l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "d:19,10": "decimal"},
    **{"w:42": "fixed_size_binary", "tdD": "date32", "tdm": "date64", "ttm": "time", "tsu:UTC": "timestamp"},
    **{"tDs": "duration", "tiD": "interval", "+l": "list", "+L": "large_list", "+vl": "list_view"},
    **{"+vL": "large_list_view", "+w:3": "fixed_size_list", "+m": "map", "+ud:1": "dense_union"},
    **{"+us:1": "sparse_union", "+r": "run_end_encoded", "": "no type", "uu": 'the format "uu"', "é": 'the format "é"'},
}


@pytest.mark.parametrize("format", OTHERS)
def test_other_types_are_named(gpt2, format):
    made, column = one(format, 0, [None])
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(column)
    assert str(caught.value) == f"array must hold strings, or binary that is UTF-8, not {OTHERS[format]}"
    stream = made.stream(made.schema(format), [])
    with pytest.raises(TypeError) as theirs:
        gpt2.encode_arrow(OneStream(stream))
    assert str(theirs.value) == str(caught.value)
    del column, caught, theirs
    gc.collect()
    assert made.released == {"schema": 2, "array": 1, "stream": 1}


def test_dictionaries_are_named(gpt2):
    made = Made()
    values = made.schema("u")
    schema = made.schema("i", dictionary=ctypes.addressof(values))
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(OneArray(schema, made.array(0, [None, None])))
    assert str(caught.value) == "array must hold strings, or binary that is UTF-8, not dictionary"


def test_tables_of_several_columns_are_refused(gpt2):
    texts = ("u", 3, [None, PLACES, TEXTS])
    for columns in ([], [texts, texts], [texts] * 3):
        _, column = table(3, columns)
        with pytest.raises(TypeError) as caught:
            gpt2.encode_arrow(column)
        message = f"array must be one column of strings, not a table of {len(columns)}: choose one"
        assert str(caught.value) == message
    _, column = table(0, [("+s", 0, [None])])
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(column)
    assert str(caught.value) == "array must hold strings, or binary that is UTF-8, not struct"


@pytest.mark.parametrize(
    "value", [None, "text", b"text", ["a", "b"], 5, np.array(["a"])], ids=lambda v: type(v).__name__
)
def test_what_is_no_arrow_array(gpt2, value):
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(value)
    expected = "array must be an Arrow array or stream (have __arrow_c_array__ or __arrow_c_stream__)"
    assert str(caught.value) == f"{expected}, not {type(value).__name__}"


def test_what_gives_no_capsule(gpt2):
    made = Made()

    class Exports:
        def __init__(self, value):
            self.value = value

    class AsArray(Exports):
        def __arrow_c_array__(self, requested_schema=None):
            return self.value

    class AsStream(Exports):
        def __arrow_c_stream__(self, requested_schema=None):
            return self.value

    good = OneArray(made.schema(), made.array(0, [None] * 3)).__arrow_c_array__()
    for value in (None, 5, good[0], good[::-1], (*good, None), list(good), (None, None)):
        with pytest.raises(TypeError) as caught:
            gpt2.encode_arrow(AsArray(value))
        assert str(caught.value) == "__arrow_c_array__ must return capsules of an ArrowSchema and an ArrowArray"
    for value in (None, 5, good, good[0]):
        with pytest.raises(TypeError) as caught:
            gpt2.encode_arrow(AsStream(value))
        assert str(caught.value) == "__arrow_c_stream__ must return a capsule of an ArrowArrayStream"

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("from the owner")

    with pytest.raises(KeyError, match="from the owner"):
        gpt2.encode_arrow(Raises())


def test_options_are_checked_before_anything_is_read(gpt2):
    for options, error in (
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"special": "all"}, "special must be"),
        ({"special": {"<|none|>"}}, "not a special token of this encoding"),
        ({"errors": "ignore"}, "errors must be"),
    ):
        made, column = one("u", 3, [None, PLACES, TEXTS])
        with pytest.raises(ValueError) as caught:
            gpt2.encode_arrow(column, **options)
        assert str(caught.value).startswith(error)
        assert made.released == {"schema": 0, "array": 0, "stream": 0}
        assert read(gpt2.encode_arrow(column)) == [[31373], [], [995]]


def test_specials(gpt2):
    text = b"a<|endoftext|>b"
    column = lambda: one("u", 2, [None, offsets(0, 1, len(text) + 1), b" " + text])[1]  # noqa: E731
    assert read(gpt2.encode_arrow(column())) == [[220], [64, 50256, 65]]
    assert read(gpt2.encode_arrow(column(), special="text")) == [[220], gpt2.encode(text, special="text")]
    with pytest.raises(bpeline.SpecialTokenError) as caught:
        gpt2.encode_arrow(column(), special="error")
    assert str(caught.value) == 'document 1: special token "<|endoftext|>" at byte 1'


@given(st.data())
def test_both_backends_say_the_same(both, data):
    """Offsets and views of anything that stays inside the memory: the same ids, or the same words."""
    draw = data.draw
    format = draw(st.sampled_from(["u", "Z", "vu"]))
    length, offset = draw(st.integers(-1, 6)), draw(st.integers(-1, 6))
    text = draw(
        st.binary(min_size=16, max_size=16) | st.sampled_from([b"some ordinary te", "漢字 don't👍".encode()[:16]])
    )
    bits = draw(st.none() | st.binary(min_size=2, max_size=2))
    if format == "vu":
        number = st.integers(-2, 20)
        a_view = st.builds(view, st.just(text[:12]), buffer=st.integers(-1, 2), offset=number, length=number)
        views = draw(st.lists(a_view, min_size=13, max_size=13))
        buffers = [bits, b"".join(views), text, None, offsets(len(text), 0, width=8)]
    else:
        numbers = draw(st.lists(st.integers(-1, len(text)), min_size=14, max_size=14))
        numbers = sorted(numbers) if draw(st.booleans()) else numbers
        buffers = [bits, offsets(*numbers, width=4 if format == "u" else 8), text]
    outcomes = []
    for tokenizer in both:
        made, column = one(format, length, buffers, offset=offset)
        try:
            outcomes.append(read(tokenizer.load("gpt2").encode_arrow(column)))
        except (bpeline.ArrowError, bpeline.InvalidTextError) as error:
            outcomes.append((type(error), str(error)))
        assert made.released["array"] == 1
    assert outcomes[0] == outcomes[1]
