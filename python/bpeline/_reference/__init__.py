"""The readable pure-Python tokenizer: the oracle of the native backend, and what runs where that cannot."""

from .arrow_lists import ArrowTokens
from .core import Core
from .encoding import Encoding
from .train import PieceCounts

__all__ = ["ArrowTokens", "Core", "Encoding", "PieceCounts"]
