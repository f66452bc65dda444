"""From token ids to what a model trains on: a corpus on disk, and batches of inputs and targets.

A stream of tokens is any 1-D array of ids (what `encode_array` gives, a memory map of a file), or a `TokenDataset`, which is
what `bpeline tokenize` and `tokenize_corpus` wrote. Nothing of it is read before it is asked for. A batch is cut from the stream at
random places; a window may cross from one document into the next, as in the trainers of GPT-2 and its kind.
"""

import functools
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from .corpus.shape import count, maybe, one_of, plain, text
from .errors import CorpusError

if TYPE_CHECKING:
    import torch

Rng: TypeAlias = np.random.Generator | int | None
Batch: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


class Stream(Protocol):
    """A stream of token ids: its length, and any stretch of it as a 1-D array."""

    def __len__(self) -> int: ...
    def __getitem__(self, stretch: slice, /) -> NDArray[Any]: ...


Tokens: TypeAlias = NDArray[Any] | Sequence[int] | Stream


@overload
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = ..., *, as_tensors: Literal[False] = ...
) -> Batch: ...
@overload
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = ..., *, as_tensors: Literal[True]
) -> "tuple[torch.Tensor, torch.Tensor]": ...
def get_batch(
    tokens: Tokens, block_size: int, batch_size: int, rng: Rng = None, *, as_tensors: bool = False
) -> "Batch | tuple[torch.Tensor, torch.Tensor]":
    """Random windows of a stream: inputs, and targets that are the inputs shifted by one.

    `tokens` is a 1-D integer array, a memory map or sequence of ids, or a `TokenDataset`. Returns two int64 arrays of
    shape (batch_size, block_size): `targets[row, i]` is the token that follows `inputs[row, i]`. Each row begins at a random place,
    all places alike; `rng` is a numpy `Generator`, a seed, or None for other rows at every call. `as_tensors` asks for
    tensors of torch, on the CPU, in place of arrays.

    Raises `ValueError` for a stream shorter than block_size + 1 and for sizes below 1, `TypeError` for what
    is no stream of integers, `ImportError` for tensors where torch is not installed.

    >>> import numpy as np
    >>> from bpeline.data import get_batch
    >>> inputs, targets = get_batch(np.arange(100), block_size=4, batch_size=2, rng=7)
    >>> inputs
    array([[90, 91, 92, 93],
           [60, 61, 62, 63]])
    >>> targets
    array([[91, 92, 93, 94],
           [61, 62, 63, 64]])
    """
    block_size, batch_size = _size("block_size", block_size), _size("batch_size", batch_size)
    stream = _stream(tokens)
    if len(stream) < block_size + 1:
        raise ValueError(
            f"the stream has {len(stream):,} tokens, expected at least block_size + 1 = {block_size + 1:,}: "
            "an input needs a token that follows"
        )
    starts = np.random.default_rng(rng).integers(0, len(stream) - block_size, size=batch_size)
    rows = np.empty((batch_size, block_size + 1), np.int64)
    for row, start in zip(rows, starts.tolist(), strict=True):
        row[:] = stream[start : start + block_size + 1]
    inputs, targets = rows[:, :-1].copy(), rows[:, 1:].copy()
    if not as_tensors:
        return inputs, targets
    try:
        import torch
    except ImportError as error:
        raise ImportError("as_tensors=True needs PyTorch: install it with `pip install torch`") from error
    return torch.from_numpy(inputs), torch.from_numpy(targets)


def _size(name: str, value: int) -> int:
    if index(value) < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return index(value)


def _stream(tokens: Tokens) -> Stream:
    stream: Any = np.asarray(tokens, np.int64 if len(tokens) == 0 else None) if isinstance(tokens, Sequence) else tokens
    if not isinstance(stream, np.ndarray):
        return stream  # type: ignore[no-any-return]
    if stream.ndim != 1:
        raise ValueError(f"the stream must be one-dimensional, not {stream.ndim}-dimensional")
    if stream.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, not an array of {stream.dtype}")
    return stream


# --- A corpus on disk ---------------------------------------------------------------------------------------------

HEADERS = {"nanogpt": 0, "llmc": 1024, "megatron": 0, "datatrove": 0, "npy": 128}
"""The bytes in front of the ids, by format; DESIGN has the layouts."""
IDS = {"nanogpt": ".bin", "llmc": ".bin", "megatron": ".bin", "datatrove": ".ds", "npy": "tokens.npy"}
"""How the name of a shard's file of ids ends."""
SCANNED = 1 << 22  # tokens that are looked through at a time


class TokenDataset:
    """The tokens of a finished job of `bpeline tokenize`, mapped into memory: one stream over all shards of a split.

    It has a length (in tokens); an integer gives an id, and a slice a 1-D array of the job's dtype, which shares the memory of
    the map where it lies in one shard. `split` is "train" or "val". The formats are nanogpt, llmc, megatron, datatrove and npy.
    It pickles (as the folder's path), so that the workers of a DataLoader have maps of their own.

    Raises `FileNotFoundError` where there is no manifest.json or a file is gone, `CorpusError` for a job that is not finished, a split that
    it does not have, another format and a file of another size than the manifest says.
    """

    def __init__(self, folder: str | os.PathLike[str], split: str = "train") -> None:
        self.folder, self.split = Path(folder).absolute(), split
        file = self.folder / "manifest.json"
        try:
            manifest = json.loads(file.read_bytes())
            version, finished, plan = manifest["manifest"], manifest["finished"], manifest["plan"]
            self.format: str = plan["format"]
            self.dtype = np.dtype(plan["dtype"])
            self.vocab_size: int = plan["encoding"]["vocab_size"]
            self.eot_token: int | None = plan["eot"]["id"]
            self._eot_rule: str = plan["eot"]["rule"]
            shards = {
                name: (shard["split"], shard["tokens"]) for shard in manifest["shards"] for name in shard["files"]
            }
            for name, (of, tokens) in shards.items():
                plain(name, "the name of a file")
                one_of("train", "val")(of, f"the split of {name}")
                count(tokens, f"the tokens of {name}")
            text(self.format, "plan.format")
            maybe(count)(self.eot_token, "plan.eot.id")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorpusError(f"{file}: is no manifest of bpeline: {error!r}") from error
        if version != 1:
            raise CorpusError(f"{file}: version {version!r} is not known, expected 1")
        if not finished:
            raise CorpusError(f"{self.folder}: the job is not finished; run it again to go on with it")
        if self.format not in HEADERS:
            raise CorpusError(f"{self.folder}: has the format {self.format}, expected one of {', '.join(HEADERS)}")
        splits: dict[str, list[tuple[str, int]]] = {}
        for name, (of, tokens) in shards.items():
            if name.endswith(IDS[self.format]):
                # llm.c's first shard is the one for validation: then its name tells, not the job.
                splits.setdefault("val" if self.format == "llmc" and "_val_" in name else of, []).append((name, tokens))
        if split not in splits:
            raise CorpusError(f"{self.folder}: has no split {split!r} (it has: {', '.join(splits) or 'none'})")
        self._names = [name for name, _ in splits[split]]
        self._shards = [self._map(name, tokens) for name, tokens in splits[split]]
        self._starts = np.cumsum([0, *map(len, self._shards)]).tolist()

    def _map(self, name: str, tokens: int) -> NDArray[Any]:
        path, header = self.folder / name, HEADERS[self.format]
        size = header + tokens * self.dtype.itemsize
        if path.stat().st_size != size:
            raise CorpusError(f"{path}: has {path.stat().st_size:,} bytes, expected {size:,} by its manifest")
        if not tokens:  # there is no map of nothing
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(path, self.dtype, "r", header, tokens))

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, item: int) -> int: ...
    @overload
    def __getitem__(self, item: slice) -> NDArray[Any]: ...
    def __getitem__(self, item: int | slice) -> int | NDArray[Any]:
        if isinstance(item, slice):
            chosen = range(len(self))[item]
            if not chosen:
                return np.empty(0, self.dtype)
            return self._stretch(min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1]) + 1)[:: chosen.step]
        at = index(item)
        if not -len(self) <= at < len(self):
            raise IndexError(f"no token {at} in a stream of {len(self):,}")
        at %= len(self)
        return int(self._stretch(at, at + 1)[0])

    def _stretch(self, start: int, end: int) -> NDArray[Any]:
        """The tokens from start to end, which is behind it."""
        parts = []
        shard = bisect_right(self._starts, start) - 1
        while start < end:
            first, behind = self._starts[shard], min(end, self._starts[shard + 1])
            parts.append(self._shards[shard][start - first : behind - first])
            start, shard = behind, shard + 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @functools.cached_property
    def documents(self) -> "Documents":
        """The documents, by number. Where they end is read at first use, 8 bytes of memory for each.

        nanogpt and llmc do not keep where documents end: there end-of-text is looked for in all tokens.
        Raises `CorpusError` for those formats if the job put no end-of-text between documents.
        """
        return Documents(self, self._ends())

    def _ends(self) -> NDArray[np.int64]:
        """Where each document ends in the stream."""
        if self.format in ("nanogpt", "llmc"):
            if self._eot_rule == "none":
                raise CorpusError(
                    f"{self.folder}: format {self.format} without end-of-text does not tell documents apart"
                )
            found = np.concatenate([np.empty(0, np.int64), *self._scan()])
            ends = found + 1 if self._eot_rule == "append" else found[found > 0]
            return ends if len(self) in (0, *ends[-1:]) else np.append(ends, len(self))
        read = {"megatron": _megatron_ends, "datatrove": _datatrove_ends, "npy": _npy_ends}[self.format]
        shards = zip(self._names, self._starts, strict=False)
        return np.concatenate([np.empty(0, np.int64), *(read(self.folder / name) + start for name, start in shards)])

    def _scan(self) -> Iterator[NDArray[np.int64]]:
        """Where end-of-text stands."""
        for start in range(0, len(self), SCANNED):
            yield np.flatnonzero(self[start : start + SCANNED] == self.eot_token) + start

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenDataset, (self.folder, self.split)

    def __repr__(self) -> str:
        shards = f"{len(self._shards):,} shard{'' if len(self._shards) == 1 else 's'}"
        return (
            f"<bpeline.data.TokenDataset: {len(self):,} tokens, {self.dtype}, {shards} of {self.format}, {self.split}>"
        )


class Documents(Sequence[NDArray[Any]]):
    """The documents of a `TokenDataset`: each a 1-D array of its ids as the encoder gave them, without end-of-text.

    Where end-of-text had to be looked for, one that came from a text itself (`special="parse"`) ends a document too, and
    of llm.c's shards the first may begin with the rest of a document of another split.
    """

    def __init__(self, tokens: TokenDataset, ends: NDArray[np.int64]) -> None:
        self._tokens, self._ends = tokens, ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, item: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, item: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, item: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        if isinstance(item, slice):
            return [self[document] for document in range(len(self))[item]]
        at = index(item)
        if not -len(self) <= at < len(self):
            raise IndexError(f"no document {at} in a corpus of {len(self):,}")
        at %= len(self)
        ids = self._tokens[int(self._ends[at - 1]) if at else 0 : int(self._ends[at])]
        rule, eot = self._tokens._eot_rule, self._tokens.eot_token
        if rule == "append" and len(ids) and ids[-1] == eot:
            return ids[:-1]
        return ids[1:] if rule == "prepend" and len(ids) and ids[0] == eot else ids


def _megatron_ends(ids: Path) -> NDArray[np.int64]:
    content = np.memmap(ids.with_suffix(".idx"), np.uint8, "r")
    sequences, documents = np.frombuffer(content, "<u8", 2, 18).tolist()
    lengths = np.frombuffer(content, "<i4", sequences, 34)
    firsts = np.frombuffer(content, "<i8", documents, 34 + 12 * sequences)  # behind the places, 8 bytes each
    ends = np.zeros(sequences + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    return np.take(ends, firsts[1:])


def _datatrove_ends(ids: Path) -> NDArray[np.int64]:
    return np.fromfile(ids.with_name(ids.name + ".index"), "<u8").astype(np.int64)


def _npy_ends(ids: Path) -> NDArray[np.int64]:
    offsets: NDArray[np.int64] = np.load(ids.with_name(ids.name.removesuffix("tokens.npy") + "offsets.npy"))
    return offsets[1:]
