"""What `load` makes of its arguments: built-in names, file pairs, folders, and everything else."""

import json
import os

import pytest

import bpeline
from tests.small import vocab_text, write_pair

RANKS = {bytes([byte]): byte for byte in range(256)}
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def test_built_in(Tokenizer, backend):
    tok = Tokenizer.load("gpt2")
    assert (tok.name, tok.vocab_size, tok.backend) == ("gpt2", 50257, backend)
    assert tok.special_tokens == {"<|endoftext|>": 50256}
    assert tok.eot_token == 50256
    assert tok.pattern == GPT2_PATTERN
    assert tok.encode("hello world") == [31373, 995]
    assert "gpt2" in bpeline.encodings()


def test_load_is_one_function():
    assert bpeline.load("gpt2") == bpeline.Tokenizer.load("gpt2")
    assert type(bpeline.load("gpt2")) is bpeline.Tokenizer
    assert bpeline.load("gpt2").backend == bpeline.backend()


def test_a_built_in_beats_a_folder_of_its_name(Tokenizer, tmp_path, monkeypatch):
    (tmp_path / "gpt2").mkdir()
    write_pair(tmp_path / "gpt2")
    monkeypatch.chdir(tmp_path)
    assert Tokenizer.load("gpt2").vocab_size == 50257
    assert Tokenizer.load("./gpt2").vocab_size == 257


@pytest.mark.parametrize("option", [{"pattern": "gpt2"}, {"special_tokens": {"<x>": 50257}}])
def test_a_built_in_takes_no_options(Tokenizer, option):
    with pytest.raises(ValueError) as caught:
        Tokenizer.load("gpt2", **option)
    assert ".extend" in str(caught.value)


def test_a_folder_with_a_pair(Tokenizer, tmp_path):
    paths = write_pair(tmp_path, vocab_text(["ab"]), "a b\n")
    assert Tokenizer.load(tmp_path) == Tokenizer.load(str(tmp_path)) == Tokenizer.load(*paths)
    assert Tokenizer.load(tmp_path).encode("ab") == [256]
    assert Tokenizer.load(tmp_path).name == tmp_path.name


def test_paths_of_any_kind(Tokenizer, tmp_path):
    vocab, merges = write_pair(tmp_path)
    assert Tokenizer.load(tmp_path / "vocab.json", tmp_path / "merges.txt") == Tokenizer.load(vocab, merges)


def test_a_pattern_by_name_or_in_full(Tokenizer, tmp_path):
    paths = write_pair(tmp_path)
    assert (
        Tokenizer.load(*paths, pattern="gpt2") == Tokenizer.load(*paths, pattern=GPT2_PATTERN) == Tokenizer.load(*paths)
    )
    words = Tokenizer.load(*paths, pattern=r"\p{L}+|[^\p{L}]+")
    assert words.pattern == r"\p{L}+|[^\p{L}]+"
    assert words != Tokenizer.load(*paths)


def test_bpeline_json_names_what_the_pair_cannot(Tokenizer, tmp_path):
    write_pair(tmp_path, vocab_text(["ab"]), "a b\n")
    data = {
        "bpeline": 1,
        "name": "words",
        "pattern": r"a|b|[^ab]+",
        "special_tokens": {"<|endoftext|>": 257, "<x>": 300},
    }
    (tmp_path / "bpeline.json").write_text(json.dumps(data), encoding="utf-8")
    tok = Tokenizer.load(tmp_path)
    assert (tok.name, tok.pattern, tok.special_tokens) == ("words", data["pattern"], data["special_tokens"])
    assert tok.encode("ab<x>") == [tok.token_to_id("a"), tok.token_to_id("b"), 300]
    explicit = Tokenizer.load(tmp_path, pattern="gpt2", special_tokens={"<|endoftext|>": 257})
    assert explicit.pattern == GPT2_PATTERN
    assert explicit.special_tokens == {"<|endoftext|>": 257}
    assert explicit.encode("ab<x>")[0] == 256


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"x"',
        '{"bpeline": 2}',
        '{"bpeline": 1, "pattern": 5}',
        '{"bpeline": 1, "special_tokens": ["a"]}',
        '{"bpeline": 1, "files": "vocab.json"}',
        '{"bpeline": 1, "files": []}',
        '{"bpeline": 1, "files": ["../vocab.json", "merges.txt"]}',
        '{"bpeline": 1, "files": ["vocab.json"]}',
        '{"bpeline": 1, "files": ["merges.txt", "vocab.json"]}',
        '{"bpeline": 1, "files": ["a.tiktoken", "b.tiktoken"]}',
        "\udcff",
    ],
)
def test_a_damaged_bpeline_json(Tokenizer, tmp_path, content):
    write_pair(tmp_path)
    (tmp_path / "bpeline.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    assert "bpeline.json" in str(caught.value)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "notes.txt", "bpeline.json"])
def test_a_file_of_another_format(Tokenizer, tmp_path, name):
    (tmp_path / name).write_text('{"bpeline": 1}', encoding="utf-8")
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(bpeline.EncodingFileError) as caught:
            Tokenizer.load(source)
        assert str(tmp_path) in str(caught.value)
        assert all(kind in str(caught.value) for kind in ("vocab.json", "merges.txt"))


def test_a_folder_with_nothing_in_it(Tokenizer, tmp_path):
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: expected vocab.json with merges.txt")
    assert "a .tiktoken file, a tekken.json, or a folder" in str(caught.value)


@pytest.mark.parametrize("name", ["my.tiktoken", "tekken.json", "model-tekken-1.json", "Tekken.json"])
def test_a_folder_with_one_file(Tokenizer, tmp_path, name):
    """It is read as what its name says; `test_rank_files.py` and `test_tekken.py` have files without a fault."""
    (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "README.md").write_text("of no kind", encoding="utf-8")
    said = set()
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(bpeline.EncodingFileError) as caught:
            Tokenizer.load(source)
        said.add(str(caught.value))
    [message] = said
    fault = "line 1: expected a token in base64" if "tiktoken" in name else "config is missing"
    assert message.startswith(f"{tmp_path / name}: {fault}")


@pytest.mark.parametrize(
    "names", [("a.tiktoken", "b.tiktoken"), ("a.tiktoken", "tekken.json"), ("tekken.json", "vocab.json", "merges.txt")]
)
def test_a_folder_with_several(Tokenizer, tmp_path, names):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    first, second = sorted(names[:2], key=("vocab.json", "a.tiktoken", "b.tiktoken", "tekken.json").index)
    assert str(caught.value) == f"{tmp_path}: it holds {first} and {second}: name the file to load"


def test_bpeline_json_names_the_files(Tokenizer, tmp_path):
    """Several encodings, saved into one folder in turn: the last is loaded."""
    saved = [Tokenizer.from_ranks(RANKS | {b"ab": 300 + i}, pattern="gpt2", name=f"n{i}") for i in range(3)]
    pair = Tokenizer.load(*write_pair(tmp_path, vocab_text(["ab"]), "a b\n"))
    for tok in (*saved, saved[0]):
        tok.save(tmp_path, format="tiktoken")
        assert Tokenizer.load(tmp_path) == tok
        assert Tokenizer.load(tmp_path).name == tok.name
    pair.save(tmp_path)
    assert Tokenizer.load(tmp_path) == pair
    assert json.loads((tmp_path / "bpeline.json").read_text(encoding="utf-8"))["files"] == ["vocab.json", "merges.txt"]


def test_a_file_that_bpeline_json_names_is_not_there(Tokenizer, tmp_path):
    path = Tokenizer.from_ranks(RANKS, pattern="gpt2").save(tmp_path, format="tiktoken")[0]
    path.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        Tokenizer.load(tmp_path)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(("found", "missing"), [("vocab.json", "merges.txt"), ("merges.txt", "vocab.json")])
def test_a_folder_with_one_of_the_two_files(Tokenizer, tmp_path, found, missing):
    write_pair(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: {missing} is missing beside {found}"


@pytest.mark.parametrize("name", ["gpt3", "no/such/folder", "missing.json"])
def test_nothing_there(Tokenizer, name):
    with pytest.raises(FileNotFoundError) as caught:
        Tokenizer.load(name)
    assert name in str(caught.value)
    assert all(built_in in str(caught.value) for built_in in bpeline.encodings())


def test_cache_bytes(Tokenizer):
    assert Tokenizer.load("gpt2", cache_bytes=0).cache_bytes == 0
    assert Tokenizer.load("gpt2", cache_bytes=12345).cache_bytes == 12345
    assert Tokenizer.load("gpt2").cache_bytes > 0
    with pytest.raises(ValueError) as caught:
        Tokenizer.load("gpt2", cache_bytes=-1)
    assert str(caught.value) == "cache_bytes must be at least 0, not -1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    "names", [["x.tiktoken"], ["x.model"], ["tekken.json"], ["x.json"], ["vocab.json", "merges.txt"]]
)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_may_never_end_is_not_read(Tokenizer, tmp_path, names, kind):
    paths = [tmp_path / name for name in names]
    match kind:
        case "pipe":
            os.mkfifo(paths[-1])
        case "device":
            paths[-1].symlink_to("/dev/zero")
        case "folder" if len(paths) == 1:
            return  # it is looked into
        case "folder":
            paths[-1].mkdir()
    for path in paths[:-1]:
        path.write_text(vocab_text(), encoding="utf-8")
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(*paths)
    assert str(caught.value) == f"{paths[-1]}: not a regular file"
