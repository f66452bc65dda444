"""Write the .pairs files from the files that OpenAI published: `python generate.py FILES`, in any order, perhaps as .xz.

All ids of these encodings follow from the pair of lower tokens that makes each token: ids 0 to 255 are the byte alphabet
in code point order, and every other token is what one pair makes, the two symbols that its own bytes are just before
they become it. So the pairs alone are enough, by id: two ids of three bytes each, little-endian. GPT-2's merges.txt
has them; a rank file does not, and each token's bytes are merged to find them (rust/DESIGN.md, the lemma on splits).

p50k_base is r50k_base (GPT-2's tokens) and runs of 2 to 25 spaces. Its file is made here, and its hash compared.
"""

import hashlib
import json
import lzma
import sys
from base64 import b64decode, b64encode
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from bpeline._reference.stages import BYTE_TO_CHARACTER, made_of, unspell  # noqa: E402

SHA256 = {
    "vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "r50k_base.tiktoken": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base.tiktoken": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
ALPHABET = [unspell(character) for character in sorted(BYTE_TO_CHARACTER)]


def main(paths: list[str]) -> None:
    files = dict(map(read, paths))
    needed = {"vocab.json", "merges.txt", "cl100k_base.tiktoken", "o200k_base.tiktoken"}
    if missing := needed - files.keys():
        raise SystemExit(f"missing: {', '.join(sorted(missing))}")

    gpt2 = gpt2_tokens(files["vocab.json"], files["merges.txt"])
    check("r50k_base.tiktoken", rank_file(gpt2))
    p50k = gpt2 | {50257 + i: b" " * (2 + i) for i in range(24)}
    check("p50k_base.tiktoken", rank_file(p50k))
    write("gpt2", gpt2, first=256)
    write("p50k_base", p50k, first=50257)
    for name in ("cl100k_base", "o200k_base"):
        write(name, ranked_tokens(files[f"{name}.tiktoken"]), first=256)


def read(path: str) -> tuple[str, bytes]:
    """What a file is, which its hash says, and its content."""
    data = Path(path).read_bytes()
    data = lzma.decompress(data) if path.endswith(".xz") else data
    sha256 = hashlib.sha256(data).hexdigest()
    for name, known in SHA256.items():
        if sha256 == known:
            return name, data
    raise SystemExit(f"{path}: none of the files that OpenAI published (SHA-256 {sha256})")


def check(name: str, data: bytes) -> None:
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise SystemExit(f"{name}: what was made is not what OpenAI published")


def gpt2_tokens(vocab: bytes, merges: bytes) -> dict[int, bytes]:
    rules = [line.split(" ") for line in merges.decode("utf-8").splitlines()[1:]]
    spellings = sorted(BYTE_TO_CHARACTER) + [left + right for left, right in rules]
    if json.loads(vocab) != {token: id for id, token in enumerate([*spellings, "<|endoftext|>"])}:
        raise SystemExit("vocab.json: the ids do not follow from the merge list")
    return {id: unspell(spelling) for id, spelling in enumerate(spellings)}


def ranked_tokens(data: bytes) -> dict[int, bytes]:
    return {int(rank): b64decode(token) for token, rank in map(bytes.split, data.splitlines())}


def rank_file(tokens: dict[int, bytes]) -> bytes:
    return b"".join(b"%b %d\n" % (b64encode(token), id) for id, token in tokens.items())


def write(name: str, tokens: dict[int, bytes], first: int) -> None:
    """Writes NAME.pairs: the pairs of all tokens from the id `first` on."""
    if [tokens[id] for id in range(256)] != ALPHABET:
        raise SystemExit(f"{name}: the ids of the bytes are not those of the alphabet")
    found = made_of(tokens)
    ids = range(first, max(tokens) + 1)
    for id in ids:
        if id not in found or max(found[id]) >= id:
            raise SystemExit(f"{name}: no pair of lower tokens makes {tokens.get(id)!r}")
    data = b"".join(symbol.to_bytes(3, "little") for id in ids for symbol in found[id])
    (HERE / f"{name}.pairs").write_bytes(data)
    print(f"{name}.pairs: {len(data):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
