"""What readers leave to the backend, which is the same in both: `separate`, `json_texts`, `are_utf8`."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
reference = pytest.importorskip("bpeline._reference")
native = pytest.importorskip("bpeline._native")

BACKENDS = pytest.mark.parametrize("backend", [native, reference], ids=["native", "reference"])
SEPARATORS = st.sampled_from(["\n", "\r\n", "aa", "é", "<|endoftext|>"])
TEXTS = st.text(st.sampled_from("a\r\né<|>😀"), max_size=20)


def separated(backend, content, separator, is_last):
    memory = bytearray(content)
    offsets, used = backend.separate(memory, separator, is_last)
    ends = offsets.tolist()
    return [bytes(memory[begin:end]) for begin, end in itertools.pairwise(ends)], used, memory[used:]


@given(st.lists(TEXTS), SEPARATORS, st.booleans())
def test_texts_come_as_split_gives_them(texts, separator, is_last):
    content = separator.join(texts).encode()
    *expected, rest = content.split(separator.encode())
    if separator == "\n":
        expected = [text.removesuffix(b"\r") for text in expected]
    left = b"" if is_last else rest
    expected += [rest] if is_last and rest else []
    for backend in (native, reference):
        assert separated(backend, content, separator, is_last) == (expected, len(content) - len(left), left)


@BACKENDS
def test_memory_must_be_writable(backend):
    with pytest.raises((BufferError, TypeError)):
        backend.separate(b"a\nb", "\n", False)


def found(backend, block, field="text"):
    answer = backend.json_texts(block, field)
    if answer is None:
        return None
    texts, offsets, lines = answer
    ends = offsets.tolist()
    return [bytes(texts[begin:end]).decode() for begin, end in itertools.pairwise(ends)], lines


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS, st.lists
)


@given(st.lists(st.tuples(st.text(max_size=20), VALUES)), st.booleans(), st.sampled_from(["\n", "\r\n", "\n \n"]))
def test_texts_come_as_json_gives_them(rows, is_ascii, end):
    lines = [json.dumps({"other": other, "text": text, "more": [other]}, ensure_ascii=is_ascii) for text, other in rows]
    block = "".join(line + end for line in lines)
    for backend in (native, reference):
        assert found(backend, block.encode()) == ([text for text, _ in rows], block.count("\n"))


@BACKENDS
@pytest.mark.parametrize(
    "line, expected",
    [
        (b'{"text": "a"}', ["a"]),
        (b'\t{"text": "a"} \r', ["a"]),
        (b'{"te\\u0078t": "\\ud83d\\ude00\\u0000"}', ["😀\0"]),
        (b'{"x": "\\ud83d", "text": ""}', [""]),
        (b'{"x": 1e999, "y": {"text": 1}, "text": "a"}', ["a"]),
        (b'{"x": ' + b"9" * 5000 + b', "text": "a"}', ["a"]),
        (b" \t\x0b\x0c\r", []),
        (b'{"text": "a", "text": "b"}', None),
        (b'{"text": "a", "text": 1}', None),
        (b'{"text": 1}', None),
        (b'{"text": {"text": "a"}}', None),
        (b'{"text": null}', None),
        (b"{}", None),
        (b'["text", "a"]', None),
        (b'[["text", "a"]]', None),
        (b'"text"', None),
        (b'{"text": "\\ud83d"}', None),
        (b'{"text": "\xff"}', None),
        (b'{"text": "\t"}', None),
        (b'{"text": "a"} {"text": "b"}', None),
        (b'{"text": "a"', None),
        (b'{"x": NaN, "text": "a"}', None),
        (b'\xef\xbb\xbf{"text": "a"}', None),
        (b"\xa0", None),
        ('\u00a0{"text": "a"}'.encode(), None),
    ],
)
def test_a_line_is_taken_only_if_it_is_sure(backend, line, expected):
    block = b'{"text": "first"}\n' + line
    assert found(backend, block) == (None if expected is None else (["first", *expected], 2))


@BACKENDS
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string_view(), pa.string()], ids=str)
def test_utf8_is_a_matter_of_each_text(backend, kind):
    def array(*texts):
        return pa.array(texts, pa.binary()).cast(pa.large_binary()).view(pa.large_string()).cast(kind, safe=False)

    assert backend.are_utf8(array("é".encode(), None, b"", b"a"))
    if kind in (pa.binary(), pa.large_binary()):
        assert not backend.are_utf8(array(b"a", b"\xc3", b"\xa9"))
        assert not backend.are_utf8(array(b"\xed\xa0\x80"))
        assert backend.are_utf8(array(b"a", b"\xff", b"b").slice(2))
