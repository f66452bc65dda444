"""The readable pure-Python tokenizer: the oracle of the native backend, and what runs where that cannot."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .arrow_lists import ArrowTokens
    from .core import Core
    from .corpus import are_utf8, json_texts, separate, start_writing
    from .encoding import Encoding
    from .train import PieceCounts
else:  # beside the native backend only some of its modules are used
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "ArrowTokens": "arrow_lists",
            "Core": "core",
            "Encoding": "encoding",
            "PieceCounts": "train",
            "are_utf8": "corpus",
            "json_texts": "corpus",
            "separate": "corpus",
            "start_writing": "corpus",
        },
    )

__all__ = ["ArrowTokens", "Core", "Encoding", "PieceCounts", "are_utf8", "json_texts", "separate", "start_writing"]
