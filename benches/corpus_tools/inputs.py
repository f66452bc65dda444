"""The files that all tools read: each corpus in four forms, whole, and in halves for a tool that shares out files to its workers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.parity.samples import EOT

FORMS = ("text", "jsonl", "jsonl.zst", "parquet")
ROWS = 1000  # in a row group of Parquet


def write(folder: Path, texts: list[str], forms: tuple[str, ...] = FORMS) -> None:
    """`folder/FORM/1/` holds one file with all documents, `folder/FORM/2/` two with half of the text each."""
    half, place, cut = sum(map(len, texts)) / 2, 0, 0
    while place < half:
        place += len(texts[cut])
        cut += 1
    for form in forms:
        for parts in ([texts], [texts[:cut], texts[cut:]]):
            inside = folder / form / str(len(parts))
            inside.mkdir(parents=True)
            for number, part in enumerate(parts):
                if part:
                    WRITERS[form](inside / f"{number}.{'txt' if form == 'text' else form}", part)


def text(path: Path, texts: list[str]) -> None:
    path.write_text("".join(each + EOT for each in texts), encoding="utf-8", newline="\n")


def lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": each}, ensure_ascii=False) + "\n" for each in texts).encode()


def jsonl(path: Path, texts: list[str]) -> None:
    path.write_bytes(lines(texts))


def jsonl_zst(path: Path, texts: list[str]) -> None:
    import pyarrow as pa

    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(lines(texts))


def parquet(path: Path, texts: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": texts}), path, row_group_size=ROWS)


WRITERS: dict[str, Callable[[Path, list[str]], None]] = {
    "text": text,
    "jsonl": jsonl,
    "jsonl.zst": jsonl_zst,
    "parquet": parquet,
}


def between_separators(files: list[Path]) -> Iterator[str]:
    """The documents of text files, the plain way: what a user of a tool without such a reader would write."""
    for path in files:
        parts = path.read_text(encoding="utf-8").split(EOT)
        yield from parts if parts[-1] else parts[:-1]


def documents(form: str, files: list[Path]) -> Iterator[str]:
    """The documents of files of any form, the plain way."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "text":
        yield from between_separators(files)
        return
    for path in files:
        if form == "parquet":
            yield from pq.read_table(path, columns=["text"])["text"].to_pylist()
        else:
            with pa.input_stream(str(path)) as file:  # decompresses by the suffix
                yield from (json.loads(line)["text"] for line in file.read().split(b"\n") if line)
