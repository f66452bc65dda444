"""bpeline.data: batches, and a finished corpus as one stream. The files are written here, as DESIGN lays them out."""

import json
import pickle
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from bpeline.data import TokenDataset, get_batch
from bpeline.errors import CorpusError

EOT = 50256
FORMATS = ["nanogpt", "llmc", "megatron", "datatrove", "npy"]


# --- Batches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [np.arange(50, dtype=np.uint16), list(range(50)), tuple(range(50)), range(50)])
def test_targets_follow_inputs(tokens):
    inputs, targets = get_batch(tokens, block_size=8, batch_size=5, rng=0)
    assert inputs.shape == targets.shape == (5, 8) and inputs.dtype == targets.dtype == np.int64
    assert (targets == inputs + 1).all()
    assert (np.diff(inputs, axis=1) == 1).all()
    assert inputs.min() >= 0 and targets.max() <= 49
    assert inputs.flags.c_contiguous and targets.flags.c_contiguous


def test_every_window_comes():
    inputs, targets = get_batch(np.arange(10), block_size=7, batch_size=500, rng=1)
    assert set(inputs[:, 0].tolist()) == {0, 1, 2} and set(targets[:, -1].tolist()) == {7, 8, 9}


def test_the_shortest_stream():
    inputs, targets = get_batch(np.array([7, 8, 9], np.uint16), block_size=2, batch_size=2)
    assert inputs.tolist() == [[7, 8], [7, 8]] and targets.tolist() == [[8, 9], [8, 9]]


def test_rng():
    tokens = np.arange(10_000)
    first, _ = get_batch(tokens, 4, 8, rng=3)
    assert (get_batch(tokens, 4, 8, rng=3)[0] == first).all()
    assert (get_batch(tokens, 4, 8, rng=np.random.default_rng(3))[0] == first).all()
    generator = np.random.default_rng(3)
    get_batch(tokens, 4, 8, generator)
    assert (get_batch(tokens, 4, 8, generator)[0] != first).any()
    assert (get_batch(tokens, 4, 8)[0] != get_batch(tokens, 4, 8)[0]).any()


def test_large_ids_stay():
    assert get_batch(np.full(3, 0xFFFFFFFF, np.uint32), 2, 1)[0].tolist() == [[0xFFFFFFFF] * 2]


@pytest.mark.parametrize(
    ("tokens", "block_size", "batch_size", "error", "message"),
    [
        ([1, 2], 2, 1, ValueError, r"^the stream has 2 tokens, expected at least block_size \+ 1 = 3"),
        ([], 1, 1, ValueError, r"^the stream has 0 tokens, expected at least block_size \+ 1 = 2"),
        ([1, 2], 0, 1, ValueError, r"^block_size must be at least 1, not 0$"),
        ([1, 2], 1, -1, ValueError, r"^batch_size must be at least 1, not -1$"),
        ([1, 2], 1.0, 1, TypeError, r"float"),
        ([[1, 2]], 1, 1, ValueError, r"^the stream must be one-dimensional, not 2-dimensional$"),
        ([0.5, 1.0], 1, 1, TypeError, r"^token ids must be integers, not an array of float64$"),
        (["a", "b"], 1, 1, TypeError, r"^token ids must be integers, not an array of <U1$"),
    ],
)
def test_faults_of_batches(tokens, block_size, batch_size, error, message):
    with pytest.raises(error, match=message):
        get_batch(tokens, block_size, batch_size)


def test_tensors():
    torch = pytest.importorskip("torch")
    arrays = get_batch(np.arange(50), 8, 5, rng=0)
    tensors = get_batch(np.arange(50), 8, 5, rng=0, as_tensors=True)
    assert all(tensor.dtype == torch.int64 for tensor in tensors)
    assert [tensor.tolist() for tensor in tensors] == [array.tolist() for array in arrays]
    assert get_batch(torch.arange(50), 8, 5, rng=0)[0].tolist() == arrays[0].tolist()


def test_tensors_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"install it with `pip install torch`"):
        get_batch([1, 2, 3], 1, 1, as_tensors=True)


# --- A corpus on disk ---------------------------------------------------------------------------------------------


def write_corpus(folder, format, shards, dtype="uint16", rule=None, split="train", plan=None):
    """A finished job: `shards` are lists of documents (lists of ids)."""
    folder.mkdir(exist_ok=True)
    rule = rule or {"llmc": "prepend", "npy": "none"}.get(format, "append")
    listed = []
    for number, documents in enumerate(shards):
        stored = [
            [*ids, EOT]
            if rule == "append" and (ids or format != "megatron")
            else [EOT, *ids]
            if rule == "prepend"
            else ids
            for ids in documents
        ]
        ids = np.array([id for document in stored for id in document], dtype)
        lengths = np.array([len(document) for document in stored], np.int64)
        files = layout(format, split, number, ids, lengths)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        sizes = {name: {"bytes": len(content), "sha256": ""} for name, content in files.items()}
        listed.append(
            {"split": split, "number": number, "documents": len(documents), "tokens": len(ids), "files": sizes}
        )
    manifest = {
        "manifest": 1,
        "bpeline": "0.1.0",
        "finished": True,
        "plan": {
            "format": format,
            "encoding": {"name": "gpt2", "load": "gpt2", "sha256": "", "vocab_size": 50257},
            "dtype": dtype,
            "eot": {"rule": rule, "id": None if rule == "none" else EOT},
            **(plan or {}),
        },
        "shards": listed,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def layout(format, split, number, ids, lengths):
    ends = np.cumsum(lengths)
    if format == "nanogpt":
        return {f"{split}.bin": ids.tobytes()}
    if format == "llmc":
        header = np.zeros(256, "<i4")
        header[:3] = (20240520, 1, len(ids)) if ids.itemsize == 2 else (20240801, 7, len(ids))
        return {f"corpus_{split}_{number:06d}.bin": header.tobytes() + ids.tobytes()}
    if format == "datatrove":
        stem = f"corpus_{number:05d}.ds"
        return {f"{stem}.metadata": b"gpt2|2", f"{stem}.index": ends.astype("<u8").tobytes(), stem: ids.tobytes()}
    if format == "npy":
        heads = [
            b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + f"{field:<117}\n".encode()
            for field in (
                f"{{'descr': '{ids.dtype.str}', 'fortran_order': False, 'shape': ({len(ids)},), }}",
                f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(ends) + 1},), }}",
            )
        ]
        offsets = np.concatenate([[0], ends]).astype("<i8")
        return {"tokens.npy": heads[0] + ids.tobytes(), "offsets.npy": heads[1] + offsets.tobytes()}
    sequences = lengths[lengths > 0]
    places = (np.cumsum(sequences) - sequences) * ids.itemsize
    firsts = np.concatenate([[0], np.cumsum(lengths > 0)])
    index = b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, {2: 8, 4: 4}[ids.itemsize])
    index += struct.pack("<QQ", len(sequences), len(firsts))
    index += sequences.astype("<i4").tobytes() + places.astype("<i8").tobytes() + firsts.astype("<i8").tobytes()
    return {"corpus_text_document.bin": ids.tobytes(), "corpus_text_document.idx": index}


DOCUMENTS = [[1, 2, 3], [4], [], [5, 6, 7, 8], []]


def stream(documents, format):
    return {
        "llmc": [id for ids in documents for id in (EOT, *ids)],
        "npy": [id for ids in documents for id in ids],
        "megatron": [id for ids in documents if ids for id in (*ids, EOT)],
    }.get(format, [id for ids in documents for id in (*ids, EOT)])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_one_shard(tmp_path, format, dtype):
    dtype = "int32" if (format, dtype) == ("megatron", "uint32") else dtype
    tokens = TokenDataset(write_corpus(tmp_path, format, [DOCUMENTS], dtype))
    expected = stream(DOCUMENTS, format)
    assert len(tokens) == len(expected) and tokens.dtype == dtype == tokens[:].dtype
    assert tokens[:].tolist() == expected
    assert [tokens[at] for at in range(-len(expected), len(expected))] == expected * 2
    assert tokens.vocab_size == 50257 and tokens.eot_token == (None if format == "npy" else EOT)
    assert len(tokens.documents) == 5
    assert [ids.tolist() for ids in tokens.documents] == DOCUMENTS
    assert [ids.tolist() for ids in tokens.documents[1:-1]] == DOCUMENTS[1:-1]
    assert tokens.documents[-2].tolist() == [5, 6, 7, 8]
    shown = f"<bpeline.data.TokenDataset: {len(expected)} tokens, {dtype}, 1 shard of {format}, train>"
    assert repr(tokens) == shown


@pytest.mark.parametrize("format", ["llmc", "datatrove"])
@given(
    shards=st.lists(
        st.lists(st.lists(st.integers(0, 50255), max_size=4), min_size=1, max_size=4), min_size=1, max_size=4
    ),
    item=st.slices(30),
    at=st.integers(-40, 40),
)
def test_shards_are_one_stream(tmp_path_factory, format, shards, item, at):
    tokens = TokenDataset(write_corpus(tmp_path_factory.mktemp("corpus"), format, shards))
    documents = [ids for shard in shards for ids in shard]
    expected = stream(documents, format)
    assert len(tokens) == len(expected)
    assert tokens[item].tolist() == expected[item] and tokens[item].dtype == np.uint16
    if -len(expected) <= at < len(expected):
        assert tokens[at] == expected[at]
    else:
        with pytest.raises(IndexError, match=rf"^no token {at} in a stream of {len(expected)}$"):
            tokens[at]
    assert [ids.tolist() for ids in tokens.documents] == documents


def test_a_document_across_shards(tmp_path):
    """llm.c cuts anywhere: the second shard begins in a document."""
    write_corpus(tmp_path, "llmc", [[[1, 2]], [[3]]])
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["shards"][1]["tokens"] = 3
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    header = np.zeros(256, "<i4").tobytes()
    (tmp_path / "corpus_train_000001.bin").write_bytes(header + np.array([3, EOT, 4], "<u2").tobytes())
    assert [ids.tolist() for ids in TokenDataset(tmp_path).documents] == [[1, 2, 3], [4]]


def test_scanning_in_parts(tmp_path, monkeypatch):
    write_corpus(tmp_path, "nanogpt", [DOCUMENTS])
    for size in (1, 2, 3, 100):
        monkeypatch.setattr("bpeline.data.SCANNED", size)
        assert [ids.tolist() for ids in TokenDataset(tmp_path).documents] == DOCUMENTS


def test_splits(tmp_path):
    write_corpus(tmp_path, "nanogpt", [[[1]]], split="val")
    val = json.loads((tmp_path / "manifest.json").read_text())
    write_corpus(tmp_path, "nanogpt", [[[2, 3]]])
    train = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**train, "shards": train["shards"] + val["shards"]}))
    assert TokenDataset(tmp_path)[:].tolist() == [2, 3, EOT]
    assert TokenDataset(tmp_path, split="val")[:].tolist() == [1, EOT]
    with pytest.raises(CorpusError, match=r"has no split 'test' \(it has: train, val\)$"):
        TokenDataset(tmp_path, split="test")


def test_llmc_names_its_own_split(tmp_path):
    """Without a split of the job's own, its first shard is for validation."""
    write_corpus(tmp_path, "llmc", [[[1]], [[2]]])
    (tmp_path / "corpus_train_000000.bin").rename(tmp_path / "corpus_val_000000.bin")
    manifest = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(manifest.replace("corpus_train_000000", "corpus_val_000000"))
    assert TokenDataset(tmp_path)[:].tolist() == [EOT, 2]
    assert TokenDataset(tmp_path, "val")[:].tolist() == [EOT, 1]


def test_an_empty_corpus(tmp_path):
    for format in FORMATS:
        tokens = TokenDataset(write_corpus(tmp_path / format, format, [[]]))
        assert len(tokens) == len(tokens.documents) == 0 and tokens[:].tolist() == []
        with pytest.raises(ValueError, match=r"^the stream has 0 tokens"):
            get_batch(tokens, 1, 1)


def test_slices_share_the_map_and_cannot_be_written_to(tmp_path):
    tokens = TokenDataset(write_corpus(tmp_path, "llmc", [DOCUMENTS, DOCUMENTS]))
    assert np.shares_memory(tokens[1:3], tokens[2:4])
    assert not tokens[1:3].flags.writeable
    assert type(tokens[1:3]) is np.ndarray
    with pytest.raises(IndexError, match=r"^no document 10 in a corpus of 10$"):
        tokens.documents[10]


@pytest.mark.parametrize("format", FORMATS)
def test_pickling_reopens(tmp_path, format, monkeypatch):
    write_corpus(tmp_path / "corpus", format, [DOCUMENTS])
    monkeypatch.chdir(tmp_path)
    tokens = TokenDataset("corpus")
    data = pickle.dumps(tokens)
    assert len(data) < 500
    monkeypatch.chdir("/")
    copy = pickle.loads(data)
    assert copy[:].tolist() == tokens[:].tolist() and copy.split == "train"


def test_batches_of_a_dataset(tmp_path):
    shards = [[[1, 2, 3]], [[4, 5]], [[6, 7, 8, 9]]]
    tokens = TokenDataset(write_corpus(tmp_path, "datatrove", shards))
    for rng in range(5):
        ours, plain = get_batch(tokens, 6, 4, rng), get_batch(tokens[:], 6, 4, rng)
        assert (ours[0] == plain[0]).all() and (ours[1] == plain[1]).all()


def test_workers_of_a_data_loader(tmp_path):
    data = pytest.importorskip("torch.utils.data")
    tokens = TokenDataset(write_corpus(tmp_path, "llmc", [DOCUMENTS, DOCUMENTS]))
    loader = data.DataLoader(tokens, batch_size=4, num_workers=2, multiprocessing_context="spawn")
    assert [id for batch in loader for id in batch.tolist()] == tokens[:].tolist()


def test_faults(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"manifest\.json"):
        TokenDataset(tmp_path)
    write_corpus(tmp_path, "nanogpt", [DOCUMENTS])
    file = tmp_path / "manifest.json"
    good = json.loads(file.read_text())
    for change, message in [
        ({"finished": False}, r"the job is not finished; run it again to go on with it$"),
        ({"manifest": 2}, r"manifest\.json: version 2 is not known, expected 1$"),
        ({"plan": {**good["plan"], "format": "parquet"}}, r"has the format parquet, expected one of nanogpt, llmc,"),
        ({"shards": []}, r"has no split 'train' \(it has: none\)$"),
        ({"shards": [{}]}, r"manifest\.json: is no manifest of bpeline: KeyError"),
        ({"plan": None}, r"manifest\.json: is no manifest of bpeline: TypeError"),
    ]:
        file.write_text(json.dumps({**good, **change}))
        with pytest.raises(CorpusError, match=message):
            TokenDataset(tmp_path)
    file.write_text("{")
    with pytest.raises(CorpusError, match=r"manifest\.json: is no manifest of bpeline: JSONDecodeError"):
        TokenDataset(tmp_path)
    file.write_text(json.dumps(good))
    (tmp_path / "train.bin").write_bytes(bytes(25))
    with pytest.raises(CorpusError, match=r"train\.bin: has 25 bytes, expected 26 by its manifest$"):
        TokenDataset(tmp_path)
    (tmp_path / "train.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"train\.bin"):
        TokenDataset(tmp_path)


@pytest.mark.parametrize("format", ["nanogpt", "llmc"])
def test_documents_without_end_of_text(tmp_path, format):
    tokens = TokenDataset(write_corpus(tmp_path, format, [DOCUMENTS], rule="none"))
    assert tokens[:].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(CorpusError, match=rf"format {format} without end-of-text does not tell documents apart$"):
        tokens.documents  # noqa: B018


@pytest.mark.parametrize("format", ["megatron", "datatrove", "npy"])
def test_an_index_needs_no_end_of_text(tmp_path, format):
    tokens = TokenDataset(write_corpus(tmp_path, format, [DOCUMENTS], rule="none"))
    assert [ids.tolist() for ids in tokens.documents] == DOCUMENTS


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("encoding", ["gpt2", "cl100k_base"])
def test_what_a_job_wrote(tmp_path, format, encoding):
    pytest.importorskip("bpeline.corpus.tokenize")
    tokenizer = bpeline.load(encoding)
    texts = ["", *(f"The {number}th text, 漢字. " * (number % 9) for number in range(60)), ""]
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    expected = tokenizer.encode_batch(texts, special="text")
    shards = {"shard_tokens": 300} if format in ("llmc", "datatrove") else {}

    def written(out, **options):
        bpeline.tokenize_corpus(source, out, format=format, encoding=encoding, **options)
        return TokenDataset(out)

    whole = written(tmp_path / "whole")
    assert [ids.tolist() for ids in whole.documents] == expected
    parts = [written(tmp_path / "split", val_fraction=0.3, **shards), TokenDataset(tmp_path / "split", "val")]
    assert sum(map(len, parts)) == len(whole) and min(map(len, parts)) > 100
    assert sorted(ids.tolist() for part in parts for ids in part.documents) == sorted(expected)
    assert parts[0].documents[-1].tolist() in expected
    inputs, targets = get_batch(parts[0], 16, 4, rng=0)
    assert inputs.shape == (4, 16) and (inputs[:, 1:] == targets[:, :-1]).all()
    assert targets.max() < tokenizer.vocab_size
