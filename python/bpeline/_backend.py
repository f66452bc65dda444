"""Picks the backend when bpeline is imported: native if it can, the reference otherwise, and never silently."""

import os
import warnings
from typing import TYPE_CHECKING, Literal

_wanted = os.environ.get("BPELINE_BACKEND") or None
if _wanted not in (None, "native", "reference"):
    raise ImportError(f'BPELINE_BACKEND must be "native" or "reference", not "{_wanted}"')

_backend: Literal["native", "reference"] = "native"
if TYPE_CHECKING:
    from ._native import ArrowTokens, Core, Encoding, PieceCounts, are_utf8, json_texts, separate, start_writing
elif _wanted == "reference":
    from ._reference import ArrowTokens, Core, Encoding, PieceCounts, are_utf8, json_texts, separate, start_writing

    _backend = "reference"
else:
    try:
        from ._native import ArrowTokens, Core, Encoding, PieceCounts, are_utf8, json_texts, separate, start_writing
    except ImportError as error:
        if _wanted == "native":
            raise ImportError(
                f"BPELINE_BACKEND=native, but bpeline's native module cannot be imported: {error}"
            ) from error
        warnings.warn(
            f"bpeline's native module cannot be imported ({error}): using the reference backend, which gives the same "
            "ids some hundred times slower. To fix it, install Rust (https://rustup.rs) and "
            "install bpeline again with `pip install --force-reinstall`; to silence this warning, set BPELINE_BACKEND=reference.",
            RuntimeWarning,
            stacklevel=2,
        )
        from ._reference import ArrowTokens, Core, Encoding, PieceCounts, are_utf8, json_texts, separate, start_writing

        _backend = "reference"

__all__ = [
    "ArrowTokens",
    "Core",
    "Encoding",
    "PieceCounts",
    "are_utf8",
    "backend",
    "json_texts",
    "separate",
    "start_writing",
]


def backend() -> Literal["native", "reference"]:
    """The backend in use: "native" (Rust) or "reference" (pure Python). The ids never depend on it.

    >>> import bpeline
    >>> bpeline.backend() in ("native", "reference")
    True
    """
    return _backend
