"""Byte-level BPE tokenization: exact ids, as fast as the machine allows.

>>> import bpeline
>>> tok = bpeline.load("gpt2")
>>> tok.encode("hello world")
[31373, 995]
>>> tok.decode([31373, 995])
'hello world'
"""

from typing import TYPE_CHECKING

from . import errors
from ._backend import ArrowTokens, backend
from ._lazy import lazy
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
from .tokenizer import Tokenizer, encoding_for_model, encodings
from .train import TrainingProgress

if TYPE_CHECKING:
    from . import compat as compat
    from . import corpus as corpus
    from . import data as data
    from . import integrations as integrations
    from . import teaching as teaching
    from .corpus import inspect_corpus, tokenize_corpus, verify_corpus
    from .token_batch import TokenBatch
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            **{module: module for module in ("compat", "corpus", "data", "integrations", "teaching")},
            **dict.fromkeys(("inspect_corpus", "tokenize_corpus", "verify_corpus"), "corpus"),
            "TokenBatch": "token_batch",
        },
    )

__version__ = "0.1.0"

load = Tokenizer.load


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
