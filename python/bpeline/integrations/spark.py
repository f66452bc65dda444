"""Spark: a column of text to a column of ids, by `DataFrame.mapInArrow`.

The encoder goes to the executors by its name if it is built in, else as one broadcast of its content; each Python worker makes one
tokenizer of it, whatever the number of tasks (Spark keeps its workers: `spark.python.worker.reuse`).
"""

import functools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .._types import Special
from ..tokenizer import Methods, Tokenizer
from .columns import IDS, kept, with_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tokenize(
    df: "DataFrame",
    column: str = "text",
    encoding: str | os.PathLike[str] | Methods = "gpt2",
    *,
    keep: Sequence[str] | None = None,
    special: Special = "text",
    threads: int | None = None,
) -> "DataFrame":
    """The columns of `keep` (None: all but the text), then `input_ids: array<int>`, null where the text is.

    `encoding` is a name, a path that this process can read, or a tokenizer. `special` is that of `encode`; text from strangers should not write
    special tokens, so it is "text" here. `threads` is the number of processors of a task (`spark.task.cpus`) unless given.

    Raises `CorpusError` for a column that is not there. What a text of the data raises ends Spark's job, with the message of
    `encode_arrow`.
    """
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    chosen = kept(df.columns, column, keep)
    fields = [df.schema[name] for name in chosen]
    schema = StructType([*fields, StructField(IDS, ArrayType(IntegerType(), containsNull=False))])
    shipped = _shipped(df, encoding if isinstance(encoding, Methods) else Tokenizer.load(encoding))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tokenizer, processors = _tokenizer(shipped), threads or _processors()
        for batch in batches:
            yield with_ids(batch, tokenizer, column=column, keep=chosen, special=special, threads=processors, ids=_INTS)

    return df.select(*dict.fromkeys([column, *chosen])).mapInArrow(work, schema)


_INTS = pa.list_(pa.field("element", pa.int32(), nullable=False))


def _shipped(df: "DataFrame", tokenizer: Methods) -> Any:
    """What goes to the executors: a name, or content in a broadcast; with Spark Connect, which has none, as it is."""
    if tokenizer.encoding.is_builtin:
        return tokenizer.name
    content = tokenizer.to_bytes()
    try:
        return df.sparkSession.sparkContext.broadcast(content)
    except Exception:  # pyspark.errors.PySparkAttributeError and others of Spark Connect, by version
        return content


def _tokenizer(shipped: Any) -> Tokenizer:
    return _made(shipped if isinstance(shipped, str | bytes) else shipped.value)


@functools.lru_cache(maxsize=8)
def _made(content: str | bytes) -> Tokenizer:
    """The tokenizer of a name or of content, once in a process."""
    return Tokenizer.load(content) if isinstance(content, str) else Tokenizer.from_bytes(content)


def _processors() -> int:
    """The processors of the task."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return task.cpus() if task else 1
