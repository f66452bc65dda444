"""Threads that share one tokenizer, and children forked in the middle of its use (rows 29 and 30 of the reports)."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

TEXTS = ["hello world", "<|endoftext|>", "don't  stop", "漢字 👍", "x" * 3_000, "\n\n\n a"] * 4


def test_30_sixteen_threads_share_one_tokenizer(gpt2):
    expected = gpt2.encode_batch(TEXTS)
    results, errors, start = [], [], threading.Barrier(16)

    def work(number):
        try:
            start.wait()
            for i in range(6):
                threads = (None, 1, 2)[(number + i) % 3]
                assert gpt2.encode_batch(TEXTS, threads=threads) == expected
                assert [gpt2.encode(text) for text in TEXTS[:6]] == expected[:6]
                assert gpt2.decode_batch(expected) == TEXTS
            results.append(number)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert sorted(results) == list(range(16))


def run(script, *args, timeout=120):
    """A script in a fresh interpreter, in which this folder's packages can be imported."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *args],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


FORK = """
    import os, sys, threading, time
    from tests.backends import TOKENIZERS

    tok = TOKENIZERS[sys.argv[1]].load("gpt2")
    texts = [f"hello world {i} don't <|endoftext|>" for i in range(200)]
    expected = tok.encode_batch(texts, threads=2)
    busy, stop = sys.argv[2] == "busy", threading.Event()

    def work():
        while not stop.is_set():
            assert tok.encode_batch(texts, threads=2) == expected
            tok.encode(texts[0])

    workers = [threading.Thread(target=work) for _ in range(4 if busy else 0)]
    for worker in workers:
        worker.start()
    for _ in range(8):
        time.sleep(0.02 * busy)
        child = os.fork()
        if not child:
            right = tok.encode_batch(texts, threads=2) == expected and tok.encode_batch(texts) == expected
            right = right and tok.decode_batch(expected) == texts
            os._exit(0 if right else 3)
        deadline = time.monotonic() + 60
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
                sys.exit("the child hangs")
            time.sleep(0.005)
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert tok.encode_batch(texts, threads=2) == expected
    stop.set()
    for worker in workers:
        worker.join()
    print("all children finished")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("mode", ["idle", "busy"])
def test_29_a_forked_child_encodes(backend, mode):
    """A fork after a batch, and one while four other threads are inside the tokenizer."""
    result = run(FORK, backend, mode)
    assert result.stdout == "all children finished\n", result.stderr
    assert result.returncode == 0
    assert "bpeline" not in result.stderr  # no warning of ours


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_before_first_use(backend):
    result = run(
        """
        import os, sys
        from tests.backends import TOKENIZERS

        child = os.fork()
        tok = TOKENIZERS[sys.argv[1]].load("gpt2")
        assert tok.encode_batch(["hello world"] * 50, threads=2) == [[31373, 995]] * 50
        if not child:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("both finished")
        """,
        backend,
    )
    assert (result.stdout, result.returncode) == ("both finished\n", 0), result.stderr
