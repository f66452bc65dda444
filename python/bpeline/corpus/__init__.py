"""From a corpus to training files: readers -> encoder -> writers, with a manifest. Needs the extra `corpus`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .tokenize import tokenize_corpus

if TYPE_CHECKING:
    from .inspect import inspect_corpus
    from .verify import verify_corpus

__all__ = ["inspect_corpus", "tokenize_corpus", "verify_corpus"]


def __getattr__(name: str) -> Any:
    """What a job does without: each is imported when it is first asked for."""
    if name in ("inspect_corpus", "verify_corpus"):
        return getattr(import_module(f"{__name__}.{name.removesuffix('_corpus')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
