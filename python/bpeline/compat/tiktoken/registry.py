"""The encodings by name: bpeline's own, and those of tiktoken's plug-ins.

A plug-in is a module of the namespace package `tiktoken_ext` with `ENCODING_CONSTRUCTORS`, which gives names functions
that return the arguments of `Encoding`. tiktoken's own plug-in is left out: its encodings are built in here.
"""

import importlib
import pkgutil
import threading
from collections.abc import Callable
from typing import Any

import bpeline

from ..._reference.stages import PATTERNS
from .core import Encoding

ENCODINGS: dict[str, Encoding] = {}
"""Those that were asked for."""

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None
"""What makes the arguments of each; None until it is needed."""

_OWN_PLUGIN = "tiktoken_ext.openai_public"

# GPT-2's, in the spelling of tiktoken's openai_public.py (MIT, Copyright (c) 2022 OpenAI, Shantanu Jain).
_GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

_lock = threading.RLock()


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of that name, the same object at every call. Raises `ValueError` if there is none.

    >>> from bpeline.compat.tiktoken import get_encoding
    >>> get_encoding("gpt2")
    <Encoding 'gpt2'>
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    with _lock:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = _make(encoding_name)
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names of all encodings.

    >>> from bpeline.compat.tiktoken import list_encoding_names
    >>> list_encoding_names()[:1]
    ['gpt2']
    """
    return list(_constructors())


def _make(name: str) -> Encoding:
    constructor = _constructors().get(name)
    if constructor is None:
        raise ValueError(
            f"Unknown encoding {name}.\n"
            f"Known: {', '.join(_constructors())}\n"
            f"bpeline version: {bpeline.__version__} (are you on latest?)"
        )
    if isinstance(constructor, _BuiltIn):
        tokenizer = Encoding._Tokenizer.load(name)
        pattern = _GPT2_PATTERN if tokenizer.pattern == PATTERNS["gpt2"] else tokenizer.pattern
        return Encoding._of(tokenizer, name, pattern)
    return Encoding(**constructor())


class _BuiltIn:
    """The arguments of a built-in encoding."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self) -> dict[str, Any]:
        encoding = get_encoding(self._name)
        return {
            "name": encoding.name,
            "pat_str": encoding._pat_str,
            "mergeable_ranks": encoding._mergeable_ranks,
            "special_tokens": encoding._special_tokens,
        }


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is None:
            found: dict[str, Callable[[], dict[str, Any]]] = {name: _BuiltIn(name) for name in bpeline.encodings()}
            for plugin in _plugins():
                module = importlib.import_module(plugin)
                if not hasattr(module, "ENCODING_CONSTRUCTORS"):
                    raise ValueError(f"tiktoken plugin {plugin} does not define ENCODING_CONSTRUCTORS")
                for name, constructor in module.ENCODING_CONSTRUCTORS.items():
                    if name in found:
                        raise ValueError(f"Duplicate encoding name {name} in tiktoken plugin {plugin}")
                    found[name] = constructor
            ENCODING_CONSTRUCTORS = found
        return ENCODING_CONSTRUCTORS


def _plugins() -> list[str]:
    try:
        package = importlib.import_module("tiktoken_ext")
    except ImportError:
        return []
    names = [module.name for module in pkgutil.iter_modules(package.__path__, "tiktoken_ext.")]
    return [name for name in names if name != _OWN_PLUGIN]
