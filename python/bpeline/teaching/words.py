"""A token for each word: the shortest sequences, a vocabulary without end, and many a word that is not in it."""

from collections.abc import Iterable
from typing import Self

from .base import TeachingTokenizer, texts_of


class WordTokenizer(TeachingTokenizer):
    """The vocabulary is <unk> and then the sorted words of the corpus, which are what stands between white space.

    >>> from bpeline.teaching import WordTokenizer
    >>> tokenizer = WordTokenizer().train("deep learning is fun deep learning is useful")
    >>> tokenizer.encode("deep learning is fun"), tokenizer.encode("MiniGPT is fun")
    ([1, 4, 3, 2], [0, 3, 2])
    >>> tokenizer.decode([1, 4, 3, 2]), tokenizer.decode([0, 3, 2])
    ('deep learning is fun', 'is fun')
    """

    def train(self, text_or_texts: str | Iterable[str], unk_token: str | None = None) -> Self:
        """Learns from one text or several, and forgets what it knew. Returns itself.

        `unk_token` replaces that of the constructor. Raises `TrainingError` for a corpus without a word.
        """
        self.unk_token = unk_token or self.unk_token
        return self._learn(word for text in texts_of(text_or_texts) for word in text.split())

    def split(self, text: str) -> list[str]:
        return text.split()

    def join(self, tokens: list[str]) -> str:
        return " ".join(tokens)
