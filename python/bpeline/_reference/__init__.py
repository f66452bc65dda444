"""The readable pure-Python tokenizer: the oracle of the native backend, and what runs where that cannot."""

from .arrow_lists import ArrowTokens
from .core import Core
from .corpus import are_utf8, json_texts, separate, start_writing
from .encoding import Encoding
from .train import PieceCounts

__all__ = ["ArrowTokens", "Core", "Encoding", "PieceCounts", "are_utf8", "json_texts", "separate", "start_writing"]
