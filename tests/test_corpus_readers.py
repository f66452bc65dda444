"""Readers give the documents that the simplest code finds, whatever the size of the batches, and go on from any of them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import pyarrow as pa

from bpeline.corpus.documents import Place
from bpeline.corpus.readers import read
from tests.corpora_small import COMPRESSIONS, in_memory, packed, stream
from tests.corpus_oracle import batches_of, documents_of, json_lines, lines, separated, source_of

CHARACTERS = st.text(st.sampled_from('ab é日😀\r\n\t\x00"\\{}[],<|>\ufeff'), max_size=120)
TEXTS = st.lists(CHARACTERS, max_size=20)
SIZES = st.sampled_from([24, 40, 64, 200, 4000])
PACKED = st.sampled_from(COMPRESSIONS)
CASES = settings(max_examples=120, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def write(folder, name, content, suffix=""):
    path = folder / (name + suffix)
    path.write_bytes(packed(content, suffix))
    return path


@CASES
@given(TEXTS, st.booleans(), SIZES, PACKED)
def test_text_is_one_document(folder, texts, marked, size, suffix):
    text = "".join(texts).removeprefix("\ufeff")
    path = write(folder, "a.txt", b"\xef\xbb\xbf" * marked + text.encode(), suffix)
    with batches_of(size):
        assert documents_of(source_of(path)) == ([text], [], [])


@CASES
@given(TEXTS, st.sampled_from(["\n", "\r\n"]), SIZES, PACKED)
def test_lines(folder, texts, end, size, suffix):
    content = end.join(texts).encode()
    path = write(folder, "lines.txt", content, suffix)
    with batches_of(size):
        assert documents_of(source_of(path, "lines")) == (lines(content), [], [])


@CASES
@given(TEXTS, st.sampled_from(["<|endoftext|>", "\n\n", "aa", "é", "\r\n"]), SIZES, PACKED)
def test_separators(folder, texts, separator, size, suffix):
    content = separator.join(texts).encode()
    path = write(folder, "parts.txt", content, suffix)
    with batches_of(size):
        assert documents_of(source_of(path, separator=separator)) == (separated(content, separator), [], [])


@CASES
@given(TEXTS, st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n", " \n"]), SIZES, PACKED)
def test_json_lines(folder, texts, ascii, end, size, suffix):
    rows = [
        json.dumps({"id": number, "text": text, "x": [text]}, ensure_ascii=ascii) for number, text in enumerate(texts)
    ]
    path = write(folder, "a.jsonl", end.join(rows).encode(), suffix)
    with batches_of(size):
        assert documents_of(source_of(path, keep=("id",))) == (texts, [{"id": id} for id in range(len(texts))], [])
        assert documents_of(source_of(path, "json")) == (texts, [], [])


# Lines that a parser of blocks could understand otherwise than one of lines, or not at all.
ODD = [
    b'{"text": "a"}',
    b'{"text": "\xc3\xa9", "x": {"text": 1}}\r',
    b'{"text": "b"}{"text": "c"}',
    b'{"text":',
    b'"d"}',
    b'{"text": "e", "x": [',
    b'{"y": 1}]}',
    b"",
    b" \t",
    b'  {"text": "f"}  ',
    b'{"text": "g", "text": "h"}',
    b'{"te\\u0078t": "i"}',
    b'{"x": NaN, "text": "j"}',
    b'{"x": "\\ud83d", "text": "k"}',
    b'{"x": "\xff", "text": "l"}',
    b'{"text": "\\ud83d"}',
    b'{"text": "\\ud83d\\ude00"}',
    b'{"text": "\\ude00"}',
    b'{"text": "\xff"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\\u0000"}',
    b'{"text": "\x00"}',
    b'{"text": null}',
    b'{"text": 1}',
    b'{"text": ["m"]}',
    b'{"x": 1}',
    b"{}",
    b"[]",
    b"1",
    b"null",
    b'{"text": "n"},',
    b'{"text": "o"',
    b'{"text": "p"} x',
    b'{"text": "q", "x": 1e999}',
    b'{"text": "r", "x": 01}',
    b'{"text": "s", "x": %s}' % (b"9" * 5000),
    b"{'text': 't'}",
    b'{"text": "u", "x": %s1%s}' % (b"[" * 50, b"]" * 50),
    b"\xef\xbb\xbf",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.just(ODD[0]), st.sampled_from(ODD)), max_size=12),
    st.booleans(),
    st.sampled_from([64, 10_000]),
)
def test_odd_json_lines(folder, rows, ends, size):
    content = b"\n".join(rows) + b"\n" * ends
    path = write(folder, "odd.jsonl", content)
    texts, bad = json_lines(content)
    with batches_of(size):
        found, _, problems = documents_of(source_of(path, on_error="skip"))
        assert found == texts
        assert [problem.line for problem in problems] == bad


@pytest.mark.parametrize("row", ODD, ids=repr)
def test_each_odd_line_alone(folder, row):
    """So that pyarrow's parser is asked about each."""
    path = write(folder, "one.jsonl", row + b"\n")
    texts, bad = json_lines(row)
    found, _, problems = documents_of(source_of(path, on_error="skip"))
    assert (found, [problem.line for problem in problems]) == (texts, bad)


@CASES
@given(TEXTS, st.sampled_from([None, 1]), st.booleans(), st.booleans(), SIZES, PACKED)
def test_json_arrays(folder, texts, indent, ascii, marked, size, suffix):
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    content = b"\xef\xbb\xbf" * marked + json.dumps(rows, indent=indent, ensure_ascii=ascii).encode() + b" \n"
    path = write(folder, "a.json", content, suffix)
    with batches_of(size):
        assert documents_of(source_of(path, keep=("id",))) == (texts, [{"id": id} for id in range(len(texts))], [])


@CASES
@given(TEXTS, st.sampled_from([None, 1]), st.sampled_from(["\n", "\n\n", "", " "]), SIZES)
def test_json_objects_one_after_another(folder, texts, indent, between, size):
    content = between.join(json.dumps({"text": text}, indent=indent) for text in texts).encode()
    path = write(folder, "objects.json", content)
    with batches_of(size):
        assert documents_of(source_of(path)) == (texts, [], [])


STRINGS = ["string", "large_string", "binary", "large_binary", "dictionary"]
VIEWS = ["string_view", "binary_view"]  # old pyarrows cannot write them to Parquet


def table_of(texts, kind):
    kinds = {"dictionary": pa.dictionary(pa.int32(), pa.string())}
    column = pa.array(
        [text.encode() for text in texts] if "binary" in kind else texts, kinds.get(kind) or getattr(pa, kind)()
    )
    return pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": column, "other": texts})


@CASES
@given(TEXTS, st.sampled_from(STRINGS), st.integers(1, 20), SIZES, st.sampled_from(["", "", ".gz", ".zst"]))
def test_parquet(folder, texts, kind, group, size, suffix):
    def put(table, sink):
        pa.parquet.write_table(table, sink, row_group_size=group)

    path = write(folder, "a.parquet", in_memory(put, table_of(texts, kind)), suffix)
    with batches_of(size):
        assert documents_of(source_of(path, keep=("id",))) == (texts, [{"id": id} for id in range(len(texts))], [])


def file(table, sink):
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def feather(table, sink):
    import pyarrow.feather

    pyarrow.feather.write_feather(table, sink, compression="zstd", chunksize=4)


@CASES
@given(
    TEXTS,
    st.sampled_from(STRINGS + VIEWS),
    st.sampled_from([stream, file, feather]),
    SIZES,
    st.sampled_from(["", "", ".gz", ".zst"]),
)
def test_arrow(folder, texts, kind, put, size, suffix):
    path = write(folder, "a.arrow", in_memory(put, table_of(texts, kind)), suffix)
    with batches_of(size):
        assert documents_of(source_of(path, keep=("id",))) == (texts, [{"id": id} for id in range(len(texts))], [])


@CASES
@given(TEXTS, st.sampled_from([",", "\t"]), SIZES, PACKED)
def test_csv(folder, texts, delimiter, size, suffix):
    import pyarrow.csv

    def put(table, sink):
        pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(delimiter=delimiter))

    texts = [text.replace("\x00", "") for text in texts]
    name = "a.csv" if delimiter == "," else "a.tsv"
    path = write(folder, name, in_memory(put, table_of(texts, "string").select(["id", "text"])), suffix)
    with batches_of(size):
        expected = (texts, [{"id": str(id)} for id in range(len(texts))], [])
        assert documents_of(source_of(path, keep=("id",))) == expected


def test_empty_files_and_tables(folder):
    empty = pa.table({"text": pa.array([], pa.string())})
    for name in ("a.jsonl", "a.json", "a.csv"):
        assert list(read(source_of(write(folder, name, b"")))) == []
    for name, content in [
        ("b.csv", b"text\n"),
        ("b.json", b" [ ] "),
        ("b.jsonl", b"\n\n"),
        ("b.parquet", in_memory(pa.parquet.write_table, empty)),
        ("b.arrow", in_memory(stream, empty)),
    ]:
        assert documents_of(source_of(write(folder, name, content))) == ([], [], [])
    assert documents_of(source_of(write(folder, "a.txt", b""))) == ([""], [], [])
    assert documents_of(source_of(write(folder, "a.txt", b""), "lines")) == ([], [], [])
    assert documents_of(source_of(write(folder, "a.txt", b""), separator="<|endoftext|>")) == ([], [], [])
    for suffix in COMPRESSIONS[1:]:
        assert documents_of(source_of(write(folder, "a.txt", b"", suffix))) == ([""], [], [])


@pytest.mark.parametrize("suffix", COMPRESSIONS[1:])
def test_members_and_frames_one_after_another_are_one_file(folder, suffix):
    path = folder / f"joined.txt{suffix}"
    path.write_bytes(b"".join(packed(part, suffix) for part in (b"first, ", b"", b"second")))
    assert documents_of(source_of(path)) == (["first, second"], [], [])


def test_kept_columns_of_json_have_one_type_in_the_whole_file(folder):
    rows = [
        {"text": "a", "date": "2020-01-01", "score": 1, "tags": []},
        {"text": "b" * 60, "score": 1.5, "date": None},
    ]
    rows += [{"text": "c", "date": "no date", "score": 2, "more": 1, "tags": ["x", None]}]
    for name, content in [("k.jsonl", "\n".join(map(json.dumps, rows))), ("k.json", json.dumps(rows))]:
        source = source_of(write(folder, name, content.encode()), keep=("date", "score", "tags", "absent"))
        with batches_of(1000):
            (batch,) = read(source)
        types = pa.schema(
            {"date": pa.string(), "score": pa.float64(), "tags": pa.list_(pa.string()), "absent": pa.string()}
        )
        assert batch.kept.schema == types
        with batches_of(200):  # two rows, then one
            assert [batch.kept.schema for batch in read(source)] == [types, types]
            assert documents_of(source)[1] == batch.kept.to_pylist()


def test_only_the_parts_of_a_large_document_are_open(folder):
    path = write(folder, "large.txt", ("x" * 100 + "\n" + "y" * 10 + "\n" + "z" * 30).encode())
    with batches_of(40):
        batches = list(read(source_of(path, "lines")))
    assert [(batch.texts.to_pylist(), batch.open, batch.place) for batch in batches] == [
        (["x" * 40], True, Place(0, 0)),
        (["x" * 40], True, Place(0, 0, 40, 40)),
        (["x" * 20, "y" * 10], False, Place(0, 0, 80, 80)),
        (["z" * 30], False, Place(0, 2, 112)),
    ]
