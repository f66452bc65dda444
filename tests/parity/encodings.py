"""Every encoding but GPT-2 against its own reference: tiktoken for ranks, mistral-common for tekken.json.

tiktoken reads the rank files that `save` writes for the built-in encodings, which are the published ones byte for
byte (`tests/test_builtin.py`). A folder of encodings may hold qwen.tiktoken and tekken*.json (also as .xz), a folder of
corpora any .txt (or .txt.xz).
"""

import functools
import itertools
import lzma
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import bpeline
from tests.parity import samples
from tests.parity.compare import BLOCK, differences

BYTES_OF_A_CORPUS = 4_000_000
BYTES_OF_A_DOCUMENT = 100_000
# From Qwen's tokenization_qwen.py.
QWEN_SPECIALS = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645} | {
    f"<|extra_{i}|>": 151646 + i for i in range(205)
}


@dataclass
class Subject:
    """An encoding on each backend, and its reference."""

    name: str
    ours: dict[str, bpeline.Tokenizer]
    peer: Callable[[str], list[int]]
    peer_size: int
    token: Callable[[int], bytes]
    """What an id stands for there; `KeyError` if nothing."""
    special: str = "parse"
    counts: Counter = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def compare(self, texts: Iterable[str], share: dict[str, int] | None = None) -> None:
        """Ids and round trips of all texts; `share` = {backend: stride} lets a slow backend take a part."""
        start, blocks = time.perf_counter(), iter(texts)
        while block := list(itertools.islice(blocks, BLOCK)):
            theirs = list(map(self.peer, block))
            for backend, tok in self.ours.items():
                stride = (share or {}).get(backend, 1)
                part, expected = block[::stride], theirs[::stride]
                ids = tok.encode_batch(part, threads=1, special=self.special)
                self.counts[backend, "samples"] += len(part)
                self.counts[backend, "bytes"] += sum(len(text.encode()) for text in part)
                self.see(backend, "ids", part, ids, expected)
                texts_back = [tok.decode_bytes(each) for each in ids]
                self.see(backend, "round trip", part, texts_back, [text.encode() for text in part])
        self.seconds += time.perf_counter() - start

    def compare_tokens(self) -> None:
        """What each id stands for."""
        for backend, tok in self.ours.items():
            expected = []
            for id in range(self.peer_size):
                try:
                    expected.append(self.token(id))
                except KeyError:
                    expected.append(None)
            self.see(
                backend, "token", range(self.peer_size), [tok.token_bytes(id) for id in range(self.peer_size)], expected
            )

    def see(self, backend, kind, part, found, expected):
        for i in differences(found, expected):
            self.counts[backend, "mismatches"] += 1
            if len(self.examples) < 5:
                shown = f"{str(found[i])[:200]} not {str(expected[i])[:200]}"
                self.examples.append(f"{self.name}, {backend}, {kind}: {ascii(part[i])[:200]}: {shown}")

    @property
    def mismatches(self) -> int:
        wrong_size = sum(tok.vocab_size != self.peer_size for tok in self.ours.values())
        return wrong_size + sum(count for (_, kind), count in self.counts.items() if kind == "mismatches")

    def line(self) -> str:
        did = ", ".join(
            f"{backend} {self.counts[backend, 'samples']:,} samples of {self.counts[backend, 'bytes'] / 1e6:,.1f} MB"
            for backend in self.ours
        )
        return f"{self.name:<14} {self.peer_size:>8,}  {self.mismatches} mismatches  ({did}; {self.seconds:.0f} s)"


def built_in(backends, folder: Path, name: str) -> Subject:
    ours = {backend: cls.load(name) for backend, cls in backends.items()}
    tok = next(iter(ours.values()))
    return ranked(name, ours, tok.save(folder / name, format="tiktoken")[0])


def ranked(name: str, ours: dict, path: Path) -> Subject:
    """A rank file, which tiktoken reads too."""
    import tiktoken

    tok = next(iter(ours.values()))
    lines = path.read_bytes().splitlines()
    ranks = {b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    peer = tiktoken.Encoding(name, pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens=tok.special_tokens)

    def encode(text: str) -> list[int]:
        # Their literals all begin so; for o200k_harmony's thousand, `encode` takes 0.1 ms a call.
        return peer.encode(text, allowed_special="all") if "<|" in text else peer.encode_ordinary(text)

    assert all(literal.startswith("<|") for literal in tok.special_tokens)
    return Subject(name, ours, encode, peer.n_vocab, peer.decode_single_token_bytes)


def qwen(backends, path: Path) -> Subject:
    options = {"pattern": "qwen2", "special_tokens": QWEN_SPECIALS}
    return ranked("qwen", {backend: cls.load(path, **options) for backend, cls in backends.items()}, path)


def tekken(backends, path: Path) -> Subject:
    """Mistral's reader never takes a text's literals for special tokens."""
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    peer = Tekkenizer.from_file(path)
    ours = {backend: cls.load(path) for backend, cls in backends.items()}
    encode = functools.partial(peer.encode, bos=False, eos=False)
    token = functools.partial(peer.id_to_byte_piece, special_token_policy=SpecialTokenPolicy.KEEP)
    return Subject(path.stem, ours, encode, peer.n_words, token, "text")


def subjects(backends, folder: Path, encodings: Path | None = None, only: list[str] | None = None) -> Iterator[Subject]:
    """Each when it is its turn. `only` names some of them, by what their names begin with."""
    wanted = tuple(only or [""])
    for name in bpeline.encodings()[1:]:
        if name.startswith(wanted):
            yield built_in(backends, folder, name)
    for source in sorted(encodings.iterdir()) if encodings else ():
        path = folder / source.name.removesuffix(".xz")
        make = qwen if path.name == "qwen.tiktoken" else tekken if "tekken" in path.name else None
        if make is not None and path.name.startswith(wanted):
            path.write_bytes(lzma.decompress(source.read_bytes()) if source.suffix == ".xz" else source.read_bytes())
            yield make(backends, path)


def corpus(path: Path) -> Iterator[str]:
    """The first 4 MB, in documents."""
    with lzma.open(path) if path.suffix == ".xz" else open(path, "rb") as file:
        data = file.read(BYTES_OF_A_CORPUS)
    for at in range(0, len(data), BYTES_OF_A_DOCUMENT):
        yield data[at : at + BYTES_OF_A_DOCUMENT].decode("utf-8", "ignore")


def run(subject: Subject, full: bool = False, corpora: Path | None = None) -> Subject:
    """The samples, with `full` also all code points in five contexts, and 4 MB of each corpus."""
    share = {"reference": 51}  # no multiple of five, so that it sees all contexts
    subject.compare_tokens()
    subject.compare(samples.usual())
    if full:
        subject.compare(samples.in_contexts(samples.scalars()), share)
    for path in sorted(corpora.glob("*.txt*")) if corpora else ():
        subject.compare(corpus(path), {"reference": 8})
    return subject
