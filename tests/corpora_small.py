"""Small corpora on disk: a folder with each kind of file and each compression, and what its documents are."""

import bz2
import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

DOCUMENTS = (
    "hello world",
    "",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.\n" * 3,
    "def f(x):\n\treturn {'a': [x]}\n",
    "<|endoftext|> is text here",
    "日本語のテキスト 😀",
    "  spaces   and\n\n\nlines  ",
)


def zstd():
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def packed(content, suffix):
    """The bytes compressed as the suffix says."""
    pack = {
        "": bytes,
        ".gz": lambda content: gzip.compress(content, mtime=0),
        ".zst": lambda content: zstd().compress(content),
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    return pack[suffix](content)


COMPRESSIONS = ("", ".gz", ".zst", ".bz2", ".xz")


def table(documents, column="text"):
    return pa.table({"id": pa.array(range(len(documents)), pa.int64()), column: pa.array(documents, pa.string())})


def in_memory(write, table):
    sink = pa.BufferOutputStream()
    write(table, sink)
    return sink.getvalue().to_pybytes()


def stream(table, sink):
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


CONTENTS = {
    "text.txt": lambda documents: documents[0].encode(),
    "lines.jsonl": lambda documents: b"".join(
        json.dumps({"id": number, "text": text}).encode() + b"\n" for number, text in enumerate(documents)
    ),
    "array.json": lambda documents: json.dumps(
        [{"id": number, "text": text} for number, text in enumerate(documents)], ensure_ascii=False, indent=1
    ).encode(),
    "rows.parquet": lambda documents: in_memory(
        lambda table, sink: pa.parquet.write_table(table, sink, row_group_size=3), table(documents)
    ),
    "rows.feather": lambda documents: in_memory(pa.feather.write_feather, table(documents)),
    "rows.arrow": lambda documents: in_memory(stream, table(documents)),
    "rows.csv": lambda documents: in_memory(pa.csv.write_csv, table(documents)),
}


def mixed(folder, documents=DOCUMENTS, compressions=COMPRESSIONS):
    """Writes a file of each kind in each compression below `folder`. Gives the documents of each, by its name and in the order of
    names: all of `documents`, but the first alone for text files. Beside them lie a hidden file and one that is no text.
    """
    found = {}
    for name, content in CONTENTS.items():
        for suffix in compressions:
            path = folder / name.split(".")[0] / (name + suffix)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(packed(content(documents), suffix))
            found[str(path.relative_to(folder))] = list(documents[:1] if name == "text.txt" else documents)
    (folder / ".hidden.txt").write_text("not to be read")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return dict(sorted(found.items(), key=lambda item: item[0].split("/")))
