"""The output of a job read back by the simplest code there is, for each format: token ids, document by document or as one stream."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def dtype(out):
    return np.dtype(json.loads((out / "manifest.json").read_text())["plan"]["dtype"])


def nanogpt(out, split="train"):
    """The stream."""
    return np.memmap(out / f"{split}.bin", dtype(out), "r").tolist() if (out / f"{split}.bin").stat().st_size else []


def llmc(out, name="corpus"):
    """The stream, and the tokens of each shard, by the names of the files."""
    stream, counts = [], {}
    for path in sorted(out.glob(f"{name}_*.bin"), key=lambda path: path.stem[-6:]):
        header = np.fromfile(path, "<i4", 256)
        kind, version, count = (int(number) for number in header[:3])
        assert (kind, version) == {2: (20240520, 1), 4: (20240801, 7)}[dtype(out).itemsize] and not header[3:].any()
        ids = np.fromfile(path, dtype(out), offset=1024)
        assert len(ids) == count
        stream += ids.tolist()
        counts[path.name] = count
    return stream, counts


def megatron(out, prefix="corpus_text_document"):
    """The documents; those without a sequence are empty."""
    index = (out / f"{prefix}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0" and np.frombuffer(index, "<u8", 1, 9)[0] == 1
    kind = {8: np.uint16, 4: np.int32}[index[17]]
    sequences, count = (int(number) for number in np.frombuffer(index, "<u8", 2, 18))
    lengths = np.frombuffer(index, "<i4", sequences, 34)
    places = np.frombuffer(index, "<i8", sequences, 34 + 4 * sequences)
    firsts = np.frombuffer(index, "<i8", count, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * count and firsts[0] == 0 and firsts[-1] == sequences
    data = (out / f"{prefix}.bin").read_bytes()
    assert len(data) == lengths.sum() * np.dtype(kind).itemsize
    rows = [np.frombuffer(data, kind, length, place).tolist() for length, place in zip(lengths, places, strict=True)]
    return [[id for row in rows[a:b] for id in row] for a, b in pairwise(firsts)]


def datatrove(out):
    """The documents."""
    found = []
    for path in sorted(out.glob("*.ds")):
        ids = np.fromfile(path, dtype(out)).tolist()
        ends = np.fromfile(f"{path}.index", "<u8").tolist()
        name, count, _ = (out / f"{path.name}.metadata").read_text().split("\n")
        assert name.endswith(f"|{dtype(out).itemsize}") and int(count) == len(ids) == (ends or [0])[-1]
        found += [ids[a:b] for a, b in pairwise([0, *ends])]
    return found


def npy(out):
    """The documents."""
    ids, offsets = np.load(out / "tokens.npy").tolist(), np.load(out / "offsets.npy").tolist()
    assert offsets[0] == 0 and offsets[-1] == len(ids)
    return [ids[a:b] for a, b in pairwise(offsets)]


def parquet(out):
    """The rows, as dicts."""
    return [row for path in sorted(out.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def arrow(out):
    """The rows, as dicts."""
    rows = []
    for path in sorted(out.glob("*.arrow")):
        with pa.ipc.open_file(path) as file:
            rows += file.read_all().to_pylist()
    return rows
