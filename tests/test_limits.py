"""Work and memory stay near what the input needs, and a signal's exception is never lost."""

import itertools
import resource
import signal
import sys
import threading
import time

import numpy as np
import pytest

from tests.small import BYTE_TOKENS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and resource")


class Alarm(Exception):
    pass


def interrupted(call, after):
    """Whether a signal handler ran during `call`, and whether what it raised came out of it."""
    ran = []

    def handler(*_):
        ran.append(True)
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        try:
            call()
            raised = False
        except Alarm:
            raised = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Alarm:  # just behind the call
        return False, False
    finally:
        signal.signal(signal.SIGALRM, before)
    return bool(ran), raised


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_handler_raises_comes_out(native, threads):
    tok = native.load("gpt2")
    texts = ["".join(chr(97 + (n * n + k * k * 7) % 26) for n in range(4000)) for k in range(200)]
    outcomes = {
        interrupted(lambda: tok.encode_ragged(texts, threads=threads), 0.001 + 0.003 * attempt) for attempt in range(30)
    }
    assert (True, False) not in outcomes
    assert (True, True) in outcomes


ENDLESS = {
    "decode an array": lambda tok: tok.decode_bytes(np.full(400_000_000, 220, np.uint16)),
    "decode numbers": lambda tok: tok.decode_bytes(itertools.repeat(220)),
    "special tokens": lambda tok: tok.count("<|endoftext|>" * 20_000_000),
    "nearly special tokens": lambda tok: tok.count("<|endoftext|" * 60_000_000),
    "one piece": lambda tok: tok.count("a" * 30_000_000),
    "truncate": lambda tok: tok.truncate("a b" * 30_000_000, 40_000_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_long_calls_can_be_interrupted(native, name):
    tok = native.load("gpt2")
    start = time.monotonic()
    assert interrupted(lambda: ENDLESS[name](tok), 0.3) == (True, True)
    assert tok.encode("hello world") == [31373, 995], time.monotonic() - start


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_large_cache_is_a_ceiling_and_no_allocation(native):
    before = peak()
    for size in (2**32, 2**62, 2**70):
        tok = native.load("gpt2", cache_bytes=size)
        assert tok.encode("hello world") == [31373, 995]
        assert tok.encode_batch(["hello"] * 9, threads=2) == [[31373]] * 9
    assert peak() - before < 100e6


def test_one_high_id_is_cheap(native):
    tok = native.load("gpt2").extend({"<x>": 2**24 - 1})
    before = peak()
    assert tok.encode("a<x>") == [64, 2**24 - 1]
    assert peak() - before < 100e6


def test_long_literals_are_found_in_linear_time(Tokenizer):
    tok = Tokenizer.from_ranks(BYTE_TOKENS, pattern="gpt2", special_tokens={"a" * 5000 + "b": 300, "aa": 301})
    assert tok.count("a" * 100_000) == 50_000
    assert tok.encode("a" * 6000 + "b") == [301] * 500 + [300]


CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.parametrize("text", ["a word, and  another\n one " * 40_000, "a" * 1_000_000, " " * 1_000_000 + "x"])
def test_truncate_is_quick_with_any_pattern(native, text):
    tok = native.from_ranks(BYTE_TOKENS | {b"  ": 256, b"an": 257, b" an": 258}, pattern=CL100K)
    for limit in (0, 1, 1000, 100_000):
        prefix = tok.truncate(text, limit)
        assert text.startswith(prefix)
        assert limit - 3 <= tok.count(prefix) <= limit or prefix == text


def test_a_tokenizer_is_made_by_load(Tokenizer):
    with pytest.raises(TypeError) as caught:
        Tokenizer("gpt2")
    assert str(caught.value) == "encoding must be an Encoding, not str; bpeline.load() makes tokenizers"


def test_arguments_that_lie_or_raise(Tokenizer):
    class Lying(dict):
        def __len__(self):
            return 10**18

    assert Tokenizer.from_ranks(Lying(BYTE_TOKENS), pattern="gpt2").vocab_size == 256

    class Raising:
        def __index__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Tokenizer.load("gpt2").decode([Raising()])


def test_one_very_long_token(native):
    ranks = BYTE_TOKENS | {b"a" * 1_000_000: 256, b"ab": 257}
    assert native.from_ranks(ranks, pattern="gpt2").encode("a" * 1_000_000 + " ab") == [256, BYTE_TOKENS[b" "], 257]


def test_a_pattern_that_looks_at_all_of_the_text_for_each_piece(native):
    tok = native.from_ranks(BYTE_TOKENS, pattern=r"a(?=[^!]*$)|[^!]")
    assert interrupted(lambda: tok.count("a" * 3_000_000), 0.3) == (True, True)


def test_threads_beyond_reason(native):
    texts = ["word " * 60_000] * 20
    tok = native.load("gpt2")
    assert tok.count_batch(texts, threads=10**6).tolist() == tok.count_batch(texts, threads=1).tolist()


def test_threads_save_to_one_folder(gpt2, tmp_path):
    tok = gpt2.extend({"<|pad|>": 50257})
    failures = []

    def save():
        try:
            tok.save(tmp_path)
        except OSError as error:
            failures.append(error)

    workers = [threading.Thread(target=save) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert type(gpt2).load(tmp_path) == tok
