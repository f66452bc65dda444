"""`bpeline.tokenize_corpus`: a job as a call. What it needs of other packages is imported when it is called."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import CorpusError
from ..tokenizer import Methods

if TYPE_CHECKING:
    from .documents import Problem
    from .job import Encode, Progress, Result
    from .plan import Dtype, Eot, Format, OnError, Plan, Special

Engine: TypeAlias = Literal["local", "ray"]
Inputs = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def tokenize_corpus(
    inputs: Inputs,
    out: str | os.PathLike[str],
    *,
    format: "Format" = "nanogpt",
    encoding: str | os.PathLike[str] | Methods = "gpt2",
    column: str = "text",
    separator: str | None = None,
    kind: str | None = None,
    eot: "Eot | None" = None,
    eot_token: str | None = None,
    special: "Special" = "text",
    name: str = "corpus",
    shard_tokens: int | None = None,
    val_fraction: float = 0.0,
    shuffle_seed: int | None = None,
    keep: Sequence[str] = (),
    dtype: "Dtype" = "auto",
    on_error: "OnError" = "stop",
    overwrite: bool = False,
    threads: int | None = None,
    progress: "Callable[[Progress], None] | None" = None,
    engine: Engine = "local",
    address: str | None = None,
) -> "Result":
    """Tokenize files of text into the files that a trainer reads.

    `inputs` is a path, a folder, a glob, a URL of fsspec, `-` for standard input, or several of them: text (a document a file; with
    `separator` that stands between two), JSON lines and arrays, Parquet, Arrow, CSV (the text is in `column`), also
    compressed. `kind="lines"` makes each line of a text a document. `out` is a folder, which comes to hold

    | `format` | files | end-of-text |
    |---|---|---|
    | "nanogpt" | `train.bin`, `val.bin` | after each document |
    | "llmc" | `NAME_train_000001.bin`, ... | before each document |
    | "megatron" | `NAME_text_document.bin`, `.idx` | after each that is not empty |
    | "datatrove" | `NAME_00000.ds`, `.index`, `.metadata` | after each document |
    | "npy" | `tokens.npy`, `offsets.npy` | none |
    | "parquet", "arrow" | `train-00000.parquet`, ...: `input_ids` beside the columns of `keep` | none |

    and `manifest.json`. `eot` ("append", "prepend", "none") changes where end-of-text goes, and `eot_token` what it is; `special`
    is that of `encode`, but for its default: text from strangers cannot write special tokens. `shard_tokens` sizes the files of formats of several;
    `val_fraction` of the documents, chosen by a hash of their text, go to files of their own; `shuffle_seed` puts the documents
    into a random order, the same for the same seed. `dtype` is "auto" (`u16` where all ids of the encoding fit, else `u32`, for
    Megatron `i32`), "u16" or "u32". With `on_error="skip"` documents that cannot be read are left out and listed in
    `skipped.jsonl`.

    The bytes written depend on the inputs, the options and the version alone. A job that was killed goes on when it is called
    again in the same way; one that is done does nothing; `overwrite=True` starts anew. `progress` is called with a
    `bpeline.corpus.job.Progress` some times a second.

    With `engine="ray"` the documents are read and encoded on a Ray cluster, that of `address` or else the one that `ray.init` finds
    or starts, by tasks of `threads` processors (1 unless given); the bytes written here are the same. The extra `ray` has it.

    Raises `CorpusError` for inputs that cannot be used, options that do not go together, a folder that holds something else or
    that another job writes to; `OSError` for what the system refuses. What was done stays.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("hello world")
    >>> result = tokenize_corpus(folder / "a.txt", folder / "tokens")
    >>> result.documents, result.tokens, [path.name for path in result.files]
    (1, 3, ['train.bin'])
    """
    from .job import run

    job = prepare(
        inputs,
        out,
        column=column,
        separator=separator,
        kind=kind,
        keep=keep,
        on_error=on_error,
        format=format,
        encoding=encoding,
        eot=eot,
        eot_token=eot_token,
        special=special,
        name=name,
        shard_tokens=shard_tokens,
        val_fraction=val_fraction,
        shuffle_seed=shuffle_seed,
        dtype=dtype,
    )
    encode = encoder_of(engine, address, threads)
    return run(
        job.plan,
        job.out,
        job.read,
        job.version,
        threads=threads,
        overwrite=overwrite,
        progress=progress,
        encode=encode,
    )


def encoder_of(engine: Engine, address: str | None, threads: int | None) -> "Encode | None":
    """What encodes for a job; None for this machine."""
    if engine == "ray":
        try:
            import ray  # noqa: F401  (one that is missing is told before anything is written)

            from ..integrations.ray_engine import RayEngine
        except ModuleNotFoundError as error:
            raise ImportError(f"engine ray needs {error.name}: python -m pip install 'bpeline[ray]'") from error

        return RayEngine(address, threads)
    if engine != "local":
        raise CorpusError(f"engine must be local or ray, not {engine!r}")
    if address is not None:
        raise CorpusError(f"address {address!r} is that of a cluster, and the engine is local; use engine ray")
    return None


@dataclass(frozen=True)
class Prepared:
    """A job that has been checked and has not begun."""

    plan: "Plan"
    out: Path
    read: Callable[..., Any]
    version: str
    left_out: tuple["Problem", ...]
    """Files of the inputs that hold no text."""


def prepare(
    inputs: Inputs,
    out: str | os.PathLike[str],
    *,
    column: str,
    separator: str | None,
    kind: str | None,
    keep: Sequence[str],
    on_error: str,
    encoding: str | os.PathLike[str] | Methods,
    **options: Any,
) -> Prepared:
    """Find the inputs and make the plan; nothing is read but the names, nothing written."""
    try:
        from . import inputs as files
        from .documents import Problem, ReadOptions
        from .manifest import NAME
        from .plan import make
        from .readers import read
    except ModuleNotFoundError as error:
        raise ImportError(f"a corpus needs {error.name}: python -m pip install 'bpeline[corpus]'") from error
    from .. import __version__

    if not os.fspath(out):
        raise CorpusError("expected the name of a folder for the output, found an empty one")
    if "://" in os.fspath(out):
        raise CorpusError(f"{os.fspath(out)}: the output must be a folder of this machine")
    left_out: list[Problem] = []
    reading = ReadOptions(column, tuple(keep), separator, on_error)
    found = files.find(inputs, reading, kind=kind, skipped=left_out.append)
    if os.path.exists(os.path.join(out, NAME)):  # an output inside a folder of the input is no input
        folder = os.path.realpath(out) + os.sep
        found = [source for source in found if not os.path.realpath(source.url).startswith(folder)]
        if not found:
            raise CorpusError(f"{os.fspath(out)}: is the output of a job, so it cannot be the input of the same")
    sources = [replace(source, number=number) for number, source in enumerate(found)]
    source = encoding if isinstance(encoding, Methods) else os.fspath(encoding)
    plan = make(sources, source, keep=keep, on_error=on_error, **options)
    return Prepared(plan, Path(out), read, __version__, tuple(left_out))
