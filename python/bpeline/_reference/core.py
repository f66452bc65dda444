"""The reference encoder behind the interface that both backends have (_native.pyi): the stages and what is around them."""

import itertools
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import ArrowTexts, Errors, Ids, Special, Text, TokenArray
from ..errors import InvalidTextError, SpecialTokenError, TokenIdError
from . import arrow_text, stages
from .arrow_lists import ArrowTokens
from .encoding import Encoding
from .messages import code_point, quote
from .route import Route
from .traced import Span


class Piece(NamedTuple):
    """A piece or special token of a text, and its ids."""

    text: str
    ids: Sequence[int]
    spans: Sequence[Span] | None = None
    """What each id stands for, in characters of the document; None where the pieces together are the document."""


Pieces: TypeAlias = Iterator[Piece]

T = TypeVar("T")

# Room for most pieces of a large corpus: an entry takes about 300 bytes.
_DEFAULT_CACHE_BYTES = 32 << 20


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
        return _ids(self._pieces(text, special, errors, add_special_tokens))

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
        self._special_token_cutter(special)  # for its errors
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
        return self._with_spans(self._pieces(text, special, errors, add_special_tokens))

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
        return list(self._each(self._with_spans, texts, threads, special, errors, add_special_tokens))

    def count(
        self, text: Text, *, special: Special = "parse", errors: Errors = "strict", add_special_tokens: bool = False
    ) -> int:
        """How many tokens a text has: the length of what `encode` gives. Errors as `encode`.

        >>> import bpeline
        >>> bpeline.load("gpt2").count("hello world")
        2
        """
        return _count(self._pieces(text, special, errors, add_special_tokens))

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
        pieces = list(self._pieces(text, special, errors))
        if self._encoding._route is not None:
            return self._truncate_routed(to_str(text, errors), pieces, max_tokens, special)
        data = "".join(piece.text for piece in pieces).encode()
        # A cut can turn "  ", " x" into "   ": how many tokens a prefix has does not grow steadily with its length, so
        # there is no binary search.
        within_reach = max_tokens * self._encoding._longest_token
        prefixes = (
            data[:end].decode()
            for end in reversed(self._token_ends(pieces))
            if end <= within_reach and data[end : end + 1] not in _CONTINUATION_BYTES
        )
        return next(prefix for prefix in prefixes if self._fits(prefix, max_tokens, special))

    def _truncate_routed(self, text: str, pieces: Sequence[Piece], max_tokens: int, special: Special) -> str:
        if sum(len(piece.ids) for piece in pieces) <= max_tokens:
            return text
        counts = [0, *itertools.accumulate(len(piece.ids) for piece in pieces)]
        begins = len(text)
        for number in reversed(range(len(pieces))):
            # A cut changes no piece before the one in front of it.
            settled = counts[max(number - 1, 0)]
            for start, end in reversed(pieces[number].spans or ()):
                # A token behind the cut may stand for something in front of it.
                is_between, begins = end <= begins, min(begins, start)
                if is_between and settled <= max_tokens and self._fits(text[:end], max_tokens, special):
                    return text[:end]
        return ""

    def _fits(self, text: str, max_tokens: int, special: Special) -> bool:
        count = 0
        for piece in self._pieces(text, special, "strict"):
            count += len(piece.ids)
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

    # --- The stages, put together ---

    def _pieces(self, text: Text, special: Special, errors: Errors, add_special_tokens: bool = False) -> Pieces:
        string = to_str(text, errors)
        cutter = self._special_token_cutter(special)
        before, after = self._encoding._around if add_special_tokens else ((), ())
        yield from (Piece("", (id,), [(0, 0)]) for id in before)
        if self._encoding._route is None:
            yield from self._usual_pieces(string, cutter, special, isinstance(text, str))
        else:
            yield from self._routed_pieces(string, self._encoding._route, special, isinstance(text, str))
        yield from (Piece("", (id,), [(len(string), len(string))]) for id in after)

    def _usual_pieces(self, string: str, cutter: stages.SpecialTokens, special: Special, is_str: bool) -> Pieces:
        position = 0
        for part, id in cutter.split(string):
            if id is None:
                for piece in stages.split_pieces(part, self._encoding._compiled_pattern):
                    yield Piece(piece, self._piece_ids(piece))
            elif special == "error":
                raise _special_token_error(part, string[:position], is_str)
            else:
                yield Piece(part, (id,))
            position += len(part)

    def _routed_pieces(self, string: str, route: Route, special: Special, is_str: bool) -> Pieces:
        if special == "error":
            for token, part in route.parts(string, lambda literal: True):
                if token is not None and token["special"]:
                    raise _special_token_error(token["content"], string[: part.spans[0][0]], is_str)
        for token, part in route.parts(string, lambda literal: self._is_parsed(literal, special)):
            if token is not None:
                yield Piece(part.text, (token["id"],), [part.span(0, len(part.text))])
                continue
            if route.is_spelled:
                data, of_bytes = stages.unspell(part.text), list(part.spans)
            else:
                data = part.text.encode()
                of_bytes = [span for c, span in zip(part.text, part.spans, strict=True) for _ in c.encode()]
            ids = self._bytes_ids(data)
            ends = list(itertools.accumulate(len(self._encoding._tokens[id]) for id in ids))
            spans = [(of_bytes[a][0], of_bytes[b - 1][1]) for a, b in itertools.pairwise([0, *ends])]
            yield Piece(part.text, ids, spans)

    def _is_parsed(self, literal: str, special: Special) -> bool:
        return special in ("parse", "error") or (special != "text" and literal in special)

    def _piece_ids(self, piece: str) -> Sequence[int]:
        ids = self._cache.get(piece)
        if ids is None:
            ids = self._bytes_ids(piece.encode())
            self._remember(piece, ids)
        return ids

    def _bytes_ids(self, piece: bytes) -> Sequence[int]:
        encoding = self._encoding
        whole = encoding._whole_pieces.get(piece)
        if whole is not None:
            return (whole,)
        return tuple(stages.merge([encoding._byte_ids[byte] for byte in piece], encoding._pairs))

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
                encoded = result(self._pieces(text, special, errors, add_special_tokens))
            except (InvalidTextError, SpecialTokenError, TypeError) as error:
                raise type(error)(f"document {document}: {error}") from None
            yield encoded

    def _token_ends(self, pieces: Iterable[Piece]) -> list[int]:
        """0, and the byte of the text at which each token ends, where the pieces together are the text."""
        return [0, *itertools.accumulate(itertools.chain.from_iterable(map(self._token_lengths, pieces)))]

    def _token_lengths(self, piece: Piece) -> list[int]:
        # A special token's literal may differ from its id's text, where two share the id.
        tokens = self._encoding._tokens
        return [len(piece.text.encode())] if len(piece.ids) == 1 else [len(tokens[id]) for id in piece.ids]

    def _with_spans(self, pieces: Pieces) -> tuple[list[int], NDArray[np.int64]]:
        ids: list[int] = []
        spans: list[Span] = []
        position = 0  # in characters
        for piece in pieces:
            ids += piece.ids
            if piece.spans is not None:
                spans += piece.spans
                continue
            # The character that each byte belongs to.
            characters = [at for at, character in enumerate(piece.text, position) for _ in character.encode()]
            ends = itertools.accumulate(self._token_lengths(piece), initial=0)
            spans += [(characters[start], characters[end - 1] + 1) for start, end in itertools.pairwise(ends)]
            position += len(piece.text)
        return ids, np.array(spans, np.int64).reshape(len(ids), 2)

    def _array(self, ids: "Sequence[int] | array[int]") -> TokenArray:
        if self._encoding.vocab_size <= 0x10000:
            return np.array(ids, np.uint16)
        return np.array(ids, np.uint32)


_CONTINUATION_BYTES = {bytes([byte]) for byte in range(0x80, 0xC0)}


def _ids(pieces: Pieces) -> list[int]:
    return [id for piece in pieces for id in piece.ids]


def _count(pieces: Pieces) -> int:
    return sum(len(piece.ids) for piece in pieces)


def _special_token_error(token: str, before: str, is_str: bool) -> SpecialTokenError:
    unit, position = ("character", len(before)) if is_str else ("byte", len(before.encode()))
    return SpecialTokenError(f"special token {quote(token)} at {unit} {position}")


def to_str(text: Text, errors: Errors) -> str:
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
