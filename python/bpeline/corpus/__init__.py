"""From a corpus to training files: readers -> encoder -> writers, with a manifest. Needs the extra `corpus`."""

from .inspect import inspect_corpus
from .tokenize import tokenize_corpus
from .verify import verify_corpus

__all__ = ["inspect_corpus", "tokenize_corpus", "verify_corpus"]
