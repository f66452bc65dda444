"""Ray Data: texts to ids in a pool of actors, and ids to the files that a trainer reads.

    ds = ray.data.read_parquet("corpus/")
    ds = ds.map_batches(TokenizeBatch, fn_constructor_kwargs={"encoding": "gpt2"}, batch_format="pyarrow", concurrency=4, num_cpus=2)
    ds.write_datasink(CorpusDatasink("tokens", format="datatrove"))

`bpeline tokenize --engine ray` (`ray_engine.py`) needs no code, and its output is that of one machine, byte for byte.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import ray

from .._types import Special
from ..tokenizer import Methods, Tokenizer
from .columns import with_ids
from .ray_datasink import CorpusDatasink

if TYPE_CHECKING:
    import os

__all__ = ["CorpusDatasink", "TokenizeBatch"]


class TokenizeBatch:
    """For `Dataset.map_batches`, with `batch_format="pyarrow"`: a column of text becomes `input_ids`, lists of `u16` or `u32`.

    `encoding` is a name, a path that all machines can read, or a tokenizer, which goes to each actor once: by its name if it is
    built in, else as its content. `keep` names the columns that go along; None is all but the text. A null has no ids but null.
    `special` is that of `encode`; text from strangers should not write special tokens, so it is "text" here. `threads` is
    the number of processors of the actor (`num_cpus`) unless given.

    Raises `CorpusError` for a column that is not there, and what `encode_arrow` raises.

    >>> import pyarrow as pa
    >>> TokenizeBatch("gpt2")(pa.table({"text": ["hello world"], "id": [7]})).to_pydict()
    {'id': [7], 'input_ids': [[31373, 995]]}
    """

    def __init__(
        self,
        encoding: "str | os.PathLike[str] | Methods" = "gpt2",
        column: str = "text",
        *,
        keep: Sequence[str] | None = None,
        special: Special = "text",
        threads: int | None = None,
    ) -> None:
        self.tokenizer = encoding if isinstance(encoding, Methods) else Tokenizer.load(encoding)
        self.column, self.keep, self.special = column, keep, special
        self.threads = threads or assigned_processors()

    def __call__(self, batch: pa.Table) -> pa.Table:
        return with_ids(
            batch, self.tokenizer, column=self.column, keep=self.keep, special=self.special, threads=self.threads
        )


def assigned_processors() -> int:
    """The processors that Ray gave to this actor or task: 1 outside of any, and for a part of one."""
    if not ray.is_initialized() or ray.get_runtime_context().worker.mode != ray.WORKER_MODE:
        return 1
    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
