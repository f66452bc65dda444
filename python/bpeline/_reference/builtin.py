"""The encodings inside the wheel, put together of their recipes and the files in builtin/."""

from collections.abc import Iterator
from pathlib import Path

from .data import Parts
from .recipes import RECIPES
from .stages import BYTE_TO_CHARACTER, unspell

_FOLDER = Path(__file__).parent.parent / "builtin"


def parts(name: str) -> Parts:
    """What the built-in encoding of that name is made from. Raises `KeyError` if there is none."""
    recipe = RECIPES[name]
    tokens = {id: unspell(character) for id, character in enumerate(sorted(BYTE_TO_CHARACTER))}
    merges = []
    for file, first in recipe.pairs:
        for id, (left, right) in enumerate(_pairs(file), start=first):
            tokens[id] = tokens[left] + tokens[right]
            merges.append((left, right))
    return Parts(name, recipe.pattern, tokens, merges if recipe.ranks_pairs else None, recipe.special_tokens)


def _pairs(file: str) -> Iterator[tuple[int, int]]:
    data = (_FOLDER / file).read_bytes()
    ids = [int.from_bytes(data[at : at + 3], "little") for at in range(0, len(data), 3)]
    return zip(ids[::2], ids[1::2], strict=True)
