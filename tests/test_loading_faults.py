"""Every fault of a GPT-2 file pair: its type and its text, on both backends. The cases are data."""

import pytest

import bpeline
from tests.small import BYTE_TOKENS, by_name, expand, load_cases, write_pair

FAULTS = load_cases("loading_faults")
WHOLE = '{$BYTES, "<|endoftext|>": 256}'


@pytest.mark.parametrize("case", FAULTS, ids=by_name(FAULTS))
def test_fault(Tokenizer, tmp_path, case):
    vocab = expand(case.get("vocab", WHOLE))
    if "replace" in case:
        old, new = (text.encode() for text in case["replace"])
        assert vocab.count(old) == 1
        vocab = vocab.replace(old, new)
    paths = write_pair(tmp_path, vocab, expand(case.get("merges", "#version: 0.2\n")))
    expected = case["error"].replace("$VOCAB", paths[0]).replace("$MERGES", paths[1])
    with pytest.raises(bpeline.BpelineError) as caught:
        Tokenizer.load(*paths, **case.get("kwargs", {}))
    assert type(caught.value).__name__ == case.get("type", "EncodingFileError")
    assert str(caught.value) == expected


def test_faults_are_value_errors():
    assert issubclass(bpeline.EncodingFileError, bpeline.BpelineError)
    assert issubclass(bpeline.EncodingFileError, ValueError)


def test_the_path_is_named_as_given(Tokenizer, tmp_path, monkeypatch):
    write_pair(tmp_path, vocab="[")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load("vocab.json", "merges.txt")
    assert str(caught.value) == "vocab.json: line 1: expected a JSON object, found '['"


@pytest.mark.parametrize("pattern", ["(", "[a", r"\p{Nonsense}"])
def test_a_pattern_that_does_not_compile(Tokenizer, tmp_path, pattern):
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(*write_pair(tmp_path), pattern=pattern)
    start = f'pattern "{pattern}" cannot be used: '
    assert str(caught.value).startswith(start)
    assert len(str(caught.value)) > len(start)


UNKNOWN = "is no known name (gpt2, r50k, p50k, cl100k, o200k, llama3, qwen2, deepseek_v3, tekken), and as a regular expression it would match only itself"


@pytest.mark.parametrize("pattern", ["gpt4", "GPT2", "cl100k_base", "o200k-base", "a", "x" * 41])
def test_a_pattern_that_looks_like_a_name(Tokenizer, tmp_path, pattern):
    paths = write_pair(tmp_path)
    (tmp_path / "bpeline.json").write_text(f'{{"bpeline": 1, "pattern": "{pattern}"}}', encoding="utf-8")
    for load in (
        lambda: Tokenizer.load(*paths, pattern=pattern),
        lambda: Tokenizer.load(tmp_path),
        lambda: Tokenizer.from_ranks(BYTE_TOKENS, pattern=pattern),
    ):
        with pytest.raises(bpeline.EncodingFileError) as caught:
            load()
        shown = pattern if len(pattern) <= 40 else pattern[:40] + "…"
        assert str(caught.value) == f'pattern "{shown}" {UNKNOWN}'


@pytest.mark.parametrize("pattern", ["a+", "a|b", "[a]", " a", "2", "_a", "-a", "é", "gpt2\n", "gpt 2", "(?:gpt4)"])
def test_a_pattern_that_does_not(Tokenizer, tmp_path, pattern):
    tok = Tokenizer.load(*write_pair(tmp_path), pattern=pattern)
    assert tok.pattern == pattern
    assert tok.decode(tok.encode("a gpt2\n")) == "a gpt2\n"


@pytest.mark.parametrize("missing", ["vocab.json", "merges.txt"])
def test_a_missing_file_stays_file_not_found(Tokenizer, tmp_path, missing):
    paths = write_pair(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        Tokenizer.load(*paths)
    assert missing in str(caught.value)


def test_a_line_far_down_is_counted(Tokenizer, tmp_path):
    merges = "#version: 0.2\n" + "\n" * 9_998 + "a b c\n"
    paths = write_pair(tmp_path, merges=merges)
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(*paths)
    assert str(caught.value) == f'{paths[1]}: line 10000: expected two symbols and one space, found "a b c"'
