"""Bad data: an error that names the file and the line or row, or, with `on_error="skip"`, all other documents and what was left out."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import numpy as np
import pyarrow as pa

from bpeline.corpus.readers import read
from bpeline.errors import CorpusError
from tests.corpora_small import COMPRESSIONS, in_memory, packed
from tests.corpus_oracle import batches_of, documents_of, source_of
from tests.test_corpus_readers import feather, file, stream


def parquet(table, sink):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, sink, row_group_size=2)


def table(values, kind=None, column="text"):
    return pa.table({"id": list(range(len(values))), column: pa.array(values, kind)})


def binary(*values):
    return table(values, pa.binary())


def strings_unchecked(values):
    return table([]).schema and pa.table(
        {"id": [*range(len(values))], "text": pa.array(values, pa.binary()).view(pa.string())}
    )


SKIPPED = [  # file, content, options, line or row, words, documents that are left
    ("a.jsonl", b'{"text": "a"}\n{"text": "b"\n{"text": "c"}', {}, 2, r"not valid JSON: expecting ',' delimiter at column 13", "ac"),
    ("a.jsonl", b'\n{"text": "a"}\n\n[1]\n', {}, 4, r"expected an object with the field 'text', found an array", "a"),
    ("a.jsonl", b'{"text": "a"}\r\n17\r\n', {}, 2, r"expected an object with the field 'text', found a number", "a"),
    ("a.jsonl", b'{"txt": "a", "id": 1}', {}, 1, r"no field 'text'; the fields are: 'txt', 'id'", ""),
    ("a.jsonl", b"{}", {}, 1, r"no field 'text'; the fields are: none", ""),
    ("a.jsonl", b'{"text": null}\n{"text": "b"}', {}, 1, r"expected a string in the field 'text', found null", "b"),
    ("a.jsonl", b'{"text": 1}', {}, 1, r"expected a string in the field 'text', found a number", ""),
    ("a.jsonl", b'{"text": true}', {}, 1, r"expected a string in the field 'text', found a boolean", ""),
    ("a.jsonl", b'{"text": {"a": "b"}}', {}, 1, r"expected a string in the field 'text', found an object", ""),
    ("a.jsonl", b'{"text": "a\\ud83d"}\n{"text": "b"}', {}, 1, r"'text' holds a lone surrogate \(\\ud83d\) at character 1", "b"),
    ("a.jsonl", b'{"text": "a"}\n{"text": "\xc3"}', {}, 2, r"'text' holds invalid UTF-8 \(0xC3\) at character 0", "a"),
    ("a.jsonl", b'{"text": "a"}\x00\n{"text": "b"}', {}, 1, r"not valid JSON: extra data at column 14", "b"),
    ("a.jsonl", b'{"text": "a\nb"}\n', {}, 1, r"not valid JSON: unterminated string starting at column 10", None),
    ("a.jsonl", b'{"x": %s}\n{"text": "b"}' % (b"[" * 100_000), {}, 1, r"not readable JSON: nested too deeply", "b"),
    ("a.jsonl", b'{"text": "a", "k": 1}\n{"text": "b", "k": 2}\n' * 5 + b'{"text": "c", "k": "x"}\n', {"keep": ("k",), "batch": 44},
     11, r"expected int64 in the kept field 'k', found 'x'", "ab" * 5),
    ("a.json", b'[\n{"text": "a"},\n{"x": 1},\n"b", {"text": "c"}]', {}, 3, r"no field 'text'; the fields are: 'x'", None),
    ("a.json", b'{\n"text":\n "a"}\n\n{"x": 1}', {}, 5, r"no field 'text'", "a"),
    ("b.parquet", in_memory(parquet, table(["a", "b", None, "c"])), {}, 3, r"the document is null", "abc"),
    ("b.arrow", in_memory(stream, table(["a", "b", None, "c"])), {}, 3, r"the document is null", "abc"),
    ("b.arrow", in_memory(file, table([None, "a"], pa.dictionary(pa.int8(), pa.string()))), {}, 1, r"the document is null", "a"),
    ("b.feather", in_memory(feather, binary(b"a", b"b\xff", b"c")), {}, 2,
     r"the document is not valid: invalid UTF-8 at byte 1: 0xFF \(invalid start byte\)", "ac"),
    ("b.parquet", in_memory(parquet, strings_unchecked([b"a", b"\xed\xa0\x80"])), {}, 2, r"invalid UTF-8 at byte 0: 0xED", "a"),
    ("c.csv", b"id,text\n1,a\n2,b,c\n3,d\n", {}, 2, r"expected 2 columns, found 3", "ad"),
    ("c.csv", b"id,text\n1,a\n2\n", {}, 2, r"expected 2 columns, found 1", "a"),
    ("c.tsv", b"id\ttext\n1\ta\n2\t\xff\n3\tb,c", {}, 2, r"invalid UTF-8 at byte 0: 0xFF", ["a", "b,c"]),
    ("d.txt", b"a\nb\xffc\nd", {"kind": "lines"}, 2, r"invalid UTF-8 at byte 1 of the line: 0xFF \(invalid start byte\)", "ad"),
    ("d.txt", b"a\r\nb\r\nc\xc3\r\n", {"kind": "lines"}, 3, r"invalid UTF-8 at byte 1 of the line: 0xC3", "ab"),
    ("d.txt", b"\xef\xbb\xbfa|b\xe6\x97|c", {"separator": "|"}, None, r"invalid UTF-8 at byte 6: 0xE6", "ac"),
    ("d.txt", b"abc\x80", {}, None, r"invalid UTF-8 at byte 3: 0x80 \(invalid start byte\)", ""),
    ("d.txt", b"a" * 100 + b"\x80" + b"b" * 100, {"batch": 24}, None, r"invalid UTF-8 at byte 100: 0x80", ""),
    ("d.txt", b"a\n" + b"a" * 100 + b"\x80" + b"b" * 100 + b"\r\nc\nd", {"batch": 24, "kind": "lines"}, 2,
     r"invalid UTF-8 at byte 100 of the line: 0x80", "acd"),
    ("d.txt", b"a--" + b"a" * 100 + b"\x80" + b"b" * 100 + b"--c--d", {"batch": 24, "separator": "--"}, None,
     r"invalid UTF-8 at byte 103: 0x80", "acd"),
]  # fmt: skip


def placed(path, line):
    """How an error tells a line, or a row, of a file."""
    rows = {".csv": f": row {line} after the header", ".tsv": f": row {line} after the header"}
    rows |= dict.fromkeys((".parquet", ".arrow", ".feather"), f": row {line}")
    return rows.get(path.suffix, f":{line}") if line else ""


@pytest.mark.parametrize("name, content, options, line, words, left", SKIPPED)
def test_bad_documents(tmp_path, name, content, options, line, words, left):
    path = tmp_path / name
    path.write_bytes(content)
    options = dict(options)
    with batches_of(options.pop("batch", 1000)):
        where = rf"^{path}{placed(path, line)}: "
        with pytest.raises(CorpusError, match=where + ".*" + words):
            list(read(source_of(path, **options)))
        found, _, problems = documents_of(source_of(path, on_error="skip", **options))
        assert left is None or found == list(left)
        assert (problems[0].file, problems[0].line) == (str(path), line)
        with pytest.raises(CorpusError, match=words):
            raise CorpusError(problems[0].message)
        assert len(problems) == 1 or left is None


def twice():
    return pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])


def nested(depth):
    return '{"a": ' * depth + "1" + "}" * depth


WHOLE = [  # files of which nothing more can be read: file, content, options, line, words, documents before
    ("a.json", b'[{"text": "a"}, {"text": "b"]', {}, 1, r"not valid JSON: expecting ',' delimiter", "a"),
    ("a.json", b'[{"text": "a"}\n, {"text": "b"}', {}, 2, r"the array is not closed: the file ends too early", "ab"),
    ("a.json", b'[{"text": "a"}\n\n{"text": "b"}]', {}, 3, r"expected , or \] after an element of the array", "a"),
    ("a.json", b'[{"text": "a"}] []', {}, 1, r"expected the end of the file after the array", "a"),
    ("a.json", b'[{"text": "a"},\n]', {}, 2, r"not valid JSON: expecting value", "a"),
    ("a.json", b'{"text"\n: "a",\n x}', {}, 3, r"not valid JSON: expecting property name", ""),
    ("a.json", b"text", {}, 1, r"not valid JSON: expecting value", ""),
    ("c.csv", b"text,text\na,b\n", {}, None, r"2 columns are named 'text'", ""),
    ("c.csv", b"text,id,id\na,b,c\n", {"keep": ("id",)}, None, r"2 columns are named 'id'", ""),
    (
        "a.jsonl",
        f'{{"text": "a", "k": {nested(80)}}}'.encode(),
        {"keep": ("k",)},
        None,
        r"a kept field is nested too deeply",
        "",
    ),
    (
        "a.jsonl",
        b'{"text": "a", "k": 1}\n{"text": "b", "k": "x"}',
        {"keep": ("k",)},
        None,
        r"the kept field 'k' has no one type",
        "",
    ),
    (
        "b.parquet",
        in_memory(parquet, table(["a", "b"], column="txt")),
        {},
        None,
        r"no column 'text'; the columns are: 'id', 'txt'",
        "",
    ),
    (
        "b.parquet",
        in_memory(parquet, table(["a"])),
        {"keep": ("x", "id")},
        None,
        r"no column 'x'; the columns are: 'id', 'text'",
        "",
    ),
    (
        "b.arrow",
        in_memory(stream, table(["a"])),
        {"column": "x"},
        None,
        r"no column 'x'; the columns are: 'id', 'text'",
        "",
    ),
    ("b.csv", b"id,words\n1,2\n", {}, None, r"no column 'text'; the columns are: 'id', 'words'", ""),
    (
        "b.parquet",
        in_memory(parquet, table([1, 2])),
        {},
        None,
        r"expected strings in the column 'text', found int64",
        "",
    ),
    (
        "b.feather",
        in_memory(feather, table([["a"], ["b"]])),
        {},
        None,
        r"expected strings in the column 'text', found list<",
        "",
    ),
    ("b.parquet", in_memory(parquet, table(["a", "b"]))[:-20], {}, None, r"not valid parquet: ", ""),
    ("b.parquet", b"", {}, None, r"not valid parquet: ", ""),
    ("b.arrow", b"", {}, None, r"not valid arrow: ", ""),
    ("b.parquet", in_memory(parquet, twice()), {}, None, r"2 columns are named 'text'", ""),
    ("b.arrow", in_memory(stream, twice()), {}, None, r"2 columns are named 'text'", ""),
    ("b.csv", b"\n\n", {}, None, r"not valid csv: CSV parse error: Empty", ""),
    ("b.arrow", in_memory(file, table(["a", "b"]))[:-20], {}, None, r"not valid arrow: ", ""),
    ("b.arrow", in_memory(stream, table(["a", "b", "c", "d"]))[:-80], {}, None, r"not valid arrow: ", "abc"),
    ("b.csv", b"id,w\xff\n1,2\n", {}, None, r"not valid csv: the name of a column is not UTF-8", ""),
    ("b.arrow", b"some text, but no table", {}, None, r"not valid arrow: ", ""),
    ("d.txt.gz", b"no gzip", {}, None, r"not valid gzip: not a gzipped file", ""),
    ("d.txt.zst", b"no zstd", {}, None, r"not valid zstd: ", ""),
    ("d.txt.bz2", b"no bz2", {}, None, r"not valid bz2: ", ""),
    ("d.txt.xz", b"no xz", {}, None, r"not valid xz: ", ""),
    ("b.parquet.gz", b"no gzip", {}, None, r"not valid gzip: not a gzipped file", ""),
    ("b.csv.zst", b"no zstd", {}, None, r"not valid zstd: ", ""),
]


@pytest.mark.parametrize("name, content, options, line, words, before", WHOLE)
def test_files_that_cannot_be_read(tmp_path, name, content, options, line, words, before):
    path = tmp_path / name
    path.write_bytes(content)
    where = rf"^{path}:{line}: " if line else rf"^{path}: "
    with pytest.raises(CorpusError, match=where + words):
        list(read(source_of(path, **options)))
    found, _, problems = documents_of(source_of(path, on_error="skip", **options))
    assert found == list(before)
    assert [(problem.file, problem.line) for problem in problems] == [(str(path), line)]


ROWS = [{"text": f"document {number} " + "é" * (number % 7)} for number in range(80)]
CUT = {  # file: content, options
    "cut.jsonl": ("\n".join(map(json.dumps, ROWS)).encode(), {}),
    "cut.json": (json.dumps(ROWS, indent=1).encode(), {}),
    "cut.txt": ("\n".join(row["text"] for row in ROWS).encode(), {"kind": "lines"}),
    "cut.csv": (("text\n" + "\n".join(row["text"] for row in ROWS)).encode(), {}),
}


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(CUT)),
    st.sampled_from(COMPRESSIONS[1:]),
    st.floats(0.1, 0.999),
    st.sampled_from([60, 1000, 10**6]),
    st.integers(0, 100),
)
def test_compressed_files_that_end_too_early(tmp_path_factory, name, suffix, part, size, at):
    path = tmp_path_factory.getbasetemp() / (name + suffix)
    content, options = CUT[name]
    whole = packed(content, suffix)
    path.write_bytes(whole[: int(len(whole) * part)])
    with batches_of(size):
        with pytest.raises(CorpusError, match=rf"{name}{suffix}: the (gzip|zstd|bz2|xz) data ends too early"):
            list(read(source_of(path, **options)))
        found, _, problems = documents_of(source_of(path, on_error="skip", **options), at)
    assert found == [row["text"] for row in ROWS[: len(found)]]
    assert len(found) < len(ROWS) or suffix in (".bz2", ".xz")  # only the end of the stream may be missing
    assert [problem.message.split()[-1] for problem in problems] == ["early"]


@pytest.mark.parametrize("suffix", COMPRESSIONS[1:])
@pytest.mark.parametrize("name", CUT)
def test_compressed_files_of_no_bytes(tmp_path, name, suffix):
    """All of the file is missing; gzip's library takes it for one of nothing."""
    path = tmp_path / (name + suffix)
    path.touch()
    options = CUT[name][1]
    with pytest.raises(CorpusError, match=rf"{name}{suffix}: the (gzip|zstd|bz2|xz) data ends too early"):
        list(read(source_of(path, **options)))
    found, _, [problem] = documents_of(source_of(path, on_error="skip", **options))
    assert found == [] and problem.message.endswith("ends too early")


@pytest.mark.parametrize("suffix", COMPRESSIONS[1:])
def test_a_large_document_that_ends_too_early_is_left_out(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(packed(os.urandom(5000).hex().encode(), suffix)[:-9])
    with batches_of(1000):
        with pytest.raises(CorpusError, match="ends too early"):
            list(read(source_of(path)))
        found, _, problems = documents_of(source_of(path, on_error="skip"))
    assert found == [] and len(problems) == 1 and problems[0].message.endswith("ends too early")


OUTSIDE = in_memory(file, table(["first", "second"])).replace(
    np.array([0, 5, 11], "<i4").tobytes(), np.array([0, 5, 2**30], "<i4").tobytes()
)


def test_arrow_whose_offsets_lead_outside(tmp_path):
    """Which would crash the process if they were followed."""
    path = tmp_path / "a.arrow"
    path.write_bytes(OUTSIDE)
    with pytest.raises(CorpusError, match=r"a\.arrow: not valid arrow: .*offset"):
        list(read(source_of(path)))
    found, _, problems = documents_of(source_of(path, on_error="skip"))
    assert found == [] and len(problems) == 1


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl.gz", "a.json", "a.parquet", "a.arrow", "a.csv"])
def test_a_file_that_has_vanished(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"")
    stop, skip = source_of(path), source_of(path, on_error="skip")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=name):
        list(read(stop))
    assert [str(problem) for problem in documents_of(skip)[2]] == [f"{path}: cannot be read: no such file or directory"]


@pytest.mark.parametrize("rows", [b"1,2,3\n", b"1,2,3\n" * 5, b'"unclosed,1\n'])
def test_csv_with_no_good_row(tmp_path, rows):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,b\n" + rows)
    found, _, problems = documents_of(source_of(path, on_error="skip"))
    assert found == [] and [problem.line for problem in problems] == list(range(1, rows.count(b"\n") + 1))


def test_many_bad_rows_of_csv_keep_their_numbers(tmp_path):
    """pyarrow parses ahead: a row must not be counted to the wrong batch."""
    path = tmp_path / "a.csv"
    rows = [
        b"1,2,3" if number % 7 == 0 else b"%d,\xff" % number if number % 11 == 0 else b"%d,t" % number
        for number in range(1, 300)
    ]
    path.write_bytes(b"id,text\n" + b"\n".join(rows))
    bad = [number for number in range(1, 300) if number % 7 == 0 or number % 11 == 0]
    for size in (30, 64, 100, 5000):
        with batches_of(size):
            _, kept, problems = documents_of(source_of(path, keep=("id",), on_error="skip"))
        assert [problem.line for problem in problems] == bad
        assert [int(row["id"]) for row in kept] == [number for number in range(1, 300) if number not in bad]
