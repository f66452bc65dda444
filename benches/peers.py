"""How each encoder is called: what `make bench-compare` times, in one place.

An encoder is made from the files that `write_files` leaves in a folder, with the options that make it fastest for the same ids.
Those without an option for threads go by the environment, see `compare.THREADS`. Import a package before its time
to load is taken.
"""

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

FORMS = ("arrays", "objects", "lists")


class Problem(Exception):
    """Why an encoder has no figures."""


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """The calls of an encoder; None where it has none.

    Of many texts: `arrays` gives ids in flat arrays, `objects` the encoder's own objects, which hold the ids outside
    Python, and `lists` lists of int. `encode` gives the ids of one text as a list, `encode_array` in an array.
    `decode` takes a list and `decode_array` an array; both give bytes, or a str from those that have nothing else.
    """

    arrays: Callable[[list[str]], Any] | None = None
    objects: Callable[[list[str]], Any] | None = None
    lists: Callable[[list[str]], Any] | None = None
    encode: Callable[[str], list[int]]
    encode_array: Callable[[str], Any] | None = None
    count: Callable[[str], int] | None = None
    decode: Callable[[list[int]], bytes | str]
    decode_array: Callable[[Any], bytes | str] | None = None


def write_files(folder: Path, encoding: str) -> None:
    """What encoders load, for an encoding called by its name or its file: those of its formats that can hold it."""
    tok = import_module("bpeline").load(encoding)
    about = {"source": encoding, "name": tok.name, "pattern": tok.pattern, "special_tokens": tok.special_tokens}
    about["ranks_tokens"] = tok.encoding.merges() is None
    if tok.pattern == import_module("bpeline").load("gpt2").pattern:
        about["pattern"] = import_module("tiktoken_ext.openai_public").r50k_pat_str  # as tiktoken spells it for speed
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    if Path(encoding).suffix == ".json":
        shutil.copy(encoding, folder / "tokenizer.json")
        return
    tok.save(folder, format="tiktoken")
    with contextlib.suppress(ValueError):  # two special tokens share an id
        tok.save(folder, format="tokenizer.json")


def about(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return content


def bpeline(folder: Path, threads: int) -> Encoder:
    tok = import_module("bpeline").load(about(folder)["source"])
    return Encoder(
        arrays=partial(tok.encode_ragged, threads=threads),
        lists=partial(tok.encode_batch, threads=threads),
        encode=tok.encode,
        encode_array=tok.encode_array,
        count=tok.count,
        decode=tok.decode_bytes,
        decode_array=tok.decode_bytes,
    )


def rank_file(folder: Path) -> str | None:
    """The file of an encoding that came as ranks of token bytes."""
    if not about(folder)["ranks_tokens"]:
        return None
    (file,) = folder.glob("*.tiktoken")
    return str(file)


def gigatoken(folder: Path, threads: int) -> Encoder:
    make = import_module("gigatoken").Tokenizer
    if file := rank_file(folder):
        encoding = about(folder)
        tok = make.from_tiktoken(file, encoding["name"].partition("_")[0], encoding["special_tokens"])
    else:
        tok = make(folder / "tokenizer.json")
    return Encoder(
        arrays=tok.encode_batch,
        lists=tok.encode_batch_list,
        encode=lambda text: tok.encode(text).tolist(),
        encode_array=tok.encode,
        decode=tok.decode,
        decode_array=tok.decode,
    )


def fastokens(folder: Path, threads: int) -> Encoder:
    make = import_module("fastokens").Tokenizer
    if file := rank_file(folder):
        tok = make.from_tiktoken(file, about(folder)["pattern"], about(folder)["special_tokens"])
    else:
        tok = make.from_file(str(folder / "tokenizer.json"))
    return Encoder(
        arrays=tok.encode_batch_flat,
        lists=lambda texts: [each.ids for each in tok.encode_batch(texts)],
        encode=lambda text: tok.encode(text).ids,
        decode=tok.decode,
    )


def tokie(folder: Path, threads: int) -> Encoder:
    tok = import_module("tokie").Tokenizer.from_json(str(folder / "tokenizer.json"))
    return Encoder(
        objects=lambda texts: tok.encode_batch(texts, False),
        lists=lambda texts: [each.ids for each in tok.encode_batch(texts, False)],
        encode=lambda text: tok.encode(text, False).ids,
        count=tok.count_tokens,
        decode=tok.decode_bytes,
    )


def tiktoken(folder: Path, threads: int) -> Encoder:
    encoding = about(folder)
    file = next(folder.glob("*.tiktoken"), None)
    if file is None:
        raise Problem("reads rank files only")
    ranks = import_module("tiktoken.load").load_tiktoken_bpe(str(file))
    tok = import_module("tiktoken").Encoding(
        encoding["name"],
        pat_str=encoding["pattern"],
        mergeable_ranks=ranks,
        special_tokens=encoding["special_tokens"],
    )
    return Encoder(
        lists=partial(tok.encode_ordinary_batch, num_threads=threads),
        encode=tok.encode_ordinary,
        encode_array=tok.encode_to_numpy,
        decode=tok.decode_bytes,
    )


def tokenizers(folder: Path, threads: int) -> Encoder:
    tok = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    batch = partial(tok.encode_batch_fast, add_special_tokens=False)
    return Encoder(
        lists=lambda texts: [each.ids for each in batch(texts)],
        encode=lambda text: tok.encode(text, add_special_tokens=False).ids,
        decode=tok.decode,
    )


ENCODERS: dict[str, Callable[[Path, int], Encoder]] = {
    make.__name__: make for make in (bpeline, gigatoken, fastokens, tokie, tiktoken, tokenizers)
}
