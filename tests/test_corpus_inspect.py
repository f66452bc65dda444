"""`bpeline.inspect_corpus`, `bpeline inspect` and its page: numbers that a simple count gives too."""

import json
import os
import re
import sys
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

from hypothesis import given
from hypothesis import strategies as st

import bpeline
from bpeline.corpus import inspect as reading
from bpeline.corpus import output
from bpeline.corpus.findings import findings, share_of_longest
from bpeline.corpus.inspect import inspect_corpus
from bpeline.corpus.plan import FORMATS
from tests.corpus_reading import megatron

EOT = 50256
TEXTS = [
    "",
    "hello world",
    "the same again, the very same",
    "x\x1b[31m \ufffd\ufffd broken",
    "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f" * 3,
    "a long one, " * 300,
    "the same again, the very same",
    "<script>alert('$x$')</script> & more of it, so that it counts",
]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes an output of TEXTS, from two files."""
    monkeypatch.setattr(output, "BLOCK", 100)
    for name, texts in (("a", TEXTS[:3]), ("b", TEXTS[3:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    def make(format="nanogpt", **options):
        out = tmp_path / f"{format}{len(options)}"
        bpeline.tokenize_corpus(sorted(tmp_path.glob("*.jsonl")), out, format=format, **options)
        return out

    return make


def lists(format):
    """The ids of the documents, as they are in that format."""
    found = [bpeline.load("gpt2").encode(text, special="text") for text in TEXTS]
    layout = FORMATS[format]
    return [
        document if layout.eot == "none" or not (document or layout.eot_if_empty)
        else [EOT, *document] if layout.eot == "prepend" else [*document, EOT]
        for document in found
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", [{}, {"shuffle_seed": 1}, {"val_fraction": 0.5}], ids=str)
def test_numbers(made, format, options):
    found, wanted = inspect_corpus(made(format, **options)), lists(format)
    assert (found.documents, found.tokens) == (len(TEXTS), sum(map(len, wanted)))
    assert found.text_bytes == sum(len(text.encode()) for text in TEXTS)
    assert (
        found.counts.tolist() == np.bincount([id for document in wanted for id in document], minlength=50257).tolist()
    )
    short = sum(len(document) <= 8 and text != "" for document, text in zip(wanted, TEXTS, strict=True))
    assert (found.empty, found.short, found.dense, found.broken, found.duplicates) == (1, short, 1, 1, 1)
    assert [one.tokens for one in found.longest] == sorted(map(len, wanted), reverse=True)[:5]
    assert found.percentile(100) == pytest.approx(max(map(len, wanted)), rel=0.02)
    assert found.percentile(50) == sorted(map(len, wanted))[3]
    assert found.lengths.sum() == len(TEXTS)
    [again] = found.repeated
    assert again.times == 2
    [(number, ids)] = reading.documents(found.output, [again.number])
    assert (number, reading.text_of(found.output, ids)) == (again.number, TEXTS[2])
    assert len(found.never_used()) == 50257 - len({id for document in wanted for id in document})


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", [{}, {"shuffle_seed": 1}, {"val_fraction": 0.5}], ids=str)
def test_documents(made, format, options):
    out = output.Output(made(format, **options))
    found = {number: reading.text_of(out, ids) for number, ids in reading.documents(out, list(range(len(TEXTS))))}
    assert list(found) == list(range(len(TEXTS)))
    assert Counter(found.values()) == Counter(TEXTS)
    for number, text in found.items():
        source = reading.source_of(out, number)
        if "val_fraction" in options:
            assert source is None
        elif text != TEXTS[2]:
            assert source.endswith("a.jsonl" if text in TEXTS[:3] else "b.jsonl")
    [(number, _)] = reading.search(out, "hello", 3)
    assert found[number] == "hello world"
    if not options:
        assert list(found.values()) == TEXTS


def test_shares(made):
    found = inspect_corpus(made("megatron"))
    tokens = [sum(map(len, some)) for some in (megatron(found.output.folder)[:3], megatron(found.output.folder)[3:])]
    rows = [(url[-7:], *row) for url, *row in found.shares()]
    sizes = [sum(len(text.encode()) for text in some) for some in (TEXTS[:3], TEXTS[3:])]
    assert rows == [("b.jsonl", 5, tokens[1], sizes[1]), ("a.jsonl", 3, tokens[0], sizes[0])]
    assert any("b.jsonl alone has" in sentence for sentence in findings(found))
    assert share_of_longest(found) == (1, pytest.approx(found.longest[0].tokens / found.tokens, rel=0.02))


def test_nothing_tells_documents_apart(made):
    found = inspect_corpus(made(special="parse"))
    assert (found.documents, found.longest, found.lengths.sum()) == (0, [], 0)
    assert found.tokens == sum(map(len, lists("nanogpt")))


def test_many_hashes_are_thinned_out(made, monkeypatch):
    monkeypatch.setattr(reading, "KEPT", 3)
    found = inspect_corpus(made())
    assert found.hashes_kept < 1 and found.duplicates % (1 / found.hashes_kept) == 0


def test_damaged(made):
    out = made()
    (out / "train.bin").write_bytes(b"\xff" * (out / "train.bin").stat().st_size)
    with pytest.raises(bpeline.CorpusError, match=r"train.bin has an id that is not in the vocabulary.*bpeline verify"):
        inspect_corpus(out)


@given(st.lists(st.integers(0, 1 << 40), min_size=1))
def test_buckets(lengths):
    lengths = np.sort(np.array(lengths))
    buckets = reading.bucket(lengths)
    low, high = reading.edge(buckets), reading.edge(buckets + 1)
    assert ((low <= lengths) & (lengths < high)).all()
    assert ((high - low - 1) * 64 <= lengths).all()
    assert all(a <= b for a, b in pairwise(buckets))


class TestCommand:
    def test_tables_and_documents(self, bp, made):
        result = bp("inspect", made(), "--first", 4)
        lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
        assert result.exit_code == 0
        assert "documents 8" in lines and "encoding gpt2, 50,257 ids" in lines
        assert "• Repeated documents: 1 (12.5%), word for word as an earlier one." in lines
        assert any(line.startswith("longest 5 1,") for line in lines)
        assert "\x1b" not in result.stdout and "x\\x1b[31m �� broken" in lines
        assert any(line.startswith("document 3: ") and line.endswith("b.jsonl") for line in lines)

    def test_one_document(self, bp, made):
        out = made("npy")
        result = bp("inspect", out, "--document", 1, "--chars", 5)
        assert result.stdout.splitlines()[0].startswith("document 1: 2 tokens, 11 bytes, ")
        assert result.stdout.splitlines()[1] == "hello …"
        result = bp("inspect", out, "--document", 8)
        assert result.exit_code == 1 and "has no document 8; they are numbered from 0 to 7" in result.stderr

    def test_search(self, bp, made):
        assert "hello world" in bp("inspect", made(), "--search", "lo wor").stdout
        result = bp("inspect", made(), "--search", "nowhere")
        assert result.exit_code == 1 and "no document holds 'nowhere'" in result.stderr

    def test_random(self, bp, made):
        shown = re.findall(r"^document (\d+): ", bp("inspect", made(), "--random", "-n", 8).stdout, re.MULTILINE)
        assert sorted(map(int, shown)) == list(range(8))

    def test_no_end_of_documents(self, bp, made):
        out = made(special="parse")
        assert bp("inspect", out).exit_code == 0
        result = bp("inspect", out, "--document", 0)
        assert result.exit_code == 1 and "nothing in this format tells its documents apart" in result.stderr

    @pytest.mark.parametrize("name", ["train.bin", "manifest.json", "../tokens/./train.bin"])
    def test_a_page_does_not_replace_what_it_tells_of(self, bp, tmp_path, name):
        pytest.importorskip("matplotlib")
        (tmp_path / "a.txt").write_text("hello")
        bpeline.tokenize_corpus(tmp_path / "a.txt", tmp_path / "tokens")
        before = {path.name: path.read_bytes() for path in (tmp_path / "tokens").iterdir()}
        result = bp("inspect", tmp_path / "tokens", "--html", tmp_path / "tokens" / name)
        assert result.exit_code == 1 and "is the input, which the output would replace" in result.stderr
        assert {path.name: path.read_bytes() for path in (tmp_path / "tokens").iterdir()} == before

    def test_page(self, bp, made, tmp_path):
        pytest.importorskip("matplotlib")
        result = bp("inspect", made(), "--html", tmp_path / "r.html", "--quiet")
        assert result.exit_code == 0, result.output
        page = (tmp_path / "r.html").read_text()
        assert len(page) < 300_000
        assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|url\((?!#)|@import|<script|\$x\$ *</script""", page)
        assert "&lt;script&gt;alert(&#x27;$x$&#x27;)" in page and "\\x1b[31m" in page
        drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        assert len(drawings) == 5
        names = [name for svg in drawings for name in re.findall(r' id="([^"]*)"', svg)]
        assert len(names) == len(set(names))
        for svg in drawings:
            root = ElementTree.fromstring(svg)
            used = re.findall(r'(?:href="#|url\(#)([^")]*)', svg)
            assert set(used) <= {element.get("id") for element in root.iter()}
            assert "currentColor" in svg and "#010203" not in svg
        assert bp("inspect", made(), "--html", tmp_path / "again.html", "--quiet").exit_code == 0
        assert (tmp_path / "again.html").read_text() == page

    def test_a_page_in_the_output_is_no_fault_of_it(self, made, bp):
        pytest.importorskip("matplotlib")
        out = made()
        assert bp("inspect", out, "--html", out / "report.html", "--quiet").exit_code == 0
        assert bp("verify", out, "--quiet").exit_code == 0
        (out / "html").write_bytes(b"")
        assert bp("verify", out, "--quiet").exit_code == 1

    @pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="there names of files are Unicode")
    def test_hostile_names(self, bp, tmp_path):
        """Names that are no UTF-8, and that would do something to a terminal, a page or a plot."""
        pytest.importorskip("matplotlib")
        folder = tmp_path / "in"
        folder.mkdir()
        for name in (
            b"\xff.txt",
            b"\x1b[31mred.txt",
            b"new\nline.txt",
            b"$x_{$.txt",
            b"<img src=x onerror=alert(1)>.txt",
        ):
            with open(bytes(folder) + b"/" + name, "w") as file:
                file.write("hello " * 9)
        bpeline.tokenize_corpus(folder, tmp_path / "out")
        result = bp("inspect", tmp_path / "out", "--html", tmp_path / "r.html", "-n", 5)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout and "\\x1b[31mred.txt" in result.stdout and "\\xff.txt" in result.stdout
        page = (tmp_path / "r.html").read_text()
        assert "<img" not in page and "\x1b" not in page and "/\\xff.txt" in page and "$x_{$.txt" in page

    @pytest.mark.parametrize("format", FORMATS)
    def test_page_of_nothing(self, bp, tmp_path, format):
        pytest.importorskip("matplotlib")
        (tmp_path / "in.jsonl").write_text("")
        bpeline.tokenize_corpus(tmp_path / "in.jsonl", tmp_path / "out", format=format)
        result = bp("inspect", tmp_path / "out", "--html", tmp_path / "r.html")
        assert result.exit_code == 0, result.output
        assert "<svg" not in (tmp_path / "r.html").read_text()
