"""What `make bench-corpus` is made of: the files, each tool that is installed on a little text, the tables. No times."""

import importlib.util
import json

import numpy as np
import pytest

import bpeline
from benches import report
from benches.corpus_tools import __main__ as turns
from benches.corpus_tools import inputs, job, tables
from benches.corpus_tools.tools import TOOLS, write_flat
from benches.peers import Problem, write_files

pytest.importorskip("pyarrow")
TEXTS = ["hello world\n", "It's é 漢字 👍🏽", '"quoted" \\ \u2028 line', " ", "the last <one|", "\n\nafter all"]


# --- Files ---


@pytest.mark.parametrize("parts", ["1", "2"])
@pytest.mark.parametrize("form", inputs.FORMS)
def test_all_forms_hold_the_same_documents(tmp_path, form, parts):
    inputs.write(tmp_path, TEXTS)
    files = sorted((tmp_path / form / parts).iterdir())
    assert len(files) == int(parts)
    assert list(inputs.documents(form, files)) == TEXTS


def test_one_document_makes_no_second_file(tmp_path):
    inputs.write(tmp_path, ["a"], ("text",))
    assert [path.name for path in (tmp_path / "text" / "2").iterdir()] == ["0.txt"]


def test_write_flat_puts_end_of_text_after_each_document(tmp_path):
    write_flat(tmp_path / "ids", np.array([1, 2, 3], np.uint32), np.array([0, 2, 2, 3]))
    assert np.fromfile(tmp_path / "ids", np.uint16).tolist() == [1, 2, 50256, 50256, 3, 50256]


# --- Tools ---


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "tokenizers").mkdir()
    pytest.importorskip("tiktoken")  # its spelling of the pattern goes along
    write_files(folder / "tokenizers", "gpt2")
    turns.prepare(folder, "small", TEXTS * 20, list(inputs.FORMS))
    return folder


def test_the_ids_to_expect_are_those_of_encode(corpus):
    ids = [id for text in TEXTS * 20 for id in [*bpeline.load("gpt2").encode(text, special="text"), 50256]]
    (corpus / "ids").write_bytes(np.array(ids, "<u2").tobytes())
    assert job.digest([corpus / "ids"]) == (corpus / "small" / "expected").read_text()


def measured(corpus, tool, form, threads):
    pytest.importorskip("psutil")
    if problem := turns.missing(tool):
        pytest.skip(problem)
    return job.measure(tool, form, threads, corpus / "small", corpus / "tokenizers", 60)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_makes_the_ids(corpus, tool):
    """`measure` compares them."""
    took = measured(corpus, tool, TOOLS[tool].forms[0], 2)
    assert 0 < took["inside"] < took["whole"]
    assert took["cpu"] > 0 and took["memory"] > 10e6


@pytest.mark.parametrize("form", ["jsonl", "jsonl.zst", "parquet"])
@pytest.mark.parametrize("tool", ["bpeline", "gigatoken", "datatrove", "datasets"])
def test_the_forms_that_a_tool_reads_by_itself(corpus, tool, form):
    if form in TOOLS[tool].forms:
        measured(corpus, tool, form, 1)


def test_other_ids_are_a_problem(corpus):
    inputs.write(corpus / "other", [*TEXTS, "more"], ("text",))
    (corpus / "other" / "expected").write_text((corpus / "small" / "expected").read_text())
    pytest.importorskip("psutil")
    with pytest.raises(Problem, match=r"^other ids$"):
        job.measure("bpeline", "text", 1, corpus / "other", corpus / "tokenizers", 60)


def test_a_job_that_fails_or_takes_too_long_is_a_problem(corpus):
    pytest.importorskip("psutil")
    with pytest.raises(Problem, match=r"^stopped after 0\.01 s$"):
        job.measure("bpeline", "text", 1, corpus / "small", corpus / "tokenizers", 0.01)
    with pytest.raises(Problem, match=r"^failed: .*no/about\.json"):
        job.measure("tiktoken", "text", 1, corpus / "small", corpus / "no", 60)


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert turns.missing("nanoGPT") == "datasets is not installed"


# --- Options and tables ---


def test_the_command_shows_no_path_of_the_machine(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("text", encoding="utf-8")
    options = turns.parse(["Megatron", "bpeline", "--corpus", f"a={path}", "--output", str(tmp_path), "--mb", "2"])
    assert turns.command(options) == (
        'make bench-corpus ARGS="Megatron bpeline --corpus a=FILE --mb 2 --threads 1 2 --runs 3 --slow 4"'
    )
    assert turns.parse([]).tools == list(TOOLS)


@pytest.mark.parametrize("arguments", [["nobody"], ["--threads", "0"], ["--runs", "0"], ["--forms", "csv"]])
def test_options_that_make_no_sense(arguments, capsys):
    with pytest.raises(SystemExit):
        turns.parse(arguments)
    assert "error:" in capsys.readouterr().err


def row(tool, corpus, form, *wholes, problem=None):
    runs = [{"whole": whole, "inside": whole / 2, "cpu": whole * 2, "memory": 1e8 * whole} for whole in wholes]
    return {"corpus": corpus, "threads": 1, "form": form, "tool": tool, "problem": problem, "runs": runs}


RECORD = {
    "date": "2026-11-30",
    "commit": "c0ffee",
    "dirty": False,
    "processor": "Intel(R) Xeon(R)",
    "cores": 2,
    "system": "Linux 6.1",
    "python": "CPython 3.11",
    "versions": {"bpeline": "0.1.0"},
    "command": "make bench-corpus",
    "options": {"threads": [1], "forms": ["text", "jsonl"], "runs": 3, "slow": 4},
    "corpora": {name: {"bytes": 50_000_000, "documents": 7, "sha256": "0" * 64} for name in ("english", "code")},
    "jobs": [
        row("bpeline", "english", "text", 1, 9, 2),
        row("bpeline", "english", "jsonl", 5),
        row("bpeline", "code", "text", 3),
        row("bpeline", "code", "jsonl", 5),
        row("Megatron", "english", "jsonl", 10),
        row("Megatron", "code", "jsonl", 30),
        row("gigatoken", "english", "text", problem="other ids"),
        row("gigatoken", "code", "text", 1),
        row("encode_ragged", "english", "text", 1),
        row("encode_ragged", "code", "text", 1),
    ],
}


def test_the_table_of_all_corpora_adds_medians_up():
    lines = tables.speeds(RECORD, 1, ["english", "code"]).splitlines()
    assert lines[0] == "| tool | text | JSONL | peak memory, MB | CPU, s/GB | time, bpeline = 1 |"
    assert lines[2:] == [
        "| bpeline | 20.0 / 40.0 | 10.0 / 20.0 | 500 | 150 | 1.00× |",
        "| gigatoken | other ids | – | – | – | – |",
        "| Megatron | – | 2.50 / 5.00 | 3,000 | 800 | 4.00× |",
        "| encode_ragged | – / 100 | – | – | – | – |",
    ]


def test_the_table_of_one_corpus():
    lines = tables.speeds(RECORD, 1, ["code"]).splitlines()
    assert lines[3] == "| gigatoken | 50.0 / 100 | – | 100 | 40.0 | 0.33× |"


def test_the_job_as_a_share_of_the_encoder_alone():
    shares = "bpeline's job inside as a share of the speed of `encode_ragged`: text 0.40, JSONL 0.20.\n"
    assert tables.shares(RECORD, 1, ["english", "code"]) == shares
    assert tables.shares(RECORD, 2, ["english", "code"]) == ""


def test_a_record_can_be_written_and_is_not_the_one_of_readme(tmp_path, monkeypatch):
    tables.write(RECORD, tmp_path / "2026-11-30-machine-corpus")
    written = (tmp_path / "2026-11-30-machine-corpus" / "README.md").read_text(encoding="utf-8")
    assert "- commit c0ffee\n" in written and "English and code, one thread:" in written
    assert "- Megatron: the method" in written and "- nanoGPT" not in written
    (tmp_path / "2026-11-29-machine").mkdir()
    (tmp_path / "2026-11-29-machine" / "results.json").write_text(json.dumps({"throughput": []}))
    monkeypatch.setattr(report, "RECORDS", tmp_path)
    assert report.newest().name == "2026-11-29-machine"
