"""Which encoding a model of OpenAI's was made with, by the model's name: as in model.py of tiktoken 0.14."""

from ._reference.recipes import RECIPES
from .errors import UnknownModelError

_NAMES = {
    "gpt2": "gpt2 gpt-2",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
    "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
    "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
    "code-search-babbage-code-001 code-search-ada-code-001",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
    "code-cushman-001 davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
    "text-embedding-3-small text-embedding-3-large",
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
}
# What the names of later versions, of deployments and of fine-tuned models begin with.
_PREFIXES = {
    "cl100k_base": "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002",
    "o200k_base": "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- ft:gpt-4o",
    "o200k_harmony": "gpt-oss-",
}
ENCODING_OF = {model: encoding for encoding, models in _NAMES.items() for model in models.split()}
ENCODING_OF_PREFIX = {prefix: encoding for encoding, prefixes in _PREFIXES.items() for prefix in prefixes.split()}


def encoding_name(model: str) -> str:
    """The name of the encoding: that of the model's name, else of the longest prefix of it that is known.

    >>> from bpeline.models import encoding_name
    >>> encoding_name("gpt-4"), encoding_name("gpt-4o-2024-05-13")
    ('cl100k_base', 'o200k_base')
    """
    if model in ENCODING_OF:
        return ENCODING_OF[model]
    prefixes = [prefix for prefix in ENCODING_OF_PREFIX if model.startswith(prefix)]
    if not prefixes:
        raise UnknownModelError(
            f'the encoding of the model "{model}" is not known; load the encoding by its name: {", ".join(RECIPES)}'
        )
    return ENCODING_OF_PREFIX[max(prefixes, key=len)]
