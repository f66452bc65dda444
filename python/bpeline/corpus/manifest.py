"""manifest.json: what a job is asked for, and what of it is done.

    {"manifest": 1, "bpeline": version,
     "finished": whether the job is done,
     "plan": all that fixes the bytes of the output (plan.py), the input files among it,
     "documents", "tokens", "text_bytes": of all shards together; the tokens with end-of-text, the bytes of the text in UTF-8,
     "by_source": [[documents, tokens, text_bytes], ...]: the same for each input file, in the order of the plan,
     "skipped": how many documents and files were left out; skipped.jsonl lists them,
     "shards": [{"split": "train", "number": 0, "documents", "tokens",
                 "files": {name: {"bytes", "sha256"}},
                 "first": [source, document], "last": [source, document]}, ...],
     "resume": where an unfinished job goes on, which is nobody else's business}

A shard's documents are those from its first to its last: the number of the file in the plan, and that of the document among
those of the file that were used, both from 0. `documents` counts those that end in the shard. Of a shuffled corpus there is no first and last.
"""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .. import errors
from .folder import PART, Folder
from .shape import MANIFEST

NAME = "manifest.json"
VERSION = 1

Mark: TypeAlias = list[int] | None
"""The numbers of a file and of a document in it."""


@dataclass
class Shard:
    """A part of the output that is finished."""

    split: str
    number: int
    documents: int
    tokens: int
    files: dict[str, dict[str, Any]]
    first: Mark = None
    last: Mark = None


@dataclass
class Manifest:
    """What manifest.json holds."""

    plan: dict[str, Any]
    version: str
    finished: bool = False
    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    skipped: int = 0
    by_source: list[list[int]] = field(default_factory=list)
    shards: list[Shard] = field(default_factory=list)
    resume: dict[str, Any] | None = None

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """The manifest of a folder; None if it has none. Raises `CorpusError` for one that is damaged or of a later version."""
        path = folder / NAME
        try:
            data = json.loads(path.read_bytes())
            version = data["manifest"]
            if version == VERSION:
                MANIFEST(data, "")
                fields = {key: value for key, value in data.items() if key not in ("manifest", "bpeline", "shards")}
                shards = [Shard(**shard) for shard in data["shards"]]
                return cls(version=data["bpeline"], shards=shards, **fields)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise errors.CorpusError(f"{path}: is no manifest of bpeline: {error}") from error
        raise errors.CorpusError(
            f"{path}: version {version!r} is not known, expected {VERSION}; a newer bpeline reads it"
        )

    def write(self, folder: Folder) -> None:
        """Write it, whole or not at all."""
        data = asdict(self)
        head = {"manifest": VERSION, "bpeline": data.pop("version"), "finished": data.pop("finished")}
        if self.resume is None:
            del data["resume"]
        folder.write(NAME, json.dumps(head | data, indent=1).encode() + b"\n")

    def names(self) -> set[str]:
        """The files that are listed."""
        return {name for shard in self.shards for name in shard.files}


def is_output(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what a job has written, as far as the beginning of its manifest tells."""
    try:
        with open(os.path.join(folder, NAME), "rb") as file:
            return re.match(rb'\s*\{\s*"manifest"\s*:\s*\d+,\s*"bpeline"\s*:', file.read(256)) is not None
    except OSError:
        return False


def is_own(name: str) -> bool:
    """Whether a file is the manifest, also one that never came to be."""
    return name in (NAME, NAME + PART)
