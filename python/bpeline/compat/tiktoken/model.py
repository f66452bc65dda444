"""Which encoding a model uses."""

from ...errors import UnknownModelError
from ...models import ENCODING_OF as MODEL_TO_ENCODING
from ...models import ENCODING_OF_PREFIX as MODEL_PREFIX_TO_ENCODING
from ...models import encoding_name
from .core import Encoding
from .registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding of a model, by its name or what that begins with. Raises `KeyError` for any other.

    >>> from bpeline.compat.tiktoken import encoding_name_for_model
    >>> encoding_name_for_model("gpt-4o")
    'o200k_base'
    """
    try:
        return encoding_name(model_name)
    except UnknownModelError:
        raise KeyError(
            f"Could not automatically map {model_name} to a tokeniser. "
            "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
        ) from None


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of a model. Raises `KeyError` as `encoding_name_for_model` does.

    >>> from bpeline.compat.tiktoken import encoding_for_model
    >>> encoding_for_model("gpt2")
    <Encoding 'gpt2'>
    """
    return get_encoding(encoding_name_for_model(model_name))
