"""What a job would come to, from a sample: the first documents of some of the files."""

import itertools
import time
from dataclasses import dataclass

from .documents import Source
from .encoder import Encoder
from .job import Read
from .plan import Plan

FILES, SECONDS = 16, 3.0
"""Of each kind, and for all."""
BATCHES = 4
"""Of a file: how much of a compressed one a batch is, is not known to the byte."""


@dataclass(frozen=True)
class Estimate:
    """Numbers of the whole output."""

    documents: int
    tokens: int
    text_bytes: int
    seconds: float
    is_exact: bool
    """Whether the sample is all there is."""


def estimate(plan: Plan, read: Read, threads: int | None) -> Estimate | None:
    """Read and encode a batch of files here and there, for some seconds; None where the sizes of the inputs are not known."""
    files = [source for source in plan.sources if source.url != "-"]
    if len(files) < len(plan.sources) or not all(source.size is not None for source in files):
        return None
    began = time.perf_counter()
    samples = [_Sample(group) for group in _alike(files)]
    for number in range(FILES):
        for sample in samples:
            if number < len(sample.chosen) and time.perf_counter() - began < SECONDS:
                sample.take(sample.chosen[number], plan, read, threads)
    if not all(sample.size or sample.is_whole or not sample.total for sample in samples):
        return None
    seconds = time.perf_counter() - began
    documents, tokens, text_bytes = (
        round(sum(numbers)) for numbers in zip(*(s.scaled() for s in samples), strict=True)
    )
    is_exact = all(sample.is_whole for sample in samples)
    share = sum(sample.size for sample in samples) / (sum(sample.total for sample in samples) or 1)
    return Estimate(documents, tokens, text_bytes, seconds if is_exact else seconds / (share or 1), is_exact)


class _Sample:
    """Batches of some of the files that are alike."""

    def __init__(self, files: list[Source]) -> None:
        self.chosen = _spread(files)
        self.total = sum(source.size or 0 for source in files)
        self.size = self.documents = self.tokens = self.text_bytes = 0
        self._left = len(files)
        """Files of which not all was read."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all there is."""
        return not self._left

    def take(self, source: Source, plan: Plan, read: Read, threads: int | None) -> None:
        """Read and encode the first batches of a file."""
        batches = read(source, None)
        encoder = Encoder(plan, threads, None)
        for batch in itertools.islice(batches, BATCHES):
            self.size += batch.size
            run = encoder.one(batch)
            if run is not None:
                self.documents, self.tokens = self.documents + len(run.ends), self.tokens + len(run)
                self.text_bytes += run.text_bytes
        if next(iter(batches), None) is None:
            self._left -= 1

    def scaled(self) -> tuple[float, float, float]:
        """The numbers of all the files."""
        times = 1 if self.is_whole or not self.size else self.total / self.size
        return self.documents * times, self.tokens * times, self.text_bytes * times


def _alike(files: list[Source]) -> list[list[Source]]:
    """The files by kind and compression: a megabyte of Parquet is more text than one of CSV."""
    groups: dict[tuple[str, str | None], list[Source]] = {}
    for source in files:
        groups.setdefault((source.kind, source.compression), []).append(source)
    return list(groups.values())


def _spread(files: list[Source]) -> list[Source]:
    """Some files, from the beginning to the end."""
    step = max(1, -(-len(files) // FILES))
    return files[::step]
