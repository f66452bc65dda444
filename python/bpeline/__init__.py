"""Byte-level BPE tokenization: exact ids, as fast as the machine allows.

>>> import bpeline
>>> tok = bpeline.load("gpt2")
>>> tok.encode("hello world")
[31373, 995]
>>> tok.decode([31373, 995])
'hello world'
"""

from . import errors
from ._backend import ArrowTokens, backend
from .corpus import inspect_corpus, tokenize_corpus, verify_corpus
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
