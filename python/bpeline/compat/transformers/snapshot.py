"""A `tokenizers.Tokenizer` as it was at one time: bpeline's tokenizer for it, and what the face asks about it.

It is made from what `to_str` gives and nothing changes it, so that encodings may ask later what they did not ask at
once, whatever has become of the tokenizer since.
"""

import functools
import json
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import tokenizers

from ..._reference.stages import CHARACTER_TO_BYTE
from ...tokenizer import Tokenizer
from .layout import Layout, Range, read_layout
from .offsets import leave, read_normalizers, read_trimming

if TYPE_CHECKING:
    from .batch import Batch


_LITTLE = 20_000
"""Characters that one thread encodes in some 0.1 ms."""


class Snapshot:
    """Immutable, and safe to share between threads. Raises `EncodingFileError` for what bpeline does not serve."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, threads: int | None) -> None:
        self.tokenizer = Tokenizer.load(tokenizer)
        self._threads = threads
        self._lock = threading.Lock()
        self._json = tokenizer.to_str().encode()
        content = json.loads(self._json)
        added = content["added_tokens"]
        pipeline = _without_model(content)
        self._post_processor = pipeline.post_processor
        self._layouts: dict[tuple[bool, bool], Layout | None] = {}
        self.trimming = read_trimming(content["post_processor"], self._post_processor)
        normalized = [token["content"] for token in added if token["normalized"]]
        self._normalizers = read_normalizers(content["normalizer"], normalized)
        self.decodes = (
            (content["decoder"] or {}).get("type") == "ByteLevel"
            and all(_decodes_to_itself(token["content"]) for token in added)
            and (pipeline.normalizer is None or all(leave(token, [pipeline.normalizer]) for token in normalized))
        )
        self._as_found_in_text = {
            token["id"]
            for token in added
            if token["lstrip"] or token["rstrip"] or (token["normalized"] and content["normalizer"])
        }

    def layout(self, *, pair: bool, add_special_tokens: bool) -> Layout | None:
        """The layout of the post-processor; None if only tokenizers can do what it does."""
        key = pair, add_special_tokens
        if key not in self._layouts:
            self._layouts[key] = read_layout(self._post_processor, pair=pair, add_special_tokens=add_special_tokens)
        return self._layouts[key]

    def encode(self, texts: Sequence[str], encode_special_tokens: bool) -> list[list[int]]:
        """The ids of each text, with nothing added. `encode_special_tokens` is tokenizers' name for: not parsed."""
        special = "text" if encode_special_tokens else "parse"
        return self.tokenizer.encode_batch(texts, special=special, threads=self._threads_for(texts))

    def offsets(self, texts: Sequence[str], encode_special_tokens: bool) -> list[list[Range]] | None:
        """The offsets of the tokens of each text, not trimmed; None if only tokenizers can tell."""
        if self.trimming is None or self._normalizers is None:
            return None
        if not all(leave(text, self._normalizers) for text in texts):
            return None
        special = "text" if encode_special_tokens else "parse"
        tokenizer = self._without_normalizer
        batch = tokenizer.encode_batch_with_spans(texts, special=special, threads=self._threads_for(texts))
        return [list(zip(*spans.T.tolist(), strict=True)) for _, spans in batch]

    def spell(self, ids: Sequence[int]) -> list[str] | None:
        """The tokens; None if one is not spelled as in the file: with spaces around it that it took, or normalized."""
        if not self._as_found_in_text.isdisjoint(ids):
            return None
        return [self._spellings[id] for id in ids]

    def encode_again(self, batch: "Batch", inputs: list[Any]) -> list[tokenizers.Encoding]:
        """What tokenizers makes of a batch."""
        with self._lock:
            copy = self._copy
            copy.encode_special_tokens = batch.encode_special_tokens
            copy.no_truncation()
            copy.no_padding()
            if batch.truncation is not None:
                copy.enable_truncation(**batch.truncation)
            if batch.padding is not None:
                copy.enable_padding(**batch.padding)
            return copy.encode_batch(
                inputs, is_pretokenized=batch.split_into_words, add_special_tokens=batch.add_special_tokens
            )

    def _threads_for(self, texts: Sequence[str]) -> int | None:
        """One thread for little text: to start others takes longer than to encode it."""
        return 1 if self._threads is None and sum(map(len, texts)) < _LITTLE else self._threads

    @functools.cached_property
    def _copy(self) -> tokenizers.Tokenizer:
        return tokenizers.Tokenizer.from_buffer(self._json)

    @functools.cached_property
    def _without_normalizer(self) -> Tokenizer:
        if not self._normalizers:
            return self.tokenizer
        file = json.dumps(json.loads(self._json) | {"normalizer": None})
        return Tokenizer.load(SimpleNamespace(to_str=lambda: file))

    @functools.cached_property
    def _spellings(self) -> dict[int, str]:
        spellings = ((id, self.tokenizer.id_to_token(id)) for id in range(self.tokenizer.vocab_size))
        return {id: spelling for id, spelling in spellings if spelling is not None}


def _without_model(content: dict[str, Any]) -> tokenizers.Tokenizer:
    """The components of a tokenizer.json but its model and decoder, as objects of their own."""
    pipeline = {key: content[key] for key in ("normalizer", "post_processor")}
    model = {"type": "BPE", "vocab": {}, "merges": []}
    return tokenizers.Tokenizer.from_str(json.dumps(pipeline | {"added_tokens": [], "model": model}))


def _decodes_to_itself(token: str) -> bool:
    """Whether tokenizers' ByteLevel decoder, which takes added tokens for spellings too, gives a token as it is."""
    return token.isascii() or any(character not in CHARACTER_TO_BYTE for character in token)
