"""Large documents that are spread over threads: the ids are those of one thread, whatever lies at the cuts."""

import gc
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpeline
from tests.small import EOT

SIZE = 1 << 19  # bytes in memory: a few chunks

atoms = st.one_of(
    st.sampled_from(
        [
            "hello",
            " world",
            " ",
            "  ",
            "\n\n",
            "\u3000",
            "don't",
            "'",
            ".",
            "7",
            "漢字",
            "。",
            " é",
            "👍",
            EOT,
            " <|",
            "x",
        ]
    ),
    st.text(max_size=3),
)
bodies = st.lists(atoms, min_size=1, max_size=12).map("".join).filter(bool)


@pytest.fixture(scope="module")
def tok(native):
    return native.load("gpt2").extend({"world ": 50257, "o w": 50258, "漢字。": 50259})


def large(body, width):
    """A text of some chunks, in CPython's strings of 1, 2 or 4 bytes a character."""
    body += {1: "", 2: "л", 4: "👍"}[width]
    return body * (SIZE // (len(body) * width) + 1)


def check(tok, batch, **options):
    tokens = tok.encode_ragged(batch, threads=1, **options)
    lists = tokens.to_lists()
    assert tok.encode_batch(batch, threads=1, **options) == lists
    for threads in (2, 3):
        assert tok.encode_ragged(batch, threads=threads, **options) == tokens
        assert tok.encode_batch(batch, threads=threads, **options) == lists
        assert tok.count_batch(batch, threads=threads, **options).tolist() == [len(ids) for ids in lists]
    return lists


@settings(max_examples=12, deadline=None)
@given(bodies, st.sampled_from([1, 2, 4]), st.sampled_from(["parse", "text", {EOT, "o w"}]), st.booleans())
def test_any_text(tok, body, width, special, as_bytes):
    text = large(body, width)
    ids = tok.encode(text, special=special)
    text = text.encode() if as_bytes else text
    assert check(tok, ["first", text, "", text, "last"], special=special)[1] == ids


def test_text_that_cannot_be_cut(tok):
    batch = ["a" * SIZE, " " * SIZE, b"'" * (SIZE + 3), "a" * SIZE + " b" * SIZE]
    ids = tok.encode_batch(batch, threads=1)
    assert tok.encode_batch(batch, threads=2) == ids
    assert list(map(tok.decode_bytes, ids)) == [text if isinstance(text, bytes) else text.encode() for text in batch]


def test_another_pattern_is_not_cut(native):
    tok = native.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern=r"\S+|\s+")
    assert check(tok, ["ab c" * SIZE])[0] == list(b"ab c" * SIZE)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("as_list", [True, False])
def test_errors_are_those_of_the_whole_document(tok, threads, as_list):
    def error(text, kind, **options):
        call = tok.encode_batch if as_list else tok.encode_ragged
        with pytest.raises(kind) as caught:
            call(["fine", text, "fine"], threads=threads, **options)
        return str(caught.value)

    words, characters = "hello world " * (SIZE // 12), SIZE // 12 * 12
    invalid, special = bpeline.InvalidTextError, bpeline.SpecialTokenError
    place = f"at character {characters + 1}"
    assert error(f"{words}é\ud800{words}", invalid) == f"document 1: surrogate U+D800 {place}"
    assert error(f"{words}é\ud800{words}{EOT}", invalid, special="error") == f"document 1: surrogate U+D800 {place}"
    data = words.encode() + b"\xc3\xa9\xff" + words.encode()
    assert error(data, invalid) == f"document 1: invalid UTF-8: byte 0xff at offset {characters + 2}"
    pure = words.replace("world", "there")
    for text, unit, at in (
        (f"{pure}é{EOT}{pure}", "character", len(pure) + 1),
        (f"{pure}é{EOT}{pure}".encode(), "byte", len(pure) + 2),
        (f"{pure}л{EOT}{pure}", "character", len(pure) + 1),
        (f"{EOT}{pure}", "character", 0),
    ):
        assert error(text, special, special="error") == f'document 1: special token "{EOT}" at {unit} {at}'
    broken = pure.encode() + b"\xff" + EOT.encode() + pure.encode()
    expected = f'document 1: special token "{EOT}" at byte {len(pure) + 3}'
    assert error(broken, special, special="error", errors="replace") == expected


def test_replaced_text(tok):
    words = "hello world " * (SIZE // 12)
    for text in (
        f"{words}\ud83d\udc4d\ud800 {words}\udc4d",
        (words.encode() + b"\xff ") * 2,
        f"{words}👍\ud83d \udc4d{words}",
    ):
        assert check(tok, [text], errors="replace")[0] == tok.encode(text, errors="replace")


def test_lists_are_seen_by_the_garbage_collector(tok):
    for threads in (1, 2):
        lists = tok.encode_batch(["hello", "hello world " * (SIZE // 4), ""] * 3, threads=threads)
        assert all(map(gc.is_tracked, lists))
        assert gc.is_tracked(lists)
        assert lists[0] == tok.encode("hello")


def test_ids_that_are_not_shared(native):
    """Lists make a new `int` for each id from 2^18 on."""
    wide = native.load("gpt2").extend({"漢": 1 << 18, " world": (1 << 24) - 1})
    text = large("hello world 漢字", 2)
    assert check(wide, [text, "", text])[0][:4] == [31373, (1 << 24) - 1, 220, 1 << 18]


def test_one_object_for_an_id(native, tok):
    """The objects outlive the tokenizers and all lists, whose references nobody counts."""
    text = large("hello world", 1)
    first = tok.encode(" world")[0]
    for threads in (1, 2):
        for _ in range(3):
            lists = native.load("gpt2").encode_batch([text, "hello world"], threads=threads)
            assert all(ids[1] is first for ids in lists)
            del lists
            gc.collect()
            assert sys.getrefcount(first) > 1 << 29
    assert first == 995
    assert tok.encode("\x00 world")[1] is first
