"""Fast tokenizers of Hugging Face transformers that encode and decode with bpeline.

`wrap(tokenizer)` is the same tokenizer, of the same class, with the same results, exceptions and settings; only the
`tokenizers.Tokenizer` inside it is replaced. `AutoTokenizer.from_pretrained` here is that of transformers, wrapped.

    from bpeline.compat.transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen3-8B")
    batch = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="np")

What bpeline does: the ids of `__call__`, `encode`, `tokenize`, `apply_chat_template` and so on, for one text, a batch,
pairs, and texts split into words, with what goes with them: truncation with stride and overflowing tokens, special
tokens, padding, masks, type ids, offsets, and `tokens()`, `sequence_ids()`, `word_ids()` of texts split into words; and
`decode`. The original tokenizers object, which the wrapped tokenizer keeps, does all else, so that it comes out the same:

- a call that raises, or that is odd (`max_length` below the number of special tokens, subclasses of `str`, ...);
- offsets of a batch with a text that the normalizer changes; `tokens()` with added tokens that take the spaces around them
  or are normalized; words of texts that were not split into words; and the methods that look up characters, tokens and words
  of an encoding. When one of them is first asked for, tokenizers encodes the batch again;
- all of it if the tokenizer was changed into one that bpeline does not serve (a warning says so).

Other kinds of tokenizers raise `EncodingFileError` when they are wrapped.
"""

import copy
from typing import Any, TypeVar

try:
    import tokenizers
    import transformers
except ImportError as error:
    raise ImportError(f"bpeline.compat.transformers needs transformers ({error}): pip install transformers") from error

from .backend import Backend
from .encoding import Encoding

__all__ = ["AutoTokenizer", "Backend", "Encoding", "wrap"]

_Tokenizer = TypeVar("_Tokenizer")


def wrap(tokenizer: _Tokenizer, *, threads: int | None = None) -> _Tokenizer:
    """A copy of a fast tokenizer of transformers that encodes and decodes with bpeline.

    `threads` is that of `bpeline.Tokenizer.encode_batch`: None for all cores. Raises `TypeError` for anything but a
    fast tokenizer, and `bpeline.EncodingFileError` if it is of a kind that bpeline does not serve, such as WordPiece.
    """
    wrapped: _Tokenizer = _wrapped(copy.deepcopy(tokenizer), threads)
    return wrapped


class AutoTokenizer:
    """`transformers.AutoTokenizer`, but for what `from_pretrained` returns: a wrapped tokenizer."""

    @staticmethod
    def from_pretrained(*args: Any, threads: int | None = None, **kwargs: Any) -> Any:
        """The tokenizer that `transformers.AutoTokenizer.from_pretrained` gives, wrapped. Errors as those of `wrap`."""
        return _wrapped(transformers.AutoTokenizer.from_pretrained(*args, **kwargs), threads)


def _wrapped(tokenizer: Any, threads: int | None) -> Any:
    original = getattr(tokenizer, "_tokenizer", None)
    if isinstance(original, Backend):
        original = original._original
    if not isinstance(original, tokenizers.Tokenizer):
        raise TypeError(f"expected a fast tokenizer of transformers, got a {type(tokenizer).__name__}")
    tokenizer._tokenizer = Backend(original, threads=threads)
    return tokenizer
