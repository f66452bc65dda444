"""The plan of a job: all that fixes the bytes of its output, checked before anything is written.

A job that goes on, and one that is done, is compared with it: the same plan gives the same bytes, whatever the threads, the
kills and the resumes, so what does not fix them (threads, progress) is no part of it.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import CorpusError
from ..tokenizer import Methods, Tokenizer
from .documents import ReadOptions, Source
from .formats import FORMATS, Layout, Names
from .shape import PLAIN

Format: TypeAlias = Literal["nanogpt", "llmc", "megatron", "datatrove", "npy", "parquet", "arrow"]
Eot: TypeAlias = Literal["append", "prepend", "none"]
Special: TypeAlias = Literal["text", "parse", "error"]
Dtype: TypeAlias = Literal["auto", "u16", "u32"]
OnError: TypeAlias = Literal["stop", "skip"]

GONE = "is no input any more"
"""What is said of a file that an earlier job had."""
VAL_RANGE = 1 << 64
"""How many values the hash has that puts a document into a split."""


@dataclass(frozen=True)
class Plan:
    """What a job does. Made by `make`, which checks it."""

    sources: tuple[Source, ...]
    format: str
    tokenizer: Methods
    encoding: str
    """What loads the tokenizer, where it is known."""
    eot: str
    eot_id: int | None
    eot_if_empty: bool
    """Whether a document without tokens gets it too."""
    dtype: "np.dtype[Any]"
    special: str
    name: str
    shard_tokens: int | None
    val_fraction: float
    shuffle_seed: int | None
    keep: tuple[str, ...]
    on_error: str

    @property
    def layout(self) -> Layout:
        """The format."""
        return FORMATS[self.format]

    @property
    def names(self) -> Names:
        """What the names of files are made of."""
        return Names(self.name, self.val_fraction > 0)

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in the order in which they are written."""
        return ("train", "val") if self.val_fraction else ("train",)

    @property
    def val_below(self) -> int:
        """A document whose hash is below goes to the validation split."""
        return round(self.val_fraction * VAL_RANGE)

    def to_json(self) -> dict[str, Any]:
        """What manifest.json says of it."""
        tokenizer, read = self.tokenizer, self.sources[0].options if self.sources else ReadOptions()
        keys = ("url", "kind", "compression", "size", "stamp")
        return {
            "format": self.format,
            "encoding": {
                "name": tokenizer.name,
                "load": self.encoding,
                "sha256": tokenizer.encoding.fingerprint.hex(),
                "vocab_size": tokenizer.vocab_size,
            },
            "dtype": self.dtype.name,
            "eot": {"rule": self.eot, "id": self.eot_id},
            "special": self.special,
            "name": self.name,
            "shard_tokens": self.shard_tokens,
            "val_fraction": self.val_fraction,
            "shuffle_seed": self.shuffle_seed,
            "read": asdict(read) | {"keep": list(self.keep), "on_error": self.on_error},
            "sources": [{key: getattr(source, key) for key in keys} for source in self.sources],
        }


def make(
    sources: Sequence[Source],
    encoding: str | Methods = "gpt2",
    *,
    format: str = "nanogpt",
    eot: str | None = None,
    eot_token: str | None = None,
    special: str = "text",
    name: str = "corpus",
    shard_tokens: int | None = None,
    val_fraction: float = 0.0,
    shuffle_seed: int | None = None,
    keep: Sequence[str] = (),
    dtype: str = "auto",
    on_error: str = "stop",
) -> Plan:
    """A plan that can be carried out. Raises `CorpusError` for one that cannot, and tells what would do."""
    _one_of("format", format, FORMATS)
    layout = FORMATS[format]
    tokenizer = encoding if isinstance(encoding, Methods) else Tokenizer.load(encoding)
    _one_of("special", special, ("text", "parse", "error"))
    _one_of("on_error", on_error, ("stop", "skip"))
    if not re.fullmatch(PLAIN, name):
        raise CorpusError(f"name {name!r} cannot begin the name of a file")
    if not 0 <= val_fraction < 1:
        raise CorpusError(f"val_fraction must be at least 0 and below 1, not {val_fraction}")
    if keep and not layout.has_columns:
        others = " or ".join(other for other in FORMATS if FORMATS[other].has_columns)
        raise CorpusError(f"format {format} holds no columns to keep; use {others}")
    if "input_ids" in keep:
        raise CorpusError("the column input_ids cannot be kept: it is the name of the column of ids")
    chosen = _dtype(layout, format, tokenizer, dtype)
    rule = layout.eot if eot is None else eot
    _one_of("eot", rule, ("append", "prepend", "none"))
    return Plan(
        sources=tuple(sources),
        format=format,
        tokenizer=tokenizer,
        encoding=encoding if isinstance(encoding, str) else tokenizer.name,
        eot=rule,
        eot_id=None if rule == "none" else _eot_id(tokenizer, eot_token),
        eot_if_empty=layout.eot_if_empty,
        dtype=chosen,
        special=special,
        name=name,
        shard_tokens=_shard_tokens(layout, format, shard_tokens, chosen),
        val_fraction=float(val_fraction),
        shuffle_seed=shuffle_seed,
        keep=tuple(keep),
        on_error=on_error,
    )


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What two plans (as JSON) do not have in common, in words."""
    old, new = _without_load(old), _without_load(new)
    found = [words for key in new if key != "sources" for words in _changes(key, old.get(key), new[key])]
    before = {source["url"]: source for source in old.get("sources", [])}
    after = {source["url"]: source for source in new["sources"]}
    found += [f"{url} {GONE}" for url in before if url not in after]
    found += [f"{url} is a new input" for url in after if url not in before]
    found += [
        f"{url} {_change(before[url], after[url])}" for url in after if url in before and before[url] != after[url]
    ]
    if not found and old.get("sources") != new["sources"]:
        found.append("the inputs come in another order")
    return found


def is_gone(difference: str) -> bool:
    """Whether it is that of a file which the earlier job had."""
    return difference.endswith(GONE)


def _without_load(plan: dict[str, Any]) -> dict[str, Any]:
    """An encoding is the same wherever it is loaded from."""
    encoding = {key: value for key, value in plan.get("encoding", {}).items() if key != "load"}
    return plan | {"encoding": encoding}


def _changes(name: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [words for key in new for words in _changes(f"{name}.{key}", old.get(key), new[key])]
    return [] if old == new else [f"{name} was {old!r}, is {new!r}"]


def _change(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What has become of an input."""
    if old["kind"] != new["kind"]:
        return f"was read as {old['kind']}, is to be read as {new['kind']}"
    sizes = f"from {old['size']:,} bytes to {new['size']:,}" if None not in (old["size"], new["size"]) else ""
    return f"has changed {sizes if old['size'] != new['size'] else '(of the same size, written since)'}".rstrip()


def _one_of(name: str, value: str, choices: Any) -> None:
    if value not in choices:
        raise CorpusError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _dtype(layout: Layout, format: str, tokenizer: Methods, dtype: str) -> "np.dtype[Any]":
    _one_of("dtype", dtype, ("auto", "u16", "u32"))
    if dtype == "auto":
        return layout.dtype(tokenizer.vocab_size)
    if dtype == "u32":
        return layout.wide()
    if tokenizer.vocab_size > 1 << 16:
        raise CorpusError(
            f"ids of {tokenizer.name} go up to {tokenizer.vocab_size - 1:,} and do not fit u16, which ends at 65,535; use u32 or auto"
        )
    return np.dtype("<u2")


def _eot_id(tokenizer: Methods, token: str | None) -> int:
    literal = "<|endoftext|>" if token is None else token
    id = tokenizer.token_to_id(literal)
    if id is None:
        special = ", ".join(list(tokenizer.special_tokens)[:8]) or "none"
        raise CorpusError(
            f"{tokenizer.name} has no token {literal} to end a text with; name another (special tokens: {special}), or use no "
            "end-of-text"
        )
    return id


def _shard_tokens(layout: Layout, format: str, asked: int | None, dtype: "np.dtype[Any]") -> int | None:
    if asked is None:
        return layout.shard_tokens
    if layout.shard_tokens is None:
        others = ", ".join(other for other in FORMATS if FORMATS[other].shard_tokens)
        raise CorpusError(f"format {format} is one file and has no shards; use {others}")
    most = layout.most_tokens(dtype)
    if asked < 1 or (most is not None and asked > most):
        valid = "at least 1" if most is None else f"from 1 to {most:,} for {dtype.name} ids"
        raise CorpusError(f"shard_tokens must be {valid}, not {asked:,}")
    return asked
