"""datatrove: `NAME_00000.ds`, the ids; `.ds.index`, where documents end in tokens (`u64`); `.ds.metadata`, two facts as text."""

from typing import TYPE_CHECKING

from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool


class Datatrove(Layout):
    """What datatrove's DatatroveFileDataset reads; end-of-text after each document, as its DocumentTokenizer does."""

    shard_tokens = 10**9

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        stem = self.stem(names, split, number)
        return {"ids": [stem], "ends": [f"{stem}.index"], "metadata": [f"{stem}.metadata"]}

    def stem(self, names: Names, split: str, number: int) -> str:
        """What the three files begin with."""
        return f"{names.name}_{split}_{number:05d}.ds" if names.is_split else f"{names.name}_{number:05d}.ds"

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        stem = self.stem(names, spool.split, spool.number)
        facts = spool.new("metadata")
        facts.write(f"{spool.encoding}|{spool.dtype.itemsize}\n{spool.tokens}\n{rounded(spool.tokens)}".encode())
        return {stem: spool.ids, f"{stem}.index": spool.ends, f"{stem}.metadata": facts}


def rounded(tokens: int) -> str:
    """A number of tokens in three digits: `1.23 MT`.

    >>> rounded(7), rounded(1_234_567), rounded(999_999)
    ('7.00 T', '1.23 MT', '1.00 MT')
    """
    number, power = float(tokens), 0
    while float(f"{number:.3g}") >= 1000 and power < 4:
        number, power = number / 1000, power + 1
    digits = max(0, 3 - len(str(int(float(f"{number:.3g}")))))
    return f"{number:.{digits}f} {' kMGT'[power].strip()}T"
