"""What `load` is asked for: a file is known by its name, a folder by what lies in it.

| kind | files |
|---|---|
| gpt2 | vocab.json and merges.txt |
| tiktoken | NAME.tiktoken, or tokenizer.model where that is one (Llama 3's); as a file, any NAME.model |
| tekken | a .json file that has "tekken" in its name |
| tokenizer.json | any other .json file; in a folder, one of that name, which goes before the pair of files |

`save` writes a bpeline.json beside files that do not say all. It names those files too, so that of several in
a folder the right ones are read.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias

from . import tokenizer_json
from ._backend import Encoding
from ._reference import files
from ._reference.recipes import RECIPES
from .errors import EncodingFileError
from .tekken import read_tekken

if TYPE_CHECKING:
    from typing import TypeGuard

Kind: TypeAlias = Literal["gpt2", "tiktoken", "tekken", "tokenizer.json"]

PAIR = ("vocab.json", "merges.txt")
SETTINGS = "bpeline.json"
TOKENIZER_JSON = "tokenizer.json"


class Settings(NamedTuple):
    """What a bpeline.json says; None for what it does not."""

    name: str | None = None
    pattern: str | None = None
    special_tokens: dict[str, int] | None = None
    files: list[str] | None = None


class Source(NamedTuple):
    """The files to read."""

    kind: Kind
    paths: list[str]
    settings: Settings = Settings()


def read(
    make: type[Encoding],
    source: Any,
    merges: str | os.PathLike[str] | None,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
) -> Encoding:
    """The encoding that `source`, or the pair of `source` and `merges`, holds. `make` is the backend's."""
    if merges is None:
        kind, paths, settings = _find(os.fspath(source))
    else:
        kind, paths, settings = Source("gpt2", [os.fspath(source), os.fspath(merges)])
    has_options = pattern is not None or special_tokens is not None
    pattern = settings.pattern if pattern is None else pattern
    special_tokens = settings.special_tokens if special_tokens is None else special_tokens
    for name in paths:
        if os.path.exists(name) and not os.path.isfile(name):
            # A pipe may never end, and neither does /dev/zero.
            raise EncodingFileError(f"{name}: not a regular file")
    path = Path(paths[0])
    match kind:
        case "gpt2":
            name = settings.name or path.parent.name or "custom"
            return make.from_gpt2_files(paths[0], paths[1], pattern, special_tokens, name)
        case "tiktoken":
            _refuse_sentencepiece(path)
            return make.from_tiktoken_file(paths[0], pattern, special_tokens, settings.name or path.stem)
        case "tekken":
            ranks, own_pattern, own_special_tokens = read_tekken(paths[0])
            return make.from_ranks(
                ranks,
                own_pattern if pattern is None else pattern,
                own_special_tokens if special_tokens is None else special_tokens,
                settings.name or path.stem,
            )
        case "tokenizer.json":
            if has_options:
                raise ValueError(f"{path}: a tokenizer.json has its own pattern and special tokens")
            name = settings.name or (path.parent.name if path.name == TOKENIZER_JSON else path.stem) or "custom"
            return _of_tokenizer_json(make, files.text(paths[0], files.read(paths[0])), paths[0], name)


def _refuse_sentencepiece(path: Path) -> None:
    """Its models have the names of Llama 3's rank file, and begin with a message in a message of protocol buffers."""
    with open(path, "rb") as file:
        start = file.read(3)
    if path.suffix == ".model" and start[:1] == start[2:] == b"\n":
        raise EncodingFileError(
            f"{path}: not supported: a model of SentencePiece (sentencepiece or Hugging Face tokenizers serve it)"
        )


class LiveTokenizer(Protocol):
    """A `tokenizers.Tokenizer`; or a fast tokenizer of transformers, whose `backend_tokenizer` is one."""

    def to_str(self) -> str: ...


def read_live(make: type[Encoding], tokenizer: Any) -> Encoding:
    """The encoding of a live tokenizer, as it is now."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    kind = type(tokenizer).__name__
    name = str(getattr(tokenizer, "name_or_path", "") or "custom")
    return _of_tokenizer_json(make, backend.to_str(), kind, os.path.basename(name.rstrip("/")))


def _of_tokenizer_json(make: type[Encoding], text: str, source: str, name: str) -> Encoding:
    contents = tokenizer_json.read(text, source)
    try:
        return make.from_tokenizer_json(source, name, *contents)
    except EncodingFileError as error:
        message = str(error)
        raise EncodingFileError(message if message.startswith(source) else f"{source}: {message}") from None


def is_live(source: Any) -> "TypeGuard[LiveTokenizer]":
    """Whether `read_live` is for it."""
    return hasattr(getattr(source, "backend_tokenizer", source), "to_str")


def pre_tokenizer(encoding: Encoding) -> str | None:
    """The JSON of what cuts an encoding's texts, if that is no pattern."""
    spec = json.loads(encoding.spec) if encoding.spec else None
    if spec is None or spec["stages"] is None:
        return None
    return json.dumps(spec["file"]["pre_tokenizer"], ensure_ascii=False)


def kind_of(name: str) -> Kind | None:
    """The kind of a file that is one alone, by its name."""
    if name.endswith((".tiktoken", ".model")):
        return "tiktoken"
    if name.endswith(".json") and "tekken" in name.lower():
        return "tekken"
    if name.endswith(".json") and name not in (PAIR[0], SETTINGS):
        return "tokenizer.json"
    return None


def in_folder(folder: str) -> Iterator[Source]:
    """All that could be loaded from a folder."""
    names = sorted(os.listdir(folder))
    if TOKENIZER_JSON in names:
        yield Source("tokenizer.json", [os.path.join(folder, TOKENIZER_JSON)])
    elif set(PAIR) <= set(names):
        yield Source("gpt2", [os.path.join(folder, name) for name in PAIR])
    for name in names:
        # A tokenizer.model beside other files is mostly SentencePiece's.
        kind = None if name.endswith(".model") and len(names) > 1 else kind_of(name)
        if kind is not None and kind != "tokenizer.json":
            yield Source(kind, [os.path.join(folder, name)])


def _find(path: str) -> Source:
    if os.path.isdir(path):
        return _find_in(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f'nothing is at "{path}", and the built-in encodings are: {", ".join(RECIPES)}')
    kind = kind_of(os.path.basename(path))
    if kind is None:
        _refuse(path)
    return Source(kind, [path])


def _find_in(folder: str) -> Source:
    beside = os.path.join(folder, SETTINGS)
    settings = _read_settings(beside) if os.path.isfile(beside) else Settings()
    if settings.files is not None:
        paths = [os.path.join(folder, name) for name in settings.files]
        kind = kind_of(settings.files[0]) if len(paths) == 1 else "gpt2" if tuple(settings.files) == PAIR else None
        if kind is None:
            raise EncodingFileError(f'{beside}: "files" names none that can be loaded')
        return Source(kind, paths, settings)
    found = list(in_folder(folder))
    if len(found) > 1:
        names = " and ".join(os.path.basename(source.paths[0]) for source in found)
        raise EncodingFileError(f"{folder}: it holds {names}: name the file to load")
    if not found:
        _refuse(folder)
    return found[0]._replace(settings=settings)


def _refuse(path: str) -> NoReturn:
    here = [name for name in PAIR if os.path.isfile(os.path.join(path, name))]
    if here:
        missing = PAIR[1 - PAIR.index(here[0])]
        raise EncodingFileError(f"{path}: {missing} is missing beside {here[0]}")
    raise EncodingFileError(
        f'{path}: expected vocab.json with merges.txt (load("vocab.json", "merges.txt")), a tokenizer.json, a '
        ".tiktoken file, a tekken.json, or a folder that holds one of them; other formats cannot be read yet"
    )


def _read_settings(path: str) -> Settings:
    text = files.text(path, files.read(path))
    try:
        settings = json.loads(text)
        json.dumps(settings, ensure_ascii=False).encode()  # an escape may hide a lone surrogate
    except (ValueError, RecursionError) as error:
        raise EncodingFileError(f"{path}: not JSON: {error}") from None
    if isinstance(settings, dict) and settings.get("bpeline") == 1:
        found = Settings(*map(settings.get, Settings._fields))
        if (
            isinstance(found.name, str | None)
            and isinstance(found.pattern, str | None)
            and _are_special_tokens(found.special_tokens)
            and _are_names(found.files)
        ):
            return found
    raise EncodingFileError(
        f'{path}: expected {{"bpeline": 1, "name": text, "pattern": text, "special_tokens": {{text: id, ...}}, '
        '"files": [name, ...]}'
    )


def _are_special_tokens(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(type(id) is int for id in value.values()))


def _are_names(value: Any) -> bool:
    """Whether they are names of files in the same folder."""
    if value is None:
        return True
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(name, str) and name == os.path.basename(name) for name in value)
    )
