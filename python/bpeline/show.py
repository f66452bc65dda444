"""Tokens made visible: tiles in alternating colours with their ids, for terminals, notebooks and pipes.

    >>> import bpeline
    >>> print(bpeline.load("gpt2").show("Hello, world").plain())
    "Hello" 15496
    "," 11
    " world" 995

A space shows as `·`, a newline as `↵`, a tab as `→`, and what cannot be printed as an escape: `\\x1b`, `\\u200d`. A
byte that belongs to a character cut by a token boundary shows as `\\xe6`. Marks have a colour of their own, so that a
real `·` differs from a space; `plain`, which has no colours, quotes the token instead. Nothing in a text can reach the
terminal or the page as anything but text. Standard library only: rich is not needed.
"""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from html import escape
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bpeline._types import Errors, Special, Text
    from bpeline.tokenizer import Methods

MOST_TOKENS = 2_000  # in a repr or a notebook cell; str(), plain(), ansi() and html() show all
MARKS = {" ": "·", "\n": "↵", "\t": "→"}
# Pale tiles with dark text can be read on a dark theme and on a light one. Terminal and HTML have the same colours.
ANSI_TILES = ("153", "157", "223", "218", "189")
HTML_TILES = ("#cfe5ff", "#d3f5cf", "#ffe6bd", "#ffd5dd", "#e2dcff")
ANSI_SPECIAL, HTML_SPECIAL = "\x1b[1;38;5;231;48;5;54m", "#5f3a94"


class Token(NamedTuple):
    """One token of a text."""

    id: int
    bytes: bytes
    special: bool


def show(tokenizer: "Methods", text: "Text", *, special: "Special" = "parse", errors: "Errors" = "strict") -> "Shown":
    """The tokens of `text`, to be printed or left as the last line of a notebook cell."""
    return Shown(tokenizer, tokenizer.encode(text, special=special, errors=errors))


def html(tokenizer: "Methods", text: "Text", *, special: "Special" = "parse", errors: "Errors" = "strict") -> str:
    """The tokens of `text` as an HTML fragment that needs nothing else: no style sheet, no script."""
    return show(tokenizer, text, special=special, errors=errors).html()


class Shown:
    """Token ids of one tokenizer, ready to be looked at. `str()` has colours where the standard output shows them."""

    def __init__(self, tokenizer: "Methods", ids: Sequence[int]) -> None:
        self.tokenizer, self.ids = tokenizer, ids
        self._specials = frozenset(tokenizer.special_tokens.values())

    def tokens(self, most: int | None = None) -> Iterator[Token]:
        """The first `most` tokens, or all."""
        for id in map(int, self.ids[:most]):
            yield Token(id, self.tokenizer.decode_bytes([id]), id in self._specials)

    def plain(self, most: int | None = None) -> str:
        """A line a token: the quoted token and its id."""
        lines = [f"{quoted(token.bytes)} {token.id}" for token in self.tokens(most)]
        return "\n".join([*lines, *self._left_out(most)])

    def ansi(self, most: int | None = None, width: int | None = None) -> str:
        """Coloured tiles in rows of at most `width` columns (default: the terminal's), each with its ids beneath."""
        width = width or shutil.get_terminal_size().columns
        rows: list[str] = []
        tiles, labels, used = "", "", 0
        for index, token in enumerate(self.tokens(most)):
            parts = visible(token.bytes)
            size = sum(columns(part) for part, _ in parts)
            tile = max(size, len(str(token.id)))
            if used and used + tile > width:
                rows += [tiles, labels]
                tiles, labels, used = "", "", 0
            ink = ANSI_SPECIAL if token.special else f"\x1b[38;5;16;48;5;{ANSI_TILES[index % len(ANSI_TILES)]}m"
            marked = "\x1b[38;5;250m" if token.special else "\x1b[38;5;240m"
            tiles += ink + "".join(f"{marked}{part}{ink}" if mark else part for part, mark in parts)
            tiles += " " * (tile - size) + "\x1b[0m "
            labels += f"\x1b[2m{token.id:<{tile}}\x1b[0m "
            used += tile + 1
            if token.bytes.endswith(b"\n"):
                rows += [tiles, labels]
                tiles, labels, used = "", "", 0
        return "\n".join([*rows, *filter(None, (tiles, labels)), *self._left_out(most)])

    def html(self, most: int | None = None) -> str:
        """A `<div>` with inline styles alone, so that it survives mail, GitHub and notebooks that are not trusted."""
        tiles = []
        for index, token in enumerate(self.tokens(most)):
            parts = visible(token.bytes)
            body = "".join(
                f'<span style="opacity:.6">{escape(part)}</span>' if mark else escape(part) for part, mark in parts
            )
            ground, ink = (HTML_SPECIAL, "#fff") if token.special else (HTML_TILES[index % len(HTML_TILES)], "#1b1b1b")
            tiles.append(
                '<span style="display:inline-block;margin:0 2px 4px 0;vertical-align:top" '
                f'title="{token.bytes.hex(" ")}">'
                f'<span style="display:block;background:{ground};color:{ink};border-radius:3px;padding:1px 3px">'
                f'{body}</span><span style="display:block;font-size:70%;opacity:.65;padding:0 3px">{token.id}</span>'
                "</span>" + ("<br>" if token.bytes.endswith(b"\n") else "")
            )
        count = f"{len(self.ids):,} token{'' if len(self.ids) == 1 else 's'} · {self.tokenizer.name}"
        return (
            '<div style="font-family:ui-monospace,Menlo,Consolas,monospace;font-size:14px;line-height:1.35;'
            'white-space:pre-wrap;overflow-wrap:anywhere">'
            f"{''.join(tiles)}{''.join(map(escape, self._left_out(most)))}"
            f'<div style="font-size:80%;opacity:.65">{escape(count)}</div></div>'
        )

    def _left_out(self, most: int | None) -> list[str]:
        more = 0 if most is None else len(self.ids) - most
        return [f"… and {more:,} more"] if more > 0 else []

    def _repr_html_(self) -> str:
        return self.html(MOST_TOKENS)

    def __repr__(self) -> str:
        return self.ansi(MOST_TOKENS) if wants_colour(sys.stdout) else self.plain(MOST_TOKENS)

    def __str__(self) -> str:
        return self.ansi() if wants_colour(sys.stdout) else self.plain()


def wants_colour(stream: IO[str]) -> bool:
    """NO_COLOR and FORCE_COLOR are heeded; otherwise only a terminal gets colours."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def visible(token: bytes) -> list[tuple[str, bool]]:
    """What to print for a token, in parts; the flag says that a part is a mark and stands for something else."""
    parts: list[tuple[str, bool]] = []
    for char in token.decode("utf-8", "surrogateescape"):  # a byte that is no character becomes U+DC80..U+DCFF
        mark = MARKS.get(char) or escaped(char)
        if not parts and mark is None and unicodedata.category(char).startswith("M"):
            parts.append(("◌", True))  # carries a combining mark that has lost its letter
        if parts and parts[-1][1] == (mark is not None):
            parts[-1] = (parts[-1][0] + (mark or char), mark is not None)
        else:
            parts.append((mark or char, mark is not None))
    return parts


def printable(text: str) -> str:
    """A text that does nothing to a terminal or a page: escapes for all that cannot be printed, but for lines and tabs."""
    return "".join(char if char in "\n\t" else escaped(char) or char for char in text)


def escaped(char: str) -> str | None:
    """The escape for a character that must not be printed as it is."""
    if char.isprintable():
        return None
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char < "\x80":
        return char.encode("unicode_escape").decode("ascii")
    return f"\\u{ord(char):04x}" if char < "\U00010000" else f"\\U{ord(char):08x}"


def quoted(token: bytes) -> str:
    """A token in double quotes, never ambiguous: `\\u00a0` is a character, `\\xa0` a byte that belongs to none."""
    text = token.decode("utf-8", "surrogateescape")
    return '"' + "".join("\\" + char if char in '"\\' else escaped(char) or char for char in text) + '"'


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.category(char) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
