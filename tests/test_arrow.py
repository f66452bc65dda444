"""Arrow columns of pyarrow, polars and DuckDB: the ids of encode_ragged, with nulls, slices and chunks kept, in every layout of text."""

import os
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from tests.small import BYTE_TOKENS
from tests.test_limits import interrupted
from tests.test_processes import run
from tests.texts import texts

pa = pytest.importorskip("pyarrow")

VIEWS = ["string_view", "binary_view"]
if int(pa.__version__.split(".")[0]) < 25:
    VIEWS = []  # it crashes when it exports what it cast to views; tests/test_arrow_faults.py has views of its own
KINDS = {name: getattr(pa, name)() for name in ("string", "large_string", "binary", "large_binary", *VIEWS)}
LISTS = pa.large_list(pa.uint16())
nullable = st.lists(st.one_of(st.none(), texts), max_size=12)
SAMPLE = ["hello world", None, "", "a text of more than twelve bytes", "don't", None, "漢字 👍", "x"]


def expected(gpt2, column, **options):
    """By the other way: Python's own strings, nulls taken out and put in again."""
    present = [text for text in column if text is not None]
    ids = iter(gpt2.encode_ragged(present, **options).to_lists())
    return [None if text is None else next(ids) for text in column]


def check(array):
    array.validate(full=True)
    assert array.type == LISTS
    return array.to_pylist()


@given(st.lists(nullable, max_size=4), st.sampled_from(sorted(KINDS)), st.data())
def test_any_layout(gpt2, chunks, kind, data):
    """Chunks of any kind of text, some of them slices of more, and then a slice of all."""
    arrays = []
    for chunk in chunks:
        before, after = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
        around = pa.array([None, "around"] * 5, KINDS["string"])
        whole = pa.concat_arrays([around[:before], pa.array(chunk, KINDS["string"]), around[:after]]).cast(KINDS[kind])
        arrays.append(whole[before : before + len(chunk)])
    column = pa.chunked_array(arrays, KINDS[kind])
    start = data.draw(st.integers(0, len(column)))
    column = column.slice(start, data.draw(st.integers(0, len(column) - start)))
    threads = data.draw(st.sampled_from([None, 1, 2, 7]))
    tokens = gpt2.encode_arrow(column, threads=threads)
    wanted = expected(gpt2, column.to_pylist())
    assert len(tokens) == len(wanted)
    out = pa.chunked_array(tokens)
    assert check(out) == wanted
    assert [len(chunk) for chunk in out.chunks] == [len(chunk) for chunk in column.chunks]
    assert [chunk.null_count for chunk in out.chunks] == [chunk.null_count for chunk in column.chunks]
    assert check(pa.array(tokens)) == wanted
    for chunk in column.chunks:
        assert check(pa.array(gpt2.encode_arrow(chunk))) == expected(gpt2, chunk.to_pylist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_equal_to_encode_ragged(gpt2, kind, threads):
    documents = [f"{i} don't <|endoftext|> 漢字 " * (1 + i % 5) for i in range(300)]
    batch = gpt2.encode_ragged(documents)
    lists = pa.array(gpt2.encode_arrow(pa.array(documents).cast(KINDS[kind]), threads=threads))
    assert lists.offsets.to_numpy().tolist() == batch.offsets.tolist()
    assert lists.values.to_numpy().tolist() == batch.tokens.tolist()
    assert pa.array(batch.to_arrow()).equals(lists)
    assert repr(gpt2.encode_arrow(pa.array(SAMPLE))) == "<bpeline.ArrowTokens: 8 documents (2 null), 19 tokens, uint16>"


@pytest.mark.parametrize("kind", KINDS)
def test_large_documents_are_spread_over_threads(native, kind):
    tok = native.load("gpt2")
    documents = ["some words, and more. " * 40_000, None, "漢字 and a word " * 30_000, "x", None]
    column = pa.array(documents).cast(KINDS[kind])
    for threads in (1, 2, 4):
        assert check(pa.array(tok.encode_arrow(column, threads=threads))) == expected(tok, documents)


def test_ids_beyond_16_bits(Tokenizer):
    tok = Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"<x>": 70_000})
    lists = pa.array(tok.encode_arrow(pa.array(["a<x>", None])))
    lists.validate(full=True)
    assert lists.type == pa.large_list(pa.uint32())
    assert lists.to_pylist() == [[BYTE_TOKENS[b"a"], 70_000], None]
    assert pa.array(tok.encode_ragged(["<x>"]).to_arrow()).to_pylist() == [[70_000]]


def test_options(gpt2):
    text = "a<|endoftext|>b"
    column = pa.array([None, text])
    for special in ("parse", "text", {"<|endoftext|>"}, set()):
        wanted = [None, gpt2.encode(text, special=special)]
        assert check(pa.array(gpt2.encode_arrow(column, special=special))) == wanted
    with pytest.raises(bpeline.SpecialTokenError) as caught:
        gpt2.encode_arrow(column, special="error")
    assert str(caught.value) == 'document 1: special token "<|endoftext|>" at byte 1'
    binary = pa.array([b"\xff", None, b"ok"])
    assert check(pa.array(gpt2.encode_arrow(binary, errors="replace"))) == [[4210], None, gpt2.encode("ok")]
    with pytest.raises(bpeline.InvalidTextError) as caught:
        gpt2.encode_arrow(pa.chunked_array([["fine"], [b"fine", b"not\xff"]], pa.binary()))
    assert str(caught.value) == "document 2: invalid UTF-8: byte 0xff at offset 3"


OTHERS = [
    (pa.array([1, 2]), "int64"),
    (pa.array([1.5]), "float64"),
    (pa.array([None]), "null"),
    (pa.array([True]), "bool"),
    (pa.array(["a", "b"]).dictionary_encode(), "dictionary"),
    (pa.array([["a"]]), "list"),
    (pa.array([b"ab"], pa.binary(2)), "fixed_size_binary"),
    (pa.array([0], pa.timestamp("us")), "timestamp"),
    (pa.array([1], pa.decimal128(5)), "decimal"),
    (pa.array([{"a": {"b": 1}}]), "struct"),
    (pa.chunked_array([[1]]), "int64"),
    (pa.table({"a": [1]}), "int64"),
]


@pytest.mark.parametrize(("column", "name"), OTHERS, ids=[name for _, name in OTHERS])
def test_other_types_are_named(gpt2, column, name):
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(column)
    assert str(caught.value) == f"array must hold strings, or binary that is UTF-8, not {name}"


def test_a_table_of_one_column_is_that_column(gpt2):
    wanted = expected(gpt2, SAMPLE)
    batch = pa.record_batch({"text": pa.array(SAMPLE)})
    table = pa.Table.from_batches([batch, batch.slice(3, 2), batch.slice(8)])
    assert check(pa.array(gpt2.encode_arrow(batch))) == wanted
    assert check(pa.array(gpt2.encode_arrow(batch.slice(2, 5)))) == wanted[2:7]
    out = pa.chunked_array(gpt2.encode_arrow(table))
    assert check(out) == wanted + wanted[3:5]
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches()))
    assert pa.chunked_array(gpt2.encode_arrow(reader)) == out
    with pytest.raises(TypeError) as caught:
        gpt2.encode_arrow(pa.table({"a": SAMPLE, "b": SAMPLE}))
    assert str(caught.value) == "array must be one column of strings, not a table of 2: choose one"


@pytest.mark.parametrize("start", range(4))
def test_rows_that_are_null(gpt2, start):
    rows = pa.StructArray.from_arrays(
        [pa.array(["around", *SAMPLE])[1:]], ["text"], mask=pa.array([i % 3 == 1 for i in range(len(SAMPLE))])
    )
    wanted = [None if i % 3 == 1 else ids for i, ids in enumerate(expected(gpt2, SAMPLE))]
    assert check(pa.array(gpt2.encode_arrow(rows[start:]))) == wanted[start:]


def test_a_reader_that_fails(gpt2):
    schema = pa.schema({"text": pa.string()})

    def batches():
        yield pa.record_batch({"text": ["a"]})
        raise OSError("the disk is gone")

    with pytest.raises(bpeline.ArrowError) as caught:
        gpt2.encode_arrow(pa.RecordBatchReader.from_batches(schema, batches()))
    assert str(caught.value).startswith("the Arrow stream failed: ")
    assert "the disk is gone" in str(caught.value)


def test_copied_nowhere(gpt2):
    tokens = gpt2.encode_arrow(pa.chunked_array([["hello world"], ["a b c", None]]))
    whole, parts = pa.array(tokens), pa.chunked_array(tokens).chunks
    addresses = {array.values.buffers()[1].address for array in (whole, *parts)}
    assert len(addresses) == 1
    del tokens
    assert check(whole) == [[31373, 995], [64, 275, 269], None]
    assert [check(part) for part in parts] == [check(whole)[:1], check(whole)[1:]]
    assert check(parts[1][1:]) == [None]


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
def test_memory_is_that_of_the_ids(native):
    """In a process of its own: neither texts nor ids are there twice."""
    result = run(
        """
        import resource
        import pyarrow as pa
        import bpeline
        from tests.small import HERE

        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        novel = (HERE / "data/pride_and_prejudice.txt").read_text(encoding="utf-8")
        tok = bpeline.load("gpt2")
        tok.encode_arrow(pa.array([novel]))
        column = pa.concat_arrays([pa.array([novel[i : i + 4000] for i in range(0, len(novel), 4000)])] * 100)
        before = peak()
        ids = pa.array(tok.encode_arrow(column, threads=1))
        print(peak() - before < ids.nbytes * 1.3)
        """
    )
    assert result.stdout == "True\n", result.stderr


def test_files_of_slices(gpt2, tmp_path):
    """What is written of a chunk is the chunk."""
    tokens = pa.chunked_array(gpt2.encode_arrow(pa.chunked_array([["hello world"], ["a b c", None]])))
    table = pa.table({"tokens": tokens})
    with pa.ipc.new_file(tmp_path / "tokens.arrow", table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.open_file(tmp_path / "tokens.arrow") as reader:
        assert reader.read_all().equals(table)


def test_polars(gpt2):
    pl = pytest.importorskip("polars")
    wanted = expected(gpt2, SAMPLE)
    series = pl.Series("text", SAMPLE)
    column = series.clone().append(series[3:6])
    for given_, lists in ((series, wanted), (series[2:5], wanted[2:5]), (column, wanted + wanted[3:6])):
        tokens = gpt2.encode_arrow(given_)
        assert pl.Series(tokens).to_list() == lists
        if int(pl.__version__.split(".")[0]) > 1:  # before, it took tables only
            assert pl.from_arrow(tokens).to_list() == lists
        assert pl.Series(tokens).dtype == pl.List(pl.UInt16)
    assert len(gpt2.encode_arrow(pl.DataFrame({"text": series}))) == len(series)
    frame = pl.DataFrame({"text": series}).with_columns(tokens=pl.Series(gpt2.encode_arrow(series)))
    assert frame["tokens"].list.len().to_list() == [None if ids is None else len(ids) for ids in wanted]
    batch = gpt2.encode_ragged(["hello world", ""])
    assert pl.Series(batch.to_arrow()).to_list() == [[31373, 995], []]
    with pytest.raises(TypeError, match="not dictionary"):
        gpt2.encode_arrow(pl.Series(["a", "b"], dtype=pl.Categorical))


def test_duckdb(gpt2):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    query = "select case when i % 7 = 3 then null else 'text ' || i || ' of a long enough table' end as t from range(5000) s(i)"
    wanted = expected(gpt2, [row[0] for row in connection.sql(query).fetchall()])
    tokens = gpt2.encode_arrow(connection.sql(query))
    assert check(pa.chunked_array(tokens)) == wanted
    connection.register("parts", pa.table({"tokens": pa.chunked_array(tokens), "i": range(5000)}))
    back = connection.sql("select tokens, len(tokens) from parts order by i").fetchall()
    assert back == [(ids, None if ids is None else len(ids)) for ids in wanted]
    connection.register("whole", pa.table({"tokens": pa.array(tokens)}))
    total = sum(len(ids) for ids in wanted if ids is not None)
    assert connection.sql("select sum(len(tokens)) from whole").fetchall() == [(total,)]
    with pytest.raises(TypeError, match="a table of 2"):
        gpt2.encode_arrow(connection.sql("select 'a' as a, 'b' as b"))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_more_than_is_read_at_a_time(native, threads):
    """One chunk many times over: 300 MB of text, in 3 MB."""
    tok = native.load("gpt2")
    documents = [*[f"a line of {i} words and more of them\n" * 25 for i in range(3_000)], None]
    chunk = pa.array(documents)
    repeats = 300_000_000 // chunk.nbytes + 1
    out = pa.chunked_array(tok.encode_arrow(pa.chunked_array([chunk] * repeats), threads=threads))
    once = pa.array(tok.encode_arrow(chunk))
    assert check(once) == expected(tok, documents)
    assert out.num_chunks == repeats
    assert out.chunk(repeats - 1).equals(once)
    assert all(part.equals(once) for part in out.chunks)
    with pytest.raises(bpeline.InvalidTextError) as caught:
        tok.encode_arrow(pa.chunked_array([chunk.cast(pa.binary())] * repeats + [[b"\xff"]]), threads=threads)
    assert str(caught.value) == f"document {repeats * len(chunk)}: invalid UTF-8: byte 0xff at offset 0"


def test_threads_share_an_array(gpt2):
    column = pa.chunked_array([SAMPLE * 5] * 3, pa.string_view())
    wanted = pa.chunked_array(gpt2.encode_arrow(column))
    wrong = []

    def work(number):
        for _ in range(5):
            if pa.chunked_array(gpt2.encode_arrow(column, threads=number % 3 or None)) != wanted:
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_encodes(backend):
    result = run(
        """
        import os, sys
        import pyarrow as pa
        from tests.backends import TOKENIZERS

        tok = TOKENIZERS[sys.argv[1]].load("gpt2")
        column = pa.chunked_array([["hello world", None] * 50] * 4)
        before = tok.encode_arrow(column, threads=2)
        wanted = [[31373, 995], None] * 200
        child = os.fork()
        right = pa.array(before).to_pylist() == wanted
        right = right and pa.array(tok.encode_arrow(column, threads=2)).to_pylist() == wanted
        del before
        if not child:
            os._exit(0 if right else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert right
        print("both finished")
        """,
        backend,
    )
    assert (result.stdout, result.returncode) == ("both finished\n", 0), result.stderr


def test_arrays_alive_at_the_end_of_the_interpreter(backend):
    """Held by others, in places where the interpreter looks late or never."""
    result = run(
        """
        import sys
        import pyarrow as pa
        from tests.backends import TOKENIZERS

        tok = TOKENIZERS[sys.argv[1]].load("gpt2")
        tokens = tok.encode_arrow(pa.chunked_array([["hello world"], [None, "a"]]))
        batch = tok.encode_ragged(["hello world"])
        pa.kept = [pa.array(tokens), pa.chunked_array(tokens), pa.array(batch.to_arrow()), pa.table({"a": pa.array(tokens)})]
        sys.modules["kept"] = pa.kept
        try:
            import polars as pl
            pl.kept = [pl.Series(tokens), pl.Series(batch.to_arrow())]
        except ImportError:
            pass
        print("end")
        """,
        backend,
    )
    assert (result.stdout, result.stderr, result.returncode) == ("end\n", "", 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_call_can_be_interrupted(native, threads):
    tok = native.load("gpt2", cache_bytes=0)
    chunk = pa.array([" ".join(map(str, np.random.default_rng(i).integers(0, 2**60, 1000))) for i in range(100)])
    column = pa.chunked_array([chunk] * 1000)
    assert interrupted(lambda: tok.encode_arrow(column, threads=threads), 0.3) == (True, True)
    endless = pa.RecordBatchReader.from_batches(pa.schema({"t": pa.string()}), forever(chunk))
    try:
        outcome = interrupted(lambda: tok.encode_arrow(endless, threads=threads), 0.3)
    except bpeline.ArrowError:  # the handler ran in the generator, and it is the stream that failed
        outcome = (True, True)
    assert outcome == (True, True)
    assert tok.encode("hello world") == [31373, 995]


def forever(chunk):
    while True:
        yield pa.record_batch({"t": chunk})


def test_pyarrow_is_not_imported(backend):
    script = """
        import sys
        from tests.backends import TOKENIZERS
        tok = TOKENIZERS[sys.argv[1]].load("gpt2")
        tok.encode_ragged(["a"]).to_arrow().__arrow_c_array__()
        print("pyarrow" in sys.modules)
    """
    assert run(script, backend).stdout == "False\n"
