"""What stands in the place of a fast tokenizer's `tokenizers.Tokenizer`.

A fast tokenizer of transformers is Python around a `tokenizers.Tokenizer`: it sets truncation and padding there, calls
`encode_batch`, and reads the lists of the encodings. `Backend` answers `encode`, `encode_batch`, `decode` and
`decode_batch` with bpeline and hands everything else to the `tokenizers.Tokenizer`, which also keeps all settings. A
call that may not come out the same (the package's notes list them) is handed on too.

A tokenizer may be changed at any time: by a method, by assigning a component, or inside of a component that was handed
out (`backend.pre_tokenizer.add_prefix_space = True`). The first two are seen here; for the last, the states of the
components that were handed out are compared before each call. Then bpeline's tokenizer is made anew.
"""

import copy
import functools
import warnings
from typing import Any

import tokenizers

from ...errors import BpelineError, EncodingFileError
from .batch import Batch
from .inputs import NotPlain, Texts, read_inputs, read_sequence
from .snapshot import Snapshot

_COMPONENTS = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder")

_OF_MODEL = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


def _component(name: str) -> Any:
    """A property for a component of the tokenizer."""

    def get(self: "Backend") -> Any:
        self._handed_out.add(name)
        return getattr(self._original, name)

    def set(self: "Backend", value: Any) -> None:
        self._changing(setattr, self._original, name, value)

    return property(get, set)


class Backend:
    """A `tokenizers.Tokenizer` that encodes and decodes with bpeline.

    Whoever else has `tokenizer` must not change it. `threads` is that of `bpeline.Tokenizer.encode_batch`. Raises
    `EncodingFileError` if bpeline does not serve the tokenizer.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, *, threads: int | None = None) -> None:
        self._original = tokenizer
        self._threads = threads
        self._handed_out: set[str] = set()
        self._states = self._read_states()
        self._snapshot: Snapshot | None = Snapshot(tokenizer, threads)
        self._is_stale = False
        self.id_to_token = tokenizer.id_to_token  # transformers calls these once for each token
        self.token_to_id = tokenizer.token_to_id

    normalizer = _component("normalizer")
    pre_tokenizer = _component("pre_tokenizer")
    model = _component("model")
    post_processor = _component("post_processor")
    decoder = _component("decoder")

    @property
    def encode_special_tokens(self) -> bool:
        """As in `tokenizers.Tokenizer`: whether special tokens are ordinary text."""
        return bool(self._original.encode_special_tokens)

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._original.encode_special_tokens = value

    # --- With bpeline ---

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """As `tokenizers.Tokenizer.encode`; returns an `Encoding` of this package or of tokenizers."""
        try:
            sequences = [sequence] if pair is None else [sequence, pair]
            input = [read_sequence(each, is_pretokenized) for each in sequences]
            return self._batch([input], is_pretokenized, add_special_tokens).encodings()[0]
        except (NotPlain, BpelineError):
            return self._original.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Any]:
        """As `tokenizers.Tokenizer.encode_batch`; returns each an `Encoding` of this package or of tokenizers."""
        try:
            inputs = read_inputs(input, is_pretokenized)
            return list(self._batch(inputs, is_pretokenized, add_special_tokens).encodings())
        except (NotPlain, BpelineError):
            return self._original.encode_batch(input, is_pretokenized, add_special_tokens)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """As `tokenizers.Tokenizer.decode`."""
        snapshot = self._current()
        if snapshot is not None and snapshot.decodes and type(ids) is list:
            try:
                return snapshot.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
            except (BpelineError, TypeError):
                pass  # tokenizers passes over an id that no token has, and has its own words for the rest
        return self._original.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Any, skip_special_tokens: bool = True) -> list[str]:
        """As `tokenizers.Tokenizer.decode_batch`."""
        if type(sequences) is not list:
            return self._original.decode_batch(sequences, skip_special_tokens)
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # --- With tokenizers ---

    def add_tokens(self, *args: Any, **kwargs: Any) -> Any:
        """As `tokenizers.Tokenizer.add_tokens`."""
        return self._changing(self._original.add_tokens, *args, **kwargs)

    def add_special_tokens(self, *args: Any, **kwargs: Any) -> Any:
        """As `tokenizers.Tokenizer.add_special_tokens`."""
        return self._changing(self._original.add_special_tokens, *args, **kwargs)

    def train(self, *args: Any, **kwargs: Any) -> None:
        """As `tokenizers.Tokenizer.train`."""
        self._changing(self._original.train, *args, **kwargs)

    def train_from_iterator(self, *args: Any, **kwargs: Any) -> None:
        """As `tokenizers.Tokenizer.train_from_iterator`."""
        self._changing(self._original.train_from_iterator, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._original, name)

    def __copy__(self) -> "Backend":
        return Backend(copy.copy(self._original), threads=self._threads)  # that copies all of it

    def __reduce__(self) -> Any:
        return functools.partial(Backend, threads=self._threads), (self._original,)

    # --- What the tokenizer is at the time ---

    def _batch(self, inputs: list[list[Texts]], split_into_words: Any, add_special_tokens: Any) -> Batch:
        snapshot = self._current()
        if snapshot is None or type(split_into_words) is not bool or type(add_special_tokens) is not bool:
            raise NotPlain
        return Batch(
            snapshot,
            inputs,
            split_into_words=split_into_words,
            add_special_tokens=add_special_tokens,
            encode_special_tokens=self._original.encode_special_tokens,
            truncation=self._original.truncation,
            padding=self._original.padding,
        )

    def _changing(self, change: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return change(*args, **kwargs)
        finally:
            self._is_stale = True

    def _current(self) -> Snapshot | None:
        """The tokenizer as it is now; None if it has become one that bpeline does not serve."""
        if self._is_stale or any(self._state(name) != self._states[name] for name in self._handed_out):
            self._states = self._read_states()
            self._is_stale = False
            try:
                self._snapshot = Snapshot(self._original, self._threads)
            except EncodingFileError as error:
                self._snapshot = None
                warnings.warn(f"from here on tokenizers encodes, not bpeline: {error}", stacklevel=5)
        return self._snapshot

    def _read_states(self) -> dict[str, Any]:
        return {name: self._state(name) for name in _COMPONENTS}

    def _state(self, name: str) -> Any:
        component = getattr(self._original, name)
        if component is None:
            return None
        if name == "model":  # its vocabulary cannot be changed in place
            return type(component), [getattr(component, attribute, None) for attribute in _OF_MODEL]
        return component.__getstate__()
