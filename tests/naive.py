"""The oracle: too simple to be wrong, quadratic and worse. Classes are unicodedata's: only for old, settled characters."""

import unicodedata
from itertools import pairwise

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
CONTRACTIONS = "'s", "'t", "'re", "'ve", "'m", "'ll", "'d"


def kind(character):
    category = unicodedata.category(character)[0]
    return "S" if character in WHITE_SPACE else category if category in "LN" else "other"


def run_end(text, start):
    return next((i for i in range(start, len(text)) if kind(text[i]) != kind(text[start])), len(text))


def pieces(text):
    """GPT-2's pieces: at each position the first alternative of the pattern that matches."""
    start = 0
    while start < len(text):
        word = start + (text[start] == " ")
        end = next((start + len(c) for c in CONTRACTIONS if text.startswith(c, start)), start)
        if end == start and word < len(text) and kind(text[word]) != "S":
            end = run_end(text, word)
        elif end == start:
            end = run_end(text, start)
            end -= end < len(text) and end - start > 1
        yield text[start:end]
        start = end


def merge(piece, rank):
    """A piece's symbols: of all adjacent pairs that have a rank, merge the best (rank, position), and again."""
    symbols = [bytes([byte]) for byte in piece]
    while ranked := [(r, i) for i, pair in enumerate(pairwise(symbols)) if (r := rank(*pair)) is not None]:
        i = min(ranked)[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols
