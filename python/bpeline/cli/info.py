"""`bpeline info`: what an encoding is, what a token is, and which backend runs."""

import os
import platform
from typing import Annotated

import typer

import bpeline
from bpeline.cli import options
from bpeline.cli.failure import Failure
from bpeline.cli.report import number, size
from bpeline.show import quoted


def info(
    name: Annotated[str | None, typer.Argument(metavar="ENCODING", help="The same as --encoding.")] = None,
    token: Annotated[
        str | None, typer.Option("--token", metavar="ID|TOKEN", help='Look up a token: 262, " the", Ġthe.')
    ] = None,
    encoding: options.EncodingOption = None,
    vocab: options.VocabOption = None,
    merges: options.MergesOption = None,
) -> None:
    """Tell what an encoding is, or one of its tokens.

    Example: bpeline info gpt2 --token " the"
    """
    if name is not None and encoding is not None:
        raise typer.BadParameter("give the encoding once")
    from rich.console import Console
    from rich.text import Text

    tokenizer = options.load(name or encoding, vocab, merges)
    console = Console(highlight=False, soft_wrap=True)
    for label, text in describe(tokenizer) if token is None else look_up(tokenizer, token):
        console.print(Text.assemble((f"{label:<11}", "bold"), text))


def describe(tokenizer: bpeline.Tokenizer) -> list[tuple[str, str]]:
    """What fixes the ids, and what computes them."""
    import numpy as np

    encoding, rules = tokenizer.encoding, tokenizer.encoding.merges()
    specials = sorted(tokenizer.special_tokens.items(), key=lambda item: (item[1], item[0]))
    listed = ", ".join(f"{literal} {id}" for literal, id in specials[:8]) + (", …" if len(specials) > 8 else "")
    return [
        ("encoding", f"{tokenizer.name} ({'built in' if encoding.is_builtin else 'from files'})"),
        ("vocabulary", number(tokenizer.vocab_size, "id") + (f", {number(len(rules), 'merge rule')}" if rules else "")),
        ("specials", listed or "none"),
        ("pattern", tokenizer.pattern),
        ("ids", f"{tokenizer.encode_array('').dtype} arrays"),
        ("hash", encoding.fingerprint.hex()),
        ("backend", backend()),
        ("cache", f"at most {size(tokenizer.cache_bytes)}"),
        ("versions", f"bpeline {bpeline.__version__}, numpy {np.__version__}, Python {platform.python_version()}"),
        ("machine", f"{platform.system()} {platform.machine()}, {number(os.cpu_count() or 1, 'core')}"),
    ]


def backend() -> str:
    """Which backend runs, and why."""
    if forced := os.environ.get("BPELINE_BACKEND"):
        return f"{bpeline.backend()} (BPELINE_BACKEND={forced})"
    return "native" if bpeline.backend() == "native" else "reference (the native module cannot be imported; slow)"


def look_up(tokenizer: bpeline.Tokenizer, token: str) -> list[tuple[str, str]]:
    """All that is known of a token, named by id, by text, or by its spelling in the file."""
    raw = token.encode("utf-8", "surrogateescape")
    value = int(token) if token.isascii() and token.isdigit() and len(token) < 9 else tokenizer.vocab_size
    by_id = value if value < tokenizer.vocab_size and tokenizer.id_to_token(value) is not None else None
    ids = (by_id, tokenizer.token_to_id(raw), tokenizer.token_to_id(token))
    found = [id for id in dict.fromkeys(ids) if id is not None]
    if not found:
        pieces = tokenizer.encode(raw, special="text", errors="replace")
        spelled = ", ".join(f"{quoted(tokenizer.decode_bytes([id]))} {id}" for id in pieces[:12])
        raise Failure(f"{quoted(raw)} is no id and no token of {tokenizer.name}; as a text it is {spelled or 'empty'}")
    return [line for id in found for line in describe_token(tokenizer, id)]


def describe_token(tokenizer: bpeline.Tokenizer, id: int) -> list[tuple[str, str]]:
    """The lines about one token."""
    raw = tokenizer.decode_bytes([id])
    spelling = str(tokenizer.id_to_token(id))
    lines = [("id", str(id)), ("text", quoted(raw)), ("bytes", raw.hex(" ")), ("spelling", spelling)]
    if id in tokenizer.special_tokens.values():
        return [*lines, ("special", "matched literally, made by no merge")]
    bytes_of = tokenizer.encoding.token_bytes
    for rank, (left, right) in enumerate(tokenizer.encoding.merges() or []):
        first, second = bytes_of(left) or b"", bytes_of(right) or b""
        if first + second == raw:
            lines.append(("merges", f"{quoted(first)} {left} + {quoted(second)} {right}, rule {rank:,}"))
    return lines
