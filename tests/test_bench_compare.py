"""What `make bench-compare` is made of: corpora, options, tables, the part of README.md. No peers, no times."""

import json
import lzma
from types import SimpleNamespace

import numpy as np
import pytest

import bpeline
from benches import compare, corpus, peers, report
from benches.peers import Encoder

EOT = "<|endoftext|>"


# --- Corpora ---


def test_the_single_texts_have_the_sizes_that_they_are_named_for():
    assert len(corpus.TINY) == 38
    assert len(corpus.SHORT.encode()) == 4096


@pytest.mark.parametrize("name", ["code", "mixed"])
def test_corpora_are_the_same_each_time(name):
    texts = corpus.CORPORA[name]()
    assert texts == corpus.CORPORA[name]()
    assert all(texts) and not any(EOT in text for text in texts)
    assert sum(map(len, texts)) > 2_000_000


def test_docstrings_are_those_of_modules_classes_and_functions():
    source = (
        '"""Of the module."""\nclass A:\n    """Of the class."""\n    def f(self):\n        """Of f."""\nx = "no"\n'
    )
    assert list(corpus.docstrings_of(source)) == ["Of the module.", "Of the class.", "Of f."]


def test_mixed_has_eighteen_languages_and_rare_words():
    texts = corpus.mixed(36)
    words = (corpus.DATA / "udhr.txt").read_text(encoding="utf-8").split()
    assert len(texts) == 36
    assert set(texts[0].split()) & set(words) and set(texts[0].split()) - set(words)
    assert texts[0].isascii() and not texts[16].isascii()


def test_first_takes_whole_documents_and_at_least_one():
    assert corpus.first(["aa", "éé", "a"], 6) == ["aa", "éé"]
    assert corpus.first(["aa", "éé", "a"], 5) == ["aa"]
    assert corpus.first(["aa"], 1) == ["aa"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("text", "size", "documents"),
    [
        (f"é{EOT}\nb{EOT}{EOT}c", 1000, ["é", "\nb", "c"]),
        (f"é{EOT}bbbb{EOT}c", 20, ["é"]),  # what the size cuts is left out
        ("éé", 3, ["é"]),  # unless it is all there is
    ],
)
def test_read(tmp_path, text, size, documents, packed):
    path = tmp_path / ("texts.txt.xz" if packed else "texts.txt")
    path.write_bytes(lzma.compress(text.encode()) if packed else text.encode())
    assert corpus.read(path, size) == documents


@pytest.mark.parametrize("data", [b"", EOT.encode(), b"a\xff", b"\xc3"])
def test_read_refuses_what_is_no_text(tmp_path, data):
    path = tmp_path / "texts.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError):
        corpus.read(path, 1000)


# --- Options ---


def test_options(tmp_path):
    path = tmp_path / "english.txt"
    path.write_text("text", encoding="utf-8")
    options = compare.parse(["tokie", "bpeline", "--corpus", f"a={path}", "--corpus", f"b={path}", "--threads", "2"])
    assert (options.encoders, options.corpus, options.threads) == (
        ["tokie", "bpeline"],
        [("a", path), ("b", path)],
        [2],
    )
    assert compare.parse([]).encoders == list(peers.ENCODERS)


@pytest.mark.parametrize(
    "arguments", [["nobody"], ["--corpus", "a"], ["--corpus", "a=/nowhere"], ["--rounds", "1"], ["--threads", "0"]]
)
def test_options_that_make_no_sense(arguments, capsys):
    with pytest.raises(SystemExit):
        compare.parse(arguments)
    assert "error:" in capsys.readouterr().err


def test_the_command_shows_no_path_of_the_machine(tmp_path):
    path = tmp_path / "english.txt"
    path.write_text("text", encoding="utf-8")
    given = ["tokie", "bpeline", "--mb", "0.5", "--corpus", f"a={path}", "--forms", "lists", "--output", str(tmp_path)]
    options = "tokie bpeline --corpus a=FILE --mb 0.5 --threads 1 2 --rounds 3 --runs 3 --forms lists"
    assert compare.command(compare.parse(given)) == f'make bench-compare ARGS="{options}"'
    assert compare.command(compare.parse([])) == ('make bench-compare ARGS="--mb 16 --threads 1 2 --rounds 3 --runs 3"')


# --- Ids, whatever the form ---


@pytest.mark.parametrize(
    "batch",
    [
        [[1, 2], [], [3]],
        [SimpleNamespace(ids=[1, 2]), SimpleNamespace(ids=[]), SimpleNamespace(ids=[3])],
        (np.array([1, 2, 3], np.uint32).tobytes(), np.array([0, 2, 2, 3], np.uint64).tobytes()),
        bpeline.TokenBatch(np.array([1, 2, 3], np.uint16), np.array([0, 2, 2, 3])),
    ],
)
def test_rows_of(batch):
    assert [list(row) for row in compare.rows_of(batch)] == [[1, 2], [], [3]]


class Turns(compare.Turns):
    """Answers without processes."""

    answers = None

    def __init__(self, rows, threads, folder):
        self.processes = []
        self.rows = rows

    def ask(self, *question):
        yield from ((row, self.answers[row["encoder"]]) for row in self.rows if row["problem"] is None)


def test_other_ids_are_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(compare, "Turns", Turns)
    Turns.answers = {"tiktoken": [b"a", b"b"], "tokie": [b"a", b"c"], "gigatoken": [b"a"], "fastokens": None}
    rows = [{"encoder": name, "form": "lists", "problem": None} for name in Turns.answers]
    kept = compare.with_equal_ids(rows, 1, tmp_path)
    problems = {row["encoder"]: row["problem"] for row in kept}
    one = "other ids in 1 of 2 documents"
    assert problems == {"tiktoken": None, "tokie": one, "gigatoken": one}
    Turns.answers["bpeline"] = [b"x", b"b"]
    with pytest.raises(SystemExit, match="bpeline: other ids in 1 of 2"):
        compare.with_equal_ids([*rows, {"encoder": "bpeline", "form": "lists", "problem": None}], 1, tmp_path)


def test_what_is_not_installed_is_listed(monkeypatch):
    monkeypatch.setattr(compare.importlib.util, "find_spec", lambda name: None if name == "tokie" else name)
    rows = compare.rows_to_fill(["bpeline", "tokie", "tiktoken"], ["arrays", "lists"])
    assert [(row["encoder"], row["form"], row["problem"]) for row in rows] == [
        ("tiktoken", "arrays", None),
        ("tiktoken", "lists", None),
        ("bpeline", "arrays", None),
        ("bpeline", "lists", None),
        ("tokie", "", "not installed"),
    ]


@pytest.fixture
def work(monkeypatch, tmp_path):
    """bpeline's questions and answers, in this process."""
    compare.write_texts(tmp_path, ["hello world", "a\n漢"])
    (tmp_path / "about.json").write_text('{"source": "gpt2"}', encoding="utf-8")
    assert isinstance(peers.bpeline(tmp_path, 1), Encoder)
    return compare.Work("bpeline", "lists", 1, tmp_path)


def test_work(work, gpt2):
    assert work.texts == ["hello world", "a\n漢"]
    assert work.digests() == compare.Work.digests(
        SimpleNamespace(encoder=work.encoder, form="arrays", texts=work.texts)
    )
    assert len(set(work.digests())) == 2
    assert {call: work.answer(call) for call in ("array", "count", "decode", "decode_array")} == {
        "array": [31373, 995],
        "count": 2,
        "decode": "hello world",
        "decode_array": "hello world",
    }
    assert work.answer("tiny") == gpt2.encode(corpus.TINY)
    assert work.load() > 0 and work.encode_all() > 0


@pytest.mark.skipif(bpeline.backend() != "native", reason="the built-in encoding takes seconds without it")
def test_a_process_that_fails_is_a_problem(tmp_path):
    compare.write_texts(tmp_path, ["hello world"])
    (tmp_path / "about.json").write_text('{"source": "gpt2"}', encoding="utf-8")
    process = compare.Process("bpeline", "lists", 1, tmp_path)
    assert process.ask("answer", "count") == 2
    with pytest.raises(compare.Problem, match="failed: KeyError: 'no such call'"):
        process.ask("answer", "no such call")
    process.close()
    process = compare.Process("bpeline", "lists", 1, tmp_path)
    process.process.kill()
    with pytest.raises(compare.Problem, match="failed: exit code -9"):
        process.ask("load")


# --- The report ---

ROW = {"corpus": "english", "threads": 1, "problem": None, "form": "arrays"}
RECORD = {
    "date": "2026-11-30",
    "commit": "0123abc",
    "dirty": True,
    "processor": "Intel(R) Xeon(R) Processor",
    "cores": 2,
    "system": "Linux 6.1, x86_64",
    "python": "CPython 3.11.7",
    "versions": {"bpeline": "0.1.0", "tokie": "0.1.4"},
    "command": 'make bench-compare ARGS="--mb 1"',
    "options": {"mb": 1, "rounds": 2, "runs": 3},
    "corpora": {"english": {"documents": 1200, "bytes": 1_000_000, "sha256": "f" * 64}},
    "throughput": [
        ROW | {"encoder": "tokie", "form": "objects", "first": [3.0], "later": [4.0], "memory": [None]},
        ROW | {"encoder": "bpeline", "first": [9.0, 1.0, 50.0], "later": [100.0, 1234.0, 7.0], "memory": [5, 6, 7]},
        ROW | {"encoder": "gigatoken", "form": "", "problem": "not installed", "first": [], "later": [], "memory": []},
    ],
    "call_bytes": 2_000_000,
    "calls": [
        {"encoder": "gigatoken", "form": "", "problem": "not installed"},
        {
            "encoder": "bpeline",
            "form": "lists",
            "problem": None,
            "load": [0.005],
            "tiny": [3e-7],
            "short": [1e-5],
            "count": [0.01],
        }
        | {"array": [0.02], "decode": [0.002], "decode_array": []},
    ],
}


def test_throughput_table():
    assert report.throughput_table(RECORD, 1) == (
        "| encoder | ids as | english | memory, MB |\n"
        "| --- | --: | --: | --: |\n"
        "| bpeline 0.1.0 | arrays | 9.00 / 100 | 6.00 |\n"
        "| gigatoken |  | not installed | – |\n"
        "| tokie 0.1.4 | objects | 3.00 / 4.00 | – |\n"
    )


def test_calls_table():
    assert report.calls_table(RECORD).splitlines()[2:] == [
        "| bpeline 0.1.0 | 5.00 | 0.30 | 10.0 | 100 | 200 | 1,000 | – |",
        "| gigatoken | not installed |  |  |  |  |  |  |",
    ]


def test_the_report_tells_what_was_measured():
    text = report.whole(RECORD)
    for told in (
        "2026-11-30",
        "0123abc, and changes",
        "Intel",
        "cores: 2",
        "tokie 0.1.4",
        "1,200",
        'ARGS="--mb 1"',
        "3 runs",
    ):
        assert told in text


def test_folder_name():
    assert report.folder_name(RECORD) == "2026-11-30-intel-xeon-processor"
    assert report.folder_name(RECORD | {"processor": "AMD EPYC 7B13"}) == "2026-11-30-amd-epyc-7b13"


def test_surroundings_name_versions_and_commit():
    found = report.surroundings(["numpy", "no-such-package"])
    assert found["versions"] == {"numpy": np.__version__}
    assert found["processor"] and found["cores"] >= 1 and found["commit"]


def test_a_record_is_written_and_shown_in_the_readme(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "TOP", tmp_path)
    monkeypatch.setattr(report, "RECORDS", tmp_path / "benches" / "record")
    monkeypatch.setattr(report, "plot", lambda record, path: path.write_text("<svg/>", encoding="utf-8"))
    with pytest.raises(SystemExit, match="no record yet"):
        report.newest()
    report.write(RECORD | {"date": "2026-11-01"}, report.RECORDS / "2026-11-01-x")
    folder = report.write(RECORD, report.RECORDS / "2026-11-30-x")
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == RECORD
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.refresh_readme()
    text = readme.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{report.BEGIN}\n![Throughput") and text.endswith(f"{report.END}\nafter\n")
    assert "benches/record/2026-11-30-x/throughput.svg" in text and "old" not in text
    report.refresh_readme()
    assert readme.read_text(encoding="utf-8") == text
    with pytest.raises(SystemExit, match="lacks"):
        report.with_part("no marks", "part")


def test_this_readme_has_the_marks():
    readme = (report.TOP / "README.md").read_text(encoding="utf-8")
    assert report.with_part(readme, "part").count("part") > 0


# --- Files for the peers ---


def test_a_tokenizer_json_has_no_ranks_for_tiktoken(tmp_path):
    source = tmp_path / "other.json"
    (tmp_path / "files").mkdir()
    bpeline.load("gpt2").save(tmp_path / "saved", format="tokenizer.json")[0].rename(source)
    peers.write_files(tmp_path / "files", str(source))
    assert [path.name for path in (tmp_path / "files").glob("tokenizer.*")] == ["tokenizer.json"]
    assert peers.rank_file(tmp_path / "files") is None
    with pytest.raises(peers.Problem, match=r"^reads rank files only$"):
        peers.tiktoken(tmp_path / "files", 1)


def test_ranks_stay_a_rank_file_for_those_that_read_one(tmp_path):
    ranks = {bytes([byte]): byte for byte in range(256)}
    tok = bpeline.Tokenizer.from_ranks(ranks, pattern="cl100k", special_tokens={EOT: 256})
    tok.save(tmp_path / "ranks", format="tiktoken")
    (tmp_path / "files").mkdir()
    peers.write_files(tmp_path / "files", str(tmp_path / "ranks"))
    assert (tmp_path / "files" / "tokenizer.json").exists()
    assert peers.rank_file(tmp_path / "files") == str(tmp_path / "files" / "custom.tiktoken")
