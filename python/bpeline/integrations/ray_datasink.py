"""Ids of a Ray dataset to the files that a trainer reads, with the manifest of a job on one machine.

Each task writes its rows to a folder of its own below `OUT/.parts`, with the writer of a job on one machine. When all are done the calling
process makes one output of these parts, in the order of the tasks. Files of formats that have shards of whole documents get their final names
and nothing of them is read again. The other formats are single files, or (llmc) may have no small shard: their parts are
NumPy's files, which go through the writer once more.

A part counts only if its task ended well, so a task that Ray runs again leaves nothing behind. All machines must see `OUT`.
"""

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import ray.data

from .. import __version__
from ..corpus.encoder import Encoder, Run
from ..corpus.folder import Folder
from ..corpus.job import begin
from ..corpus.manifest import Manifest, Shard
from ..corpus.plan import Dtype, Eot, Format, Plan, make
from ..corpus.writer import Writer
from ..errors import CorpusError
from ..tokenizer import Methods
from .columns import IDS, kept

if TYPE_CHECKING:
    from ray.data._internal.execution.interfaces import TaskContext
    from ray.data.datasource import WriteResult

PARTS = ".parts"
RENAMED = ("datatrove", "parquet", "arrow")
"""Formats whose shards stay as the tasks wrote them, but for the names."""
RUN_DOCUMENTS, RUN_TOKENS = 1 << 14, 1 << 22
PART_BYTES = 256 << 20
"""Of rows that Ray collects for a task: they make a shard."""


class CorpusDatasink(ray.data.Datasink[tuple[int, str]]):
    """For `Dataset.write_datasink`: rows with `input_ids`, as `TokenizeBatch` makes them, to a folder that `tokenize_corpus` could have written.

    The options are those of `tokenize_corpus`; `encoding` must be that of the ids. Columns of `keep` go along in tables. The documents are
    in the order of the dataset if `ray.data.DataContext.get_current().execution_options.preserve_order` is set.

    Writing begins anew each time: what an earlier attempt left unfinished is replaced; a finished output only with `overwrite=True`.
    Raises `CorpusError` for that, for ids that the encoding does not have, and for a null in their place.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        *,
        format: Format = "parquet",
        encoding: str | os.PathLike[str] | Methods = "gpt2",
        eot: Eot | None = None,
        eot_token: str | None = None,
        name: str = "corpus",
        shard_tokens: int | None = None,
        keep: Sequence[str] = (),
        dtype: Dtype = "auto",
        overwrite: bool = False,
    ) -> None:
        source = encoding if isinstance(encoding, Methods) else os.fspath(encoding)
        self.plan = make(
            [],
            source,
            format=format,
            eot=eot,
            eot_token=eot_token,
            name=name,
            shard_tokens=shard_tokens,
            keep=keep,
            dtype=dtype,
        )
        self.out, self.overwrite = Path(os.path.abspath(out)), overwrite

    @property
    def min_bytes_per_write(self) -> int:
        """Of rows that come to one task."""
        return PART_BYTES

    def on_write_start(self, schema: pa.Schema | None = None) -> None:
        """In the calling process, before all tasks."""
        old = Manifest.read(self.out)
        with Folder(self.out) as folder:
            begin(folder, self.plan, __version__, self.overwrite or (old is not None and not old.finished))
            if old is not None and old.finished and not self.overwrite:
                raise CorpusError(f"{self.out}: holds a finished output; overwrite=True replaces it")
            shutil.rmtree(self.out / PARTS, ignore_errors=True)

    def write(self, blocks: "Iterable[Any]", ctx: "TaskContext") -> tuple[int, str]:
        """In a task: one part. Gives its number and the name of its folder."""
        name = f"{ctx.task_idx:06d}-{uuid.uuid4().hex[:8]}"
        plan = part_plan(self.plan)
        with Folder(self.out / PARTS / name) as folder:
            writer = Writer(folder, plan, Manifest(plan.to_json(), __version__))
            try:
                for block in blocks:
                    for run in runs_of(plan, ray.data.block.BlockAccessor.for_block(block).to_arrow()):
                        writer.write(run)
                writer.finish()
            finally:
                writer.close()
        return ctx.task_idx, name

    def on_write_complete(self, write_result: "WriteResult[tuple[int, str]]") -> None:
        """In the calling process, after all tasks: one output of all parts."""
        names = [part[1] for part in sorted(part for part in write_result.write_returns if part is not None)]
        with Folder(self.out) as folder:
            manifest = begin(folder, self.plan, __version__, overwrite=True)
            if self.plan.format in RENAMED and names:
                rename_all(folder, self.plan, manifest, [self.out / PARTS / name for name in names])
            else:
                writer = Writer(folder, self.plan, manifest)
                try:
                    for name in names:
                        for run in stored_runs(self.out / PARTS / name):
                            writer.write(run)
                    writer.finish()
                finally:
                    writer.close()
            shutil.rmtree(self.out / PARTS, ignore_errors=True)


def part_plan(plan: Plan) -> Plan:
    """What a task writes."""
    return plan if plan.format in RENAMED else replace(plan, format="npy", shard_tokens=None)


def runs_of(plan: Plan, table: pa.Table) -> Iterator[Run]:
    """The rows of a block, with end-of-text."""
    kept(table.schema.names, IDS, plan.keep)
    encoder = Encoder(plan, 1, None)
    for rows in table.to_batches(max_chunksize=RUN_DOCUMENTS):
        lists = rows.column(IDS)
        if lists.null_count:
            raise CorpusError(f"{IDS} holds {lists.null_count} nulls: filter them out, or the rows that have no text")
        offsets, tokens = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy())]), lists.flatten().to_numpy()
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < plan.tokenizer.vocab_size:
            bad = tokens[(tokens < 0) | (tokens >= plan.tokenizer.vocab_size)][0]
            raise CorpusError(f"{IDS} holds {bad}, which is no id of {plan.tokenizer.name}")
        eot, ends = encoder.with_eot(offsets.astype(np.int64), len(rows), False)
        columns = rows.select(list(plan.keep)) if plan.keep else None
        yield Run(tokens.astype(plan.dtype), ends, numbers(ends), None, {}, kept=columns, eot=eot)


def stored_runs(folder: Path) -> Iterator[Run]:
    """The documents of a part in NumPy's files, some at a time."""
    offsets = np.load(folder / "offsets.npy", mmap_mode="r")
    tokens = np.load(folder / "tokens.npy", mmap_mode="r") if offsets[-1] else np.zeros(0, np.uint16)
    index, count = 0, len(offsets) - 1
    while index < count:
        ends = np.asarray(offsets[index + 1 : index + 1 + RUN_DOCUMENTS])
        begin = int(offsets[index])
        ends = ends[: max(1, int(np.searchsorted(ends, begin + RUN_TOKENS)))] - begin
        yield Run(np.asarray(tokens[begin : begin + int(ends[-1])]), ends, numbers(ends), None, {})
        index += len(ends)


def numbers(ends: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Nobody knows the files that the documents are of, nor their numbers there."""
    return np.zeros(len(ends) + 1, np.int64)


def rename_all(folder: Folder, plan: Plan, manifest: Manifest, parts: list[Path]) -> None:
    """The shards of all parts as those of the output, numbered in order; of empty ones the first, if there is no other."""
    made = [(part, Manifest.read(part)) for part in parts]
    shards = [(part, shard) for part, facts in made if facts for shard in facts.shards]
    for number, (part, shard) in enumerate([pair for pair in shards if pair[1].documents] or shards[:1]):
        old = plan.layout.finals(plan.names, shard.split, shard.number)
        new = plan.layout.finals(plan.names, shard.split, number)
        files = {}
        for kind, names in old.items():
            os.replace(part / names[0], folder.path / new[kind][0])
            files[new[kind][0]] = shard.files[names[0]]
        manifest.shards.append(Shard(shard.split, number, shard.documents, shard.tokens, files))
        manifest.documents += shard.documents
        manifest.tokens += shard.tokens
    folder.sync()
    manifest.resume, manifest.finished = None, True
    manifest.write(folder)
