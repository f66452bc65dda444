"""What a job would come to, from a sample: the first documents of some of the files."""

import time
from dataclasses import dataclass

from .documents import Source
from .encoder import Encoder
from .job import Read
from .plan import Plan

FILES, SECONDS = 16, 3.0


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
    documents = tokens = text_bytes = size = 0
    is_exact = len(files) <= FILES
    for source in _spread(files):
        if time.perf_counter() - began > SECONDS:
            is_exact = False
            break
        batches = read(source, None)
        first = [batch for _, batch in zip(range(1), batches, strict=False)]
        is_exact = is_exact and next(iter(batches), None) is None
        encoder = Encoder(plan, threads, None)
        size += sum(batch.size for batch in first)
        for batch in first:
            run = encoder.one(batch)
            if run is not None:
                documents, tokens = documents + len(run.ends), tokens + len(run)
                text_bytes += run.text_bytes
    seconds = time.perf_counter() - began
    if is_exact:
        return Estimate(documents, tokens, text_bytes, seconds, True)
    if not size:
        return None
    times = sum(source.size or 0 for source in files) / size
    return Estimate(round(documents * times), round(tokens * times), round(text_bytes * times), seconds * times, False)


def _spread(files: list[Source]) -> list[Source]:
    """Some files, from the beginning to the end."""
    step = max(1, -(-len(files) // FILES))
    return files[::step]
