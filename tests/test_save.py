"""Saving: OpenAI's two files byte for byte, every format read back by us, and what a format cannot hold refused."""

import hashlib
import json
from base64 import b64decode

import pytest

import bpeline
from tests.small import load_cases, vocab_text, write_pair

SHA256 = {
    "vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}
CASES = load_cases("cases")["gpt2"]
BYTE_RANKS = {bytes([byte]): byte for byte in range(256)}


def small(Tokenizer, tmp_path, extra=("ab", "abc"), merges="a b\nab c\n", **options):
    folder = tmp_path / "small"
    folder.mkdir()
    return Tokenizer.load(*write_pair(folder, vocab_text(extra), merges), **options)


def test_gpt2_files_are_openais(gpt2, tmp_path):
    paths = gpt2.save(tmp_path / "new" / "folder")
    assert sorted(path.name for path in paths) == ["merges.txt", "vocab.json"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == ["merges.txt", "vocab.json"]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths} == SHA256


def test_gpt2_is_saved_and_loaded(gpt2, Tokenizer, tmp_path):
    gpt2.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded == gpt2
    assert loaded == Tokenizer.load(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert [loaded.encode(case["text"]) for case in CASES] == [case["ids"] for case in CASES]


def test_small_pair_is_saved_as_it_was(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path)
    saved = tok.save(tmp_path / "saved", format="gpt2")
    assert sorted(path.name for path in saved) == ["merges.txt", "vocab.json"]
    merges = (tmp_path / "saved" / "merges.txt").read_bytes()
    vocab = (tmp_path / "saved" / "vocab.json").read_bytes()
    assert merges == b"#version: 0.2\na b\nab c\n"
    assert vocab == json.dumps(json.loads(vocab_text(["ab", "abc"]))).encode()
    assert Tokenizer.load(tmp_path / "saved") == tok


def test_pattern_and_specials_go_beside_the_pair(Tokenizer, tmp_path):
    vocab = {"special_tokens": {"<|endoftext|>": 258, "<|two words|>": 259}, "pattern": r"\p{L}+|[^\p{L}]+"}
    tok = small(Tokenizer, tmp_path, **vocab)
    saved = tok.save(tmp_path / "saved")
    assert sorted(path.name for path in saved) == ["bpeline.json", "merges.txt", "vocab.json"]
    beside = json.loads((tmp_path / "saved" / "bpeline.json").read_text(encoding="utf-8"))
    assert beside["bpeline"] == 1
    assert {key: beside[key] for key in ("pattern", "special_tokens")} == vocab
    assert json.loads((tmp_path / "saved" / "vocab.json").read_bytes())["<|two words|>"] == 259
    loaded = Tokenizer.load(tmp_path / "saved")
    assert loaded == tok
    assert loaded.encode("abc<|two words|>abc") == [257, 259, 257]


def test_saving_over_an_older_file(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path, pattern=r"\p{L}+|[^\p{L}]+")
    tok.save(tmp_path / "saved")
    tok.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["bpeline.json", "merges.txt", "vocab.json"]
    assert Tokenizer.load(tmp_path / "saved") == tok


def test_an_older_bpeline_json_does_not_change_what_is_saved(Tokenizer, tmp_path):
    small(Tokenizer, tmp_path, pattern=r"\p{L}+|[^\p{L}]+").save(tmp_path / "saved")
    plain = Tokenizer.load("gpt2")
    plain.save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved") == plain


def test_unknown_format(gpt2, tmp_path):
    with pytest.raises(ValueError) as caught:
        gpt2.save(tmp_path, format="onnx")
    assert all(name in str(caught.value) for name in ("gpt2", "tokenizer.json", "tiktoken", "onnx"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["gpt2", "tokenizer.json", "tiktoken"])
@pytest.mark.parametrize("name", ["tokenizer.json", "merges.txt", "new/gpt2.tiktoken"])
def test_a_folder_that_looks_like_a_file(gpt2, tmp_path, name, format):
    with pytest.raises(ValueError) as caught:
        gpt2.save(tmp_path / name, format=format)
    assert str(caught.value) == f"save writes files into a folder, and {tmp_path / name} looks like a file"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_dot_in_its_name(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path)
    tok.save(tmp_path / "small.v1.2")
    assert Tokenizer.load(tmp_path / "small.v1.2") == tok


def test_holes_do_not_fit_a_pair(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path).extend({"<|far|>": 300})
    with pytest.raises(bpeline.EncodingFileError):
        tok.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "vocab.json").exists()


def test_token_ranks_do_not_fit_a_pair(Tokenizer, tmp_path):
    tok = Tokenizer.from_ranks(BYTE_RANKS | {b"ab": 256}, pattern="gpt2", special_tokens={"<|endoftext|>": 257})
    with pytest.raises(bpeline.EncodingFileError, match=r'"tiktoken" and "tokenizer.json" can hold it'):
        tok.save(tmp_path / "saved", format="gpt2")


def test_a_special_spelled_like_a_token_does_not_fit_a_pair(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path).extend({"ab": 259})
    assert tok.encode("abc") == [259, tok.token_to_id(b"c")]
    with pytest.raises(bpeline.EncodingFileError) as caught:
        tok.save(tmp_path / "saved")
    assert "ab" in str(caught.value)


def test_tiktoken_lines(Tokenizer, tmp_path):
    tok = small(Tokenizer, tmp_path)
    paths = tok.save(tmp_path / "saved", format="tiktoken")
    assert sorted(path.name for path in paths) == ["bpeline.json", "small.tiktoken"]
    lines = (tmp_path / "saved" / "small.tiktoken").read_text(encoding="ascii").splitlines()
    ranks = {b64decode(token): int(rank) for token, rank in map(str.split, lines)}
    assert list(ranks.values()) == list(range(258))
    assert ranks == {tok.token_bytes(i): i for i in range(258)}
    assert (ranks[b"ab"], ranks[b"abc"]) == (256, 257)


@pytest.mark.parametrize(
    ("why", "extra", "merges"),
    [
        ("the ids are not in merge order", ("abc", "ab"), "a b\nab c\n"),
        ("a token has a rule but never comes out", ("bc", "ab", "abc"), "b c\na b\nab c\n"),
    ],
)
def test_what_token_ranks_cannot_say_is_refused(Tokenizer, tmp_path, why, extra, merges):
    tok = small(Tokenizer, tmp_path, extra, merges)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        tok.save(tmp_path / "saved", format="tiktoken")
    assert str(caught.value)
    assert not (tmp_path / "saved" / "small.tiktoken").exists()
