"""`bpeline train` and `bpeline compare-vocab` in this process."""

import gzip
import json

import pytest

pytest.importorskip("typer")

import bpeline

TEXT = "low lower lowest\nnewest newer\n" * 40


@pytest.fixture(autouse=True)
def a_corpus(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")


def test_train(bp, tmp_path):
    result = bp("train", "a.txt", "-o", "out", "--vocab-size", 265)
    assert (result.exit_code, result.stdout) == (0, "")
    expected = bpeline.Tokenizer.train([TEXT], 265)
    assert bpeline.load(tmp_path / "out") == expected
    assert "trained   265 tokens, out/vocab.json, out/merges.txt" in result.stderr.replace("\\", "/")
    ratio = len(TEXT) / expected.count(TEXT)
    assert f"bytes/token {ratio:.2f} out, 3.75 gpt2" in result.stderr
    assert "(on 1.20 kB of the training text)" in result.stderr


@pytest.mark.parametrize("format", ["gpt2", "tokenizer.json", "tiktoken"])
def test_options(bp, tmp_path, format):
    options = ["--pattern", "cl100k", "--special-token", "<a>", "--special-token", "<b>", "--ties", "first-seen"]
    options += ["--min-frequency", 3, "--max-token-length", 5, "--max-memory", "1GB", "--threads", 1, "-q"]
    result = bp("train", "a.txt", "-o", "out", "--vocab-size", 262, "--format", format, *options)
    assert (result.exit_code, result.output) == (0, "")
    tok = bpeline.load(tmp_path / "out")
    expected = bpeline.Tokenizer.train(
        [TEXT],
        262,
        pattern="cl100k",
        special_tokens=["<a>", "<b>"],
        ties="first-seen",
        min_frequency=3,
        max_token_length=5,
    )
    assert tok.encode(TEXT + "<b>") == expected.encode(TEXT + "<b>")
    assert tok.special_tokens == {"<a>": 0, "<b>": 1}


def test_no_special_tokens_and_a_note(bp, tmp_path):
    result = bp("train", "a.txt", "-o", "out", "--vocab-size", 9999, "--special-token", "", "--held-out", "a.txt")
    assert result.exit_code == 0
    assert "note      no pair is left that occurs 2 times" in result.stderr
    assert "(on 1.20 kB of a.txt)" in result.stderr
    assert bpeline.load(tmp_path / "out").special_tokens == {}


def test_start(bp, tmp_path):
    result = bp("train", "a.txt", "-o", "more", "--vocab-size", 50258, "--start", "gpt2")
    assert result.exit_code == 0
    assert " more, " in result.stderr
    assert bpeline.load(tmp_path / "more") == bpeline.load("gpt2").train_more([TEXT], 50258)


def test_what_tokenize_reads(bp, tmp_path):
    pytest.importorskip("pyarrow")
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"body": line}) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "e.txt").write_text(TEXT.replace("\n", "\n---\n"), encoding="utf-8")
    for arguments, texts in (
        (["b.jsonl", "--column", "body"], lines),
        (["c.txt.gz"], [TEXT]),
        (["d"], [TEXT.replace("\n", "\n---\n")]),
        (["d", "--separator", "---\n"], lines),
    ):
        result = bp("train", *arguments, "-o", "out", "--vocab-size", 262)
        assert result.exit_code == 0, result.stderr
        assert bpeline.load(tmp_path / "out") == bpeline.Tokenizer.train(texts, 262)


def test_a_large_text_in_parts(bp, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from bpeline.corpus import inputs, readers

    monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 50)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert sum(batch.open for batch in readers.read(inputs.find("c.txt.gz")[0])) > 10
    result = bp("train", "c.txt.gz", "-o", "out", "--vocab-size", 262)
    assert result.exit_code == 0, result.stderr
    assert bpeline.load(tmp_path / "out") == bpeline.Tokenizer.train([TEXT], 262)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.txt", "--vocab-size", 300], 1, "bpeline: missing.txt: No such file or directory"),
        (["a.txt", "--vocab-size", 9], 1, "bpeline: vocab_size must be 257 (256 bytes and 1 special tokens)"),
        (["a.txt", "--vocab-size", 300, "--max-memory", "much"], 2, "must be a size such as 500MB"),
        (["a.txt", "--vocab-size", 300, "--start", "gpt2", "--pattern", "gpt2"], 2, "--start has its own pattern"),
        (["a.txt", "--vocab-size", 60000, "--start", "nowhere"], 1, 'bpeline: nothing is at "nowhere"'),
        (["a.txt", "--vocab-size", 300, "--held-out", "b"], 1, "bpeline: b: No such file or directory"),
        (["empty.txt", "--vocab-size", 300], 1, "bpeline: the corpus is empty"),
    ],
)
def test_faults(bp, tmp_path, arguments, code, message):
    (tmp_path / "empty.txt").touch()
    result = bp("train", *arguments, "-o", "out")
    assert result.exit_code == code
    assert message in result.stderr


def test_compare_vocab(bp, tmp_path):
    bp("train", "a.txt", "-o", "out", "--vocab-size", 265)
    (tmp_path / "b.txt").write_text("nothing of it", encoding="utf-8")
    result = bp("compare-vocab", "gpt2", "out", "--on", "a.txt", "--on", "b.txt", "--json", "--show", 2)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    gpt2, out = bpeline.load("gpt2"), bpeline.load(tmp_path / "out")
    assert [(row["file"], row["a_tokens"], row["b_tokens"]) for row in found["files"]] == [
        (name, gpt2.count(text), out.count(text)) for name, text in (("a.txt", TEXT), ("b.txt", "nothing of it"))
    ]
    tokens = [{tok.token_bytes(id) for id in range(tok.vocab_size)} - {b"<|endoftext|>"} for tok in (gpt2, out)]
    assert found["tokens_in_common"] == len(tokens[0] & tokens[1])
    assert found["a"]["tokens_alone"] == len(tokens[0] - tokens[1])
    assert found["b"]["encoding"] == "out" and found["b"]["tokens_alone"] == len(tokens[1] - tokens[0])
    top = found["a"]["most_used_alone"][0]
    assert top["uses"] == gpt2.encode(TEXT).count(gpt2.token_to_id(top["token"])) > 0

    table = bp("compare-vocab", "gpt2", "out", "--on", "a.txt", "--on", "b.txt")
    assert table.exit_code == 0
    assert f"{found['tokens_in_common']} tokens in common" in table.stdout
    assert "total" in table.stdout and "b.txt" in table.stdout


def test_compare_vocab_plot(bp, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    assert matplotlib
    result = bp("compare-vocab", "gpt2", "r50k_base", "--on", "a.txt", "--plot", "out.svg")
    assert result.exit_code == 0, result.stderr
    assert "a.txt" in (tmp_path / "out.svg").read_text(encoding="utf-8") or "<svg" in (tmp_path / "out.svg").read_text()


def test_compare_vocab_faults(bp, tmp_path):
    assert "bpeline: missing.txt: No such file" in bp("compare-vocab", "gpt2", "gpt2", "--on", "missing.txt").stderr
    (tmp_path / "bad.txt").write_bytes(b"a\xff")
    assert "bpeline: bad.txt: invalid UTF-8" in bp("compare-vocab", "gpt2", "gpt2", "--on", "bad.txt").stderr
