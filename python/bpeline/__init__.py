"""Byte-level BPE tokenization: exact ids, as fast as the machine allows.

>>> import bpeline
>>> tok = bpeline.load("gpt2")
>>> tok.encode("hello world")
[31373, 995]
>>> tok.decode([31373, 995])
'hello world'
"""

from typing import TYPE_CHECKING, Any

from . import errors
from ._backend import ArrowTokens, backend
from .errors import (
    ArrowError,
    BpelineError,
    CorpusError,
    EncodingFileError,
    InvalidTextError,
    SpecialTokenError,
    TokenIdError,
    TrainingError,
    UnknownModelError,
)
from .streaming import StreamDecoder
from .token_batch import TokenBatch
from .tokenizer import Tokenizer, encoding_for_model, encodings
from .train import TrainingProgress

if TYPE_CHECKING:
    from .corpus import inspect_corpus, tokenize_corpus, verify_corpus

__version__ = "0.1.0"

load = Tokenizer.load


def __getattr__(name: str) -> Any:
    """The calls of `bpeline.corpus`, which brings in much that others do without."""
    if name in ("inspect_corpus", "tokenize_corpus", "verify_corpus"):
        from . import corpus

        return getattr(corpus, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArrowError",
    "ArrowTokens",
    "BpelineError",
    "CorpusError",
    "EncodingFileError",
    "InvalidTextError",
    "SpecialTokenError",
    "StreamDecoder",
    "TokenBatch",
    "TokenIdError",
    "Tokenizer",
    "TrainingError",
    "TrainingProgress",
    "UnknownModelError",
    "__version__",
    "backend",
    "encoding_for_model",
    "encodings",
    "errors",
    "inspect_corpus",
    "load",
    "tokenize_corpus",
    "verify_corpus",
]
