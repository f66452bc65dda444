"""Decoding token by token, as a model makes them."""

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tokenizer import Methods


class StreamDecoder:
    """Decodes token ids one at a time and never gives out half a character. Made by `Tokenizer.decoder`.

    What all the calls return, put together, is what `decode` returns for all the ids.

    >>> import bpeline
    >>> tok = bpeline.load("gpt2")
    >>> decoder = tok.decoder()
    >>> [decoder.push(id) for id in tok.encode("hi 👍")], decoder.finish()
    (['hi', ' ', '👍'], '')
    """

    __slots__ = ("_decoder", "_skip_special_tokens", "_tokenizer")

    def __init__(self, tokenizer: "Methods", *, errors: str = "replace", skip_special_tokens: bool = False) -> None:
        self._tokenizer = tokenizer
        self._skip_special_tokens = skip_special_tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def push(self, id: int) -> str:
        """The text that the token `id` completes; often a character is still open and it is "".

        Raises `TokenIdError` for an id outside the vocabulary, and under `errors="strict"` `UnicodeDecodeError` for
        invalid UTF-8; the decoder is then as it was before.

        >>> import bpeline
        >>> bpeline.load("gpt2").decoder().push(31373)
        'hello'
        """
        return self._decoder.decode(self._tokenizer.decode_bytes([id], skip_special_tokens=self._skip_special_tokens))

    def finish(self) -> str:
        """The end of the text: "", or what `errors` makes of a character that is still open. Then it can start anew.

        >>> import bpeline
        >>> decoder = bpeline.load("gpt2").decoder()
        >>> decoder.push(50169), decoder.finish()
        (' ', '�')
        """
        return self._decoder.decode(b"", final=True)
