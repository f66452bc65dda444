"""Threads that work ahead of the one that calls, or behind it, a few things at a time.

Reading and writing let go of the interpreter where they wait, as the encoder does where it works, so each has threads of its own. The
calling one only waits: it is the one that Ctrl-C reaches.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
PATIENCE = 0.5
"""Seconds that the end of a reader is waited for; one that is held up by a dead network ends with the process."""


class _Closed(Exception):
    """Nobody wants what is put, or nothing more comes."""


class _Channel(Generic[T]):
    """A queue of at most `depth` items that either side can end, with an error or without."""

    def __init__(self, depth: int) -> None:
        self._depth, self._items = depth, deque[T]()
        self._is_over = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, item: T) -> None:
        """Wait for room, and add an item. Raises the error of the other side, or `_Closed`."""
        with self._changed:
            while len(self._items) >= self._depth and not self._is_over:
                self._changed.wait()
            if self._is_over:
                raise self._error or _Closed
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> T:
        """Wait for the next item. Behind the last one raises the error of the other side, or `_Closed`."""
        with self._changed:
            while not self._items and not self._is_over:
                self._changed.wait()
            if not self._items:
                raise self._error or _Closed
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def __len__(self) -> int:
        return len(self._items)

    def end(self, error: BaseException | None = None, drop: bool = False) -> None:
        """Nothing more comes, or (`drop`) is wanted, what waits included."""
        with self._changed:
            if not self._is_over:
                self._is_over, self._error = True, error
            if drop:
                self._items.clear()
            self._changed.notify_all()


def ahead(items: Iterable[T], depth: int) -> Generator[T, None, None]:
    """The items, made by a thread of its own, at most `depth` of them before they are taken. An error comes at its place."""
    channel = _Channel[T](depth)

    def work() -> None:
        try:
            for item in items:
                channel.put(item)
            channel.end()
        except BaseException as error:
            channel.end(error)

    thread = threading.Thread(target=work, name="bpeline-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = channel.get()
            except _Closed:
                return
            yield item
    finally:
        channel.end(drop=True)
        thread.join(PATIENCE)


class _Task(Generic[T, R]):
    """An item, and what becomes of it."""

    def __init__(self, item: T) -> None:
        self._item = item
        self._done = threading.Event()
        self._error: BaseException | None = None

    def do(self, work: Callable[[T, int], R], waiting: int) -> None:
        try:
            self._result = work(self._item, waiting)
        except BaseException as error:
            self._error = error
        self._done.set()

    def result(self) -> R:
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result


def mapped(work: Callable[[T, int], R], items: Iterable[T], threads: int, depth: int) -> Generator[R]:
    """What `work` makes of the items, in order; so many threads do it, and one more makes the items, at most `depth` ahead.

    `work` is told how many other items wait: with none, the machine is its own. An error comes at its place. Once it is left, nothing is
    in work any more.
    """
    waiting = _Channel[_Task[T, R]](depth + 1)

    def tasks() -> Iterator[_Task[T, R]]:
        try:
            for item in items:
                task = _Task[T, R](item)
                waiting.put(task)
                yield task
        finally:
            waiting.end()

    def do_all() -> None:
        try:
            while True:
                waiting.get().do(work, len(waiting))
        except _Closed:
            return

    workers = [threading.Thread(target=do_all, name="bpeline-encoder", daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    in_order = ahead(tasks(), depth)
    try:
        for task in in_order:
            yield task.result()
    finally:
        in_order.close()
        waiting.end(drop=True)
        for worker in workers:
            worker.join()


class Behind(Generic[T]):
    """Calls a function with each item that is put, in order, in a thread of its own.

    `with` waits for all, and on an error for the one in work: nothing is written any more once it is left. (Another Ctrl-C
    does not wait.)
    """

    def __init__(self, work: Callable[[T], None], depth: int) -> None:
        self._channel = _Channel[T](depth)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name="bpeline-writer", daemon=True)

    def put(self, item: T) -> None:
        """Hand an item over; raises the error of an earlier one."""
        self._channel.put(item)

    def __enter__(self) -> "Behind[T]":
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._channel.end()
            self._thread.join()
            if self._error is not None:
                raise self._error
        self._channel.end(drop=True)
        self._thread.join()

    def _run(self, work: Callable[[T], None]) -> None:
        try:
            while True:
                work(self._channel.get())
        except _Closed:
            return
        except BaseException as error:
            self._error = error
            self._channel.end(error, drop=True)
