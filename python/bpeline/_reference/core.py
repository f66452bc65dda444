"""The reference encoder behind the interface that both backends have (_native.pyi): the stages and what is around them."""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import ArrowTexts, Errors, Ids, Special, Text, TokenArray
from ..errors import InvalidTextError, SpecialTokenError, TokenIdError
from . import arrow_text, stages
from .arrow_lists import ArrowTokens
from .encoding import Encoding
from .messages import code_point, quote

Pieces: TypeAlias = Iterator[tuple[str, Sequence[int]]]
"""Each piece or special token of a text, in order, with its ids. Together they are the text."""

T = TypeVar("T")

# Room for most pieces of a large corpus: an entry takes about 300 bytes.
_DEFAULT_CACHE_BYTES = 64 << 20


class Core:
    """Encodes and decodes with one encoding. Immutable to its users; may be shared between threads.

    `cache_bytes` is about how much memory the cache of pieces may take; 0 is no cache.

    >>> from bpeline._reference import Core, Encoding
    >>> Core(Encoding.builtin("gpt2")).encode("hello world")
    [31373, 995]
    """

    __slots__ = ("_cache", "_cache_bytes", "_cached_bytes", "_encoding")

    def __init__(self, encoding: Encoding, *, cache_bytes: int | None = None) -> None:
        given: object = encoding
        if not isinstance(given, Encoding):
            kind = type(given).__name__
            raise TypeError(f"encoding must be an Encoding, not {kind}; bpeline.load() makes tokenizers")
        if cache_bytes is not None and index(cache_bytes) < 0:
            raise ValueError(f"cache_bytes must be at least 0, not {cache_bytes}")
        self._encoding = encoding
        self._cache_bytes = _DEFAULT_CACHE_BYTES if cache_bytes is None else cache_bytes
        self._cache: dict[str, Sequence[int]] = {}
        self._cached_bytes = 0

    @property
    def encoding(self) -> Encoding:
        """All that fixes the ids."""
        return self._encoding

    @property
    def cache_bytes(self) -> int:
        """About how much memory the cache may take, in bytes."""
        return self._cache_bytes

    # --- Encoding ---

    def encode(self, text: Text, *, special: Special = "parse", errors: Errors = "strict") -> list[int]:
        """The token ids of a text.

        `text` is a `str`, or anything bytes-like that holds UTF-8. `special` says what to do with the literals of
        special tokens: "parse" them to their ids, take them as "text", raise an "error", or parse only those of a set.
        `errors="replace"` turns invalid UTF-8 and lone surrogates into U+FFFD. One text is one thread's work;
        `encode_batch([text])` spreads a large one over the cores.

        Raises `InvalidTextError` for invalid text under `errors="strict"`, `SpecialTokenError` under
        `special="error"`, `TypeError` for what is no text, `ValueError` for an unknown option.

        >>> import bpeline
        >>> tok = bpeline.load("gpt2")
        >>> tok.encode("hello world<|endoftext|>")
        [31373, 995, 50256]
        >>> tok.encode("<|endoftext|>", special="text")
        [27, 91, 437, 1659, 5239, 91, 29]
        """
        return _ids(self._pieces(text, special, errors))

    def encode_array(self, text: Text, *, special: Special = "parse", errors: Errors = "strict") -> TokenArray:
        """The token ids as a 1-D array: `uint16` if every id of the encoding fits, else `uint32`. Errors as `encode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_array("hello world")
        array([31373,   995], dtype=uint16)
        """
        return self._array(self.encode(text, special=special, errors=errors))

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
    ) -> list[list[int]]:
        """The token ids of each text, in order.

        `threads` is how many to use at most: None for one per core, 1 to stay on this one. (The reference backend
        always does.) With GPT-2's pattern a large document is spread over them too. Errors as `encode`, with the number
        of the document; `ValueError` for `threads` below 1.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_batch(["hello", "", "hello world"])
        [[31373], [], [31373, 995]]
        """
        return list(self._each(_ids, texts, threads, special, errors))

    def _encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
    ) -> tuple[TokenArray, NDArray[np.int64]]:
        """The ids of all texts in one array, and where each begins and the last ends."""
        tokens, offsets = array("I"), array("q", [0])
        for ids in self._each(_ids, texts, threads, special, errors):
            tokens.extend(ids)
            offsets.append(len(tokens))
        return self._array(tokens), np.array(offsets, np.int64)

    def encode_arrow(
        self,
        array: ArrowTexts,
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
    ) -> ArrowTokens:
        """The token ids of each text of an Arrow array or stream, as Arrow lists of `uint16` or `uint32`.

        `array` is anything with `__arrow_c_array__` or `__arrow_c_stream__` (a column of pyarrow, polars, pandas, a DuckDB
        result) that holds strings of any kind, or binary that is UTF-8, or a table with one such column. It is read
        where it lies; nulls stay nulls, and chunks chunks. `pyarrow.array`, `pyarrow.chunked_array` and
        `polars.Series` take the result, and copy nothing.

        Options and errors as those of `encode_batch`, positions in bytes. Raises `TypeError` for a type that holds no text,
        `ArrowError` for data that is malformed, as far as that can be seen, and for a stream that fails.

        >>> import pyarrow, bpeline
        >>> tokens = bpeline.load("gpt2").encode_arrow(pyarrow.array(["hello world", None, "hello"]))
        >>> tokens
        <bpeline.ArrowTokens: 3 documents (1 null), 3 tokens, uint16>
        >>> pyarrow.array(tokens).to_pylist()
        [[31373, 995], None, [31373]]
        """
        self._encode_ragged([], threads=threads, special=special, errors=errors)  # before anything is read
        chunks = arrow_text.read(array)
        # A null has no ids, like an empty text.
        texts = [text or b"" for chunk in chunks for text in chunk]
        tokens, offsets = self._encode_ragged(texts, threads=threads, special=special, errors=errors)
        return ArrowTokens._of_chunks(tokens, offsets, [[text is not None for text in chunk] for chunk in chunks])

    def encode_with_spans(
        self, text: Text, *, special: Special = "parse", errors: Errors = "strict"
    ) -> tuple[list[int], NDArray[np.int64]]:
        """The token ids, and which characters each covers: an `(n, 2)` int64 array of [start, end) in characters.

        Tokens that share a character share its span. Of bytes, the characters are those of the decoded text; under
        `errors="replace"` those of the repaired one. Errors as `encode`.

        >>> import bpeline
        >>> ids, spans = bpeline.load("gpt2").encode_with_spans("hé 👍")
        >>> ids, spans.tolist()
        ([71, 2634, 50169, 235], [[0, 1], [1, 2], [2, 4], [3, 4]])
        """
        return self._with_spans(self._pieces(text, special, errors))

    def encode_batch_with_spans(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
    ) -> list[tuple[list[int], NDArray[np.int64]]]:
        """What `encode_with_spans` gives for each text, in order. Errors as `encode_batch`.

        >>> import bpeline
        >>> [(ids, spans.tolist()) for ids, spans in bpeline.load("gpt2").encode_batch_with_spans(["hello", "a b"])]
        [([31373], [[0, 5]]), ([64, 275], [[0, 1], [1, 3]])]
        """
        return list(self._each(self._with_spans, texts, threads, special, errors))

    def count(self, text: Text, *, special: Special = "parse", errors: Errors = "strict") -> int:
        """How many tokens a text has: the length of what `encode` gives. Errors as `encode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").count("hello world")
        2
        """
        return _count(self._pieces(text, special, errors))

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
    ) -> NDArray[np.int64]:
        """How many tokens each text has: a 1-D int64 array. Errors as `encode_batch`.

        >>> import bpeline
        >>> bpeline.load("gpt2").count_batch(["hello", "", "hello world"])
        array([1, 0, 2])
        """
        return np.array(list(self._each(_count, texts, threads, special, errors)), np.int64)

    def truncate(self, text: Text, max_tokens: int, *, special: Special = "parse", errors: Errors = "strict") -> str:
        """The longest prefix that encodes to at most `max_tokens` tokens.

        It ends at a token boundary of `encode(text)` and at a whole character. Of bytes, and under `errors="replace"`,
        it is a prefix of the decoded text. Errors as `encode`; `ValueError` for `max_tokens` below 0.

        >>> import bpeline
        >>> bpeline.load("gpt2").truncate("hello world, hello", 3)
        'hello world,'
        """
        if index(max_tokens) < 0:
            raise ValueError(f"max_tokens must be at least 0, not {max_tokens}")
        pieces = list(self._pieces(text, special, errors))
        data = "".join(piece for piece, _ in pieces).encode()
        # A cut can turn "  ", " x" into "   ": how many tokens a prefix has does not grow steadily with its length, so
        # there is no binary search.
        within_reach = max_tokens * self._encoding._longest_token
        prefixes = (
            data[:end].decode()
            for end in reversed(self._token_ends(pieces))
            if end <= within_reach and data[end : end + 1] not in _CONTINUATION_BYTES
        )
        return next(prefix for prefix in prefixes if self._fits(prefix, max_tokens, special))

    def _fits(self, text: str, max_tokens: int, special: Special) -> bool:
        count = 0
        for _, ids in self._pieces(text, special, "strict"):
            count += len(ids)
            if count > max_tokens:
                return False
        return True

    # --- Decoding ---

    def decode(self, ids: Ids, *, errors: str = "replace", skip_special_tokens: bool = False) -> str:
        """The text of token ids: any iterable of integers, or a 1-D array or buffer of them.

        `errors` is that of `bytes.decode`; `skip_special_tokens` leaves special tokens out.

        Raises `TokenIdError` for an id outside the vocabulary, `TypeError` for what is no integer, `ValueError` for an
        array that is not 1-D.

        >>> import bpeline
        >>> bpeline.load("gpt2").decode([31373, 995])
        'hello world'
        """
        return self.decode_bytes(ids, skip_special_tokens=skip_special_tokens).decode("utf-8", errors)

    def decode_bytes(self, ids: Ids, *, skip_special_tokens: bool = False) -> bytes:
        """Exactly the bytes that the tokens carry, valid UTF-8 or not. Errors as `decode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").decode_bytes([50169])
        b' \\xf0\\x9f\\x91'
        """
        numbers = _numbers(ids)
        if skip_special_tokens:
            numbers = [id for id in numbers if id not in self._encoding._literals]
        try:
            return stages.decode(numbers, self._encoding._tokens)
        except KeyError as error:
            (id,) = error.args
        size = self._encoding.vocab_size
        fault = "is unused in this encoding" if 0 <= id < size else "is not in the vocabulary"
        raise TokenIdError(f"token id {id} {fault} (valid ids: 0 to {size - 1})")

    def decode_batch(
        self, batch: Iterable[Ids], *, errors: str = "replace", skip_special_tokens: bool = False
    ) -> list[str]:
        """What `decode` gives for each list of ids, in order.

        >>> import bpeline
        >>> bpeline.load("gpt2").decode_batch([[31373], [], [31373, 995]])
        ['hello', '', 'hello world']
        """
        return [self.decode(ids, errors=errors, skip_special_tokens=skip_special_tokens) for ids in batch]

    # --- The stages, put together ---

    def _pieces(self, text: Text, special: Special, errors: Errors) -> Pieces:
        cutter = self._special_token_cutter(special)
        string = _to_str(text, errors)
        position = 0
        for part, id in cutter.split(string):
            if id is None:
                for piece in stages.split_pieces(part, self._encoding._compiled_pattern):
                    yield piece, self._piece_ids(piece)
            elif special == "error":
                unit = "character" if isinstance(text, str) else "byte"
                before = string[:position] if isinstance(text, str) else string[:position].encode()
                raise SpecialTokenError(f"special token {quote(part)} at {unit} {len(before)}")
            else:
                yield part, (id,)
            position += len(part)

    def _piece_ids(self, piece: str) -> Sequence[int]:
        ids = self._cache.get(piece)
        if ids is None:
            encoding = self._encoding
            data = piece.encode()
            whole = encoding._whole_pieces.get(data)
            symbols = [encoding._byte_ids[byte] for byte in data]
            ids = tuple(stages.merge(symbols, encoding._pairs)) if whole is None else (whole,)
            self._remember(piece, ids)
        return ids

    def _remember(self, piece: str, ids: Sequence[int]) -> None:
        size = sys.getsizeof(piece) + sys.getsizeof(ids) + 100  # about what an entry of a dict takes
        if self._cached_bytes + size > self._cache_bytes:
            self._cache.clear()
            self._cached_bytes = 0
        if size <= self._cache_bytes:
            self._cache[piece] = ids
            self._cached_bytes += size

    def _special_token_cutter(self, special: Special) -> stages.SpecialTokens:
        if special in ("parse", "error"):
            return self._encoding._special_token_cutter
        if special == "text":
            return stages.SpecialTokens({})
        if isinstance(special, set | frozenset | list | tuple) and all(isinstance(literal, str) for literal in special):
            ids = self._encoding.special_tokens
            for literal in special:
                if literal not in ids:
                    raise ValueError(f"not a special token of this encoding: {quote(literal)}")
            return stages.SpecialTokens({literal: ids[literal] for literal in special})
        raise ValueError(f'special must be "parse", "text", "error" or a set of special tokens, not {special!r}')

    def _each(
        self,
        result: Callable[[Pieces], T],
        texts: Iterable[Text],
        threads: int | None,
        special: Special,
        errors: Errors,
    ) -> Iterator[T]:
        """The result for each text of a batch, in order."""
        if threads is not None and index(threads) < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if isinstance(texts, str | bytes | bytearray | memoryview):
            raise TypeError(f"texts must be several documents, not one {type(texts).__name__}")
        self.encode("", special=special, errors=errors)  # an unknown option is not the fault of a document
        for document, text in enumerate(texts):
            try:
                encoded = result(self._pieces(text, special, errors))
            except (InvalidTextError, SpecialTokenError, TypeError) as error:
                raise type(error)(f"document {document}: {error}") from None
            yield encoded

    def _token_ends(self, pieces: Iterable[tuple[str, Sequence[int]]]) -> list[int]:
        """0, and the byte of the text at which each token ends."""
        tokens = self._encoding._tokens
        ends = [0]
        for piece, ids in pieces:
            # A special token's literal may differ from its id's text, where two share the id.
            lengths = [len(piece.encode())] if len(ids) == 1 else [len(tokens[id]) for id in ids]
            for length in lengths:
                ends.append(ends[-1] + length)
        return ends

    def _with_spans(self, pieces: Pieces) -> tuple[list[int], NDArray[np.int64]]:
        listed = list(pieces)
        data = "".join(piece for piece, _ in listed).encode()
        ends = np.array(self._token_ends(listed))
        # The character that each byte belongs to: all but continuation bytes begin one.
        character = np.cumsum(np.frombuffer(data, np.uint8) & 0xC0 != 0x80, dtype=np.int64) - 1
        return _ids(listed), np.stack([character[ends[:-1]], character[ends[1:] - 1] + 1], axis=1)

    def _array(self, ids: "Sequence[int] | array[int]") -> TokenArray:
        if self._encoding.vocab_size <= 0x10000:
            return np.array(ids, np.uint16)
        return np.array(ids, np.uint32)


_CONTINUATION_BYTES = {bytes([byte]) for byte in range(0x80, 0xC0)}


def _ids(pieces: Iterable[tuple[str, Sequence[int]]]) -> list[int]:
    return [id for _, ids in pieces for id in ids]


def _count(pieces: Pieces) -> int:
    return sum(len(ids) for _, ids in pieces)


def _to_str(text: Text, errors: Errors) -> str:
    """The text without surrogates."""
    if errors not in ("strict", "replace"):
        raise ValueError(f'errors must be "strict" or "replace", not {errors!r}')
    if isinstance(text, str):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            if errors == "replace":  # in UTF-16 a surrogate pair is its character
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            surrogate = code_point(text[error.start])
            raise InvalidTextError(f"surrogate {surrogate} at character {error.start}") from None
        return text
    try:
        view = memoryview(text)
    except TypeError:
        raise TypeError(f"text must be str or a bytes-like object, not {type(text).__name__}") from None
    if view.itemsize != 1:  # an array of ids, most likely
        kind = f"{type(text).__name__} of {view.itemsize}-byte items"
        raise TypeError(f"text must be str or a bytes-like object, not {kind}")
    data = view.tobytes()
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise InvalidTextError(f"invalid UTF-8: byte 0x{byte:02x} at offset {error.start}") from None


def _numbers(ids: Ids) -> list[int]:
    """Token ids as a list of `int`."""
    if isinstance(ids, np.ndarray):
        kind, is_integer = str(ids.dtype), ids.dtype.kind in "iu"
    else:
        try:
            ids = memoryview(ids)  # type: ignore[arg-type]
        except TypeError:
            return [_number(id) for id in ids]  # type: ignore[union-attr]
        kind, is_integer = ids.format, ids.format.lstrip("@=<>!") in tuple("bBhHiIlLqQnN")
    if not is_integer:
        raise TypeError(f"token ids must be integers, not an array of {kind}")
    if ids.ndim != 1:
        raise ValueError(f"token ids must be one-dimensional, not {ids.ndim}-dimensional")
    numbers: list[int] = np.asarray(ids).tolist()
    return numbers


def _number(id: int) -> int:
    try:
        return index(id)
    except TypeError:
        raise TypeError(f"token ids must be integers, not {type(id).__name__}") from None
