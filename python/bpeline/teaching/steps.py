"""The steps of byte pair encoding, on words of characters: the algorithm of Sennrich, Haddow and Birch (2016).

    words -> symbols -> pairs, counted -> the most frequent becomes a symbol -> again

A word is a list of symbols, at first its characters and `</w>`, which marks where it ends. Training counts all pairs anew
for each merge: easy to follow, and as slow as (merges x distinct words).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from ..errors import TrainingError
from .base import texts_of

Pair = tuple[str, str]

END_OF_WORD = "</w>"


def word_to_symbols(word: str) -> list[str]:
    """The characters of a word, and the mark of its end.

    >>> from bpeline.teaching import word_to_symbols
    >>> word_to_symbols("low")
    ['l', 'o', 'w', '</w>']
    """
    return [*word, END_OF_WORD]


def get_pair_counts(words: Mapping[tuple[str, ...], int] | Iterable[Sequence[str]]) -> dict[Pair, int]:
    """How often each pair of adjacent symbols occurs, in the order in which they are first met.

    `words` are words as symbols, or a mapping of such words (as tuples) to how often each occurs.

    >>> from bpeline.teaching import get_pair_counts
    >>> get_pair_counts([["l", "o", "w"], ["s", "l", "o", "w"]])
    {('l', 'o'): 2, ('o', 'w'): 2, ('s', 'l'): 1}
    >>> get_pair_counts({("l", "o", "w"): 5, ("l", "o", "t"): 2})
    {('l', 'o'): 7, ('o', 'w'): 5, ('o', 't'): 2}
    """
    counts: Counter[Pair] = Counter()
    for symbols, count in words.items() if isinstance(words, Mapping) else ((word, 1) for word in words):
        for pair in pairwise(symbols):
            counts[pair] += count
    return dict(counts)


def merge_pair(symbols: Sequence[str], pair: Pair) -> list[str]:
    """A word in which each occurrence of the pair has become one symbol, from left to right.

    >>> from bpeline.teaching import merge_pair
    >>> merge_pair(["l", "o", "w", "l", "o"], ("l", "o"))
    ['lo', 'w', 'lo']
    >>> merge_pair(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    left, right = pair
    merged: list[str] = []
    at = 0
    while at < len(symbols):
        size = 2 if tuple(symbols[at : at + 2]) == (left, right) else 1
        merged.append("".join(symbols[at : at + size]))
        at += size
    return merged


def train_bpe(corpus: str | Iterable[str], num_merges: int, min_frequency: int = 2) -> list[Pair]:
    """The merges learned from one text or several, first learned first: `num_merges` of them at most.

    Each is the most frequent pair of its time; of several, the one that is met first. It ends early when the best
    pair occurs less than `min_frequency` times, or no pair is left. Raises `TrainingError` for numbers that are too small.

    >>> from bpeline.teaching import train_bpe
    >>> ["+".join(pair) for pair in train_bpe("low lower lowest low lower newest", num_merges=10)]
    ['l+o', 'lo+w', 'low+e', 'low+</w>', 'lowe+r', 'lower+</w>', 's+t', 'st+</w>']
    """
    if num_merges < 0:
        raise TrainingError(f"num_merges must be at least 0, not {num_merges}")
    if min_frequency < 1:
        raise TrainingError(f"min_frequency must be at least 1, not {min_frequency}")
    frequency = Counter(word for text in texts_of(corpus) for word in text.split())
    words = {tuple(word_to_symbols(word)): count for word, count in frequency.items()}
    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts = get_pair_counts(words)
        best = max(counts, key=counts.__getitem__, default=None)  # `max` keeps the first of equals
        if best is None or counts[best] < min_frequency:
            break
        merges.append(best)
        words = {tuple(merge_pair(symbols, best)): count for symbols, count in words.items()}
    return merges


def merge_word(word: str, merges: Iterable[Pair]) -> list[str]:
    """The symbols of a word after all merges, in the order in which they were learned.

    >>> from bpeline.teaching import merge_word, train_bpe
    >>> merges = train_bpe("low lower lowest low lower newest", num_merges=10)
    >>> merge_word("lowest", merges), merge_word("newer", merges)
    (['lowe', 'st</w>'], ['n', 'e', 'w', 'e', 'r', '</w>'])
    """
    symbols = word_to_symbols(word)
    for pair in merges:
        symbols = merge_pair(symbols, pair)
    return symbols


def build_bpe_vocab(
    alphabet: Iterable[str], merges: Iterable[Pair], special_tokens: Iterable[str] = ("<unk>",)
) -> dict[str, int]:
    """Token -> id: the special tokens in their order, then the alphabet, `</w>` and what the merges make, sorted.

    >>> from bpeline.teaching import build_bpe_vocab, train_bpe
    >>> corpus = "low lower lowest low lower newest"
    >>> vocab = build_bpe_vocab(set(corpus) - {" "}, train_bpe(corpus, 10), ["<pad>", "<bos>", "<eos>", "<unk>"])
    >>> len(vocab), list(vocab)[:9]
    (21, ['<pad>', '<bos>', '<eos>', '<unk>', '</w>', 'e', 'l', 'lo', 'low'])
    """
    specials = list(dict.fromkeys(special_tokens))
    tokens = {*alphabet, END_OF_WORD, *map("".join, merges)}.difference(specials)
    return {token: id for id, token in enumerate([*specials, *sorted(tokens)])}
