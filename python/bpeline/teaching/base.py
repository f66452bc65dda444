"""What the small tokenizers have in common: a vocabulary, and text to ids and back through it.

A tokenizer says how a text is cut into tokens (`split`), how tokens become a text again (`join`), and what `train` puts
into the vocabulary. All else is here, and works by looking up.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from ..errors import EncodingFileError, InvalidTextError, TokenIdError, TrainingError


class TeachingTokenizer(ABC):
    """A vocabulary, token -> id, and the two ways through it.

    `vocab` is one that is at hand already; without it, `train` makes one. `unk_token` stands for what is not in the vocabulary.
    `special_tokens` are others that stand for no text, such as <pad>: `train` gives them the first ids, and
    `decode` leaves them out. Raises `EncodingFileError` for a vocabulary in which two tokens have one id.
    """

    def __init__(
        self,
        vocab: Mapping[str, int] | None = None,
        unk_token: str = "<unk>",
        special_tokens: Iterable[str] = (),
    ) -> None:
        self.unk_token = unk_token
        self._specials = list(special_tokens)
        self._use(vocab or {})

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """The tokens of a text, in the vocabulary or not."""

    @abstractmethod
    def join(self, tokens: list[str]) -> str:
        """The text of tokens."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens. A token that is not in the vocabulary becomes `unk_token`.

        Raises `InvalidTextError` for such a token if there is no `unk_token` in the vocabulary either.
        """
        return [self._id(token) for token in self.split(text)]

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of ids, with or without special tokens. Raises `TokenIdError` for an id that no token has."""
        skipped = self.special_tokens if skip_special_tokens else {}
        return self.join([token for token in self.lookup_tokens(ids) if token not in skipped])

    def lookup_tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id. Raises `TokenIdError` for an id that no token has."""
        tokens = []
        for id in ids:
            if id not in self._tokens:
                valid = f"valid ids: 0 to {max(self._tokens)}" if self._tokens else "it is empty: call train first"
                raise TokenIdError(f"token id {id} is not in the vocabulary ({valid})")
            tokens.append(self._tokens[id])
        return tokens

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self.vocab.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of an id, or None."""
        return self._tokens.get(id)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, special ones included."""
        return len(self.vocab)

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens that are in the vocabulary, token -> id."""
        return {token: self.vocab[token] for token in self._special_names() if token in self.vocab}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.vocab_size:,} tokens>"

    def _special_names(self) -> list[str]:
        return self._specials if self.unk_token in self._specials else [*self._specials, self.unk_token]

    def _id(self, token: str) -> int:
        id = self.vocab.get(token, self.vocab.get(self.unk_token))
        if id is None:
            why = f"there is no {self.unk_token}" if self.vocab else "the vocabulary is empty: call train first"
            raise InvalidTextError(f"{token!r} is not in the vocabulary, and {why}")
        return id

    def _use(self, vocab: Mapping[str, int]) -> None:
        self.vocab = dict(vocab)
        self._tokens: dict[int, str] = {}
        for token, id in self.vocab.items():
            if id in self._tokens:
                raise EncodingFileError(f"the tokens {self._tokens[id]!r} and {token!r} have the same id {id}")
            self._tokens[id] = token

    def _learn(self, tokens: Iterable[str]) -> Self:
        """A vocabulary of the special tokens and then these, sorted."""
        specials = self._special_names()
        ordinary = sorted(set(tokens).difference(specials))
        if not ordinary:
            raise TrainingError("the corpus is empty: expected a text, or texts, to learn from")
        self._use({token: id for id, token in enumerate([*specials, *ordinary])})
        return self


def texts_of(corpus: str | Iterable[str]) -> Iterator[str]:
    """One text or many, as many. Raises `TypeError` for what is no text."""
    for number, text in enumerate([corpus] if isinstance(corpus, str) else corpus):
        if not isinstance(text, str):
            raise TypeError(f"text {number} of the corpus must be str, not {type(text).__name__}")
        yield text
