"""A reader holds a few batches of a file, however large that is."""

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

from tests.test_processes import run

MEGABYTES = 48

SCRIPT = """
import json, pathlib, sys
import pyarrow as pa, pyarrow.compute, pyarrow.csv, pyarrow.parquet
from bpeline.corpus import documents
from bpeline.corpus.documents import ReadOptions
from bpeline.corpus.inputs import find
from bpeline.corpus.readers import read

documents.BATCH_BYTES = 1_000_000
name, kind, separator, folder, megabytes = sys.argv[1:]
text = "".join(f"word {number} of \u00e9 some text, " for number in range(40))
batch = pa.record_batch({"text": [text] * 1000})  # a megabyte

def write(path, megabytes):
    suffixes = path.name.split(".", 1)[1]
    with path.open("wb") as file:
        if suffixes == "parquet":
            with pa.parquet.ParquetWriter(file, batch.schema, use_dictionary=False) as writer:
                for _ in range(megabytes):
                    writer.write_batch(batch)
        elif suffixes == "arrow":
            with pa.ipc.new_file(file, batch.schema) as writer:
                for _ in range(megabytes):
                    writer.write_batch(batch)
        elif suffixes == "csv":
            with pa.csv.CSVWriter(file, batch.schema) as writer:
                for _ in range(megabytes):
                    writer.write(batch)
        else:
            rows = {"txt": [text], "jsonl": [json.dumps({"text": text}) + chr(10)], "json": [json.dumps({"text": text}), ","]}
            megabyte = "".join(rows[suffixes.split(".")[0]] * 1000).encode()
            if suffixes.endswith(".gz"):
                import gzip
                megabyte = gzip.compress(megabyte)
            for number in range(megabytes):
                file.write(megabyte if suffixes != "json" else b"[,"[number > 0 :][:1] + megabyte[:-1])
            file.write(b"]" * (suffixes == "json"))
    return path

def size(path):
    (source,) = find(path, ReadOptions(separator=separator or None), kind=kind or None)
    return sum(pa.compute.sum(pa.compute.binary_length(batch.texts)).as_py() or 0 for batch in read(source))

def peak():
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

small = size(write(pathlib.Path(folder, "small." + name), 4))
before = peak()
large = size(write(pathlib.Path(folder, "large." + name), int(megabytes)))
print(small, large, peak() - before)
"""


@pytest.mark.parametrize(
    "name, kind, separator",
    [
        ("txt", "", ""),
        ("txt", "lines", ""),  # a single line
        ("txt", "", ", "),
        ("txt.gz", "", " "),
        ("jsonl", "", ""),
        ("jsonl.gz", "", ""),
        ("json", "", ""),
        ("parquet", "", ""),
        ("arrow", "", ""),
        ("csv", "", ""),
    ],
)
def test_memory_is_constant(tmp_path, name, kind, separator):
    small, large, grown = map(float, run(SCRIPT, name, kind, separator, str(tmp_path), str(MEGABYTES)).stdout.split())
    assert abs(large / small - MEGABYTES / 4) < 0.01
    assert grown < 12
