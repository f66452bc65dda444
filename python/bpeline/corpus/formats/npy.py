"""NumPy: `tokens.npy`, all ids, and `offsets.npy`, n + 1 `int64` for n documents: document i is `tokens[offsets[i]:offsets[i + 1]]`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool


class Npy(Layout):
    """What `numpy.load` reads, mapped into memory or not. The offsets tell documents apart, so there is no end-of-text."""

    eot = "none"
    header = 128

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        prefix = self.prefix(names, split)
        return {"ids": [f"{prefix}tokens.npy"], "offsets": [f"{prefix}offsets.npy"]}

    def prefix(self, names: Names, split: str) -> str:
        """What both files begin with."""
        return f"{split}_" if names.is_split else ""

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        spool.ids.patch(header(spool.dtype, spool.tokens))
        offsets = spool.new("offsets")
        offsets.write(header(np.dtype("<i8"), spool.documents + 1) + bytes(8))
        for ends in spool.all_ends():
            offsets.write(ends.astype("<i8"))
        prefix = self.prefix(names, spool.split)
        return {f"{prefix}tokens.npy": spool.ids, f"{prefix}offsets.npy": offsets}


def header(dtype: "np.dtype[Any]", count: int) -> bytes:
    """128 bytes, whatever the count: NumPy's format, version 1.0."""
    fields = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({count},), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + f"{fields:<117}\n".encode()
