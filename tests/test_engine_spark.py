"""Spark on `local[2]`: the ids of one process, in its columns and rows."""

import os
import shutil
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import bpeline
from bpeline.integrations.spark import tokenize

pytestmark = pytest.mark.engines

TEXTS = [f"document {number}: it's {number * number:,} ünïcödé\n" * (number % 7) for number in range(200)]
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"it": 70_000, b" w": 257}


@pytest.fixture(scope="module")
def spark():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.memory", "1g").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def rows(spark):
    return spark.createDataFrame(
        [(n, text, n % 3 == 0) for n, text in enumerate(TEXTS)], "n long, text string, b boolean"
    )


def found(df):
    return [row.asDict() for row in df.orderBy("n").collect()]


def test_ids_and_schema(rows):
    tok = bpeline.load("gpt2")
    result = tokenize(rows.repartition(5))
    assert result.schema.simpleString() == "struct<n:bigint,b:boolean,input_ids:array<int>>"
    assert found(result) == [{"n": n, "b": n % 3 == 0, "input_ids": tok.encode(text)} for n, text in enumerate(TEXTS)]


def test_an_encoding_that_is_broadcast(rows, tmp_path):
    tok = bpeline.Tokenizer.from_ranks(RANKS, pattern="gpt2")
    wanted = [{"n": n, "text": text, "input_ids": tok.encode(text)} for n, text in enumerate(TEXTS)]
    assert found(tokenize(rows, encoding=tok, keep=["n", "text"])) == wanted
    bpeline.load("gpt2").save(tmp_path)
    gpt2 = bpeline.load("gpt2")
    assert found(tokenize(rows, encoding=tmp_path, keep=["n"]))[6]["input_ids"] == gpt2.encode(TEXTS[6])


def test_nulls_and_special_tokens(spark):
    df = spark.createDataFrame([(0, "<|endoftext|>"), (1, None), (2, "")], "n int, said string")
    text = bpeline.load("gpt2").encode("<|endoftext|>", special="text")
    assert [row["input_ids"] for row in found(tokenize(df, "said"))] == [text, None, []]
    assert [row["input_ids"] for row in found(tokenize(df, "said", special="parse"))] == [[50256], None, []]


def test_one_tokenizer_in_a_worker(rows):
    """However many tasks it does."""
    content = bpeline.Tokenizer.from_ranks(RANKS, pattern=r"\w+").to_bytes()

    def made(batches):
        from bpeline.integrations import spark as module

        for _ in batches:
            module._tokenizer(content)
            yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "made": [module._made.cache_info().misses]})

    counts = rows.repartition(12).mapInArrow(made, "worker long, made long").collect()
    assert len(counts) == 12
    assert len(set(counts)) == len({row["worker"] for row in counts}) < 12


def test_faults(rows, spark):
    with pytest.raises(bpeline.CorpusError, match="no column 'body'; the columns are: 'n', 'text', 'b'"):
        tokenize(rows, "body")
    df = spark.createDataFrame([("<|endoftext|>",)], "text string")
    with pytest.raises(Exception, match="SpecialTokenError"):
        tokenize(df, special="error").collect()


def test_to_parquet_and_back(rows, tmp_path):
    tok = bpeline.load("gpt2")
    tokenize(rows, keep=["n"]).write.parquet(str(tmp_path / "ids"))
    table = pq.read_table(tmp_path / "ids").sort_by("n")
    assert table["input_ids"].to_pylist() == [tok.encode(text) for text in TEXTS]
