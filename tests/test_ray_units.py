"""Large files in parts, as the tasks of a cluster encode them, here one after another: the output of one machine, byte for byte."""

import json
import os
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

import pyarrow as pa
import pyarrow.parquet

import bpeline
from bpeline.corpus import documents, job, parts
from bpeline.corpus.documents import ReadOptions
from bpeline.corpus.inputs import find
from bpeline.corpus.plan import make
from bpeline.corpus.readers import read
from bpeline.integrations import ray_units
from bpeline.integrations.ray_engine import joined
from tests.corpora_small import in_memory
from tests.corpus_jobs import contents

GPT2 = bpeline.load("gpt2")
LINES = st.lists(
    st.one_of(
        st.text(st.sampled_from("ab é\r\u2028"), max_size=60).map(
            lambda text: json.dumps({"text": text, "k": len(text)})
        ),
        st.sampled_from(
            ["", " ", "bad", '{"text": 1}', '{"text": "<|endoftext|>", "k": 2}', '{"text": "x", "k": "no number"}']
        ),
    ),
    max_size=40,
)
ROWS = st.lists(st.one_of(st.none(), st.text(st.sampled_from("ab é"), max_size=30)), max_size=40)
SIZES = st.integers(1, 300)


def table(rows):
    return pa.table({"text": pa.array(rows, pa.string()), "k": pa.array(range(len(rows)), pa.int64())})


def parquet(rows, group):
    return in_memory(lambda table, sink: pa.parquet.write_table(table, sink, row_group_size=group), table(rows))


def arrow(rows, group):
    def write(table, sink):
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=group)

    return in_memory(write, table(rows))


@contextmanager
def sizes(batch, unit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "BATCH_BYTES", batch)
        patch.setattr(ray_units, "UNIT_BYTES", unit)
        patch.setattr(parts, "FIRST_LOOK", 8)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def sent_to(generator):
    """What it yields, each asked for as Ray does: with `send`."""
    try:
        yield next(generator)
        while True:
            yield generator.send(1)
    except StopIteration:
        return


def runs(plan, after):
    """What `RayEngine` does with the units, without a cluster."""
    reached = ray_units.START
    for unit in ray_units.units(plan, after["place"] if after else None):
        before = reached if unit.start else ray_units.START
        if before is not None:
            try:
                run = None
                for run in sent_to(ray_units.encoded_unit(plan, after, 1, unit)):
                    run = ray_units.in_file(run, before, plan.sources[unit.begin])
                    yield run
                reached = ray_units.reached_by(run, unit)
            except bpeline.BpelineError:
                ray_units.said_again(plan, unit, before, 1)
                raise
        after = None


def check(folder, name, content, batch, unit, kind=None, separator=None, **options):
    """The output, errors, and where a job that was stopped after any of the runs goes on."""
    path = folder / name
    path.write_bytes(content)
    keep = options.get("keep", ())
    for on_error in ("skip", "stop"):
        read_options = ReadOptions("text", tuple(keep), separator, on_error)
        plan = make(find(path, read_options, kind=kind), GPT2, on_error=on_error, **options)
        with sizes(batch, unit):
            one, many = outcome(plan, folder / "one", None), outcome(plan, folder / "many", lambda *a: joined(runs(*a)))
            assert many == one
            if isinstance(one, str):
                continue
            for found in (list(joined(runs(plan, None))), list(job.encoded(plan, None, read, 1))):
                goes_on(plan, found)


def goes_on(plan, found):
    """Here and on a cluster, after any of these runs of either."""
    for index in range(0, len(found), 1 + len(found) // 5):
        after = found[index].after
        for rest in (job.encoded(plan, after, read, 1), joined(runs(plan, after)) if after["place"] else ()):
            assert told([*found[: index + 1], *rest]) == told(found)


def told(runs):
    """All tokens and problems, and how many documents were used."""
    tokens = [token for run in runs for token in run.tokens.tolist()]
    last = max((run.after["used"] for run in runs if run.after["place"]), default=0)
    return tokens, [problem for run in runs for problem in run.problems], last


def outcome(plan, out, encode):
    """All files of the output, or the error."""
    try:
        job.run(plan, out, read, "1", threads=1, overwrite=True, encode=encode)
    except bpeline.BpelineError as error:
        return str(error)
    return contents(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


@settings(max_examples=30, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]), SIZES, SIZES, st.booleans())
def test_json_lines(folder, lines, end, batch, unit, keeps):
    options = {"format": "parquet", "keep": ["k"]} if keeps else {"val_fraction": 0.4}
    check(folder, "a.jsonl", end.join(lines).encode(), batch, unit, **options)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200) | st.text(st.sampled_from("ab é\n\r"), max_size=200).map(str.encode), SIZES, SIZES)
def test_lines(folder, text, batch, unit):
    check(folder, "a.txt", text, max(batch, 8), unit, kind="lines")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "aa", "aba", "b", "é", "\n", "\n\n\n", "\n\n"]), max_size=150).map("".join),
    st.sampled_from(["\n\n", "aa", "a", "aba", "é", "\n"]),
    SIZES,
    SIZES,
    st.booleans(),
)
def test_separators(folder, text, separator, batch, unit, marked):
    """Above all those that overlap themselves."""
    content = b"\xef\xbb\xbf" * marked + text.encode()
    check(folder, "a.txt", content, max(batch, 8), unit, separator=separator, val_fraction=0.3)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(1, 9), SIZES, st.integers(1, 3000), st.sampled_from([parquet, arrow]))
def test_tables(folder, rows, group, batch, unit, write):
    name = f"a.{write.__name__}"
    check(folder, name, write(rows, group), batch, unit, format="arrow", keep=["k"])


@pytest.mark.parametrize("special", ["error", "text"])
def test_numbers_are_those_of_the_file(folder, special):
    """Of documents with special tokens too, which are told in words."""
    lines = [json.dumps({"text": "<|endoftext|>" if number % 7 == 6 else "a" * 9}) for number in range(50)]
    check(folder, "a.jsonl", "\n".join(lines).encode(), 100, 200, special=special)
    check(folder, "a.txt", "\n".join(lines).encode(), 100, 200, separator="\n", special=special)


@pytest.mark.parametrize(
    ("name", "content", "options", "wanted"),
    [
        ("a.jsonl", b'{"text": "a"}\n' * 100, {}, [210, 406, 602, 812, 1008, 1204]),
        ("a.txt", b"0123456789" * 100, {"separator": "9"}, [200, 400, 600, 800]),
        ("a.txt", b"0123456789" * 100, {"separator": "x"}, []),
        ("a.txt", b"0123456789" * 100, {}, []),
        ("a.txt.gz", b"0123456789" * 100, {"separator": "9"}, []),
        ("a.json", b'{"text": "a"}\n' * 100, {}, []),
        ("a.csv", b"text\n" * 100, {}, []),
        ("a.parquet", b"text\n" * 100, {}, []),
        ("a.txt", b"\n" * 500, {"separator": "\n\n"}, []),
    ],
)
def test_where_files_are_cut(folder, name, content, options, wanted):
    (folder / name).write_bytes(content)
    (source,) = find(folder / name, ReadOptions(**options))
    assert list(parts.cuts(source, 200)) == wanted
    assert list(parts.cuts(source, 200, 450)) == [cut for cut in wanted if cut > 450]
    assert list(parts.cuts(source, len(content))) == []


def test_groups_of_rows_make_parts_of_one_size(folder):
    for write in (parquet, arrow):
        path = folder / f"b.{write.__name__}"
        path.write_bytes(write(["x" * 100_000] * 200, 5))
        (source,) = find(path)
        with sizes(4_000_000, 1):
            found = list(parts.cuts(source, source.size // 4))
        assert found == ([10, 20, 30] if write is arrow else [16, 24, 32][: len(found)]), write
