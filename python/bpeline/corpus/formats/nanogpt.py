"""nanoGPT: `train.bin` and `val.bin`, the ids and nothing else, end-of-text after each document."""

from typing import TYPE_CHECKING

from .layout import Layout, Names

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool


class NanoGPT(Layout):
    """What nanoGPT's train.py maps into memory: `u16`, or `u32` where an encoding needs it."""

    has_ends = False

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        return {"ids": [f"{split}.bin"]}

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        return {f"{spool.split}.bin": spool.ids}
