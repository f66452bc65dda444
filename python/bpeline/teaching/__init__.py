"""Small tokenizers to learn with: pure Python, each readable on one screen, one in place of another.

`CharacterTokenizer`, `WordTokenizer` and `BPETokenizer` are trained on a text, and then turn text into ids and back.
The steps of the last are functions of their own. `explain` shows the same steps in a real tokenizer. README.md beside
this file is the tutorial. For anything but learning use `bpeline.load`, which is exact for every text and fast.

>>> from bpeline.teaching import BPETokenizer
>>> tokenizer = BPETokenizer().train("low lower lowest low lower newest", vocab_size=18)
>>> tokenizer.lookup_tokens(tokenizer.encode("lowest newer"))
['lowe', 'st</w>', 'n', 'e', 'w', 'e', 'r', '</w>']
"""

from .base import TeachingTokenizer
from .bpe import BPETokenizer
from .characters import CharacterTokenizer
from .explain import Explanation, explain
from .steps import (
    END_OF_WORD,
    build_bpe_vocab,
    get_pair_counts,
    merge_pair,
    merge_word,
    train_bpe,
    word_to_symbols,
)
from .words import WordTokenizer

__all__ = [
    "END_OF_WORD",
    "BPETokenizer",
    "CharacterTokenizer",
    "Explanation",
    "TeachingTokenizer",
    "WordTokenizer",
    "build_bpe_vocab",
    "explain",
    "get_pair_counts",
    "merge_pair",
    "merge_word",
    "train_bpe",
    "word_to_symbols",
]
