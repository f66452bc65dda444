"""Write gpt2.merges from OpenAI's two GPT-2 files: `python generate.py vocab.json merges.txt`.

Every GPT-2 id follows from the merge list: ids 0 to 255 are the byte alphabet in code point order, 256 + i is what
rule i makes, and 50256 is <|endoftext|>. So the pairs of ids alone are enough: 50,000 times two little-endian u16.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

SHA256 = (
    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",  # vocab.json
    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",  # merges.txt
)


def main(vocab_path: str, merges_path: str) -> None:
    files = [Path(path).read_bytes() for path in (vocab_path, merges_path)]
    for path, data, expected in zip((vocab_path, merges_path), files, SHA256, strict=True):
        if hashlib.sha256(data).hexdigest() != expected:
            raise SystemExit(f"{path}: not the file that OpenAI published (SHA-256 {expected})")
    vocab: dict[str, int] = json.loads(files[0])
    rules = [line.split(" ") for line in files[1].decode("utf-8").splitlines()[1:]]

    spellings = sorted(token for token in vocab if len(token) == 1) + [left + right for left, right in rules]
    if vocab != {token: id for id, token in enumerate([*spellings, "<|endoftext|>"])}:
        raise SystemExit(f"{vocab_path}: the ids do not follow from the merge list")
    pairs = b"".join(struct.pack("<HH", vocab[left], vocab[right]) for left, right in rules)
    Path(__file__).with_name("gpt2.merges").write_bytes(pairs)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python generate.py vocab.json merges.txt")
    main(*sys.argv[1:])
