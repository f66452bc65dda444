"""Ray Data on a real cluster of two nodes: TokenizeBatch and CorpusDatasink, with workers that die."""

import doctest
import json
import os
import signal
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("ray.data")

import pyarrow as pa
import ray

import bpeline
from bpeline.corpus.plan import FORMATS
from bpeline.corpus.verify import verify_corpus
from bpeline.integrations import ray_datasink
from bpeline.integrations.ray import CorpusDatasink, TokenizeBatch
from tests import corpus_reading as reading
from tests.ray_cluster import two_nodes

EOT = 50256
pytestmark = pytest.mark.engines

TEXTS = [f"document {number}: it's {number * number:,} words\n" * (number % 7) for number in range(120)]
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"it": 256, b" w": 257}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def tok():
    return bpeline.load("gpt2")


def texts(blocks=6):
    size = len(TEXTS) // blocks
    rows = [{"text": text, "n": number} for number, text in enumerate(TEXTS)]
    return ray.data.from_arrow([pa.Table.from_pylist(rows[i : i + size]) for i in range(0, len(rows), size)])


def tokenized(dataset, *arguments, num_cpus=1, **options):
    pool = ray.data.ActorPoolStrategy(size=1)
    return dataset.map_batches(
        TokenizeBatch,
        fn_constructor_args=arguments,
        fn_constructor_kwargs=options,
        batch_format="pyarrow",
        batch_size=16,
        compute=pool,
        num_cpus=num_cpus,
    )


class TestTokenizeBatch:
    def test_ids(self, tok):
        found = tokenized(texts(), "gpt2").take_all()
        assert found == [{"n": n, "input_ids": tok.encode(text)} for n, text in enumerate(TEXTS)]

    def test_an_encoding_that_goes_to_the_actor(self):
        tok = bpeline.Tokenizer.from_ranks(RANKS, pattern="gpt2")
        found = tokenized(texts(), tok, keep=["text"]).take_all()
        assert found == [{"text": text, "input_ids": tok.encode(text)} for text in TEXTS]

    def test_special_tokens_are_text_unless_asked_for(self, tok):
        table = pa.table({"said": ["<|endoftext|>", None, "x"]})
        parsed = TokenizeBatch(column="said", special="parse")(table)["input_ids"].to_pylist()
        assert parsed == [[EOT], None, tok.encode("x")]
        assert TokenizeBatch(column="said")(table)["input_ids"].to_pylist()[0] == tok.encode(
            "<|endoftext|>", special="text"
        )

    def test_the_example(self):
        found = doctest.testmod(sys.modules[TokenizeBatch.__module__])
        assert found.attempted and not found.failed

    def test_faults_are_named(self):
        table = pa.table({"said": ["x"], "input_ids": [[1]]})
        with pytest.raises(bpeline.CorpusError, match="no column 'text'; the columns are: 'said', 'input_ids'"):
            TokenizeBatch()(table)
        with pytest.raises(bpeline.CorpusError, match="the column input_ids cannot be kept"):
            TokenizeBatch(column="said")(table)

    @pytest.mark.parametrize(("num_cpus", "threads"), [(1, 1), (0.5, 1), (3, 3)])
    def test_threads_are_the_processors_of_the_actor(self, num_cpus, threads):
        class Threads(TokenizeBatch):
            def __call__(self, batch):
                return pa.table({"threads": [self.threads] * len(batch)})

        pool = ray.data.ActorPoolStrategy(size=1)
        found = texts().map_batches(Threads, batch_format="pyarrow", compute=pool, num_cpus=num_cpus).take_all()
        assert {row["threads"] for row in found} == {threads}

    def test_an_actor_that_is_killed(self, tok, tmp_path):
        class Dying(TokenizeBatch):
            def __call__(self, batch):
                die_once(tmp_path / "died", batch["n"][0].as_py() >= 60)
                return super().__call__(batch)

        pool = ray.data.ActorPoolStrategy(size=1)
        found = texts().map_batches(Dying, batch_format="pyarrow", batch_size=16, compute=pool).take_all()
        assert (tmp_path / "died").exists()
        assert found == [{"n": n, "input_ids": tok.encode(text)} for n, text in enumerate(TEXTS)]


def die_once(flag, now):
    """As kill -9 would have it, the first time."""
    if now and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def documents(out, format):
    """The documents of an output, without end-of-text; those of llmc are told apart by it."""
    if format in ("nanogpt", "llmc"):
        stream = reading.nanogpt(out) if format == "nanogpt" else reading.llmc(out)[0]
        found = [[]]
        for id in stream:
            if id == EOT:
                found.append([])
            else:
                found[-1].append(id)
        return found[:-1] if format == "nanogpt" else found[1:]
    found = getattr(reading, format)(out)
    if format in ("parquet", "arrow"):
        return [row["input_ids"] for row in found]
    return found if format == "npy" else [document[:-1] for document in found]


@pytest.fixture
def many_parts(monkeypatch):
    """As many tasks as blocks."""
    monkeypatch.setattr(CorpusDatasink, "min_bytes_per_write", None)


@pytest.mark.usefixtures("many_parts")
class TestCorpusDatasink:
    @pytest.mark.parametrize("format", FORMATS)
    def test_documents_and_manifest(self, tok, tmp_path, format):
        tokenized(texts()).write_datasink(CorpusDatasink(tmp_path, format=format))
        assert documents(tmp_path, format) == [tok.encode(text) for text in TEXTS]
        assert verify_corpus(tmp_path).faults == []
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        assert manifest["finished"] and manifest["documents"] == len(TEXTS)
        assert manifest["tokens"] == sum(shard["tokens"] for shard in manifest["shards"])
        facts = {name: fact for shard in manifest["shards"] for name, fact in shard["files"].items()}
        assert {name: fact["bytes"] for name, fact in facts.items()} == {
            path.name: path.stat().st_size for path in tmp_path.iterdir() if path.name != "manifest.json"
        }
        assert len(manifest["shards"]) == (6 if format in ray_datasink.RENAMED else 1)
        assert [shard["number"] for shard in manifest["shards"]] == list(range(len(manifest["shards"])))

    def test_the_plan_is_that_of_a_job(self, tmp_path):
        (tmp_path / "a.txt").write_text("x")
        tokenized(texts()).write_datasink(CorpusDatasink(tmp_path / "many", format="datatrove"))
        bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "one", format="datatrove")
        plans = [json.loads((tmp_path / name / "manifest.json").read_text())["plan"] for name in ("many", "one")]
        for plan in plans:
            del plan["sources"]
        assert plans[0] == plans[1]

    def test_columns_go_along(self, tok, tmp_path):
        tokenized(texts()).write_datasink(CorpusDatasink(tmp_path, keep=["n"]))
        wanted = [{"input_ids": tok.encode(text), "n": n} for n, text in enumerate(TEXTS)]
        assert reading.parquet(tmp_path) == wanted

    @pytest.mark.parametrize("format", ["nanogpt", "parquet"])
    def test_a_task_that_is_killed(self, tok, tmp_path, format):
        class Dying(CorpusDatasink):
            def write(self, blocks, ctx):
                def dying():
                    for block in blocks:
                        yield block
                        die_once(self.out.parent / "died", ctx.task_idx == 2)

                return super().write(dying(), ctx)

        tokenized(texts()).write_datasink(Dying(tmp_path / "out", format=format))
        assert (tmp_path / "died").exists()
        assert documents(tmp_path / "out", format) == [tok.encode(text) for text in TEXTS]
        assert not (tmp_path / "out" / ".parts").exists()

    def test_a_finished_output_stays_unless_asked(self, tok, tmp_path):
        for overwrite in (False, True):
            tokenized(texts()).write_datasink(CorpusDatasink(tmp_path, overwrite=overwrite))
        with pytest.raises(Exception, match="holds a finished output; overwrite=True replaces it"):
            tokenized(texts()).write_datasink(CorpusDatasink(tmp_path))
        assert documents(tmp_path, "parquet") == [tok.encode(text) for text in TEXTS]

    @pytest.mark.parametrize(
        ("ids", "message"),
        [([[1], None], "holds 1 nulls"), ([[50257]], "holds 50257, which is no id of gpt2"), ([[-1]], "holds -1")],
    )
    def test_ids_that_are_none(self, tmp_path, ids, message):
        dataset = ray.data.from_arrow(pa.table({"input_ids": pa.array(ids, pa.list_(pa.int64()))}))
        with pytest.raises(Exception, match=message):
            dataset.write_datasink(CorpusDatasink(tmp_path))
        assert not json.loads((tmp_path / "manifest.json").read_text())["finished"]
        good = ray.data.from_arrow(pa.table({"input_ids": pa.array([[7]], pa.list_(pa.int64()))}))
        good.write_datasink(CorpusDatasink(tmp_path, format="npy"))
        assert reading.npy(tmp_path) == [[7]]

    def test_no_documents(self, tmp_path):
        none = ray.data.from_arrow(pa.table({"input_ids": pa.array([], pa.list_(pa.int32()))}))
        none.write_datasink(CorpusDatasink(tmp_path, format="megatron"))
        assert reading.megatron(tmp_path) == []
