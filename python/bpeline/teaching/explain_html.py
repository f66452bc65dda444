"""An explanation as a page: tiles for the parts and pieces, and for each piece a table in which symbols grow together.

A column of the table is a byte, a row the symbols after a merge, so that one sees what came from what. Styles are inline:
they survive mail, GitHub and notebooks that are not trusted. Text reaches the page as text alone.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from .._reference.stages import spell
from ..show import HTML_SPECIAL, HTML_TILES, quoted, visible

if TYPE_CHECKING:
    from .explain import Explanation, Piece

MARKED = "#ffd27a"  # the symbol that a merge has just made
PLAIN = "#eceff3"  # any other; the tiles' ink is dark on a dark theme too
INK = "#1b1b1b"
FAINT = "opacity:.65;font-size:85%"


def html(explanation: "Explanation", most: int | None) -> str:
    pieces = explanation.distinct()
    left_out = 0 if most is None else max(len(pieces) - most, 0)
    parts = [
        _tile(part, PLAIN) if isinstance(part, bytes) else _tile(part.content, HTML_SPECIAL)
        for part in explanation.parts
    ]
    ids = [
        _tile(token, HTML_SPECIAL if piece.special else _colour(number), str(id))
        for number, piece in enumerate(explanation.pieces)
        for token, id in zip(piece.tokens, piece.ids, strict=True)
    ]
    tiles = [
        _tile(piece.content, HTML_SPECIAL if piece.special else _colour(number))
        for number, piece in enumerate(explanation.pieces)
    ]
    count = len(explanation.ids)
    body = [
        f'<div style="{FAINT}">{escape(quoted(explanation.name.encode())[1:-1])} · {len(explanation.text.encode()):,} bytes → '
        f"{count:,} token{'' if count == 1 else 's'}</div>",
        _stage(1, "Special tokens are cut out", *parts),
        _stage(2, "The pattern cuts the rest into pieces", *tiles),
        _stage(
            3,
            "Bytes, written as characters, merge by rank",
            *(_table(piece) for piece in pieces[:most]),
            f"<div>… and {left_out:,} more pieces</div>" if left_out else "",
        ),
        _stage(4, "What is left are tokens, and these are their ids", *ids),
    ]
    return (
        '<div style="font-family:ui-monospace,Menlo,Consolas,monospace;font-size:14px;line-height:1.4">'
        f"{''.join(body)}</div>"
    )


def _stage(number: int, title: str, *content: str) -> str:
    badge = (
        f'<span style="display:inline-block;width:20px;margin-right:8px;border-radius:10px;background:{HTML_SPECIAL};'
        f'color:#fff;text-align:center;font-size:12px;line-height:20px">{number}</span>'
    )
    return (
        f'<div style="margin:14px 0 0"><div style="font-family:system-ui,sans-serif;font-weight:600;margin-bottom:6px">'
        f'{badge}{title}</div><div style="margin-left:28px">{"".join(content)}</div></div>'
    )


def _colour(number: int) -> str:
    return HTML_TILES[number % len(HTML_TILES)]


def _tile(token: bytes, ground: str, below: str = "") -> str:
    ink = "#fff" if ground == HTML_SPECIAL else INK
    foot = f'<span style="display:block;{FAINT};padding:0 3px">{below}</span>' if below else ""
    return (
        f'<span style="display:inline-block;margin:0 2px 4px 0;vertical-align:top" title="{token.hex(" ")}">'
        f'<span style="display:block;background:{ground};color:{ink};border-radius:3px;padding:1px 4px;'
        f'white-space:pre-wrap;overflow-wrap:anywhere">{_shown(token)}</span>{foot}</span>'
    )


def _shown(token: bytes) -> str:
    return "".join(
        f'<span style="opacity:.6">{escape(part)}</span>' if is_mark else escape(part)
        for part, is_mark in visible(token)
    )


def _table(piece: "Piece") -> str:
    hexadecimal = [(f"{byte:02x}", 1, "transparent") for byte in piece.content]
    rows = [_row("bytes", hexadecimal), _row("characters", _cells(piece.symbols[0], -1))]
    rows += [_row(f"rank {merge.rank:,}", _cells(merge.symbols, merge.at)) for merge in piece.merges]
    ids = zip(piece.ids, piece.tokens, strict=True)
    rows.append(_row("ids", [(f"<b>{id}</b>", len(token), "transparent") for id, token in ids]))
    note = f' <span style="{FAINT}">a token as a whole</span>' if piece.whole and len(piece.content) > 1 else ""
    return (
        '<div style="display:inline-block;vertical-align:top;box-sizing:border-box;max-width:100%;overflow-x:auto;'
        f'padding:0 28px 12px 0">{_tile(piece.content, PLAIN)}{note}'
        '<table style="border-collapse:separate;border-spacing:2px 1px;width:auto;margin:0;border:0">'
        f"{''.join(rows)}</table></div>"
    )


def _cells(symbols: tuple[bytes, ...], made: int) -> Iterator[tuple[str, int, str]]:
    for at, symbol in enumerate(symbols):
        yield escape(spell(symbol)), len(symbol), MARKED if at == made else PLAIN


def _row(label: str, cells: "Iterator[tuple[str, int, str]] | list[tuple[str, int, str]]") -> str:
    body = "".join(
        f'<td colspan="{size}" style="text-align:center;min-width:20px;padding:0 4px;border:0;border-radius:3px;'
        f'{f"background:{ground};color:{INK}" if ground != "transparent" else "background:none"}">{content}</td>'
        for content, size, ground in cells
    )
    head = f'<td style="text-align:right;padding:0 10px 0 0;border:0;background:none;white-space:nowrap;{FAINT}">{label}</td>'
    return f'<tr style="background:none">{head}{body}</tr>'
