"""Rows of a table, between what reads them and what makes documents of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..documents import Problem


@dataclass(frozen=True)
class Batch:
    """Rows of a table, as its library gives them."""

    rows: pa.RecordBatch
    first: int
    """The rows of the table before them."""
    size: int
    """Bytes as stored, about."""
    seek: int = 0
    line: int = 0
    """The rows of the table before `seek`."""
    problems: tuple[Problem, ...] = ()
    """Rows among these that could not be read."""

    def before(self, index: int) -> int:
        """The rows of the table before that of an index here."""
        before = self.first + index
        for problem in self.problems:
            if problem.line is not None and problem.line <= before + 1:
                before += 1
        return before

    def after(self, given: int) -> "Batch":
        """The rest of it, if that many rows of the table are known already."""
        if given <= self.first:
            return self
        rest = tuple(problem for problem in self.problems if (problem.line or 0) > given)
        known = given - self.first - (len(self.problems) - len(rest))
        return replace(self, rows=self.rows.slice(known), first=given, problems=rest)

    def without_last(self) -> "Batch":
        return replace(self, rows=self.rows.slice(0, max(self.rows.num_rows - 1, 0)))

    @property
    def end(self) -> int:
        rows: int = self.rows.num_rows
        return self.first + rows + len(self.problems)


def joined(memory: Any, offsets: NDArray[np.int64]) -> pa.Array:
    """Strings where they lie, one after another."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(memory)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
