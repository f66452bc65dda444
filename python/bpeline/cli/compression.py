"""How many bytes of text a token stands for: what vocabularies are compared by."""

from collections.abc import Iterable, Iterator

import bpeline

BUILT_IN = ("gpt2", "cl100k_base", "o200k_base")


def compressions(
    tokenizers: Iterable[bpeline.Tokenizer], text: bytes, threads: int | None = None
) -> Iterator[tuple[str, float]]:
    """Each tokenizer's name and bytes a token; special tokens in the text are text."""
    for tokenizer in tokenizers:
        tokens = int(tokenizer.count_batch([text], threads=threads, special="text", errors="replace")[0])
        yield tokenizer.name, len(text) / tokens if tokens else 0.0
