"""Megatron-LM: `PREFIX_text_document.bin`, the ids, and `.idx`, which tells where documents are.

The index is `MMIDIDX`, two zero bytes, `u64` version 1, `u8` code of the type (4: `i32`, 8: `u16`), `u64` number of sequences S, `u64` number of
documents + 1, `i32[S]` lengths in tokens, `i64[S]` places in bytes, and for each document the number of its first sequence (`i64`), at the
end S. A document is a sequence; one without tokens is none, and end-of-text comes after the others only.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorpusError
from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool

CODES = {"<u2": 8, "<i4": 4}


class Megatron(Layout):
    """What Megatron-core's IndexedDataset reads."""

    eot_if_empty = False

    def dtype(self, vocab_size: int) -> "np.dtype[Any]":
        return np.dtype("<u2" if vocab_size < 65_500 else "<i4")

    def wide(self) -> "np.dtype[Any]":
        return np.dtype("<i4")

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        prefix = self.prefix(names, split)
        return {"ids": [f"{prefix}.bin"], "idx": [f"{prefix}.idx"]}

    def prefix(self, names: Names, split: str) -> str:
        """What both files begin with."""
        return f"{names.name}_{split}_text_document" if names.is_split else f"{names.name}_text_document"

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        index = spool.new("idx")
        sequences = sum(np.count_nonzero(lengths) for lengths in all_lengths(spool))
        index.write(b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, CODES[spool.dtype.str]))
        index.write(struct.pack("<QQ", sequences, spool.documents + 1))
        for lengths in all_lengths(spool):
            if lengths.max(initial=0) >= 1 << 31:
                raise CorpusError(
                    f"a document has {lengths.max()} tokens, and Megatron's index counts to 2,147,483,647"
                )
            index.write(lengths[lengths > 0].astype("<i4"))
        place = 0
        for lengths in all_lengths(spool):
            sizes = lengths[lengths > 0] * spool.dtype.itemsize
            index.write((place + np.cumsum(sizes) - sizes).astype("<i8"))
            place += int(sizes.sum())
        first = 0
        for lengths in all_lengths(spool):
            numbers = first + np.cumsum(lengths > 0)
            index.write((numbers - (lengths > 0)).astype("<i8"))
            first = int(numbers[-1])
        index.write(struct.pack("<q", sequences))
        prefix = self.prefix(names, spool.split)
        return {f"{prefix}.bin": spool.ids, f"{prefix}.idx": index}


def all_lengths(spool: "Spool") -> Iterator[NDArray[np.int64]]:
    """The tokens of each document, some documents at a time."""
    before = 0
    for ends in spool.all_ends():
        yield np.diff(ends, prepend=before)
        before = int(ends[-1])
