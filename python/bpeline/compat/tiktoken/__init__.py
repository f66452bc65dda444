"""tiktoken's interface over bpeline: the same ids, the same errors, offline and faster.

`import bpeline.compat.tiktoken as tiktoken` is all that a program of its own needs. For libraries that import tiktoken
themselves, `install()` makes `import tiktoken` mean this package. Everything here follows tiktoken's version
`__version__`, private names that others lean on among it; where it differs is said in README.md.

>>> import bpeline.compat.tiktoken as tiktoken
>>> enc = tiktoken.get_encoding("gpt2")
>>> enc.encode("hello world")
[31373, 995]
>>> enc.encode("<|endoftext|>", allowed_special="all")
[50256]
"""

from . import core, load, model, registry
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__version__ = "0.14.0"

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "install",
    "list_encoding_names",
]


def install() -> None:
    """Makes `import tiktoken` mean this package, in this process and from now on.

    Call it before anything imports tiktoken, which need not be installed. Raises `ImportError` if another tiktoken is
    imported already: who holds it would go on using it.

    >>> import bpeline.compat.tiktoken
    >>> bpeline.compat.tiktoken.install()
    >>> import tiktoken
    >>> tiktoken.get_encoding("gpt2").encode("hello world")
    [31373, 995]
    """
    import sys

    this = sys.modules[__name__]
    if sys.modules.get("tiktoken", this) is not this:
        raise ImportError("another tiktoken is imported already: call bpeline.compat.tiktoken.install() before that")
    for module in (this, core, load, model, registry):
        sys.modules[module.__name__.removeprefix("bpeline.compat.")] = module
