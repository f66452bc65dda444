"""Threads ahead and behind: order, errors at their place, nothing left running."""

import threading
import time

import pytest

pytest.importorskip("pyarrow")

from bpeline.corpus import job, readers
from bpeline.corpus.encoder import Begun
from bpeline.corpus.overlap import Behind, ahead, mapped
from bpeline.corpus.tokenize import prepare
from bpeline.corpus.writer import Writer


def running():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("bpeline-")]


def test_ahead_gives_all_in_order():
    assert list(ahead(range(1000), 2)) == list(range(1000)) and not running()


def test_ahead_is_at_most_so_far_ahead():
    made = []
    items = ahead((made.append(n) or n for n in range(100)), 3)
    assert next(items) == 0
    time.sleep(0.05)
    assert len(made) <= 5
    items.close()
    assert not running()


def test_an_error_ahead_comes_behind_what_was_made():
    def items():
        yield 1
        yield 2
        raise OSError("broken")

    taken = []
    with pytest.raises(OSError, match="broken"):
        for item in ahead(items(), 1):
            taken.append(item)
    assert taken == [1, 2] and not running()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_mapped_gives_all_in_order(threads):
    def work(n, waiting):
        time.sleep(0.001 * (n % 3))
        return n * n

    assert list(mapped(work, range(100), threads, 3)) == [n * n for n in range(100)] and not running()


def test_mapped_works_at_several_at_once():
    both = threading.Barrier(2, timeout=10)
    assert list(mapped(lambda n, waiting: both.wait() >= 0, range(10), 2, 4)) == [True] * 10


def test_mapped_tells_how_many_wait():
    made, told = threading.Event(), []

    def items():
        yield from range(4)
        made.set()

    def work(n, waiting):
        made.wait(10)
        told.append(waiting)

    list(mapped(work, items(), 1, 6))
    assert told[1:] == [2, 1, 0]  # the first may be alone when it is taken


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("at", [0, 3, 9])
def test_an_error_of_the_work_comes_at_its_place(threads, at):
    def items():
        yield from range(10)
        raise OSError("broken")

    def work(n, waiting):
        if n >= at:
            raise ValueError(n)
        return n

    taken = []
    with pytest.raises(ValueError, match=f"^{at}$"):
        for item in mapped(work, items(), threads, 4):
            taken.append(item)
    assert taken == list(range(at)) and not running()


def test_an_error_of_the_items_comes_behind_what_was_made():
    def items():
        yield from range(5)
        raise OSError("broken")

    taken = []
    with pytest.raises(OSError, match="broken"):
        for item in mapped(lambda n, waiting: n, items(), 2, 3):
            taken.append(item)
    assert taken == list(range(5)) and not running()


def test_mapped_that_is_left_ends_what_it_does():
    began, done = [], []

    def work(n, waiting):
        began.append(n)
        time.sleep(0.01)
        done.append(n)

    items = mapped(work, range(1000), 2, 4)
    next(items)
    items.close()
    assert not running() and sorted(began) == sorted(done) and len(done) < 20


def test_behind_does_all_in_order():
    done = []
    with Behind(done.append, 2) as behind:
        for n in range(1000):
            behind.put(n)
    assert done == list(range(1000)) and not running()


@pytest.mark.parametrize("at", [0, 3, 9])
def test_an_error_behind_stops_the_caller(at):
    done = []

    def work(n):
        if n == at:
            raise OSError("full")
        done.append(n)

    with pytest.raises(OSError, match="full"), Behind(work, 2) as behind:
        for n in range(10):
            behind.put(n)
    assert done == list(range(at)) and not running()


def test_an_error_of_the_caller_drops_what_waits():
    done, gate = [], threading.Event()

    def work(n):
        gate.wait(5)
        done.append(n)

    with pytest.raises(KeyboardInterrupt), Behind(work, 5) as behind:
        for n in range(4):
            behind.put(n)
        gate.set()
        raise KeyboardInterrupt
    assert not running() and done == list(range(len(done)))


def test_nothing_is_written_once_an_error_is_out():
    written, slow = [], threading.Event()

    def work(n):
        slow.wait(1.5)  # longer than a reader is waited for
        written.append(n)

    with pytest.raises(OSError, match="caller"), Behind(work, 1) as behind:
        behind.put(1)
        behind.put(2)
        raise OSError("caller")
    assert written == [1] and not running()


def test_a_job_reads_and_writes_while_it_encodes(tmp_path, monkeypatch):
    monkeypatch.setattr("bpeline.corpus.documents.BATCH_BYTES", 1000)
    text = tmp_path / "text.txt"
    text.write_text("one two three\n" * 600)
    done, changed = {"read": 0, "encoded": 0, "written": 0}, threading.Condition()

    def count(what):
        with changed:
            done[what] += 1
            changed.notify_all()

    def read(source, start):
        for batch in readers.read(source, start):
            count("read")
            yield batch

    def encode(begun, threads, run=Begun.run):
        with changed:  # while it is at one batch, the next is read and the one before written
            number = done["encoded"]
            assert changed.wait_for(lambda: done["read"] > min(number + 1, 8) and done["written"] >= number, 10)
        count("encoded")
        return run(begun, threads)

    def write(writer, run, write=Writer.write):
        write(writer, run)
        count("written")

    monkeypatch.setattr(Begun, "run", encode)
    monkeypatch.setattr(Writer, "write", write)
    prepared = prepare(
        text, tmp_path / "out", column="text", separator=None, kind="lines", keep=(), on_error="stop", encoding="gpt2"
    )
    result = job.run(prepared.plan, prepared.out, read, prepared.version, threads=1)
    assert done == {"read": 9, "encoded": 9, "written": 9} and result.documents == 600
