"""The errors that bpeline raises. Both backends raise the same class with the same text."""


class BpelineError(Exception):
    """Every error of bpeline's own is one of these."""


class EncodingFileError(BpelineError, ValueError):
    """A file, or data in its place, cannot make a working tokenizer, or a format cannot hold one."""


class InvalidTextError(BpelineError, ValueError):
    """The text holds invalid UTF-8 or a surrogate."""


class SpecialTokenError(BpelineError, ValueError):
    """`special="error"` was asked for and the text holds a special token."""


class TokenIdError(BpelineError, IndexError):
    """A token id is outside the vocabulary, negative, or unused."""


class UnknownModelError(BpelineError, KeyError):
    """No encoding is known for a model of that name."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would quote the text


class ArrowError(BpelineError, ValueError):
    """Arrow data is malformed, or a stream of it failed."""


class TrainingError(BpelineError, ValueError):
    """A corpus, or a setting, from which no tokenizer can be trained."""


class CorpusError(BpelineError, ValueError):
    """A corpus cannot be read, or a job on it cannot start or go on; the message names the file, and the line if there is one."""
