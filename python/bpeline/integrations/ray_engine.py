"""A job whose documents are read and encoded on a Ray cluster, and written by the process that calls.

The files of the input are put into units of some megabytes, in order; a large file is several units, if it can be cut (`ray_units.py`). A task
encodes a unit with the code of a job on one machine (`corpus.job.encoded`) and hands out its runs as they come; the calling process takes
the units in order and gives the runs to the writer. So the output, its manifest and the state of a job that was killed are those of one machine, byte for byte: either can
finish what the other began. A task whose worker died is run again by Ray, and gives the same runs.

Few units wait at any time, and of a unit at most `AHEAD` runs, so memory does not depend on the size of the corpus. All machines
must see the files by the names that they have here, and have this version of bpeline; only the calling one sees the output.
"""

import os
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .. import __version__
from ..corpus.documents import Problem
from ..corpus.encoder import Run
from ..corpus.opening import STDIN, is_url
from ..corpus.plan import Plan
from ..errors import CorpusError
from .ray_units import START, Reached, Unit, encoded_unit, in_file, reached_by, said_again, units

AHEAD = 64
"""Runs of a unit, of at most a batch of documents each, that may wait to be written."""
UNITS_A_SLOT = 2
"""Units that are begun for each task that the cluster has room for: one is encoded, one waits to be written."""
RETRIES = 5
"""How often the task of a unit may lose its worker."""


@dataclass(frozen=True)
class RayEngine:
    """Encodes for `corpus.job.run`."""

    address: str | None = None
    """Of the cluster; None for the one of RAY_ADDRESS, or a new one on this machine. One that is connected to already is used as it is."""
    threads: int | None = None
    """Processors, and threads, of a task; 1 unless given."""

    def __call__(self, plan: Plan, after: dict[str, Any] | None) -> Generator[Run]:
        """The runs of a plan from where an earlier job was."""
        if after is not None and after["place"] is None:
            return
        for source in plan.sources:
            if source.url == STDIN:
                raise CorpusError("standard input cannot be read by a cluster; use engine local")
        runs = self._runs(plan, after)
        try:
            yield from joined(runs)
        finally:
            runs.close()

    def _runs(self, plan: Plan, after: dict[str, Any] | None) -> Generator[Run]:
        """The runs of all units, in order, as the tasks make them."""
        import ray

        if not ray.is_initialized():
            ray.init(address=self.address, log_to_driver=False, logging_level="warning")
        threads, given = self.threads or 1, [source.url for source in plan.sources]
        elsewhere = replace(plan, sources=tuple(replace(source, url=absolute(source.url)) for source in plan.sources))
        names = {source.url: url for source, url in zip(elsewhere.sources, given, strict=True) if source.url != url}
        task = ray.remote(_encode).options(
            num_returns="streaming",
            num_cpus=threads,
            max_retries=RETRIES,
            _generator_backpressure_num_objects=AHEAD,
        )
        box = [ray.put(elsewhere)]
        waiting: deque[tuple[Unit, Any]] = deque()
        todo = units(plan, after["place"] if after else None)
        reached: Reached | None = START
        try:
            while True:
                slots = int(ray.cluster_resources().get("CPU", 1)) // threads
                while len(waiting) < UNITS_A_SLOT * max(slots, 1) and (more := next(todo, None)) is not None:
                    waiting.append((more, task.remote(box, after, threads, more, __version__)))
                    after = None
                if not waiting:
                    break
                unit, runs = waiting[0]
                before = reached if unit.start else START
                if before is None:  # nothing more of this file can be read
                    ray.cancel(runs, force=True)
                else:
                    run = None
                    for reference in runs:
                        run = in_file(ray.get(reference), before, plan.sources[unit.begin])
                        yield _renamed(run, names)
                    reached = reached_by(run, unit)
                waiting.popleft()
        except ray.exceptions.RayTaskError as error:
            said_again(plan, unit, before or START, threads)
            raise error.cause from None
        except ray.exceptions.RayError as error:
            files = given[unit.begin] if unit.end - unit.begin == 1 else f"{given[unit.begin]} to {given[unit.end - 1]}"
            lost = str(error).strip().splitlines()[0]
            raise CorpusError(f"{files}: the cluster cannot encode this, tried {RETRIES + 1} times: {lost}") from error
        finally:
            for _, runs in waiting:
                ray.cancel(runs, force=True)


def joined(runs: Iterator[Run]) -> Iterator[Run]:
    """The runs of all units as those of one: what was left out of a unit's last files, if they hold no documents, is told with the next run."""
    problems: tuple[Problem, ...] = ()
    size, last = 0, None
    for run in runs:
        if run.after["place"] is None:
            problems, size, last = problems + run.problems, size + run.size, run
        else:
            yield replace(run, problems=problems + run.problems, size=size + run.size) if last is not None else run
            problems, size, last = (), 0, None
    if last is not None:
        yield replace(last, problems=problems, size=size)


def absolute(url: str) -> str:
    """A name that means the same to a process in another folder."""
    return url if is_url(url) else os.path.abspath(url)


def _renamed(run: Run, names: dict[str, str]) -> Run:
    """A run whose problems name files as the user did."""
    if not run.problems:
        return run
    return replace(run, problems=tuple(replace(one, file=names.get(one.file, one.file)) for one in run.problems))


# --- On the workers ---

_PLANS: dict[str, Plan] = {}
"""The plan that this worker has, with its encoder, by the reference to it: it comes once, not with every task."""


def _encode(box: list[Any], after: dict[str, Any] | None, threads: int, unit: Unit, version: str) -> Iterator[Run]:
    """The runs of a unit. In the box is a reference to the plan, which Ray would otherwise put in its place."""
    if version != __version__:
        raise CorpusError(
            f"a worker of the cluster has bpeline {__version__}, and the job is of {version}; install that there"
        )
    key = box[0].hex()
    if key not in _PLANS:
        import ray

        _PLANS.clear()
        _PLANS[key] = ray.get(box[0])
    yield from encoded_unit(_PLANS[key], after, threads, unit)
