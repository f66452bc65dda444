"""Tokens between characters and words, as many as are wanted: byte pair encoding, on characters."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Self

from ..errors import EncodingFileError, TrainingError
from .base import TeachingTokenizer, texts_of
from .steps import END_OF_WORD, Pair, build_bpe_vocab, merge_word, train_bpe


class BPETokenizer(TeachingTokenizer):
    """Learns which symbols to merge; then merges them in the words of any text, in that order. See `steps.py`.

    The vocabulary is <unk> and then the sorted tokens. White space between words becomes one space when it is decoded.

    >>> from bpeline.teaching import BPETokenizer
    >>> corpus = "low lower lowest low lower newest deep learning deep learner"
    >>> tokenizer = BPETokenizer().train(corpus, vocab_size=20)
    >>> ids = tokenizer.encode("lower newest learner")
    >>> ids
    [11, 16, 12, 4, 19, 4, 17, 18, 1, 7, 4, 2, 15, 12, 4, 16]
    >>> tokenizer.decode(ids)
    'lower newest learner'
    """

    def __init__(
        self,
        vocab: Mapping[str, int] | None = None,
        merges: Iterable[Pair] | None = None,
        unk_token: str = "<unk>",
        special_tokens: Iterable[str] = (),
    ) -> None:
        super().__init__(vocab, unk_token, special_tokens)
        self.merges = [(left, right) for left, right in merges or []]
        for number, (left, right) in enumerate(self.merges, start=1):
            if left + right not in self.vocab:
                raise EncodingFileError(f"merge {number}: {left + right!r} is not in the vocabulary")

    def train(
        self,
        text_or_texts: str | Iterable[str],
        vocab_size: int = 100,
        min_frequency: int = 2,
        unk_token: str | None = None,
    ) -> Self:
        """Learns from one text or several, and forgets what it knew. Returns itself.

        The vocabulary has at most `vocab_size` tokens; fewer if no pair is left that occurs `min_frequency` times. `unk_token`
        replaces that of the constructor. Raises `TrainingError` for a corpus without a word, and for sizes that are too small.
        """
        self.unk_token = unk_token or self.unk_token
        texts = list(texts_of(text_or_texts))
        alphabet = {character for text in texts for word in text.split() for character in word}
        if not alphabet:
            raise TrainingError("the corpus is empty: expected a text, or texts, to learn from")
        specials = self._special_names()
        least = len(build_bpe_vocab(alphabet, [], specials))
        if vocab_size < least:
            raise TrainingError(f"vocab_size must be at least {least} (alphabet and special tokens), not {vocab_size}")
        self.merges = train_bpe(texts, vocab_size - least, min_frequency)
        self._use(build_bpe_vocab(alphabet, self.merges, specials))
        return self

    def split(self, text: str) -> list[str]:
        merged = cache(lambda word: merge_word(word, self.merges))  # a word that comes again is merged once
        return [symbol for word in text.split() for symbol in merged(word)]

    def join(self, tokens: list[str]) -> str:
        return "".join(tokens).replace(END_OF_WORD, " ").strip()
