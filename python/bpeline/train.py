"""How a tokenizer is trained, as its users see it; `learning` does it."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from ._backend import Core, Encoding, PieceCounts
from ._types import Text
from .errors import TrainingError

if TYPE_CHECKING:
    from typing import Self

    _Base = Core  # that the concrete class inherits
else:
    _Base = object

Item: TypeAlias = "Text | os.PathLike[str]"
Ties: TypeAlias = Literal["tokenizers", "first-seen"]


class TrainingProgress(NamedTuple):
    """How far a training is."""

    stage: Literal["counting", "merging"]
    done: int
    """Bytes counted (of a `str`, characters), or rules learned."""
    total: int | None
    """Of them, if that is known: there may be fewer rules."""
    seconds: float
    """Since the stage began."""

    @property
    def seconds_left(self) -> float | None:
        """As it looks now: the first rules take longest."""
        return self.seconds * (self.total - self.done) / self.done if self.total and self.done else None


Progress: TypeAlias = Callable[[TrainingProgress], object]


class Trained(_Base):
    """How a tokenizer is trained; a part of `Tokenizer`."""

    __slots__ = ()

    _Encoding: ClassVar[type[Encoding]]
    _PieceCounts: ClassVar[type[PieceCounts]]

    @classmethod
    def train(
        cls,
        items: Iterable[Item],
        vocab_size: int,
        *,
        pattern: str = "gpt2",
        special_tokens: Iterable[str] = ("<|endoftext|>",),
        min_frequency: int = 2,
        max_token_length: int | None = None,
        initial_alphabet: Literal["bytes"] = "bytes",
        ties: Ties = "tokenizers",
        threads: int | None = None,
        progress: Progress | None = None,
        max_memory: int | None = None,
        name: str = "trained",
        cache_bytes: int | None = None,
    ) -> "Self":
        """A tokenizer learned from a corpus: the most frequent pair of symbols becomes a token, again and again.

        In `items`, which may be of any length and is gone through once, a `str` (or bytes-like) is a text and a path
        object is a file of UTF-8 text. `special_tokens` get the first ids, the 256 bytes the next, then come the learned
        tokens, `vocab_size` in all; literals of special tokens are cut out of the texts and never learned. `pattern`
        is a regular expression or the name of one, and part of the result.

        A pair must occur `min_frequency` times. `max_token_length` is as in Hugging Face tokenizers: tokens stay shorter
        than so many bytes, but two bytes may always become one. `ties` decides between equally frequent pairs:
        "tokenizers" takes the one with the lowest ids, and gives the merges of their `BpeTrainer` with the full byte-level
        alphabet; "first-seen" takes the one that comes first in the corpus. The result does not depend on `threads` (None:
        one for each core).

        `progress` is called with a `TrainingProgress`. `max_memory`, in bytes, is about how much memory training may take:
        where the distinct pieces need more, the rarest are forgotten, with a warning.

        If the corpus runs out of pairs the vocabulary is smaller, with a warning. Raises `TrainingError` for a corpus without
        text and for settings that cannot be, `InvalidTextError` for text that is not valid Unicode, `TypeError` for an item
        that is no text and no path.

        >>> import bpeline
        >>> tok = bpeline.Tokenizer.train(["low lower lowest", "newest"], 260, special_tokens=[])
        >>> [tok.id_to_token(id) for id in range(256, 260)]
        ['lo', 'we', 'st', 'Ġlo']
        """
        if initial_alphabet != "bytes":
            raise TrainingError(f'initial_alphabet must be "bytes", not {initial_alphabet!r}')
        from . import learning

        specials = learning.checked_special_tokens(special_tokens)
        ids = {literal: id for id, literal in enumerate(specials)}
        vocabulary = {character: id for id, character in enumerate(learning.ALPHABET, len(ids))}
        base = cls._Encoding.from_tokenizer_json("train", name, pattern, vocabulary, [], ids, False, None)
        training = learning.Learning(cls._PieceCounts(base), base, threads, progress)
        training.check(vocab_size, len(specials), min_frequency, max_token_length, ties, max_memory)
        training.count(items, max_memory)
        rules = training.learn(vocab_size, min_frequency, max_token_length, ties)
        return cls(learning.with_rules(cls._Encoding, base, rules, name), cache_bytes=cache_bytes)

    def train_more(
        self,
        items: Iterable[Item],
        vocab_size: int,
        *,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        ties: Ties = "tokenizers",
        threads: int | None = None,
        progress: Progress | None = None,
        max_memory: int | None = None,
        name: str | None = None,
    ) -> "Self":
        """A tokenizer that has all of this one's tokens and rules, and more of them learned from `items`.

        The corpus is first encoded with this tokenizer; what is learned merges its tokens further and gets the ids
        from `self.vocab_size` on. So tokens and ids in use stay, though a text may have fewer of them, and training to 1,000
        tokens and then, on the same corpus, to 2,000 is the same as training to 2,000 at once. Pattern, special
        tokens and, unless one is given, name are those of this tokenizer; the other options, warnings and errors are those of `train`.

        Raises `TrainingError` for a tokenizer that ranks token bytes instead of pairs (rank files), or that does more than
        special tokens and one pattern (some tokenizer.json).

        >>> import bpeline
        >>> tok = bpeline.load("gpt2").train_more(["Zyzzyva! "] * 9, 50260)
        >>> [tok.id_to_token(id) for id in range(50257, tok.vocab_size)]
        ['Zy', 'zzyva', 'Zyzzyva']
        """
        from . import learning
        from ._reference.messages import quote

        encoding = self.encoding
        if encoding.merges() is None:
            raise TrainingError(
                f"{quote(encoding.name)} ranks token bytes, and pairs are learned: it cannot be trained further"
            )
        if encoding.spec is not None or encoding.whole_pieces:
            raise TrainingError(
                f"{quote(encoding.name)} does more than special tokens and one pattern: it cannot be trained further"
            )
        training = learning.Learning(self._PieceCounts(encoding), encoding, threads, progress)
        training.check(vocab_size, None, min_frequency, max_token_length, ties, max_memory)
        training.count(items, max_memory)
        rules = training.learn(vocab_size, min_frequency, max_token_length, ties)
        return type(self)(
            learning.with_rules(self._Encoding, encoding, rules, name or encoding.name), cache_bytes=self.cache_bytes
        )
