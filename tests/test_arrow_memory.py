"""Whose Arrow memory it is: it lives as long as anyone has it, and goes with the last, on any thread."""

import ctypes
import gc
import itertools
import resource
import sys
import threading
import weakref

import numpy as np
import pytest

import bpeline
from bpeline import _reference
from bpeline._reference import arrow_structs
from bpeline._reference.arrow_structs import Array, Schema, Stream, in_capsule, release, take
from tests import arrow_arrays
from tests.test_arrow_faults import one, view
from tests.test_processes import run


@pytest.fixture
def ArrowTokens(backend):
    return {"native": bpeline.ArrowTokens, "reference": _reference.ArrowTokens}[backend]


@pytest.fixture
def watched(ArrowTokens):
    """Makes an ArrowTokens, and tells whether the arrays that it was made from are alive."""

    def make():
        arrays = np.arange(5, dtype=np.uint16), np.array([0, 2, 5])
        references = [weakref.ref(array) for array in arrays]
        return ArrowTokens(*arrays), lambda: [reference() is not None for reference in references]

    return make


EXPORTS = {
    "array": lambda tokens: [*tokens.__arrow_c_array__()],
    "stream": lambda tokens: [tokens.__arrow_c_stream__()],
}
KINDS = {"array": [Schema, Array], "stream": [Stream]}


def values(array):
    """The lists of an Array that was made by an ArrowTokens of uint16."""
    ends = (ctypes.c_int64 * (array.length + 1)).from_address(array.buffers[1] + 8 * array.offset)[:]
    ids = array.children[0].contents
    every = (ctypes.c_uint16 * ids.length).from_address(ids.buffers[1])[:]
    return [every[start:end] for start, end in itertools.pairwise(ends)]


@pytest.mark.parametrize("kind", EXPORTS)
def test_capsules_that_nobody_opens(watched, kind):
    tokens, alive = watched()
    capsules = [EXPORTS[kind](tokens) for _ in range(3)]
    del tokens
    gc.collect()
    assert alive() == [True, True]
    del capsules
    assert alive() == [False, False]


@pytest.mark.parametrize("kind", EXPORTS)
def test_who_takes_a_struct_owns_the_memory(watched, kind):
    tokens, alive = watched()
    capsules = EXPORTS[kind](tokens)
    structs = [take(in_capsule(capsule, struct)) for capsule, struct in zip(capsules, KINDS[kind], strict=True)]
    del tokens, capsules
    gc.collect()
    assert alive() == [True, True]
    for struct in structs:
        release(struct)
        assert not struct.release
        release(struct)  # does nothing
    bpeline.load("gpt2").count("")  # what was released without the interpreter is freed at the next call
    assert alive() == [False, False]


def test_an_array_outlives_its_stream_and_a_child_its_array(watched):
    tokens, alive = watched()
    capsule = tokens.__arrow_c_stream__()
    stream = take(in_capsule(capsule, Stream))
    array, end = Array(), Array()
    for target in (array, end):
        get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream.get_next)
        assert get(ctypes.addressof(stream), ctypes.addressof(target)) == 0
    assert not end.release
    del tokens, capsule
    release(stream)
    assert values(array) == [[0, 1], [2, 3, 4]]
    child = take(array.children[0].contents)
    release(array)
    bpeline.load("gpt2").count("")
    assert alive()[0]
    assert (ctypes.c_uint16 * 5).from_address(child.buffers[1])[:] == [0, 1, 2, 3, 4]
    release(child)
    bpeline.load("gpt2").count("")
    assert alive() == [False, False]


def test_other_threads_release(gpt2, ArrowTokens):
    """ctypes gives up the interpreter for the call: as a thread of another program would do it."""
    references = []
    structs = []
    for _ in range(200):
        arrays = np.arange(5, dtype=np.uint16), np.array([0, 2, 5])
        references += map(weakref.ref, arrays)
        capsules = ArrowTokens(*arrays).__arrow_c_array__()
        structs += map(take, map(in_capsule, capsules, (Schema, Array)))
    del arrays, capsules
    workers = [threading.Thread(target=lambda part: [*map(release, part)], args=(structs[i::8],)) for i in range(8)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        gpt2.count("hello")
    for worker in workers:
        worker.join()
    gpt2.count("hello")
    assert not any(struct.release for struct in structs)
    assert not any(reference() is not None for reference in references)


def test_nothing_is_copied_out(gpt2):
    batch = gpt2.encode_ragged(["hello world", "hello"])
    _, array = batch.to_arrow().__arrow_c_array__()
    lists = in_capsule(array, Array)
    assert lists.buffers[0] is None
    assert lists.buffers[1] == batch.offsets.ctypes.data
    assert lists.children[0].contents.buffers[1] == batch.tokens.ctypes.data
    assert (lists.length, lists.null_count, lists.offset) == (2, 0, 0)


def test_batches_of_any_make_are_exported(Tokenizer, ArrowTokens):
    batch = Tokenizer.load("gpt2").encode_ragged(["hello world", "", "a b c", "d"])
    for part in (batch[1:], batch[::-1], batch[:0], bpeline.TokenBatch(batch.tokens[::-1], batch.offsets)):
        _, array = part.to_arrow().__arrow_c_array__()
        assert values(in_capsule(array, Array)) == part.to_lists()
    data = np.frombuffer(b"\0" + batch.tokens.tobytes(), np.uint8)[1:].view(np.uint16)  # not aligned
    _, array = bpeline.TokenBatch(data, batch.offsets).to_arrow().__arrow_c_array__()
    assert values(in_capsule(array, Array)) == batch.to_lists()


def test_what_makes_no_lists(ArrowTokens):
    ids, ends = np.arange(5, dtype=np.uint16), np.array([0, 2, 5])
    bad_ends = "offsets must rise from 0 or more to no more than the 5 tokens"
    for tokens, offsets, error, message in (
        (ids, [0, 5], TypeError, "offsets must be a 1-D int64 array, not list"),
        (ids, ends.astype(np.int32), TypeError, "offsets must be a 1-D int64 array, not a 1-D array of int32"),
        (ids, ends.reshape(1, 3), TypeError, "offsets must be a 1-D int64 array, not a 2-D array of int64"),
        ([1], ends, TypeError, "tokens must be a 1-D uint16 or uint32 array, not list"),
        (
            ids.astype(np.int64),
            ends,
            TypeError,
            "tokens must be a 1-D uint16 or uint32 array, not a 1-D array of int64",
        ),
        (ids.astype(">u2"), ends, TypeError, "tokens must be a 1-D uint16 or uint32 array, not a 1-D array of >u2"),
        (ids[::-1], ends, ValueError, "tokens and offsets must be contiguous"),
        (ids, ends[::2], ValueError, "tokens and offsets must be contiguous"),
        (ids, ends[:0], ValueError, bad_ends),
        (ids, np.array([0, 6]), ValueError, bad_ends),
        (ids, np.array([-1, 3]), ValueError, bad_ends),
        (ids, np.array([0, 4, 3, 5]), ValueError, bad_ends),
        (ids, np.array([2**62]), ValueError, bad_ends),
    ):
        with pytest.raises(error) as caught:
            ArrowTokens(tokens, offsets)
        assert str(caught.value) == message
    for offsets in (ends, np.array([1, 1]), np.array([5])):
        assert len(ArrowTokens(ids.astype(np.uint32), offsets)) == len(offsets) - 1


def test_repr(ArrowTokens):
    tokens = ArrowTokens(np.zeros(12_345, np.uint32), np.zeros(1_235, np.int64))
    assert repr(tokens) == "<bpeline.ArrowTokens: 1,234 documents, 12,345 tokens, uint32>"


def memory():
    """What the process has in use now, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def grown(go_round, rounds):
    """By how many bytes a round makes the process grow. What leaks does so every time: the least of some times tells."""
    sizes = []
    for _ in range(6):
        gc.collect()
        sizes.append(memory())
        for _ in range(rounds):
            go_round()
    return min(after - before for before, after in itertools.pairwise(sizes)) / rounds


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_texts_and_ids_do_not_leak(gpt2, backend):
    def go_round():
        _, column = one("vu", 2000, [None, view(b"hello world") * 2000, None])
        tokens = gpt2.encode_arrow(column)
        capsules = [*tokens.__arrow_c_array__(), tokens.__arrow_c_stream__()]
        taken = take(in_capsule(capsules[1], Array))
        release(taken)
        gpt2.encode_ragged(["hello world"] * 500).to_arrow().__arrow_c_array__()
        arrow_arrays.ALL.clear()

    # A round reads 32 KB and makes 24 KB and 6 KB.
    assert grown(go_round, {"native": 200, "reference": 10}[backend]) < 3000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_structs_do_not_leak(backend, ArrowTokens):
    tokens = ArrowTokens(np.arange(5, dtype=np.uint16), np.array([0, 2, 5]))
    kept = len(arrow_structs._kept), len(arrow_structs._in_capsules)

    def go_round():
        tokens.__arrow_c_array__()
        capsule = tokens.__arrow_c_stream__()
        stream, array = take(in_capsule(capsule, Stream)), Array()
        get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream.get_next)
        get(ctypes.addressof(stream), ctypes.addressof(array))
        release(array)
        release(stream)

    # The least that an export allocates takes 32 bytes.
    assert grown(go_round, {"native": 20_000, "reference": 500}[backend]) < (16 if backend == "native" else 500)
    assert kept == (len(arrow_structs._kept), len(arrow_structs._in_capsules))


@pytest.mark.parametrize("when", ["unopened", "taken"])
def test_what_is_alive_at_the_end_of_the_interpreter(backend, when):
    result = run(
        """
        import sys
        import numpy as np
        import bpeline
        from bpeline import _reference
        from bpeline._reference.arrow_structs import Array, Schema, Stream, in_capsule, take
        from tests.backends import TOKENIZERS

        cls = {"native": bpeline.ArrowTokens, "reference": _reference.ArrowTokens}[sys.argv[1]]
        tokens = cls(np.arange(5, dtype=np.uint16), np.array([0, 2, 5]))
        capsules = [*tokens.__arrow_c_array__(), tokens.__arrow_c_stream__()]
        if sys.argv[2] == "taken":
            structs = [take(in_capsule(c, kind)) for c, kind in zip(capsules, (Schema, Array, Stream))]
        sys.modules["kept"] = capsules
        print("end")
        """,
        backend,
        when,
    )
    assert (result.stdout, result.stderr, result.returncode) == ("end\n", "", 0)
