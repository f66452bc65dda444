"""The interface that both backends have: bpeline._native (Rust) and bpeline._reference (Python)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

from ._types import ArrowTexts, Errors, Ids, Special, Text, TokenArray

__all__ = ["ArrowTokens", "Core", "Encoding", "PieceCounts", "are_utf8", "json_texts", "separate", "start_writing"]

@final
class ArrowTokens:
    def __new__(cls, tokens: TokenArray, offsets: NDArray[np.int64]) -> Self: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Encoding:
    @staticmethod
    def builtin(name: str) -> Encoding: ...
    @staticmethod
    def from_gpt2_files(
        vocab: str,
        merges: str,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> Encoding: ...
    @staticmethod
    def from_tiktoken_file(
        path: str,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> Encoding: ...
    @staticmethod
    def from_ranks(
        ranks: Mapping[bytes, int],
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> Encoding: ...
    @staticmethod
    def from_tokenizer_json(
        source: str,
        name: str,
        pattern: str,
        vocabulary: Mapping[str, int],
        merges: list[tuple[str, str]],
        special_tokens: Mapping[str, int],
        whole_pieces: bool,
        spec: str | None,
    ) -> Encoding: ...
    @staticmethod
    def from_bytes(data: Buffer) -> Encoding: ...
    def to_bytes(self) -> bytes: ...
    def extend(self, special_tokens: Mapping[str, int]) -> Encoding: ...
    @property
    def name(self) -> str: ...
    @property
    def is_builtin(self) -> bool: ...
    @property
    def pattern(self) -> str: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def fingerprint(self) -> bytes: ...
    @property
    def whole_pieces(self) -> bool: ...
    @property
    def spec(self) -> str | None: ...
    def token_bytes(self, id: int) -> bytes | None: ...
    def token_to_id(self, token: str | bytes) -> int | None: ...
    def id_to_token(self, id: int) -> str | None: ...
    def merges(self) -> list[tuple[int, int]] | None: ...
    def matches(self, text: str) -> list[str]: ...
    def merge_piece(self, piece: bytes) -> list[int]: ...

@disjoint_base
class Core:
    def __new__(cls, encoding: Encoding, *, cache_bytes: int | None = None) -> Self: ...
    @property
    def encoding(self) -> Encoding: ...
    @property
    def cache_bytes(self) -> int: ...
    def encode(
        self,
        text: Text,
        *,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> list[int]: ...
    def encode_array(
        self,
        text: Text,
        *,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> TokenArray: ...
    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> list[list[int]]: ...
    def _safe_cut(self, text: Text, *, special: Special = "parse") -> int: ...
    def _encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> tuple[TokenArray, NDArray[np.int64]]: ...
    def encode_arrow(
        self,
        array: ArrowTexts,
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> ArrowTokens: ...
    def _encode_documents(
        self,
        array: ArrowTexts,
        *,
        threads: int | None,
        special: Special,
        end_of_text: int,
        place: str,
        if_empty: bool,
        begun: bool,
        open: bool,
    ) -> ArrowTokens: ...
    def encode_with_spans(
        self,
        text: Text,
        *,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> tuple[list[int], NDArray[np.int64]]: ...
    def encode_batch_with_spans(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> list[tuple[list[int], NDArray[np.int64]]]: ...
    def count(
        self,
        text: Text,
        *,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> int: ...
    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> NDArray[np.int64]: ...
    def truncate(
        self, text: Text, max_tokens: int, *, special: Special = "parse", errors: Errors = "strict"
    ) -> str: ...
    def decode(self, ids: Ids, *, errors: str = "replace", skip_special_tokens: bool = False) -> str: ...
    def decode_bytes(self, ids: Ids, *, skip_special_tokens: bool = False) -> bytes: ...
    def decode_batch(
        self, batch: Iterable[Ids], *, errors: str = "replace", skip_special_tokens: bool = False
    ) -> list[str]: ...

@final
class PieceCounts:
    def __new__(cls, encoding: Encoding) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    def add(self, texts: Iterable[Text], *, first: int = 0, threads: int | None = None) -> None: ...
    def add_counts(self, counts: Mapping[bytes, int]) -> None: ...
    def cut(self, data: bytes) -> int: ...
    def prune(self, most: int) -> tuple[int, int]: ...
    def merges(
        self,
        most: int,
        *,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        ties: Literal["tokenizers", "first-seen"] = "tokenizers",
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[tuple[int, int]]: ...

def separate(memory: Buffer, separator: str, is_last: bool) -> tuple[NDArray[np.int64], int]: ...
def json_texts(block: Buffer, field: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], int] | None: ...
def are_utf8(array: ArrowTexts) -> bool: ...
def start_writing(descriptor: int, begin: int, length: int) -> None: ...
