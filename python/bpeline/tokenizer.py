"""The public tokenizer: the backend's encoder, and beside it all that is the same on both backends."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from . import models
from ._backend import Core, Encoding, PieceCounts
from ._reference.recipes import RECIPES
from ._types import Errors, Special, Text
from .streaming import StreamDecoder
from .train import Trained

# What only some calls need is imported there: `import bpeline` and `load("gpt2")` take a few milliseconds.
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from typing_extensions import Buffer

    from .save import Format
    from .show import Shown
    from .sources import LiveTokenizer
    from .token_batch import TokenBatch

    _Base = Core  # that the concrete class inherits
else:
    _Base = object


def encodings() -> list[str]:
    """The names of the encodings that are built in.

    >>> import bpeline
    >>> bpeline.encodings()
    ['gpt2', 'r50k_base', 'p50k_base', 'p50k_edit', 'cl100k_base', 'o200k_base', 'o200k_harmony']
    """
    return list(RECIPES)


def encoding_for_model(model: str, *, cache_bytes: int | None = None) -> "Tokenizer":
    """The tokenizer of a model of OpenAI's, by the model's name or what that begins with, as tiktoken 0.14 has them.

    Raises `UnknownModelError`, a `KeyError`, for any other.

    >>> import bpeline
    >>> bpeline.encoding_for_model("gpt-4o").name
    'o200k_base'
    """
    return Tokenizer.load(models.encoding_name(model), cache_bytes=cache_bytes)


class Methods(Trained, _Base):
    """What a tokenizer has besides encoding and decoding. The concrete class also inherits a `Core`."""

    __slots__ = ()

    _Encoding: ClassVar[type[Encoding]]
    """The backend's own, set on the concrete class."""

    # --- Where tokenizers come from ---

    @classmethod
    def load(
        cls,
        source: "str | os.PathLike[str] | LiveTokenizer",
        merges: str | os.PathLike[str] | None = None,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        cache_bytes: int | None = None,
    ) -> "Self":
        """A tokenizer from the name of a built-in encoding, from files, or from a folder that holds them.

        - `load("gpt2")` needs no files; `encodings()` lists the names. A built-in name beats a file or folder of that name.
        - `load("vocab.json", "merges.txt")`: GPT-2's two files. The pieces are GPT-2's unless `pattern` names others, and
          the special tokens are <|endoftext|> unless `special_tokens` says otherwise.
        - `load("my.tiktoken", pattern=..., special_tokens=...)`: a rank file, as tiktoken reads them, of base64 and ranks.
          It does not say the pattern and the special tokens (none unless given); only those that OpenAI published
          for the built-in encodings are known by their content.
        - `load("tekken.json")`: Mistral's file.
        - `load("tokenizer.json")`: the file of Hugging Face tokenizers, as far as it is byte-level BPE; in a folder, such
          as the snapshot of a repository, it goes before vocab.json and merges.txt. Its truncation and padding are left to the
          caller. What is not done exactly as tokenizers 0.23 does it is an error that names it.
        - `load(tokenizer)`: a live `tokenizers.Tokenizer` or fast tokenizer of transformers, as it is now.

        `pattern` is a regular expression or the name of one, and `special_tokens` maps literals to ids. A folder that
        holds one kind of these files is loaded as that. It may also hold a bpeline.json, as `save` writes it, with what
        the files do not say. `cache_bytes` is the budget of the cache of pieces, all threads together; 0 is no
        cache. It changes no ids.

        Raises `EncodingFileError` for any fault in a file, `FileNotFoundError` where there is nothing, and `ValueError`
        for options that a built-in encoding or a tokenizer.json does not take.

        >>> import bpeline
        >>> bpeline.load("gpt2").vocab_size
        50257
        """
        if merges is None and isinstance(source, str) and source in RECIPES:
            if pattern is not None or special_tokens is not None:
                raise ValueError(
                    f'the built-in encoding "{source}" has its own pattern and special tokens; '
                    f'to add special tokens use load("{source}").extend({{...}})'
                )
            return cls(_interned(cls._Encoding.builtin, source), cache_bytes=cache_bytes)
        from . import sources

        if sources.is_live(source):
            return cls(sources.read_live(cls._Encoding, source), cache_bytes=cache_bytes)
        encoding = sources.read(cls._Encoding, source, merges, pattern, special_tokens)
        return cls(encoding, cache_bytes=cache_bytes)

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
        cache_bytes: int | None = None,
    ) -> "Self":
        """A tokenizer from token bytes and their ranks, which are their ids too and may have gaps.

        This is what a tiktoken file holds, and it encodes as tiktoken does: a piece that is a token is that token, and
        otherwise the rank of a pair is that of its bytes. (But text that the pattern does not match becomes pieces too;
        tiktoken drops it.) `pattern` is a regular expression, or "gpt2"; the reference backend refuses what it is not sure
        to understand as the native one does, such as \\w. Raises `EncodingFileError` for ranks that repeat or lie
        outside 0 to 16777215, and if one of the 256 bytes has no token.

        >>> import bpeline
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
        >>> bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2").encode("abc")
        [256, 99]
        """
        return cls(cls._Encoding.from_ranks(ranks, pattern, special_tokens, name), cache_bytes=cache_bytes)

    @classmethod
    def from_bytes(cls, data: "Buffer", *, cache_bytes: int | None = None) -> "Self":
        """The tokenizer that `to_bytes` wrote, on either backend. Raises `EncodingFileError` for anything else.

        >>> import bpeline
        >>> tok = bpeline.load("gpt2")
        >>> bpeline.Tokenizer.from_bytes(tok.to_bytes()) == tok
        True
        """
        return cls(cls._Encoding.from_bytes(data), cache_bytes=cache_bytes)

    def extend(self, special_tokens: Mapping[str, int]) -> "Self":
        """A tokenizer with more special tokens, literal -> id.

        Raises `EncodingFileError` if a literal has another id already, or an id is that of another token.

        >>> import bpeline
        >>> bpeline.load("gpt2").extend({"<|pad|>": 50257}).encode("<|pad|>")
        [50257]
        """
        return type(self)(self.encoding.extend(special_tokens), cache_bytes=self.cache_bytes)

    # --- Where they go ---

    def to_bytes(self) -> bytes:
        """All that fixes the ids as bytes, for `from_bytes`.

        >>> import bpeline
        >>> bpeline.load("gpt2").to_bytes()[:18]
        b'bpeline encoding 1'
        """
        return self.encoding.to_bytes()

    def save(self, folder: str | os.PathLike[str], format: "Format" = "gpt2") -> "list[Path]":
        """Writes files that other tools read, and returns their paths. The folder is made if it is not there.

        - "gpt2": vocab.json and merges.txt, and a bpeline.json if the pattern or the special tokens are not GPT-2's.
          `load(folder)` reads them.
        - "tokenizer.json": one file for Hugging Face tokenizers. Of an encoding that came from one, it has the same
          normalizer, pre-tokenizer, post-processor and decoder; truncation and padding are none. Where token bytes are ranked,
          it has the merge rules that come to the same ids.
        - "tiktoken": NAME.tiktoken with the ranks, and a bpeline.json with the pattern and the special tokens. (Text that
          the pattern does not match is dropped by tiktoken, not by bpeline.)

        What is loaded again gives the same ids, and is equal to this tokenizer, unless pairs were ranked and now token bytes
        are ("tiktoken"), or the other way round ("tokenizer.json"): those are two encodings, with two fingerprints.

        A file that was there is replaced whole or not at all. Raises `EncodingFileError` for an encoding that the
        format cannot hold, and `ValueError` for another format.

        >>> import tempfile, bpeline
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in bpeline.load("gpt2").save(folder)]
        ['vocab.json', 'merges.txt']
        """
        from .save import save

        return save(self.encoding, folder, format)

    def __reduce__(self) -> tuple[Any, ...]:
        encoding = self.encoding
        content = encoding.name if encoding.is_builtin else encoding.to_bytes()
        return _restore, (type(self), content, self.cache_bytes)

    def __copy__(self) -> "Self":
        return self

    def __deepcopy__(self, memo: object) -> "Self":
        return self

    # --- Encoding and decoding in other forms ---

    def encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        special: Special = "parse",
        errors: Errors = "strict",
        add_special_tokens: bool = False,
    ) -> "TokenBatch":
        """The token ids of all texts in one flat array, with where each begins: the form for many texts.

        Options and errors as those of `encode_batch`.

        >>> import bpeline
        >>> batch = bpeline.load("gpt2").encode_ragged(["hello world", "hello"])
        >>> batch.tokens, batch.offsets
        (array([31373,   995, 31373], dtype=uint16), array([0, 2, 3]))
        """
        ragged = self._encode_ragged(
            texts, threads=threads, special=special, errors=errors, add_special_tokens=add_special_tokens
        )
        from .token_batch import TokenBatch  # now that the backend has imported numpy, as only it can under Ctrl-C

        return TokenBatch(*ragged)

    def decoder(self, *, errors: str = "replace", skip_special_tokens: bool = False) -> StreamDecoder:
        """A decoder that takes one id at a time and never gives out half a character. Options as those of `decode`.

        >>> import bpeline
        >>> tok = bpeline.load("gpt2")
        >>> decoder = tok.decoder()
        >>> "".join(decoder.push(id) for id in tok.encode("hi 👍")) + decoder.finish()
        'hi 👍'
        """
        return StreamDecoder(self, errors=errors, skip_special_tokens=skip_special_tokens)

    def show(self, text: Text, *, special: Special = "parse", errors: Errors = "strict") -> "Shown":
        """The tokens of a text made visible, in colour: in a notebook as HTML, on a terminal when printed.

        Options and errors as those of `encode`.

        >>> import bpeline
        >>> print(bpeline.load("gpt2").show("hello world").plain())
        "hello" 31373
        " world" 995
        """
        from .show import show

        return show(self, text, special=special, errors=errors)

    # --- The vocabulary ---

    def token_bytes(self, id: int) -> bytes | None:
        """The bytes of a token, or None if no token has the id.

        >>> import bpeline
        >>> bpeline.load("gpt2").token_bytes(262)
        b' the'
        """
        return self.encoding.token_bytes(id)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token, or None. `bytes` are its raw bytes, a `str` is its spelling in the file or a special token.

        >>> import bpeline
        >>> tok = bpeline.load("gpt2")
        >>> tok.token_to_id(b" the"), tok.token_to_id("Ġthe"), tok.token_to_id("<|endoftext|>"), tok.token_to_id(" the")
        (262, 262, 50256, None)
        """
        return self.encoding.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """The spelling of a token in the file, or the text of a special token; None if no token has the id.

        >>> import bpeline
        >>> bpeline.load("gpt2").id_to_token(262)
        'Ġthe'
        """
        return self.encoding.id_to_token(id)

    @property
    def vocab_size(self) -> int:
        """The highest id + 1, special tokens included.

        >>> import bpeline
        >>> bpeline.load("gpt2").vocab_size
        50257
        """
        return self.encoding.vocab_size

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens, literal -> id. (Added tokens that a tokenizer.json does not call special are not among them.)

        >>> import bpeline
        >>> bpeline.load("gpt2").special_tokens
        {'<|endoftext|>': 50256}
        """
        return self.encoding.special_tokens

    @property
    def eot_token(self) -> int | None:
        """The id of <|endoftext|>, or None if that is no special token here.

        >>> import bpeline
        >>> bpeline.load("gpt2").eot_token
        50256
        """
        return self.special_tokens.get("<|endoftext|>")

    @property
    def pattern(self) -> str:
        """The regular expression that cuts text into pieces; merges never cross one.

        A tokenizer.json may cut in ways that no expression says: then this is its pre-tokenizer, as JSON.

        >>> import bpeline
        >>> bpeline.load("gpt2").pattern.split("|")[-1]
        '\\\\s+'
        """
        from . import sources

        return sources.pre_tokenizer(self.encoding) or self.encoding.pattern

    @property
    def name(self) -> str:
        """The name of the encoding, which is no part of what it is: it changes no ids and no comparison.

        >>> import bpeline
        >>> bpeline.load("gpt2").name
        'gpt2'
        """
        return self.encoding.name

    @property
    def backend(self) -> Literal["native", "reference"]:
        """The backend of this tokenizer: "native" (Rust) or "reference" (pure Python). The ids never depend on it.

        >>> import bpeline
        >>> bpeline.load("gpt2").backend == bpeline.backend()
        True
        """
        return "reference" if self._Encoding.__module__.startswith("bpeline._reference") else "native"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Methods):
            return NotImplemented
        return self.encoding.fingerprint == other.encoding.fingerprint

    def __hash__(self) -> int:
        return hash(self.encoding.fingerprint)

    def __repr__(self) -> str:
        return f"<bpeline.Tokenizer {self.name}: {self.vocab_size:,} tokens, {self.backend} backend>"


class Tokenizer(Methods, Core):
    """Text to token ids and back, with one encoding. Made by `bpeline.load`.

    Immutable, and safe to share between threads, to pickle and to copy; equal to another if its encoding is.

    >>> import bpeline
    >>> tok = bpeline.load("gpt2")
    >>> tok.decode(tok.encode("hello world"))
    'hello world'
    """

    __slots__ = ()
    _Encoding = Encoding
    _PieceCounts = PieceCounts


def _restore(cls: type[Methods], content: str | bytes, cache_bytes: int) -> Methods:
    make = cls._Encoding.builtin if isinstance(content, str) else cls._Encoding.from_bytes
    return cls(_interned(make, content), cache_bytes=cache_bytes)


@functools.lru_cache(maxsize=16)
def _interned(make: Callable[[Any], Encoding], content: str | bytes) -> Encoding:
    """One encoding for all tokenizers of a process that are the same built-in, or come out of equal pickles."""
    return make(content)
