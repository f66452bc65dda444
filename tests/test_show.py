"""Tokens made visible: bpeline.show, Tokenizer.show and `bpeline show`."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from bpeline import show

FOUR = b"\xf0\x9f\x91\xa9"


def test_plain_is_one_quoted_token_and_its_id_a_line(gpt2):
    shown = gpt2.show('Hello, "world"\n\\ 漢')
    assert shown.plain().split("\n") == [
        '"Hello" 15496',
        '"," 11',
        '" \\"" 366',
        '"world" 6894',
        '"\\"" 1',
        '"\\n" 198',
        '"\\\\" 59',
        '" \\xe6" 10545',
        '"\\xbc" 120',
        '"\\xa2" 95',
    ]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b" the", '" the"'),
        (b"\x1b[31m", '"\\x1b[31m"'),
        (b"\\x1b", '"\\\\x1b"'),
        (b"\xa0", '"\\xa0"'),  # a byte
        ("\xa0".encode(), '"\\u00a0"'),  # a character
        ("\u202e".encode(), '"\\u202e"'),
        ("\U000e0041".encode(), '"\\U000e0041"'),
        ("né漢".encode(), '"né漢"'),
        (b"", '""'),
    ],
)
def test_quoted(token, expected):
    assert show.quoted(token) == expected


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b" the", [("·", True), ("the", False)]),
        ("·".encode(), [("·", False)]),
        (b"\t\n", [("→↵", True)]),
        (b" \xe6", [("·\\xe6", True)]),
        (FOUR, [("👩", False)]),
        (FOUR[:3], [("\\xf0\\x9f\\x91", True)]),
        ("\u0301x".encode(), [("◌", True), ("\u0301x", False)]),
        (b"a\x00b", [("a", False), ("\\x00", True), ("b", False)]),
    ],
)
def test_visible(token, expected):
    assert show.visible(token) == expected


def test_columns():
    assert [show.columns(text) for text in ("", "ab", "漢字", "é", "e\u0301", "👩")] == [0, 2, 4, 1, 1, 2]


def strip(ansi):
    return re.sub(r"\x1b\[[0-9;]*m", "", ansi)


def test_ansi_puts_ids_beneath_tokens(gpt2):
    rows = strip(gpt2.show("Hello world\nand 漢").ansi(width=80)).split("\n")
    assert rows == [
        "Hello ·world ↵   ",
        "15496 995    198 ",
        "and ·\\xe6 \\xbc \\xa2 ",
        "392 10545 120  95   ",
    ]


def test_ansi_heeds_the_width(gpt2):
    rows = strip(gpt2.show("one two three four five six").ansi(width=20)).split("\n")
    assert len(rows) == 4
    assert all(show.columns(row.rstrip()) <= 20 for row in rows)


def test_ansi_alternates_and_marks_specials(gpt2):
    ansi = gpt2.show("ab ab<|endoftext|>").ansi(width=80)
    assert ansi.startswith("\x1b[38;5;16;48;5;153mab \x1b[0m ")
    assert "\x1b[38;5;16;48;5;157m\x1b[38;5;240m·\x1b[38;5;16;48;5;157mab" in ansi
    assert show.ANSI_SPECIAL + "<|endoftext|>" in ansi


def test_hostile_text_reaches_neither_terminal_nor_page(gpt2):
    text = "\x1b]0;x\x07 \x9b31m \u202e <script>alert('1')</script> <b title=\"x\"> &amp;"
    shown = gpt2.show(text)
    for control in ("\x07", "\x9b", "\u202e", "\x1b]"):
        assert control not in shown.ansi() and control not in shown.plain() and control not in shown.html()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, {name for name, _ in attributes}))
    parser.feed(shown.html())
    assert {tag for tag, _ in tags} == {"div", "span"}
    assert set().union(*(names for _, names in tags)) == {"style", "title"}


def test_hostile_special_token_and_name(gpt2):
    tokenizer = gpt2.extend({"<img src=x onerror=alert(1)>": 50257})
    html = tokenizer.show("a<img src=x onerror=alert(1)>").html()
    assert "<img" not in html and ">&lt;img<span" in html


def test_html_carries_text_ids_bytes_and_count(gpt2):
    html = show.html(gpt2, "Hello\n 漢")
    assert html.startswith("<div style=") and html.endswith("</div>")
    assert ">Hello</span>" in html and ">15496</span>" in html
    assert 'title="20 e6"' in html and "\\xe6" in html
    assert html.count("<br>") == 1
    assert "5 tokens · gpt2" in html
    assert "<style" not in html and "class=" not in html
    assert gpt2.show("Hello\n 漢")._repr_html_() == html


def test_empty_text(gpt2):
    shown = gpt2.show("")
    assert shown.plain() == "" and shown.ansi() == "" and str(shown) == "" and "0 tokens" in shown.html()


def test_a_repr_is_not_endless(gpt2):
    shown = gpt2.show("a b " * show.MOST_TOKENS)
    left_out = len(shown.ids) - show.MOST_TOKENS
    assert repr(shown).split("\n")[-1] == f"… and {left_out:,} more"
    assert f"… and {left_out:,} more" in shown._repr_html_()
    assert len(str(shown).split("\n")) == len(shown.ids)


def test_special_and_errors(gpt2):
    assert list(show.show(gpt2, "<|endoftext|>").ids) == [50256]
    assert list(show.show(gpt2, "<|endoftext|>", special="text").ids) == [27, 91, 437, 1659, 5239, 91, 29]
    assert list(show.show(gpt2, b"ok\xff", errors="replace").ids) == [482, 4210]


class Stream:
    def __init__(self, terminal):
        self.isatty = lambda: terminal


@pytest.mark.parametrize(
    ("environment", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_wants_colour(monkeypatch, environment, terminal, expected):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert show.wants_colour(Stream(terminal)) is expected


def test_colours_follow_the_terminal(gpt2, monkeypatch):
    shown = gpt2.show("hi")
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(shown) == repr(shown) == '"hi" 5303'
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert str(shown) == repr(shown) == shown.ansi()


def test_needs_neither_rich_nor_typer():
    code = "import sys; sys.modules.update(rich=None, typer=None); import bpeline, bpeline.show; print('ok')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ok\n", "")
