"""Threads ahead and behind: order, errors at their place, nothing left running."""

import threading
import time

import pytest

pytest.importorskip("pyarrow")

from bpeline.corpus.overlap import Behind, ahead


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
