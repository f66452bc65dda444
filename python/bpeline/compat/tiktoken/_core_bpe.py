"""What tiktoken's Rust core does, over a bpeline tokenizer: the same ids, and the same types and words of errors.

Where tiktoken's rules are bpeline's too, a call goes straight through. They differ in three places:
- text that the pattern does not match is dropped. Patterns that are known to match all text (`_covering.py`) never do
  that; with others the matches are found first and each is encoded as a piece, at the speed of Python;
- a vocabulary may lack single bytes, as long as no text needs them. Each such byte gets a token here, of an id above all
  others, and ids that hold one are a `KeyError` (tiktoken panics);
- an id that no token has is a `KeyError`, one that does not fit 32 bits an `OverflowError`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ..._reference.stages import SpecialTokens
from ...errors import BpelineError, InvalidTextError, TokenIdError
from ...tokenizer import Methods, Tokenizer
from ._covering import matches_all_text
from ._unstable import completions, lengthen

if TYPE_CHECKING:
    from numpy.typing import NDArray


Special: TypeAlias = Literal["error", "parse", "text"] | AbstractSet[str]


class CoreBPE:
    """Encodes and decodes without a look at what is disallowed. Made from ranks, special tokens and a pattern.

    >>> from bpeline.compat.tiktoken import get_encoding
    >>> get_encoding("gpt2")._core_bpe.encode_ordinary("hello world")
    [31373, 995]
    """

    def __init__(
        self,
        encoder: Mapping[bytes, int],
        special_tokens_encoder: Mapping[str, int],
        pattern: str,
        *,
        tokenizer: type[Methods] = Tokenizer,
    ) -> None:
        try:
            end = max(map(index, [*encoder.values(), *special_tokens_encoder.values()]), default=-1) + 1
            missing = (byte for byte in map(_byte, range(256)) if byte not in encoder)
            ranks = {**encoder, **{byte: id for id, byte in enumerate(missing, start=end)}}
            # In a group, for a name is no name of a pattern here.
            group = f"(?:{pattern})" if re.fullmatch(r"[\w-]+", pattern) else pattern
            made = tokenizer.from_ranks(ranks, pattern=group, special_tokens=special_tokens_encoder, name="tiktoken")
        except (BpelineError, TypeError):
            _check_arguments(encoder, special_tokens_encoder, pattern)
            raise
        self._start(made, pattern, end)

    @classmethod
    def over(cls, tokenizer: Methods, pattern: str) -> "CoreBPE":
        """Over a tokenizer whose pattern cuts as `pattern` does."""
        self = cls.__new__(cls)
        self._start(tokenizer, pattern, tokenizer.vocab_size)
        return self

    def _start(self, tokenizer: Methods, pattern: str, end: int) -> None:
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.special_tokens
        self._special_ids = set(self._special_tokens.values())
        self._drops = not matches_all_text(pattern)
        self._end = end  # ids from here on are of bytes without a token
        self._is_whole = end == tokenizer.vocab_size
        self._sorted: list[bytes] | None = None

    # --- Encoding ---

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which special tokens are ordinary text."""
        return self.encode_as(_text(text), "text")

    def encode(self, text: str, allowed_special: AbstractSet[str]) -> list[int]:
        """The ids of a text in which the allowed special tokens are parsed."""
        return self.encode_as(text, self._parsed(text, allowed_special))

    def encode_to_tiktoken_buffer(self, text: str, allowed_special: AbstractSet[str]) -> "NDArray[np.uint32]":
        """What `encode` gives, as a read-only array."""
        special = self._parsed(text, allowed_special)
        if self._drops:
            ids: Any = self.encode_as(text, special)
        else:
            ids = self._tokenizer.encode_array(text, special=special)
            self._check(ids)
        array = np.asarray(ids, np.uint32)
        array.flags.writeable = False
        return array

    def encode_with_unstable(self, text: str, allowed_special: AbstractSet[str]) -> tuple[list[int], list[list[int]]]:
        """The ids that stay whatever follows, and what may come after them."""
        special = self._parsed(text, allowed_special)
        ids = self.encode_as(text, special)
        unstable = lengthen(self, ids, self._tokens_of_the_last_piece(text, special))
        stable = ids[: len(ids) - unstable]
        found = completions(self, self.decode_bytes(ids[len(stable) :])) if unstable else set()
        return stable, [list(completion) for completion in found]

    def encode_single_token(self, piece: bytes) -> int:
        """The id of a token, special or not."""
        id = self._tokenizer.token_to_id(_bytes(piece))
        if id is None or id >= self._end:
            raise KeyError(piece)
        return id

    def encode_single_piece(self, piece: bytes) -> list[int]:
        """The ids of bytes taken as one piece."""
        id = self._tokenizer.token_to_id(_bytes(piece))
        return self.merge(piece) if id is None or id in self._special_ids or id >= self._end else [id]

    def _encode_bytes(self, text: bytes) -> list[int]:
        try:
            return self.encode_ordinary(_bytes(text).decode())
        except UnicodeDecodeError as error:
            valid, rest = text[: error.start].decode(), text[error.start :]
        # What follows the last whole piece is merged as one piece, whatever it would be cut into.
        ids = self.encode_ordinary(valid)
        unstable = lengthen(self, ids, self._tokens_of_the_last_piece(valid, "text"))
        stable = ids[: len(ids) - unstable]
        return stable + self.encode_single_piece(self.decode_bytes(ids[len(stable) :]) + rest)

    def merge(self, piece: bytes) -> list[int]:
        """The ids of bytes merged as one piece, even if they are a token that no merges make."""
        ids = self._tokenizer.encoding.merge_piece(piece)
        self._check(ids)
        return ids

    def encode_as(self, text: str, special: Special) -> list[int]:
        """The ids of a text; `special` is bpeline's. Raises `SpecialTokenError`, and `UnicodeEncodeError` for surrogates."""
        if not self._drops:
            try:
                ids = self._tokenizer.encode(text, special=special)
            except InvalidTextError:
                _encodable(text)
                raise
            if not self._is_whole:
                self._check(ids)
            return ids
        if special == "error":
            self._tokenizer.encode(_encodable(text), special=special)
        ids = []
        for part, id in self._cut(_encodable(text), special):
            if id is not None:
                ids.append(id)
                continue
            for piece in self._tokenizer.encoding.matches(part):
                ids += self.encode_single_piece(piece.encode())
        return ids

    def encode_batch_as(self, texts: list[str], threads: int | None, special: Special) -> list[list[int]]:
        """The ids of each text, errors as `encode_as`; but of surrogates it is an `InvalidTextError`."""
        if self._drops:
            return [self.encode_as(text, special) for text in texts]
        batch = self._tokenizer.encode_batch(texts, threads=threads, special=special)
        for ids in batch:
            self._check(ids)
        return batch

    def _cut(self, text: str, special: Special) -> Iterator[tuple[str, int | None]]:
        literals: Iterable[str] = () if special in ("text", "error") else special
        if special == "parse":
            literals = self._special_tokens
        return SpecialTokens({literal: self._special_tokens[literal] for literal in literals}).split(text)

    def _tokens_of_the_last_piece(self, text: str, special: Special) -> int:
        """How many they are; 0 after a special token."""
        *_, (part, id) = [("", None), *self._cut(text, special)]
        matches = self._tokenizer.encoding.matches(part) if id is None else []
        return len(self.encode_single_piece(matches[-1].encode())) if matches else 0

    def _parsed(self, text: str, allowed_special: AbstractSet[str]) -> Special:
        """The allowed special tokens that are any, after a look at the kind of both arguments."""
        _encodable(_text(text))
        kind: object = allowed_special
        if not isinstance(kind, set | frozenset):
            raise _not_a(allowed_special, "set")
        if allowed_special == self._special_tokens.keys():
            return "parse"
        return {literal for literal in allowed_special if _encodable(_text(literal)) in self._special_tokens}

    def _check(self, ids: "Sequence[int] | NDArray[Any]") -> None:
        """Raises `KeyError` if a byte without a token is among them."""
        if not self._is_whole:
            for id in ids:
                if id >= self._end:
                    raise KeyError(f"no token has the byte {self._tokenizer.token_bytes(int(id))!r}")

    # --- Decoding ---

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids."""
        kind: object = tokens
        if isinstance(kind, str):
            raise TypeError("Can't extract `str` to `Vec`")
        if isinstance(kind, dict | np.generic) or not hasattr(type(tokens), "__getitem__"):
            raise _not_a(tokens, "Sequence")
        if self._is_whole:
            try:
                return self._tokenizer.decode_bytes(tokens)
            except (TokenIdError, TypeError, ValueError, NotImplementedError):
                pass  # for the words of the error, or for a sequence of another kind
        return b"".join([self._known(id) for id in [_u32(token) for token in tokens]])

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id."""
        found = self.token_bytes(_u32(token))
        if found is None:
            raise KeyError(str(index(token)))
        return found

    def is_special(self, id: int) -> bool:
        """Whether an id is that of a special token."""
        return id in self._special_ids

    def token_bytes(self, id: int) -> bytes | None:
        """The bytes of one id, or None."""
        return self._tokenizer.token_bytes(id) if id < self._end else None

    def _known(self, id: int) -> bytes:
        found = self.token_bytes(id)
        if found is None:
            raise KeyError(f"Invalid token for decoding: {id}")
        return found

    # --- The vocabulary ---

    def ranks(self) -> dict[bytes, int]:
        """The bytes of every token that is not special, and its id, by id."""
        tokens = ((self.token_bytes(id), id) for id in range(self._end) if id not in self._special_ids)
        return {token: id for token, id in tokens if token is not None}

    def sorted_tokens(self) -> list[bytes]:
        """The bytes of every token that is not special, sorted: one list, made at the first call."""
        if self._sorted is None:
            self._sorted = sorted(self.ranks())
        return self._sorted

    def token_byte_values(self) -> list[bytes]:
        """The bytes of every token that is not special, sorted."""
        return self.sorted_tokens().copy()


def _byte(number: int) -> bytes:
    return bytes([number])


def _u32(token: int) -> int:
    number = index(token)
    if not 0 <= number < 1 << 32:
        raise OverflowError("out of range integral type conversion attempted")
    return number


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise _not_a(text, "str")
    return text


def _bytes(piece: bytes) -> bytes:
    if not isinstance(piece, bytes):
        raise _not_a(piece, "bytes")
    return piece


def _encodable(text: str) -> str:
    """The text. Raises the `UnicodeEncodeError` of a surrogate."""
    text.encode()
    return text


def _not_a(thing: object, kind: str) -> TypeError:
    name = "'None'" if thing is None else f"'{type(thing).__name__}' object"
    return TypeError(f"{name} is not an instance of '{kind}'")


def _check_arguments(encoder: Mapping[bytes, int], special_tokens_encoder: Mapping[str, int], pattern: str) -> None:
    """Raises what tiktoken does for arguments of other types and for ids that do not fit 32 bits."""
    for token, rank in encoder.items():
        _bytes(token)
        _u32(rank)
    for literal, id in special_tokens_encoder.items():
        _encodable(_text(literal))
        _u32(id)
    _text(pattern)
