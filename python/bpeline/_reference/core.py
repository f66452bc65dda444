"""The reference encoder behind the interface that both backends have (_native.pyi): the stages and what is around them."""

import functools
import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import ArrowTexts, Errors, Ids, Special, Text, TokenArray
from ..errors import InvalidTextError, SpecialTokenError, TokenIdError
from . import arrow_text, stages
from .arrow_lists import ArrowTokens
from .encode import Encoder, Pieces
from .encoding import Encoding
from .inputs import to_ids, to_str
from .spans import with_spans
from .truncate import truncate

T = TypeVar("T")


class Core:
    """Encodes and decodes with one encoding. Immutable to its users; may be shared between threads.

    `cache_bytes` is about how much memory the cache of pieces may take; 0 is no cache.

    >>> from bpeline._reference import Core, Encoding
    >>> Core(Encoding.builtin("gpt2")).encode("hello world")
    [31373, 995]
    """

    __slots__ = ("_encoder", "_encoding")

    def __init__(self, encoding: Encoding, *, cache_bytes: int | None = None) -> None:
        given: object = encoding
        if not isinstance(given, Encoding):
            kind = type(given).__name__
            raise TypeError(f"encoding must be an Encoding, not {kind}; bpeline.load() makes tokenizers")
        if cache_bytes is not None and index(cache_bytes) < 0:
            raise ValueError(f"cache_bytes must be at least 0, not {cache_bytes}")
        self._encoding = encoding
        self._encoder = Encoder(encoding, cache_bytes)

    @property
    def encoding(self) -> Encoding:
        """All that fixes the ids."""
        return self._encoding

    @property
    def cache_bytes(self) -> int:
        """About how much memory the cache may take, in bytes."""
        return self._encoder.cache_bytes

    # --- Encoding ---

    def encode(
        self, text: Text, *, special: Special = "parse", errors: Errors = "strict", add_special_tokens: bool = False
    ) -> list[int]:
        """The token ids of a text.

        `text` is a `str`, or anything bytes-like that holds UTF-8. `special` says what to do with the literals of
        special tokens: "parse" them to their ids, take them as "text", raise an "error", or parse only those of a set.
        `errors="replace"` turns invalid UTF-8 and lone surrogates into U+FFFD. One text is one thread's work;
        `encode_batch([text])` spreads a large one over the cores.
        `add_special_tokens` puts around the text what its tokenizer.json says, if anything.

        Raises `InvalidTextError` for invalid text under `errors="strict"`, `SpecialTokenError` under
        `special="error"`, `TypeError` for what is no text, `ValueError` for an unknown option.

        >>> import bpeline
        >>> tok = bpeline.load("gpt2")
        >>> tok.encode("hello world<|endoftext|>")
        [31373, 995, 50256]
        >>> tok.encode("<|endoftext|>", special="text")
        [27, 91, 437, 1659, 5239, 91, 29]
        """
        return _ids(self._encoder.pieces(text, special, errors, add_special_tokens))

    def encode_array(
        self, text: Text, *, special: Special = "parse", errors: Errors = "strict", add_special_tokens: bool = False
    ) -> TokenArray:
        """The token ids as a 1-D array: `uint16` if every id of the encoding fits, else `uint32`. Errors as `encode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_array("hello world")
        array([31373,   995], dtype=uint16)
        """
        return self._array(self.encode(text, special=special, errors=errors, add_special_tokens=add_special_tokens))

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The token ids of each text, in order.

        `threads` is how many to use at most: None for one per core, 1 to stay on this one. (The reference backend
        always does.) With GPT-2's pattern a large document is spread over them too. Errors as `encode`, with the number
        of the document; `ValueError` for `threads` below 1.

        >>> import bpeline
        >>> bpeline.load("gpt2").encode_batch(["hello", "", "hello world"])
        [[31373], [], [31373, 995]]
        """
        return list(self._each(_ids, texts, threads, special, errors, add_special_tokens))

    def _safe_cut(self, text: Text, *, special: Special = "parse") -> int:
        """A byte near the end of a text, of which more is to come, up to which its ids are settled; 0 if none is found.

        The ids of the text up to there and those of the rest, whatever it is, are those of the whole.
        """
        string, encoding = to_str(text, "strict"), self._encoding
        self._encoder.cutter(special)  # for its errors
        literals = () if special == "text" else tuple(encoding.special_tokens)
        at = len(string)
        if encoding._route is not None or encoding.pattern not in stages.PATTERNS.values():
            return 0
        while (at := string.rfind(" ", 1, at)) > 0:
            # A known pattern starts a piece at a space behind a letter.
            sides = string[at - 1 : at + 1]
            if sides[0].isascii() and sides[0].isalpha() and not any(sides in literal for literal in literals):
                return len(string[:at].encode())
        return 0

    def _encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> tuple[TokenArray, NDArray[np.int64]]:
        """The ids of all texts in one array, and where each begins and the last ends."""
        tokens, offsets = array("I"), array("q", [0])
        for ids in self._each(_ids, texts, threads, special, errors, add_special_tokens):
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
        add_special_tokens: bool = False,
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
        self._encode_ragged(
            [], threads=threads, special=special, errors=errors, add_special_tokens=add_special_tokens
        )  # before anything is read
        chunks = arrow_text.read(array)
        texts = [text for chunk in chunks for text in chunk]
        tokens, offsets = self._encode_ragged(
            [text or b"" for text in texts],
            threads=threads,
            special=special,
            errors=errors,
            add_special_tokens=add_special_tokens,
        )
        lengths = np.diff(offsets)
        is_there = np.array([text is not None for text in texts], bool)
        tokens = tokens[np.repeat(is_there, lengths)]  # nothing is added around a null
        offsets = np.concatenate([[0], np.cumsum(np.where(is_there, lengths, 0))]).astype(np.int64)
        return ArrowTokens._of_chunks(tokens, offsets, [[text is not None for text in chunk] for chunk in chunks])

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
    ) -> ArrowTokens:
        """What `encode_arrow` gives, with the id `end_of_text` before ("prepend") or after ("append") the ids of each document.

        Without `if_empty` a document without ids gets none. The first document may be the rest of one that is `begun`
        before; the last, which goes on in another array, is `open`. They get what belongs to the side that they have.
        """
        lists = self.encode_arrow(array, threads=threads, special=special)
        last = len(lists) - 1
        tokens: list[int] = []
        offsets = [0]
        for number, (begin, end) in enumerate(itertools.pairwise(lists._offsets.tolist())):
            begins, ends = not (number == 0 and begun), not (number == last and open)
            gets = if_empty or not begins or end > begin
            if place == "prepend" and gets and begins:
                tokens.append(end_of_text)
            tokens.extend(lists._tokens[begin:end].tolist())
            if place == "append" and gets and ends:
                tokens.append(end_of_text)
            offsets.append(len(tokens))
        return ArrowTokens(self._array(tokens), np.array(offsets, np.int64))

    def encode_with_spans(
        self,
        text: Text,
        *,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> tuple[list[int], NDArray[np.int64]]:
        """The token ids, and which characters each covers: an `(n, 2)` int64 array of [start, end) in characters.

        Where the text is changed before it is cut (a tokenizer.json's normalizer), they are the characters that it was
        changed from. What `add_special_tokens` adds has an empty span. Tokens that share a character share its span. Of bytes, the characters are those of the decoded text; under
        `errors="replace"` those of the repaired one. Errors as `encode`.

        >>> import bpeline
        >>> ids, spans = bpeline.load("gpt2").encode_with_spans("hé 👍")
        >>> ids, spans.tolist()
        ([71, 2634, 50169, 235], [[0, 1], [1, 2], [2, 4], [3, 4]])
        """
        return with_spans(self._encoding, self._encoder.pieces(text, special, errors, add_special_tokens))

    def encode_batch_with_spans(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> list[tuple[list[int], NDArray[np.int64]]]:
        """What `encode_with_spans` gives for each text, in order. Errors as `encode_batch`.

        >>> import bpeline
        >>> [(ids, spans.tolist()) for ids, spans in bpeline.load("gpt2").encode_batch_with_spans(["hello", "a b"])]
        [([31373], [[0, 5]]), ([64, 275], [[0, 1], [1, 3]])]
        """
        return list(
            self._each(
                functools.partial(with_spans, self._encoding), texts, threads, special, errors, add_special_tokens
            )
        )

    def count(
        self, text: Text, *, special: Special = "parse", errors: Errors = "strict", add_special_tokens: bool = False
    ) -> int:
        """How many tokens a text has: the length of what `encode` gives. Errors as `encode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").count("hello world")
        2
        """
        return _count(self._encoder.pieces(text, special, errors, add_special_tokens))

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> NDArray[np.int64]:
        """How many tokens each text has: a 1-D int64 array. Errors as `encode_batch`.

        >>> import bpeline
        >>> bpeline.load("gpt2").count_batch(["hello", "", "hello world"])
        array([1, 0, 2])
        """
        return np.array(list(self._each(_count, texts, threads, special, errors, add_special_tokens)), np.int64)

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
        return truncate(self._encoder, text, max_tokens, special, errors)

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
        numbers = to_ids(ids)
        if skip_special_tokens:
            numbers = [id for id in numbers if id not in self._encoding._special_ids]
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

    def _each(
        self,
        result: Callable[[Pieces], T],
        texts: Iterable[Text],
        threads: int | None,
        special: Special,
        errors: Errors,
        add_special_tokens: bool,
    ) -> Iterator[T]:
        """The result for each text of a batch, in order."""
        if threads is not None and index(threads) < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if isinstance(texts, str | bytes | bytearray | memoryview):
            raise TypeError(f"texts must be several documents, not one {type(texts).__name__}")
        self.encode("", special=special, errors=errors)  # an unknown option is not the fault of a document
        for document, text in enumerate(texts):
            try:
                encoded = result(self._encoder.pieces(text, special, errors, add_special_tokens))
            except (InvalidTextError, SpecialTokenError, TypeError) as error:
                raise type(error)(f"document {document}: {error}") from None
            yield encoded

    def _array(self, ids: "Sequence[int] | array[int]") -> TokenArray:
        if self._encoding.vocab_size <= 0x10000:
            return np.array(ids, np.uint16)
        return np.array(ids, np.uint32)


def _ids(pieces: Pieces) -> list[int]:
    return [id for piece in pieces for id in piece.ids]


def _count(pieces: Pieces) -> int:
    return sum(len(piece.ids) for piece in pieces)
