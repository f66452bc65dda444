"""What trainers read of an output, by their own readers: the ids that the encoder gives, document by document.

nanoGPT and llm.c are programs, not packages: what they do with a file is written anew here. The others are the packages themselves where they
are installed (`make test-readers` installs them).
"""

import importlib
import importlib.util
import json
import sys
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import bpeline  # noqa: E402

TEXTS = [
    "",
    "hello world",
    "It's a long text, with ünïcödé 👍🏽 and lines\n\n" * 30,
    "a<|endoftext|>b",
    "",
    "the last one",
]
TEXTS += [f"row {number} of many " * (number % 9) for number in range(200)]
EOT = {"gpt2": 50256, "cl100k_base": 100257}


@pytest.fixture(params=EOT)
def encoding(request):
    return request.param


@pytest.fixture
def made(tmp_path, encoding):
    """Makes an output of TEXTS in a format."""
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))

    def make(format, **options):
        out = tmp_path / "out"
        bpeline.tokenize_corpus(tmp_path / "in.jsonl", out, format=format, encoding=encoding, **options)
        return out

    return make


def ids(encoding):
    tok = bpeline.load(encoding)
    return [tok.encode(text, special="text") for text in TEXTS]


def appended(encoding):
    """The stream with end-of-text after each document."""
    return np.array([id for document in ids(encoding) for id in [*document, EOT[encoding]]])


def test_nanogpt(made, encoding):
    """get_batch of train.py: a map of the file, windows at random places, targets one token on."""
    out, stream, block, rng = made("nanogpt"), appended(encoding), 64, np.random.default_rng(0)
    data = np.memmap(out / "train.bin", np.uint16 if encoding == "gpt2" else np.uint32, "r")
    assert data.tolist() == stream.tolist()
    for place in rng.integers(0, len(data) - block, 100):
        x, y = (data[place + shift : place + shift + block].astype(np.int64) for shift in (0, 1))
        assert (x == stream[place : place + block]).all() and (y == stream[place + 1 : place + 1 + block]).all()


@pytest.mark.parametrize("shard_tokens", [None, 700])
def test_llmc(made, encoding, shard_tokens):
    """The rules of dataloader.h: magic number, version, a size that is exactly that of the tokens, enough for a batch."""
    out, kind, batch, length = (
        made("llmc", shard_tokens=shard_tokens),
        np.uint16 if encoding == "gpt2" else np.uint32,
        4,
        16,
    )
    stream, seen = [], []
    for path in sorted(out.glob("*.bin"), key=lambda path: path.stem[-6:]):
        header = np.fromfile(path, np.int32, 256)
        assert (header[0], header[1]) == ((20240520, 1) if encoding == "gpt2" else (20240801, 7))
        tokens = int(header[2])
        assert path.stat().st_size == 1024 + tokens * np.dtype(kind).itemsize
        assert tokens >= batch * length + 1
        for place in range(0, tokens - batch * length, batch * length):
            window = np.fromfile(path, kind, batch * length + 1, offset=1024 + place * np.dtype(kind).itemsize)
            inputs, targets = window[:-1].reshape(batch, length), window[1:].reshape(batch, length)
            assert (inputs[:, 1:] == targets[:, :-1]).all() and len(window) == batch * length + 1
        stream += np.fromfile(path, kind, offset=1024).tolist()
        seen.append(path.name.split("_")[1])
    assert seen == (["train"] if shard_tokens is None else ["val"] + ["train"] * (len(seen) - 1))
    assert stream == [id for document in ids(encoding) for id in [EOT[encoding], *document]]


def indexed_dataset():
    """Megatron-core's class. Where importing the whole package fails (it wants a newer torch), its module alone."""
    pytest.importorskip("torch")
    found = importlib.util.find_spec("megatron")
    if found is None:
        pytest.skip("megatron-core is not installed")
    try:
        return importlib.import_module("megatron.core.datasets.indexed_dataset").IndexedDataset
    except ImportError:
        for name in [name for name in sys.modules if name.startswith("megatron.core")]:
            del sys.modules[name]
    core = ModuleType("megatron.core")
    core.__path__ = [f"{next(iter(found.submodule_search_locations))}/core"]
    utils = ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda logger, *arguments, **options: logger.log(*arguments)
    sys.modules |= {"megatron.core": core, "megatron.core.utils": utils}
    return importlib.import_module("megatron.core.datasets.indexed_dataset").IndexedDataset


@pytest.mark.parametrize("mmap", [True, False])
def test_megatron(made, encoding, mmap):
    IndexedDataset = indexed_dataset()
    out, wanted = made("megatron"), [[*document, EOT[encoding]] for document in ids(encoding) if document]
    data = IndexedDataset(str(out / "corpus_text_document"), mmap=mmap)
    assert data[0].dtype == (np.uint16 if encoding == "gpt2" else np.int32)
    assert [data[number].tolist() for number in range(len(data))] == wanted
    assert data.sequence_lengths.tolist() == [len(document) for document in wanted]
    starts = data.document_indices.tolist()
    assert len(starts) == len(TEXTS) + 1
    assert [end - begin for begin, end in pairwise(starts)] == [int(bool(text)) for text in TEXTS]
    assert data.get(2, offset=3, length=5).tolist() == wanted[2][3:8]


class TestDatatrove:
    @pytest.fixture(autouse=True)
    def package(self):
        pytest.importorskip("torch")
        self.dataset = pytest.importorskip("datatrove.utils.dataset")

    def test_file(self, made, encoding):
        out, stream, length = made("datatrove"), appended(encoding), 32
        size = 2 if encoding == "gpt2" else 4
        data = self.dataset.DatatroveFileDataset(str(out / "corpus_00000.ds"), length, token_size=size)
        assert len(data) == len(stream) // (length + 1)
        for number in range(len(data)):
            begin = number * (length + 1)
            assert data[number]["input_ids"].tolist() == stream[begin : begin + length + 1].tolist()

    def test_documents(self, made, encoding):
        """What its merger of shards reads: the index, and the documents by it."""
        merger = pytest.importorskip("datatrove.pipeline.tokens.merger")
        out, size = made("datatrove"), 2 if encoding == "gpt2" else 4
        with open(out / "corpus_00000.ds.index", "rb") as index, open(out / "corpus_00000.ds", "rb") as data:
            ends = merger.load_doc_ends(index)
            read = merger.get_data_reader(data, ends, nb_bytes=size)
            found = [np.frombuffer(document, f"<u{size}").tolist() for document in read]
        assert found == [[*document, EOT[encoding]] for document in ids(encoding)]

    def test_folder(self, made, encoding):
        out = made("datatrove", shard_tokens=900)
        size = 2 if encoding == "gpt2" else 4
        data = self.dataset.DatatroveFolderDataset(str(out), 8, token_size=size)
        wanted = []
        for path in sorted(out.glob("*.ds")):
            shard = np.fromfile(path, f"<u{size}")
            wanted += shard[: len(shard) // 9 * 9].reshape(-1, 9).tolist()
        assert len(list(out.glob("*.ds"))) > 2
        assert [data[number]["input_ids"].tolist() for number in range(len(data))] == wanted


@pytest.mark.parametrize("format", ["parquet", "arrow"])
class TestTables:
    @pytest.fixture
    def files(self, made, format):
        out = made(format, shard_tokens=900)
        found = sorted(map(str, out.glob(f"*.{format}")))
        assert len(found) > 2
        return found

    def test_datasets(self, files, format, encoding, tmp_path, monkeypatch):
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        datasets = pytest.importorskip("datasets")
        data = datasets.load_dataset(format, data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
        assert data.features["input_ids"].feature.dtype == ("uint16" if encoding == "gpt2" else "uint32")
        assert list(data["input_ids"]) == ids(encoding)

    def test_polars(self, files, format, encoding):
        polars = pytest.importorskip("polars")
        read = polars.read_parquet if format == "parquet" else polars.read_ipc
        found = polars.concat([read(file) for file in files])["input_ids"]
        assert found.dtype == polars.List(polars.UInt16 if encoding == "gpt2" else polars.UInt32)
        assert found.to_list() == ids(encoding)

    def test_duckdb(self, files, format, encoding):
        duckdb = pytest.importorskip("duckdb")
        if format == "parquet":
            found = duckdb.sql(f"select input_ids from read_parquet({files})")
        else:  # DuckDB takes Arrow from memory
            tables = []
            for file in files:
                with pa.ipc.open_file(file) as reader:
                    tables.append(reader.read_all())
            table = pa.concat_tables(tables)
            found = duckdb.from_arrow(table)
        assert str(found.types[0]) == ("USMALLINT[]" if encoding == "gpt2" else "UINTEGER[]")
        assert [row[0] for row in found.fetchall()] == ids(encoding)
