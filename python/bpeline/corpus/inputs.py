"""Finds the files of a corpus: what the user names, in order, and what lies below the folders, by name.

The kind of a file goes by its suffix, without that of a compression: `.jsonl`, `.parquet` and so on as named in `KINDS`, text
for any other that is not known to be something else. So the plan depends on names alone and is the same on every machine.
"""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath

from ..errors import CorpusError
from .documents import Problem, ReadOptions, Source
from .manifest import is_output
from .opening import COMPRESSIONS, STDIN, filesystem, is_url, stamp, zstd

KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
}
NO_TEXT = frozenset(
    "." + suffix
    for names in (
        "7z br jar lz4 rar tar tgz whl zip",
        "avi avif bmp flac gif ico jpeg jpg m4a mkv mov mp3 mp4 ogg otf png tif tiff ttf wav webm webp woff woff2",
        "doc docx epub odt pdf ppt pptx xls xlsx",
        "bin class dll dylib exe o pyc pyd so wasm",
        "db gguf h5 idx msgpack npy npz onnx orc pickle pkl pt pth safetensors sqlite",
    )
    for suffix in names.split()
)
"""Suffixes of files that hold no text, or none that can be read."""
HIDDEN, OUTPUT = "a hidden file or folder", "the output of a job, which is no input"
LINK = "a link to a folder, which is not followed"


def find(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    options: ReadOptions | None = None,
    *,
    kind: str | None = None,
    skipped: Callable[[Problem], None] = lambda problem: None,
) -> list[Source]:
    """The files that `inputs` name: paths, folders (all that is below them, sorted by name), globs (`**` too), URLs of fsspec, and
    `-` for standard input.

    `kind` is that of all files, whatever their suffixes: "text", "lines", "jsonl", "json", "parquet", "arrow" or "csv".
    `skipped` is told of each file below a folder or of a glob that is left out: hidden ones, those that hold no text, and outputs of jobs.

    `CorpusError` for a glob or folder without files, a suffix that cannot be read, an empty separator, and a `kind` that is none;
    `FileNotFoundError` for a file that is not there; `ImportError` for a library that is missing.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "a.jsonl.gz", "c.png"):
    ...     (folder / name).touch()
    >>> [(source.url.removeprefix(str(folder)), source.kind, source.compression) for source in find(folder)]
    [('/a.jsonl.gz', 'jsonl', 'gzip'), ('/b.txt', 'text', None)]
    """
    if kind not in (None, "text", "lines", *KINDS.values()):
        raise CorpusError(
            f"no kind of file is named {kind!r}; they are: text, lines, {', '.join(sorted(set(KINDS.values())))}"
        )
    options = options or ReadOptions()
    if options.separator == "":
        raise CorpusError("expected a separator of documents, found an empty one")
    sources: list[Source] = []
    for name in [inputs] if isinstance(inputs, str | os.PathLike) else inputs:
        text = os.fsdecode(name)
        if not text:
            raise CorpusError("expected the name of an input, found an empty one")
        left_out: list[Problem] = []
        before = len(sources)
        for url, fault in expanded(text):
            named = url == text
            if fault is None and not (named and kind):
                fault = no_text(url)
            if fault is None and not named:
                fault = no_file(url)
            if fault is None:
                sources.append(described(len(sources), url, options, kind))
            elif named:
                raise CorpusError(f"{url}: {fault}")
            else:
                left_out.append(Problem(url, fault))
                skipped(left_out[-1])
        if len(sources) == before:
            first = f"; one of {len(left_out)} left out: {left_out[0]}" if left_out else ""
            raise CorpusError(f"{text}: there is no file to read{first}")
    return sources


def no_text(url: str) -> str | None:
    suffix, _ = suffixes(url)
    return f"a {suffix} file cannot be read as text or a table of texts" if suffix in NO_TEXT else None


def no_file(url: str) -> str | None:
    """Nobody may ever write to a pipe that happens to lie in a folder, so it is read only where it is named."""
    if os.path.islink(url) and not os.path.exists(url):
        return "a link that leads nowhere"
    if is_url(url) or not os.path.exists(url) or os.path.isfile(url):
        return None
    return "no regular file but a pipe, a socket or a device"


def suffixes(url: str) -> tuple[str, str | None]:
    """The suffix of a file's name, less that of a compression, and the compression."""
    name = PurePath(os.path.basename(url).lower() or "-")
    compression = COMPRESSIONS.get(name.suffix)
    return name.with_suffix("").suffix if compression else name.suffix, compression


def described(number: int, url: str, options: ReadOptions, kind: str | None) -> Source:
    suffix, compression = suffixes(url)
    if compression == "zstd":
        zstd()  # tells now if it is missing
    size, state = stamp(url)
    return Source(number, url, kind or KINDS.get(suffix, "text"), compression, size, options, state)


def expanded(text: str) -> Iterator[tuple[str, str | None]]:
    """The files of one input, and of each why it is left out, or None; of a folder that is left out just its name."""
    if text == STDIN:
        yield text, None
    elif is_url(text):
        yield from remote(text)
    elif os.path.isdir(text):
        yield from below(text)
    elif glob.has_magic(text) and not os.path.lexists(text):
        is_named = not glob.has_magic(os.path.dirname(text))  # the folder of the files
        links = set[str]()
        for path in sorted(glob.glob(text, recursive=True)):
            if "**" in text and (link := link_on_the_way(path, len(text.partition("**")[0]))):
                if link not in links:
                    yield link, LINK
                links.add(link)
            elif not os.path.isdir(path):
                yield path, None if is_named or not is_output(os.path.dirname(path)) else OUTPUT
            elif "**" not in text:  # which finds what is below by itself
                yield from below(path)
    else:
        yield text, None


def below(folder: str) -> Iterator[tuple[str, str | None]]:
    if is_output(folder):
        yield folder, OUTPUT
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith("."):
            yield path, HIDDEN
        elif os.path.isdir(path) and not os.path.islink(path):
            yield from below(path)
        else:
            yield path, LINK if os.path.isdir(path) else None


def link_on_the_way(path: str, begin: int) -> str | None:
    """The first link to a folder in a path behind so many characters: `glob` follows it, in circles too."""
    at = path.find(os.sep, begin)
    while at >= 0:
        if os.path.islink(path[:at]):
            return path[:at]
        at = path.find(os.sep, at + 1)
    return path if os.path.islink(path) and os.path.isdir(path) else None


def remote(url: str) -> Iterator[tuple[str, str | None]]:
    fs, path = filesystem(url)
    if glob.has_magic(path) and not fs.exists(path):
        found = [name for name in fs.glob(path) if not fs.isdir(name)]
    elif fs.isdir(path):
        found = fs.find(path)
    else:
        yield url, None
        return
    for name in sorted(found, key=lambda name: name.split("/")):
        inner = name[len(path) :] if name.startswith(path) else os.path.basename(name)
        is_hidden = any(part.startswith(".") for part in inner.split("/"))
        yield fs.unstrip_protocol(name), HIDDEN if is_hidden else None
