"""The readable pure-Python tokenizer: the oracle of the native backend, and what runs where that cannot."""

from .core import Core
from .encoding import Encoding

__all__ = ["Core", "Encoding"]
