"""What a format is: how the ids of a shard, and where its documents end, become files.

While a shard grows it is the same for all formats (`spool.py`): its ids one after another behind room for a header, the ends of its
documents, the columns that go along. A format says how much of that it needs and makes files of it when the shard is whole.
"""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..folder import Growing
    from ..spool import Spool


class Names(NamedTuple):
    """What the names of files are made of."""

    name: str
    """That of the corpus (`--name`)."""
    is_split: bool
    """Whether there is a part for validation (`--val-fraction`)."""


class Layout:
    """A format; what is said here holds where a format says nothing else."""

    eot: ClassVar[str] = "append"
    """Where end-of-text goes if nobody says: "append", "prepend" or "none"."""
    eot_if_empty: ClassVar[bool] = True
    """Whether a document without tokens gets it too."""
    header: ClassVar[int] = 0
    """Bytes in front of the ids."""
    has_ends: ClassVar[bool] = True
    """Whether the files tell where documents end."""
    has_columns: ClassVar[bool] = False
    """Whether columns can go along."""
    cuts_documents: ClassVar[bool] = False
    """Whether a document may begin in one shard and go on in the next."""
    shard_tokens: ClassVar[int | None] = None
    """Tokens in a shard if nobody says; None for formats of one shard, which cannot have more."""

    def dtype(self, vocab_size: int) -> "np.dtype[Any]":
        """The narrowest type that holds every id."""
        return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")

    def wide(self) -> "np.dtype[Any]":
        """The type for all encodings."""
        return np.dtype("<u4")

    def least_tokens(self, shard_tokens: int, dtype: "np.dtype[Any]") -> int:
        """How many tokens the last of several shards has at least."""
        return 0

    def most_tokens(self, dtype: "np.dtype[Any]") -> int | None:
        """How many tokens a shard may have."""
        return None

    def split_of(self, spool: "Spool", names: Names, is_only: bool) -> str:
        """The split that a finished shard belongs to."""
        return spool.split

    def finals(self, names: Names, split: str, number: int) -> dict[str, list[str]]:
        """The names that a shard's files, by their kinds in the spool, may come to have."""
        raise NotImplementedError

    def follow(self, spool: "Spool") -> None:
        """Write ahead what is settled of the files that a shard becomes; called after documents were added."""

    def finish(self, spool: "Spool", names: Names, is_only: bool) -> "dict[str, Growing]":
        """The files of a shard by their names, all but the renaming done; `is_only` if the split has no other."""
        raise NotImplementedError
