"""Texts to time, built from what every CPython carries (its sources and the texts of its `help()`) and from `tests/data`.

The same on every run of one Python version, with no file from outside. The constants are single texts, for the suites of
`make bench`; `MIXED` is written by hand: scripts, emoji and exotic white space, so that strings of 2 and 4 bytes a
character are timed too. `CORPORA` are many documents each, for `make bench-compare` and `make bench-rust`:

- english: the chapters of *Pride and Prejudice*, the help topics, the docstrings of the standard library;
- code: the modules of the standard library;
- mixed: 18 languages in 10 scripts, made up from their words. Few distinct words, so kinder to a cache than real text.

`python -m benches.corpus FOLDER` writes the corpora as files.
"""

import ast
import codecs
import lzma
import random
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from pydoc_data.topics import topics

from tests.parity.samples import EOT, PROSE

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
STDLIB = Path(sysconfig.get_path("stdlib"))
NOT_EVERYWHERE = {"test", "tests", "idle_test", "site-packages", "dist-packages"}
MODULES = ("argparse", "ast", "codecs", "datetime", "difflib", "fractions", "gettext", "heapq", "inspect", "locale")

TINY = "Hello, world! It's 38 characters long."
ENGLISH = "\n\n".join(topics[name] for name in sorted(topics))
CODE = [(STDLIB / f"{name}.py").read_text(encoding="utf-8") for name in MODULES]
NOVEL = (DATA / "pride_and_prejudice.txt").read_text(encoding="utf-8")
SHORT = NOVEL[:4096]  # 4 KB of ASCII
DOCUMENT = ENGLISH[:100_000]
MIXED = (PROSE * 200)[:100_000]


def documents() -> list[str]:
    """1.4 MB: help texts of 1 to 15 KB, source files, mixed scripts."""
    sizes = (1_000, 3_000, 6_000, 9_000, 15_000)
    english = [ENGLISH[5_000 * i : 5_000 * i + sizes[i % 5]] for i in range(90)]
    return [*english, *CODE, MIXED]


def english() -> list[str]:
    """3 MB in CPython 3.11."""
    chapters = re.split(r"(?m)^(?=Chapter \d+$)", NOVEL)
    docstrings = ("\n\n".join(docstrings_of(source)) for source in code())
    return [text for text in (*chapters, *(topics[name] for name in sorted(topics)), *docstrings) if text]


def docstrings_of(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from filter(None, [ast.get_docstring(node)])


def code() -> list[str]:
    """12 MB in CPython 3.11."""
    paths = {path.relative_to(STDLIB).as_posix(): path for path in STDLIB.rglob("*.py")}
    texts = []
    for name in sorted(paths):
        of_the_machine = paths[name].name.startswith("_sysconfigdata")
        if not of_the_machine and NOT_EVERYWHERE.isdisjoint(Path(name).parts):
            texts.append(paths[name].read_text(encoding="utf-8"))
    return [text for text in texts if text]


def mixed(documents: int = 1_800) -> list[str]:
    """5 MB: documents of one language each, with the words of its text in `tests/data/udhr.txt` in random order.

    One word in ten has its letters shuffled, because text has rare words. Where words are not set apart, characters
    stand for them.
    """
    rng = random.Random(1948)
    languages = []
    for line in (DATA / "udhr.txt").read_text(encoding="utf-8").splitlines():
        spaced = line.count(" ") > 5
        languages.append((line.split(" ") if spaced else list(line), " " if spaced else ""))

    def document(words: list[str], space: str) -> str:
        chosen = rng.choices(words, k=400)
        return space.join("".join(rng.sample(word, len(word))) if rng.random() < 0.1 else word for word in chosen)

    return [document(*languages[i % len(languages)]) for i in range(documents)]


CORPORA: dict[str, Callable[[], list[str]]] = {"english": english, "code": code, "mixed": mixed}


def first(documents: list[str], size: int) -> list[str]:
    """As many whole documents as fit `size` bytes, and at least one."""
    chosen: list[str] = []
    for document in documents:
        size -= len(document.encode())
        if size < 0 and chosen:
            break
        chosen.append(document)
    return chosen


def read(path: Path, size: int) -> list[str]:
    """The documents that lie whole in the first `size` bytes of a file, plain or .xz; `<|endoftext|>` parts them.

    A file that does not part its documents is one, which may be cut short. Raises `ValueError` for text that is not
    UTF-8 and for a file without any.
    """
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        data, more = file.read(size), bool(file.read(1))
    parts = data.split(EOT.encode())
    if more and len(parts) > 1:
        parts.pop()
    decoder = codecs.getincrementaldecoder("utf-8")()
    texts = [decoder.decode(part, final=not more or len(parts) > 1) for part in parts if part]
    if not texts:
        raise ValueError(f"{path.name} has no text")
    return texts


def write(folder: Path) -> None:
    """Each corpus as NAME.txt, with `<|endoftext|>` after each document."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in CORPORA.items():
        text = "".join(document + EOT for document in build())
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
