"""Encodings from tokenizer.json files that are too large to lie here, against tokenizers.

    BPELINE_SHARED=FOLDER python -m tests.parity.json_files [NAME ...]

FOLDER has `encodings/*tokenizer.json.xz` and `corpora/*.txt.xz`. Of each encoding: the usual samples, every scalar value in all
contexts, 4 MB of each corpus in passages and in one piece, and id sequences. Prints a table; exit code 1 on any mismatch.
"""

import lzma
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.backends import TOKENIZERS
from tests.parity import samples
from tests.parity.compare import differences

BLOCK = 20_000
CORPUS_BYTES = 4_000_000
PASSAGE = 2_000
CONTEXTS = "\n".join(samples.CONTEXTS)


def shared():
    """The folder, or None."""
    folder = os.environ.get("BPELINE_SHARED")
    return Path(folder) if folder and Path(folder, "encodings").is_dir() else None


def encodings(folder):
    """Name -> text of the file."""
    paths = sorted(folder.glob("encodings/*tokenizer.json.xz"))
    return {path.name.removesuffix("_tokenizer.json.xz"): lzma.decompress(path.read_bytes()).decode() for path in paths}


def corpora(folder):
    """Name -> its first 4 MB."""
    texts = {}
    for path in sorted(folder.glob("corpora/*.txt.xz")):
        with lzma.open(path) as file:
            texts[path.name.removesuffix(".txt.xz")] = file.read(CORPUS_BYTES).decode("utf-8", "ignore")
    return texts


def passages(text):
    return [text[at : at + PASSAGE] for at in range(0, len(text), PASSAGE)]


def every_scalar(stride=1):
    """Each scalar value, in all contexts at once."""
    return [CONTEXTS.replace("{}", character) for character in samples.scalars(stride)]


class Comparison:
    def __init__(self, content, backend):
        import tokenizers

        from bpeline import tokenizer_json

        cls = TOKENIZERS[backend]
        contents = tokenizer_json.read(content, "file")
        self.ours = cls(cls._Encoding.from_tokenizer_json("file", "file", *contents))
        self.peer = tokenizers.Tokenizer.from_str(content)
        self.encoded, self.mismatches, self.examples = Counter(), Counter(), []

    def encode(self, kind, texts, add_special_tokens=False):
        for at in range(0, len(texts), BLOCK):
            block = texts[at : at + BLOCK]
            encoded = self.peer.encode_batch_fast(block, add_special_tokens=add_special_tokens)
            theirs = [encoding.ids for encoding in encoded]
            ours = self.ours.encode_batch(block, add_special_tokens=add_special_tokens)
            self.note(kind, block, ours, theirs)
            counts = self.ours.count_batch(block, add_special_tokens=add_special_tokens).tolist()
            self.note(f"{kind}, counted", block, counts, list(map(len, theirs)))

    def decode(self, batch):
        theirs = [self.peer.decode(ids, skip_special_tokens=False) for ids in batch]
        self.note("decoded", batch, self.ours.decode_batch(batch), theirs)

    def note(self, kind, samples, ours, theirs):
        self.encoded[kind] += len(samples)
        for at in differences(ours, theirs):
            self.mismatches[kind] += 1
            if len(self.examples) < 5:
                self.examples.append(f"{kind}: {ascii(samples[at])[:200]}: {ours[at]!s:.200} not {theirs[at]!s:.200}")


def known_ids(tokenizer):
    """Id sequences without the ids that no token has."""
    sequences = samples.id_sequences(tokenizer.vocab_size)
    return [[id for id in ids if tokenizer.token_bytes(id) is not None] for ids in sequences]


def main():
    folder = shared()
    if folder is None:
        print("BPELINE_SHARED names no folder with encodings/", file=sys.stderr)
        return 1
    texts, failed = corpora(folder), False
    for name, content in encodings(folder).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        for backend in TOKENIZERS:
            start = time.perf_counter()
            comparison = Comparison(content, backend)
            slow = backend == "reference"
            comparison.encode("usual samples", list(samples.usual())[:: 7 if slow else 1])
            comparison.encode("usual samples with special tokens", list(samples.random_strings(1000)), True)
            comparison.encode("every scalar value", every_scalar(97 if slow else 1))
            for corpus, text in texts.items():
                comparison.encode(f"{corpus}, passages", passages(text)[:: 40 if slow else 1])
                if not slow:
                    comparison.encode(f"{corpus}, whole", [text])
            comparison.decode(known_ids(comparison.ours))
            print(f"{name}, {backend}, {time.perf_counter() - start:.0f} s")
            for kind, count in comparison.encoded.items():
                print(f"  {kind:40} {count:>9,} samples {comparison.mismatches[kind]:>6} mismatches", flush=True)
            print("\n".join(comparison.examples), end="")
            failed |= comparison.mismatches.total() > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
