"""How each tool goes from files of documents to files of ids, end-of-text after each document: what is timed, in one place.

A tool runs in a process of its own (`job.py`), which imports its modules first and then calls `run`. What a tool does not bring,
such as writing the ids, is done in the fastest plain way.
"""

import multiprocessing
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benches.corpus_tools import inputs
from benches.corpus_tools.inputs import FORMS
from benches.peers import ENCODERS
from tests.parity.samples import EOT

EOT_ID = 50256


@dataclass(frozen=True)
class Job:
    """What a tool is given: the files of one form, the workers it may have, where tokenizers lie, an empty folder."""

    form: str
    files: list[Path]
    threads: int
    tokenizers: Path
    out: Path


@dataclass(frozen=True, kw_only=True)
class Tool:
    """`run` does a job; it may return the seconds that count, else all of its time does."""

    run: Callable[[Job], float | None]
    modules: tuple[str, ...]
    """To import before the time inside begins; the first names the package."""
    ids: str
    """The files with the ids, `u16`, as a pattern; their order is that of the documents."""
    about: str
    forms: tuple[str, ...] = FORMS
    is_a_job: bool = True
    """Whether files are read and written within the time."""
    shares_files: bool = False
    """Whether a worker takes whole files, so that the documents come in as many files as there are workers."""


def write_flat(path: Path, ids: Any, offsets: Any) -> None:
    """A file of ids from all of them in one array and where each document begins and ends."""
    import numpy as np

    rows = np.arange(1, len(offsets))
    whole = np.empty(len(ids) + len(rows), np.uint16)
    is_eot = np.zeros(len(whole), bool)
    is_eot[np.asarray(offsets[1:], np.int64) + rows - 1] = True
    whole[is_eot] = EOT_ID
    whole[~is_eot] = ids
    whole.tofile(path)


# --- bpeline ---


def bpeline(job: Job, format: str = "nanogpt") -> None:
    import_module("bpeline").tokenize_corpus(
        job.files, job.out / "tokens", format=format, separator=EOT if job.form == "text" else None, threads=job.threads
    )


def encode_ragged(job: Job) -> float:
    texts = list(inputs.documents(job.form, job.files))
    tok = import_module("bpeline").load("gpt2")
    start = time.perf_counter()
    batch = tok.encode_ragged(texts, threads=job.threads)
    seconds = time.perf_counter() - start
    write_flat(job.out / "train.bin", batch.tokens, batch.offsets)
    return seconds


# --- Others ---


def gigatoken(job: Job) -> None:
    import awkward as ak
    import numpy as np

    package = import_module("gigatoken")
    tok = package.Tokenizer(job.tokenizers / "tokenizer.json")
    if job.form == "text":
        source = package.TextFileSource(job.files, separator=EOT)
    else:
        source = (package.ParquetFileSource if job.form == "parquet" else package.JsonlFileSource)(job.files)
    ids = tok.encode_files(source, parallel=job.threads > 1)
    offsets = np.concatenate(([0], np.cumsum(ak.to_numpy(ak.num(ids)), dtype=np.int64)))
    write_flat(job.out / "train.bin", ak.to_numpy(ak.flatten(ids)), offsets)


def tiktoken(job: Job) -> None:
    import numpy as np

    encode = ENCODERS["tiktoken"](job.tokenizers, job.threads).lists
    assert encode
    with (job.out / "train.bin").open("wb") as file:
        for ids in encode(list(inputs.documents(job.form, job.files))):
            ids.append(EOT_ID)
            file.write(np.array(ids, np.uint16).tobytes())


def text_rows(files: list[Path]) -> Iterator[dict[str, str]]:
    return ({"text": text} for text in inputs.between_separators(files))


def dataset(job: Job) -> Any:
    """The documents as a `datasets.Dataset`, which it keeps in Arrow files of its own (here in a new folder each time)."""
    package, cache = import_module("datasets"), str(job.out / "cache")
    if job.form == "text":
        return package.Dataset.from_generator(text_rows, gen_kwargs={"files": job.files}, cache_dir=cache)
    kind = "parquet" if job.form == "parquet" else "json"
    return package.load_dataset(kind, data_files=[str(path) for path in job.files], split="train", cache_dir=cache)


def nanogpt(job: Job) -> None:
    """What `data/openwebtext/prepare.py` of nanoGPT does, written anew."""
    import numpy as np

    encode = ENCODERS["tiktoken"](job.tokenizers, 1).encode

    def with_eot(row: dict[str, Any]) -> dict[str, Any]:
        ids = [*encode(row["text"]), EOT_ID]
        return {"ids": ids, "len": len(ids)}

    ids = dataset(job).map(with_eot, remove_columns=["text"], num_proc=job.threads if job.threads > 1 else None)
    total = int(np.sum(ids["len"], dtype=np.uint64))
    mapped = np.memmap(job.out / "train.bin", dtype=np.uint16, mode="w+", shape=(total,))
    place, parts = 0, min(1024, len(ids))
    for number in range(parts):
        part = ids.shard(num_shards=parts, index=number, contiguous=True).with_format("numpy")
        row = np.concatenate(part["ids"])
        mapped[place : place + len(row)] = row
        place += len(row)
    mapped.flush()


def datasets(job: Job) -> None:
    import numpy as np

    tok = import_module("tokenizers").Tokenizer.from_file(str(job.tokenizers / "tokenizer.json"))

    def batch(rows: dict[str, list[str]]) -> dict[str, Any]:
        return {"ids": [[*each.ids, EOT_ID] for each in tok.encode_batch_fast(rows["text"], add_special_tokens=False)]}

    workers = job.threads if job.threads > 1 else None
    ids = dataset(job).map(batch, batched=True, remove_columns=["text"], num_proc=workers)
    with (job.out / "train.bin").open("wb") as file:
        for part in ids.with_format("arrow").iter(1000):
            file.write(part["ids"].combine_chunks().flatten().to_numpy().astype(np.uint16).tobytes())


def datatrove_documents(files: list[Path], _data: Any, rank: int, workers: int) -> Iterator[Any]:
    document = import_module("datatrove.data").Document
    for number, text in enumerate(inputs.between_separators(files[rank::workers])):
        yield document(text=text, id=str(number))


def datatrove(job: Job) -> None:
    step: Any
    if job.form == "text":
        step = partial(datatrove_documents, job.files)
    else:
        readers = import_module("datatrove.pipeline.readers")
        step = (readers.ParquetReader if job.form == "parquet" else readers.JsonlReader)(str(job.files[0].parent))
    writer = import_module("datatrove.pipeline.tokens").DocumentTokenizer(
        output_folder=str(job.out),
        tokenizer_name_or_path=str(job.tokenizers / "tokenizer.json"),
        eos_token=EOT,
        shuffle_documents=False,
    )
    import_module("datatrove.executor").LocalPipelineExecutor(
        [step, writer], tasks=job.threads, workers=job.threads, logging_dir=str(job.out / "logs")
    ).run()


class Megatron:
    """What `tools/preprocess_data.py` of Megatron-LM does with `--append-eod`, written anew."""

    tokenizer: Any

    @classmethod
    def begin(cls, path: str) -> None:
        """In each worker."""
        cls.tokenizer = import_module("tokenizers").Tokenizer.from_file(path)

    @classmethod
    def encode(cls, line: str) -> list[int]:
        text = import_module("json").loads(line)["text"]
        ids: list[int] = cls.tokenizer.encode(text, add_special_tokens=False).ids
        return [*ids, EOT_ID] if ids else ids


def megatron(job: Job) -> None:
    import numpy as np

    lengths: list[int] = []
    path = str(job.tokenizers / "tokenizer.json")
    with (
        multiprocessing.get_context("fork").Pool(job.threads, Megatron.begin, (path,)) as pool,
        (job.out / "corpus_text_document.bin").open("wb") as file,
    ):
        for each in job.files:
            with each.open(encoding="utf-8") as lines:
                for ids in pool.imap(Megatron.encode, lines, 32):
                    file.write(np.array(ids, np.uint16).tobytes())
                    lengths.append(len(ids))
    sizes = np.array(lengths, np.int32)
    ends = np.cumsum(sizes, dtype=np.int64) * 2
    with (job.out / "corpus_text_document.idx").open("wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(sizes), len(sizes) + 1))
        for array in (sizes, ends - sizes * np.int64(2), np.arange(len(sizes) + 1)):
            file.write(array.tobytes())


TOOLS: dict[str, Tool] = {
    "bpeline": Tool(
        run=bpeline,
        modules=("bpeline", "bpeline.corpus.job", "bpeline.corpus.readers", "pyarrow.parquet"),
        ids="tokens/train.bin",
        about="`tokenize_corpus(..., format='nanogpt')`; the one that syncs what it writes and can go on after a kill",
    ),
    "bpeline, Megatron": Tool(
        run=partial(bpeline, format="megatron"),
        modules=("bpeline", "bpeline.corpus.job", "bpeline.corpus.readers", "pyarrow.parquet"),
        ids="tokens/corpus_text_document.bin",
        about="the same with `format='megatron'`, which also makes the index",
    ),
    "gigatoken": Tool(
        run=gigatoken,
        modules=("gigatoken", "awkward"),
        ids="train.bin",
        forms=("text", "jsonl", "parquet"),
        about="`encode_files` of its file sources, which holds all ids in memory; numpy puts end-of-text in and writes",
    ),
    "datatrove": Tool(
        run=datatrove,
        modules=(
            "datatrove",
            "datatrove.executor",
            "datatrove.pipeline.readers",
            "datatrove.pipeline.tokens",
            "orjson",
        ),
        ids="*_unshuffled.ds",
        shares_files=True,
        about="`LocalPipelineExecutor` of a reader (for text a function that splits) and `DocumentTokenizer`, not shuffled; "
        "a worker takes whole files, so two get the documents in two files",
    ),
    "datasets": Tool(
        run=datasets,
        modules=("datasets", "tokenizers"),
        ids="train.bin",
        about="`load_dataset` (for text `from_generator`), `map(batched=True)` with tokenizers, `num_proc`; the ids from its Arrow "
        "tables to a file",
    ),
    "nanoGPT": Tool(
        run=nanogpt,
        modules=("datasets", "tiktoken"),
        ids="train.bin",
        about="the method of its `prepare.py`, written anew: `datasets.map` with `encode_ordinary` of tiktoken, `num_proc`, a "
        "`np.memmap` filled in 1,024 parts",
    ),
    "Megatron": Tool(
        run=megatron,
        modules=("tokenizers",),
        ids="corpus_text_document.bin",
        forms=("jsonl",),
        about="the method of its `preprocess_data.py`, written anew, since the package of PyPI has no such script and needs torch: "
        "`Pool.imap` over lines, tokenizers in the workers, `.bin` and `.idx` in the parent",
    ),
    "tiktoken": Tool(
        run=tiktoken,
        modules=("tiktoken", "pyarrow.parquet"),
        ids="train.bin",
        about="the plainest script: the file into a list of texts, `encode_ordinary_batch` with threads, numpy to a file",
    ),
    "encode_ragged": Tool(
        run=encode_ragged,
        modules=("bpeline", "pyarrow.parquet"),
        ids="train.bin",
        forms=("text",),
        is_a_job=False,
        about="bpeline's encoder alone, on texts in memory, in a new process, nothing read or written: what the job could reach",
    ),
}
