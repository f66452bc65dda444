"""A token for each character: the smallest vocabulary, the longest sequences."""

from collections.abc import Iterable
from typing import Self

from .base import TeachingTokenizer, texts_of


class CharacterTokenizer(TeachingTokenizer):
    """The vocabulary is <unk> and then the sorted characters of the corpus.

    >>> from bpeline.teaching import CharacterTokenizer
    >>> tokenizer = CharacterTokenizer().train("hello world")
    >>> tokenizer.vocab
    {'<unk>': 0, ' ': 1, 'd': 2, 'e': 3, 'h': 4, 'l': 5, 'o': 6, 'r': 7, 'w': 8}
    >>> tokenizer.encode("hello"), tokenizer.encode("help")
    ([4, 3, 5, 5, 6], [4, 3, 5, 0])
    >>> tokenizer.decode([4, 3, 5, 0]), tokenizer.decode([4, 3, 5, 0], skip_special_tokens=False)
    ('hel', 'hel<unk>')
    """

    def train(self, text_or_texts: str | Iterable[str], unk_token: str | None = None) -> Self:
        """Learns from one text or several, and forgets what it knew. Returns itself.

        `unk_token` replaces that of the constructor. Raises `TrainingError` for a corpus without a character.
        """
        self.unk_token = unk_token or self.unk_token
        return self._learn(character for text in texts_of(text_or_texts) for character in text)

    def split(self, text: str) -> list[str]:
        return list(text)

    def join(self, tokens: list[str]) -> str:
        return "".join(tokens)
