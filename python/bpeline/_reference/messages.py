"""How error messages show what they found."""


def quote(token: str) -> str:
    return f'"{cut(token)}"'


def cut(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


def code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def show(character: str) -> str:
    """A character, or the end of the file, which is "" here."""
    if not character:
        return "end of file"
    return f"'{character}'" if " " <= character <= "~" else code_point(character)


def show_bytes(token: bytes) -> str:
    shown = "".join(chr(b) if 0x20 <= b <= 0x7E and b not in b'"\\' else f"\\x{b:02x}" for b in token[:40])
    return f'b"{shown}{"…" if len(token) > 40 else ""}"'
