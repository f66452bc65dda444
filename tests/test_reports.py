"""What users of other tokenizers reported (docs/REPORTS.md): each row by its number, with the right value.

Row 21 is in test_backend_choice.py, 29 and 30 are in test_processes.py, the pools of 33 in test_identity.py.
Rows about training, corpora, Arrow and other file formats belong to the issues that add those.
"""

import pickle
import random

import numpy as np
import pytest

import bpeline
from tests.oracle import Oracle
from tests.parity.samples import CONTEXTS
from tests.small import EOT, vocab_text, write_pair

MILLION = 1_000_000
BYTES = {bytes([byte]): byte for byte in range(256)}


def test_01_one_long_run(gpt2, backend):
    size = MILLION if backend == "native" else 40_000
    ids = gpt2.encode("^" * size)
    assert len(ids) == size // 4
    assert set(ids) == {39397}  # ^^^^
    assert gpt2.decode(ids) == "^" * size


@pytest.mark.parametrize("tail", ["", "x"])
@pytest.mark.parametrize("character", [" ", "\n"])
def test_02_one_long_run_of_white_space(gpt2, backend, character, tail):
    size = MILLION if backend == "native" else 40_000
    text = character * size + tail
    assert gpt2.decode(gpt2.encode(text)) == text
    assert gpt2.count(text) == len(gpt2.encode(text))


def test_03_quadratic_time(gpt2, backend):
    assert gpt2.count("a" * 100_000) == 25_000
    text = "_" * (50_000 if backend == "native" else 5_000)
    assert gpt2.decode(gpt2.encode(text)) == text


def test_04_one_piece_without_spaces(gpt2, backend, tmp_path):
    oracle = Oracle.of_pair(*gpt2.save(tmp_path))
    letters = "".join(random.Random(4).choices("abcdefghijklmnopqrstuvwxyz", k=600_000))
    line = "".join(f'{{"key{i}":[{i},null]}},' for i in range(20_000))
    for text in ("漢字" * 100_000, letters, line):
        assert gpt2.encode(text[:1_500]) == oracle.encode(text[:1_500])
        text = text if backend == "native" else text[:30_000]
        assert gpt2.decode(gpt2.encode(text)) == text


def test_05_surrogates(gpt2):
    with pytest.raises(bpeline.InvalidTextError, match=r"^surrogate U\+D83D at character 0$"):
        gpt2.encode("\ud83d\udc4d")
    assert gpt2.encode("\ud83d\udc4d", errors="replace") == [41840, 235]
    assert gpt2.encode("\ud83d", errors="replace") == [4210]


def test_06_bytes_that_are_not_utf_8(gpt2):
    with pytest.raises(bpeline.InvalidTextError, match=r"^invalid UTF-8: byte 0xff at offset 2$"):
        gpt2.encode(b"ok\xff")


@pytest.mark.parametrize(
    ("row", "text", "ids"),
    [
        (7, "a \x85!", [64, 220, 126, 227, 0]),
        (9, "Hello,", [15496, 11]),
        (10, "A<|endoftext|>B<|endoftext|>C", [32, 50256, 33, 50256, 34]),
        (11, "abc abc", [39305, 450, 66]),
        (12, "a\r\n\r\n b", [64, 201, 198, 201, 198, 275]),
        (13, "a\x00b", [64, 188, 65]),
    ],
)
def test_07_to_13_ids(gpt2, row, text, ids):
    assert gpt2.encode(text) == ids
    assert gpt2.decode(ids) == text


@pytest.mark.parametrize("context", CONTEXTS)
def test_08_every_class_boundary(gpt2, tmp_path_factory, context):
    """Characters whose class is old and settled, against the oracle; test_parity.py asks tiktoken about the others."""
    oracle = Oracle.of_pair(*gpt2.save(tmp_path_factory.mktemp("gpt2")))
    for code in [*range(0x300), *range(0x2000, 0x2070), *range(0x3000, 0x3010), 0x1680, 0x180E, 0xFEFF, 0xFFFD]:
        text = context.format(chr(code))
        assert gpt2.encode(text) == oracle.encode(text), ascii(text)


@pytest.mark.parametrize("bad", [50257, -1, 2**32, 2**64])
def test_14_unused_ids(gpt2, bad):
    for ids in ([bad], [64, bad]):
        with pytest.raises(bpeline.TokenIdError, match=f"^token id {bad} is not in the vocabulary"):
            gpt2.decode(ids)


def test_15_decoding_token_by_token(gpt2):
    decoder = gpt2.decoder()
    assert "".join(map(decoder.push, gpt2.encode("ϕ ∀"))) + decoder.finish() == "ϕ ∀"


def test_16_a_stream_with_bad_bytes(gpt2):
    ids = [gpt2.token_to_id(b"\xff"), *gpt2.encode("abc")]
    decoder = gpt2.decoder()
    assert [decoder.push(i) for i in ids] + [decoder.finish()] == ["\ufffd", "abc", ""]
    assert gpt2.decode(ids) == "\ufffdabc"


def test_17_spaces_before_punctuation(gpt2):
    assert gpt2.decode([88, 318, 5633]) == "y is ?"


def test_18_an_added_token_is_not_byte_mapped(gpt2):
    tok = gpt2.extend({"đem": 50257})
    assert tok.encode("a đem b") == [64, 220, 50257, 275]
    assert tok.decode([50257]) == "đem"
    assert tok.token_bytes(50257) == "đem".encode()
    assert tok.id_to_token(50257) == "đem"


@pytest.mark.parametrize("end", ["\n", ""])
def test_19_no_final_newline(Tokenizer, tmp_path, end):
    tok = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab", "cd"]), "#version: 0.2\na b\nc d" + end))
    assert tok.encode("cdab") == [257, 256]
    assert len(tok.encoding.merges()) == 2


@pytest.mark.parametrize(("header", "rules"), [("", 2), ("#version: 0.2\n", 2)])
def test_20_the_first_line(Tokenizer, tmp_path, header, rules):
    tok = Tokenizer.load(*write_pair(tmp_path, vocab_text(["##", "####"]), header + "# #\n## ##\n"))
    assert len(tok.encoding.merges()) == rules
    assert tok.encode("####") == [257]


def test_23_a_wrong_file(Tokenizer, tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1042301\n"
    for vocab in ("IQ== 0\nIg==\n", vocab_text()[:700]):
        paths = write_pair(tmp_path, vocab)
        with pytest.raises(bpeline.EncodingFileError) as caught:
            Tokenizer.load(*paths)
        assert str(caught.value).startswith(f"{paths[0]}: line 1: ")
    for i, options in enumerate([{"vocab": pointer}, {"merges": pointer}]):
        paths = write_pair(tmp_path, **options)
        for source in (paths, [tmp_path]):
            with pytest.raises(bpeline.EncodingFileError) as caught:
                Tokenizer.load(*source)
            message = "a git-lfs pointer, not the file itself: fetch it with `git lfs pull`"
            assert str(caught.value) == f"{paths[i]}: {message}"


def test_24_bad_ranks(Tokenizer):
    for ranks, message in [
        ({b"a": 0, b"b": 1}, "ranks: the byte 0x00 has no token"),
        ({b"a": 0, b"b": 0}, 'ranks: the tokens b"a" and b"b" have the same rank 0'),
    ]:
        with pytest.raises(bpeline.EncodingFileError) as caught:
            Tokenizer.from_ranks(ranks, pattern="gpt2")
        assert str(caught.value) == message


def test_25_holes_in_a_pair(Tokenizer, tmp_path):
    vocab = vocab_text(eot=False)[:-1] + ', "ab": 257}'
    paths = write_pair(tmp_path, vocab)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(*paths, special_tokens={})
    message = 'line 1: token "ab" has the id 257, expected every id from 0 to 256 exactly once'
    assert str(caught.value) == f"{paths[0]}: {message}"


def test_26_spaces_beside_a_special(gpt2):
    tok = gpt2.extend({"<m>": 50257})
    assert tok.decode(tok.encode("a  <m>  b")) == "a  <m>  b"
    assert tok.encode("a  <m>  b") == [64, 220, 220, 50257, 220, 275]


def test_28_many_special_tokens(Tokenizer, gpt2, backend):
    number = 400_000 if backend == "native" else 20_000
    tok = gpt2.extend({f"w{i}": 50257 + i for i in range(number)})
    assert tok.vocab_size == 50257 + number
    assert tok.encode("w0 w17 w1999") == [50257, 220, 50274, 220, 52256]
    assert tok.decode([50257 + number - 1]) == f"w{number - 1}"


def test_31_the_cache_is_bounded(Tokenizer, gpt2, backend):
    """10^5 documents of distinct numbers through a small cache; test_processes.py has rows 29 and 30."""
    number = 100_000 if backend == "native" else 3_000
    tok = Tokenizer.load("gpt2", cache_bytes=50_000)
    texts = [f"{i * 7919} {i}" for i in range(number)]
    assert (
        tok.count_batch(texts, threads=2).tolist() == Tokenizer.load("gpt2", cache_bytes=0).count_batch(texts).tolist()
    )
    assert tok.encode(texts[-1]) == gpt2.encode(texts[-1])


def test_32_many_short_texts(gpt2, backend):
    """A few bytes a token: the ids, and 8 bytes a document."""
    number = 700_000 if backend == "native" else 20_000
    batch = gpt2.encode_ragged("x y z" for _ in range(number))
    assert batch.tokens.nbytes == number * 3 * 2
    assert batch.offsets.nbytes == (number + 1) * 8
    assert batch[number - 1].tolist() == gpt2.encode("x y z") == [87, 331, 1976]
    assert np.array_equal(batch.offsets, np.arange(number + 1) * 3)


def test_33_pickle(gpt2):
    assert pickle.loads(pickle.dumps(gpt2)).encode("hello world") == [31373, 995]  # pools: test_identity.py


def test_43_no_network(Tokenizer, monkeypatch):
    import socket

    def refuse(*args, **options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Tokenizer.load("gpt2").encode("hello world") == [31373, 995]


def test_44_counting_a_text_that_mentions_a_special(gpt2):
    assert gpt2.encode(EOT, special="text") == [27, 91, 437, 1659, 5239, 91, 29]
    assert gpt2.count(EOT, special="text") == 7
    assert gpt2.count(EOT) == 1


def test_45_vocab_size_counts_specials(gpt2):
    assert gpt2.vocab_size == 50257


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a", "space", "caret", "newline", "letters", "han"])
def test_million_byte_pieces(native, name):
    """The six pieces of the issue: equal to the reference at 20,000 bytes; a million of them round-trip."""
    from tests.backends import ReferenceTokenizer

    letters = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=MILLION))
    text = {"a": "a" * MILLION, "space": " " * MILLION, "caret": "^" * MILLION, "newline": "\n" * MILLION}.get(name)
    text = text or (letters if name == "letters" else "漢字" * (MILLION // 6))
    tok, reference = native.load("gpt2"), ReferenceTokenizer.load("gpt2")
    short = text[: 20_000 // len(text[0].encode())]
    assert tok.encode(short) == reference.encode(short)
    ids = tok.encode_array(text)
    assert tok.decode_bytes(ids) == text.encode()
    assert tok.count(text) == len(ids)
    assert tok.encode(text[:-1] + "!")[:1000] == ids[:1000].tolist()  # the start does not see the end


@pytest.mark.slow
def test_a_long_piece_on_the_reference():
    from tests.backends import ReferenceTokenizer

    ids = ReferenceTokenizer.load("gpt2").encode("a" * 100_000)
    assert (len(ids), set(ids)) == (25_000, {24794})
