"""`Encoding`, as tiktoken has it: what it checks and repairs before bpeline encodes.

Texts are checked for special tokens that are not allowed, surrogates are repaired by way of UTF-16 (but not in
`encode_to_numpy` and `encode_with_unstable`, as in tiktoken), and batches go to bpeline as a whole.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import InvalidTextError, SpecialTokenError
from ...tokenizer import Methods, Tokenizer
from ._core_bpe import CoreBPE
from ._special import NONE, Allowed, Disallowed, Option, as_option, check, is_all, raise_disallowed_special_token

__all__ = ["Encoding", "raise_disallowed_special_token"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Encoding:
    """A tokenizer with tiktoken's methods. `get_encoding` makes those that are built in.

    `mergeable_ranks` gives the bytes of each token its rank, which is its id too; `special_tokens` gives literals their
    ids; `pat_str` is the regular expression that cuts text into pieces, and text that it does not match is dropped.
    With `explicit_n_vocab`, that many tokens in all must have the ids from 0 on, or it is an `AssertionError`.

    Raises `ValueError` for a pattern that cannot be used and for ids that repeat or lie outside 0 to 16777215.

    >>> from bpeline.compat.tiktoken import Encoding
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    >>> enc = Encoding("small", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={"<end>": 257})
    >>> enc.encode("abc<end>", allowed_special="all")
    [256, 99, 257]
    """

    _Tokenizer: ClassVar[type[Methods]] = Tokenizer

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self.max_token_value = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert self.max_token_value == explicit_n_vocab - 1
        self._special_token_values = set(special_tokens.values())
        self._core_bpe = CoreBPE(mergeable_ranks, special_tokens, pat_str, tokenizer=self._Tokenizer)

    @classmethod
    def _of(cls, tokenizer: Methods, name: str, pat_str: str) -> "Encoding":
        """Over a tokenizer whose pattern is, or cuts as, `pat_str`. The ranks are listed when they are asked for."""
        self = cls.__new__(cls)
        self.name = name
        self._pat_str = pat_str
        self._special_tokens = tokenizer.special_tokens
        self.max_token_value = tokenizer.vocab_size - 1
        self._special_token_values = set(self._special_tokens.values())
        self._core_bpe = CoreBPE.over(tokenizer, pat_str)
        return self

    @functools.cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self._core_bpe.ranks()

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # --- Encoding ---

    def encode_ordinary(self, text: str) -> list[int]:
        """The token ids of a text in which special tokens are ordinary text.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").encode_ordinary("hello world")
        [31373, 995]
        """
        try:
            return self._core_bpe.encode_ordinary(text)
        except UnicodeEncodeError:
            return self._core_bpe.encode_ordinary(_repair(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[int]:
        """The token ids of a text.

        Special tokens of `allowed_special` become their ids. Those of `disallowed_special` ("all": the ones that are not
        allowed) raise `ValueError` where they occur; it may be empty, and then they are ordinary text.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> enc = get_encoding("gpt2")
        >>> enc.encode("hello world")
        [31373, 995]
        >>> enc.encode("<|endoftext|>", allowed_special={"<|endoftext|>"})
        [50256]
        >>> enc.encode("<|endoftext|>", disallowed_special=())
        [27, 91, 437, 1659, 5239, 91, 29]
        """
        special = as_option(allowed_special, disallowed_special)
        if special and type(text) is str:
            try:
                return self._core_bpe.encode_as(text, special)
            except (SpecialTokenError, UnicodeEncodeError):
                pass  # for the words of the one, and to repair the other
        allowed = check(text, allowed_special, disallowed_special, self.special_tokens_set)
        try:
            return self._core_bpe.encode(text, allowed)
        except UnicodeEncodeError:
            return self._core_bpe.encode(_repair(text), allowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = "all",
    ) -> "NDArray[np.uint32]":
        """What `encode` gives, as a read-only 1-D `uint32` array. A surrogate is a `UnicodeEncodeError` here.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").encode_to_numpy("hello world")
        array([31373,   995], dtype=uint32)
        """
        allowed = check(text, allowed_special, disallowed_special, self.special_tokens_set)
        return self._core_bpe.encode_to_tiktoken_buffer(text, allowed)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """What `encode_ordinary` gives for each text, in order, on `num_threads` threads at most.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").encode_ordinary_batch(["hello world", "goodbye world"])
        [[31373, 995], [11274, 16390, 995]]
        """
        return self._batch(text, num_threads, "text", self.encode_ordinary)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """What `encode` gives for each text, in order, on `num_threads` threads at most.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").encode_batch(["hello world", "goodbye world"])
        [[31373, 995], [11274, 16390, 995]]
        """
        if not is_all(disallowed_special):
            disallowed_special = frozenset(disallowed_special)
        elif not is_all(allowed_special):
            check("", allowed_special, "all", self.special_tokens_set)  # raises for what is no set
        one = functools.partial(self.encode, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return self._batch(text, num_threads, as_option(allowed_special, disallowed_special), one)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Allowed = NONE,
        disallowed_special: Disallowed = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that stay whatever text follows, and the sequences of ids that may come next, in no order.

        The first are those of a part of the text, and each of the others begins with the rest of it. This is as
        approximate as it is in tiktoken, and exactly so.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> enc = get_encoding("gpt2")
        >>> stable, completions = enc.encode_with_unstable("hello fanta")
        >>> enc.decode(stable), sorted(completions)[0], all(enc.decode(c).startswith(" fanta") for c in completions)
        ('hello', [277, 4910], True)
        """
        allowed = check(text, allowed_special, disallowed_special, self.special_tokens_set)
        return self._core_bpe.encode_with_unstable(text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special or not, by its text or its bytes. Raises `KeyError` if there is none.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").encode_single_token("hello")
        31373
        """
        return self._core_bpe.encode_single_token(_to_bytes(text_or_bytes))

    # --- Decoding ---

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of token ids. Raises `KeyError` for an id that no token has.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_bytes([31373, 995])
        b'hello world'
        """
        return self._core_bpe.decode_bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of token ids; `errors` is that of `bytes.decode`. Raises `KeyError` for an id that no token has.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode([31373, 995])
        'hello world'
        """
        return self._core_bpe.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token, special or not. Raises `KeyError` if there is none.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_single_token_bytes(31373)
        b'hello'
        """
        return self._core_bpe.decode_single_token_bytes(token)

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_tokens_bytes([31373, 995])
        [b'hello', b' world']
        """
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of token ids, and the character of it that each token begins in.

        Raises `UnicodeDecodeError` if the bytes of the tokens are no UTF-8.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_with_offsets([31373, 995])
        ('hello world', [0, 5])
        """
        parts = self.decode_tokens_bytes(tokens)
        characters = 0
        offsets = []
        for part in parts:
            # A token that begins with a continuation byte belongs to the character before.
            offsets.append(max(0, characters - _is_continuation(part[0])))
            characters += sum(not _is_continuation(byte) for byte in part)
        return b"".join(parts).decode("utf-8", errors="strict"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """What `decode` gives for each list of ids, in order.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_batch([[31373], [31373, 995]])
        ['hello', 'hello world']
        """
        _threads(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """What `decode_bytes` gives for each list of ids, in order.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").decode_bytes_batch([[31373], [31373, 995]])
        [b'hello', b'hello world']
        """
        _threads(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # --- The vocabulary ---

    def token_byte_values(self) -> list[bytes]:
        """The bytes of every token that is not special, sorted.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").token_byte_values()[:2]
        [b'\\x00', b'\\x01']
        """
        return self._core_bpe.token_byte_values()

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>. Raises `KeyError` where that is no special token.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").eot_token
        50256
        """
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The literals of the special tokens.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").special_tokens_set
        {'<|endoftext|>'}
        """
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").is_special_token(50256)
        True
        """
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id + 1.

        >>> from bpeline.compat.tiktoken import get_encoding
        >>> get_encoding("gpt2").n_vocab
        50257
        """
        return self.max_token_value + 1

    # --- Private, but used by others ---

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        return self._core_bpe.encode_single_piece(_to_bytes(text_or_bytes))

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        # tiktoken splits with Python's regex here, whose tables are of another Unicode version. The ids meant are these.
        return self._core_bpe.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        return self._core_bpe._encode_bytes(text)

    def __getstate__(self) -> object:
        from . import registry

        registered = registry.ENCODINGS.get(self.name)
        if registered is not None and registered.__dict__ is self.__dict__:
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: Any) -> None:
        from . import registry

        if isinstance(value, str):
            self.__dict__ = registry.get_encoding(value).__dict__
        else:
            self.__init__(**value)  # type: ignore[misc]

    # --- What the methods have in common ---

    def _batch(
        self,
        texts: Iterable[str],
        num_threads: int,
        special: Option | None,
        one: Callable[[str], list[int]],
    ) -> list[list[int]]:
        """All at once where `special` says how; else, and where a text is at fault, one after the other."""
        threads = _threads(num_threads)
        listed = list(texts)
        if special and all(type(text) is str for text in listed):
            try:
                return self._core_bpe.encode_batch_as(listed, threads, special)
            except (SpecialTokenError, InvalidTextError, UnicodeEncodeError):
                pass
        return list(map(one, listed))


def _is_continuation(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _repair(text: str) -> str:
    """A surrogate pair becomes its character, a lone surrogate U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _threads(num_threads: float | None) -> int | None:
    """The number for bpeline, where None is one for each core."""
    if num_threads is None:
        return None
    if num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")
    return ceil(num_threads)


def _to_bytes(text_or_bytes: str | bytes) -> bytes:
    return text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
