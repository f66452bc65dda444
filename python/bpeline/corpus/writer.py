"""Runs of ids -> shards, and the manifest that says what is done.

Where shards are cut depends on the documents alone, not on how they come in runs. A checkpoint is taken between runs: all files are
synced, then the manifest says how long they are and where the job goes on.
"""

import json
import time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import CorpusError
from .documents import Problem
from .encoder import Run
from .folder import PART, Folder, Growing
from .manifest import NAME, Manifest, Shard
from .plan import Plan
from .spool import Spool

SKIPPED = "skipped.jsonl"
EVERY, SHARE = 5.0, 20
"""Seconds between checkpoints, and how many times as long as the last one took they last at least."""


class Writer:
    """The output of a job; begins where the manifest ends."""

    def __init__(self, folder: Folder, plan: Plan, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        state = manifest.resume or {}
        self._splits = {
            split: Split(folder, plan, split, state.get("splits", {}).get(split, {})) for split in plan.splits
        }
        skipped = state.get("skipped", 0)
        if skipped:
            folder.take_back(SKIPPED + PART, [SKIPPED])
        self._skipped = Growing(folder, SKIPPED + PART, skipped)
        self._after = state.get("after")
        self._due, self._urls = time.monotonic() + EVERY, [source.url for source in plan.sources]

    def write(self, run: Run) -> None:
        """Write a run; from time to time, and when a shard is finished, make a checkpoint."""
        for name, split in self._splits.items():
            if run.in_val is None:
                split.write(run.source, run.numbers, run.tokens, run.ends, run.kept)
            else:
                split.write(run.source, *documents_of(run, run.in_val if name == "val" else ~run.in_val))
        for problem in run.problems:
            self._skip(problem)
        manifest = self.manifest
        manifest.documents += len(run.ends)
        manifest.tokens += len(run)
        manifest.text_bytes += run.text_bytes
        if run.source is not None:
            sums = manifest.by_source
            sums += [[0, 0, 0] for _ in range(run.source + 1 - len(sums))]
            counts = zip(sums[run.source], (len(run.ends), len(run), run.text_bytes), strict=True)
            sums[run.source] = [before + more for before, more in counts]
        self._after = run.after
        if any(split.finished for split in self._splits.values()) or time.monotonic() >= self._due:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Make what was written last, and say so."""
        began = time.monotonic()
        self._skipped.sync()
        splits = {name: split.state() for name, split in self._splits.items()}
        self.manifest.resume = {"after": self._after, "splits": splits, "skipped": self._skipped.length}
        self._list()
        took = time.monotonic() - began
        self._due = began + took + max(EVERY, SHARE * took)

    def finish(self) -> None:
        """End all shards; the job is done."""
        for split in self._splits.values():
            split.finish()
        if self._skipped.length:
            self._skipped.sync()
            self._skipped.close()
            self.folder.rename(SKIPPED + PART, SKIPPED)
        self.manifest.resume, self.manifest.finished = None, True
        self._list()
        self.close()
        self.folder.remove([SKIPPED + PART])

    def close(self) -> None:
        """Close all files as they are."""
        self._skipped.close()
        for split in self._splits.values():
            split.close()

    def _list(self) -> None:
        """Write the manifest, shards that were finished since the last time included."""
        self.folder.sync()
        old: list[Spool] = []
        for split in self._splits.values():
            self.manifest.shards += split.finished
            old += split.spent
            split.finished, split.spent = [], []
        if self.manifest.finished:
            self.manifest.shards.sort(key=lambda shard: (shard.split, shard.number))
        self.manifest.write(self.folder)
        for spool in old:
            spool.remove()

    def _skip(self, problem: Problem) -> None:
        record = {"file": problem.file, "line": problem.line, "reason": problem.message}
        self._skipped.write(json.dumps(record).encode() + b"\n")
        self.manifest.skipped += 1


class Split:
    """The shards of one split: those finished since the manifest was written, and one or two that grow."""

    def __init__(self, folder: Folder, plan: Plan, split: str, state: dict[str, Any]) -> None:
        self.finished: list[Shard] = []
        self.spent: list[Spool] = []
        """What is left of them, which nobody needs once they are listed."""
        self._number: int = state.get("number", 0)
        self._limit = plan.shard_tokens
        self._least = 0 if self._limit is None else plan.layout.least_tokens(self._limit, plan.dtype)
        self._cuts_documents = plan.layout.cuts_documents
        self._folder, self._plan, self._split = folder, plan, split
        growing = state.get("open", [])
        numbers = [spool["number"] for spool in growing]
        is_whole = all("kept" in spool["files"] for spool in growing if plan.keep and spool["documents"])
        if len(growing) > 2 or numbers != list(range(self._number - len(growing), self._number)) or not is_whole:
            raise CorpusError(
                f"{folder.path / NAME}: the {split} shards that grow cannot be the last of {self._number:,}; --overwrite starts the job anew"
            )
        self._open = [self._make(spool) for spool in growing]

    def state(self) -> dict[str, Any]:
        """What the manifest keeps."""
        return {"number": self._number, "open": [spool.state() for spool in self._open]}

    def write(
        self,
        source: int | None,
        numbers: NDArray[np.int64],
        tokens: NDArray[Any],
        ends: NDArray[np.int64],
        kept: pa.RecordBatch | None,
    ) -> None:
        """Add documents, and cut shards where they are full."""
        document = token = 0
        while document < len(ends) or token < len(tokens):
            spool = self._growing()
            until, cut = len(ends), len(tokens)
            if self._limit is not None:
                full = token + self._limit - spool.tokens
                reach = document + int(np.searchsorted(ends[document:], full))
                if self._cuts_documents and full <= len(tokens):
                    until, cut = reach + int(reach < len(ends) and ends[reach] == full), full
                    spool.is_full = True
                elif not self._cuts_documents and reach < len(ends):
                    until, cut = reach + 1, int(ends[reach])
                    spool.is_full = True
            rows = None if kept is None else kept.slice(document, until - document)
            spool.write(tokens[token:cut], ends[document:until] - token, rows)
            last = until - 1 if until > document and ends[until - 1] == cut else until
            if source is not None:
                spool.first = spool.first or [source, int(numbers[document])]
                spool.last = [source, int(numbers[last])]
            document, token = until, cut
            if len(self._open) == 2 and spool.tokens >= self._least:
                self._finish_first(is_only=False)

    def finish(self) -> None:
        """Finish the shards that grow; there is at least one."""
        if not self._open and not self._number:
            self._growing()
        if len(self._open) == 2 and self._open[1].tokens < self._least:
            self._open[0].absorb(self._open[1])
            self.spent.append(self._open.pop())
        while self._open:
            self._finish_first(is_only=len(self._open) == 1 and self._open[0].number == 0)

    def close(self) -> None:
        """Close all files as they are."""
        for spool in [*self._open, *self.spent]:
            spool.close()

    def _make(self, state: dict[str, Any]) -> Spool:
        plan = self._plan
        return Spool(self._folder, plan.layout, plan.names, plan.tokenizer.name, plan.dtype, self._split, state)

    def _growing(self) -> Spool:
        """The shard that is written to."""
        if not self._open or self._open[-1].is_full:
            self._open.append(self._make({"number": self._number}))
            self._number += 1
        return self._open[-1]

    def _finish_first(self, is_only: bool) -> None:
        spool = self._open.pop(0)
        self.spent.append(spool)
        self.finished.append(spool.finish(is_only))


def documents_of(
    run: Run, is_in: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64], pa.RecordBatch | None]:
    """The numbers, tokens, ends and columns of some documents of a run."""
    lengths = np.diff(run.ends, prepend=0, append=len(run))
    tokens = run.tokens[np.repeat(is_in, lengths)]
    whole = is_in[:-1]
    kept = None if run.kept is None else run.kept.filter(pa.array(whole))
    numbers = np.append(run.numbers[:-1][whole], run.numbers[-1])
    return numbers, tokens, np.cumsum(lengths[:-1][whole]), kept
