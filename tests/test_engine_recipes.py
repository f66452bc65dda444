"""The recipes of python/bpeline/corpus/README.md, each run as it stands there, in a folder that has a corpus."""

import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

import bpeline

pytestmark = pytest.mark.engines

README = Path(__file__).parents[1] / "python" / "bpeline" / "corpus" / "README.md"
TEXTS = [f"document {number}: <|endoftext|>it's {number * number:,} words\n" * (number % 7) for number in range(60)]
RECIPES = {"dask": "dask.dataframe", "daft": "daft", "ray": "ray.data", "spark": "pyspark"}


def recipe(name):
    """The block of Python below the heading of an engine."""
    text = README.read_text(encoding="utf-8")
    [code] = re.findall(rf"^### {name.capitalize()}\n.*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return code


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """The folder, in which the process is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        some = range(number * 20, number * 20 + 20)
        pq.write_table(
            pa.table({"id": some, "text": [TEXTS[n] for n in some]}), tmp_path / "corpus" / f"{number}.parquet"
        )
    return tmp_path


@pytest.fixture
def engine(request, monkeypatch):
    """Small, and gone after the test."""
    name = request.param
    if name == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    pytest.importorskip(RECIPES[name])
    if name == "ray":
        import ray

        ray.init(num_cpus=2, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False)
        yield name
        ray.shutdown()
    elif name == "spark":
        from pyspark.sql import SparkSession

        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        yield name
        session.stop()
    else:
        yield name


@pytest.mark.parametrize("engine", RECIPES, indirect=True)
def test_recipe(corpus, engine):
    importlib.import_module(RECIPES[engine])
    exec(compile(recipe(engine), f"{README.name}, {engine}", "exec"), {"__name__": "recipe"})
    files = sorted((corpus / "tokens").rglob("*.parquet"))
    rows = [ids for file in files for ids in pq.read_table(file, columns=["input_ids"])["input_ids"].to_pylist()]
    tok = bpeline.load("gpt2")
    assert sorted(rows) == sorted(tok.encode(text, special="text") for text in TEXTS)
