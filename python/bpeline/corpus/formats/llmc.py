"""llm.c: shards `NAME_SPLIT_000000.bin`, a header of 256 `int32` and the ids, end-of-text before each document.

The header holds a magic number (20240520 for `u16`, 20240801 for `u32`), a version (1, 7) and the number of tokens. The
reader takes batches of batch × length + 1 tokens from a shard and counts bytes in an `int`: so no shard is small, and none has 2^31 bytes.
Without a split of the caller's own the first shard is the one for validation, if there are others.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool

KINDS = {2: (20240520, 1), 4: (20240801, 7)}
"""Magic number and version by the bytes of an id."""
ENOUGH = 1 << 20
"""Tokens for a batch of any size that is in use: eight devices with 64 rows of 1,024 take half of it."""


class LLMC(Layout):
    """What llm.c's data loader reads."""

    eot = "prepend"
    header = 1024
    has_ends = False
    cuts_documents = True
    shard_tokens = 10**8

    def most_tokens(self, dtype: "np.dtype[Any]") -> int:
        return ((1 << 31) - 1 - self.header) // dtype.itemsize

    def least_tokens(self, shard_tokens: int, dtype: "np.dtype[Any]") -> int:
        # One that is smaller goes behind the shard before it, which has to have room.
        return max(min(ENOUGH, shard_tokens // 2, self.most_tokens(dtype) - shard_tokens + 1), 0)

    def split_of(self, spool: "Spool", names: Names, is_only: bool) -> str:
        return spool.split if names.is_split or spool.number or is_only else "val"

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        splits = [split] if names.is_split or number else ["train", "val"]
        return {"ids": [f"{names.name}_{split}_{number:06d}.bin" for split in splits]}

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        header = np.zeros(256, "<i4")
        header[:3] = *KINDS[spool.dtype.itemsize], spool.tokens
        spool.ids.patch(header.tobytes())
        split = self.split_of(spool, names, is_only)
        return {f"{names.name}_{split}_{spool.number:06d}.bin": spool.ids}
