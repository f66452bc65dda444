"""The inputs of a call, as lists of texts; what is not plainly one is left to tokenizers, errors included.

A sequence is a text, or a list or tuple of words if the text comes split into words. An input is a sequence or a tuple
of two. (tokenizers also takes subclasses of `str`, arrays of strings, lists of two texts, and so on.)
"""

from typing import Any, TypeAlias

Texts: TypeAlias = list[str]
"""One sequence: a text alone, or the words that it was split into."""


class NotPlain(Exception):
    """It takes tokenizers to tell what it is."""


def read_inputs(inputs: Any, split_into_words: bool) -> list[list[Texts]]:
    """The sequences of each input. Raises `NotPlain`."""
    if not isinstance(inputs, list | tuple):
        raise NotPlain
    return [_read_input(input, split_into_words) for input in inputs]


def read_sequence(sequence: Any, split_into_words: bool) -> Texts:
    """The texts of a sequence. Raises `NotPlain`."""
    texts = sequence if split_into_words else [sequence]
    if type(texts) not in (list, tuple) or not all(type(text) is str for text in texts):
        raise NotPlain
    return list(texts)


def _read_input(input: Any, split_into_words: bool) -> list[Texts]:
    try:
        return [read_sequence(input, split_into_words)]
    except NotPlain:
        if type(input) is not tuple or len(input) != 2:
            raise
        return [read_sequence(sequence, split_into_words) for sequence in input]
