"""Compressed files of several streams, and what stands behind the last: no document may be taken for rubbish."""

import bz2
import gzip
import lzma

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from bpeline.corpus.opening import zstd
from bpeline.corpus.readers import read
from bpeline.errors import CorpusError
from tests.corpora_small import in_memory
from tests.corpus_oracle import documents_of, source_of

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": lambda data: zstd().compress(data)}
PARTS = [b"hello ", b"", b"wor" * 50_000, b"ld"]


def text_of(path):
    return "".join(text for batch in read(source_of(path)) for text in batch.texts.to_pylist())


@pytest.mark.parametrize("suffix", PACK)
def test_all_streams_are_read(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"".join(map(PACK[suffix], PARTS)))
    assert text_of(path) == b"".join(PARTS).decode()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_zeros_may_stand_behind_a_stream(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"".join(PACK[suffix](part) + bytes(4) for part in PARTS) + bytes(100_000))
    assert text_of(path) == b"".join(PARTS).decode()


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("behind", [b"rubbish", b"\xff", "a damaged stream", "half a stream"])
def test_what_is_no_stream_is_an_error(tmp_path, suffix, behind):
    path = tmp_path / f"a.jsonl{suffix}"
    pack = PACK[suffix]
    behind = {"a damaged stream": b"x" + pack(b"more")[1:], "half a stream": pack(b"more")[:-5]}.get(behind, behind)
    path.write_bytes(pack(b'{"text": "one"}\n') + behind)
    with pytest.raises(CorpusError, match=rf"a\.jsonl{suffix}: (not valid|the) "):
        list(read(source_of(path)))
    found, _, [problem] = documents_of(source_of(path, on_error="skip"))
    assert found in (["one"], []) and problem.file == str(path)


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_that_are_compressed_once_more(tmp_path, suffix, kind):
    """Their end is read before the rest."""
    write = pyarrow.parquet.write_table if kind == "parquet" else pyarrow.feather.write_feather
    texts = [str(number) * 50 for number in range(3000)]
    path = tmp_path / f"a.{kind}{suffix}"
    path.write_bytes(PACK[suffix](in_memory(write, pa.table({"text": texts}))))
    assert documents_of(source_of(path))[0] == texts


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told(tmp_path, name, encoding):
    (tmp_path / name).write_bytes('\ufefftext\n["hello"]\n'.encode(encoding))
    with pytest.raises(CorpusError, match=rf"{name}.*\(it begins as UTF-16 does, expected UTF-8\)$"):
        list(read(source_of(tmp_path / name)))
