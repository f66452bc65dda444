"""Small encodings to load: the 256 byte tokens and <|endoftext|>, and what a test adds to them."""

import json
from pathlib import Path

HERE = Path(__file__).parent
EOT = "<|endoftext|>"
MAX_ID = 16_777_215

# byte -> character of the byte alphabet, by its definition
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
SPELL = {byte: chr(byte) for byte in PRINTABLE} | {byte: chr(256 + i) for i, byte in enumerate(OTHERS)}
ALPHABET = sorted(SPELL.values())  # in code point order: the ids 0 to 255
BYTE_TOKENS = {bytes([byte]): ALPHABET.index(SPELL[byte]) for byte in range(256)}  # raw byte -> id


def spell(token):
    """Raw bytes as the files spell them."""
    return "".join(SPELL[byte] for byte in token)


def vocab_text(extra=(), eot=True):
    """The text of a vocab.json: the byte alphabet, the tokens of `extra` (spelled), then <|endoftext|>."""
    tokens = [*ALPHABET, *extra, *([EOT] if eot else [])]
    return json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False)


def expand(text):
    """Case data: `$BYTES` stands for the 256 entries of the byte alphabet, U+DC80 to U+DCFF for a raw byte."""
    entries = ", ".join(f"{json.dumps(c, ensure_ascii=False)}: {i}" for i, c in enumerate(ALPHABET))
    return text.replace("$BYTES", entries).encode("utf-8", "surrogateescape")


def write_pair(folder, vocab=None, merges=None):
    """Write vocab.json and merges.txt (text or bytes) and return their paths as `str`."""
    vocab = vocab_text() if vocab is None else vocab
    merges = "#version: 0.2\n" if merges is None else merges
    paths = folder / "vocab.json", folder / "merges.txt"
    for path, content in zip(paths, (vocab, merges), strict=True):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tuple(map(str, paths))


def load_cases(name):
    """A list of cases from tests/NAME.json."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def by_name(cases):
    """pytest ids for cases that have a name."""
    return [case["name"] for case in cases]
