"""Damage of any kind: both backends load the same encoding from a broken pair, or say the same words."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.small import vocab_text, write_pair

VOCAB = vocab_text(["ab", "abc", "##", "\u0120a"]).replace(", ", ",\n").encode()
MERGES = "#version: 0.2\na b\nab c\n# #\n\u0120 a\n".encode()
SPLICES = [
    b'"',
    b"\\",
    b"\\u0061",
    b"\\ud83d",
    b",",
    b":",
    b"{",
    b"}",
    b"\n",
    b"\r",
    b" ",
    b"0",
    b"-1",
    b"\xff",
    b"a b\n",
]


@st.composite
def damaged(draw, original):
    """One to three edits: delete, insert, replace, cut, repeat a line, swap two lines."""
    data = original
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(1, 4))
        splice = draw(st.one_of(st.sampled_from(SPLICES), st.binary(min_size=1, max_size=2)))
        lines = data.split(b"\n")
        line, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["delete", "insert", "replace", "cut", "repeat", "swap"])):
            case "delete":
                data = data[:start] + data[start + length :]
            case "insert":
                data = data[:start] + splice + data[start:]
            case "replace":
                data = data[:start] + splice + data[start + len(splice) :]
            case "cut":
                data = data[:start]
            case "repeat":
                data = b"\n".join(lines[: line + 1] + lines[line:])
            case "swap":
                lines[line], lines[other] = lines[other], lines[line]
                data = b"\n".join(lines)
    return data


def outcome(cls, paths):
    try:
        return cls.load(*paths).encoding.fingerprint
    except ValueError as error:
        return type(error), str(error)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(vocab=damaged(VOCAB))
def test_damaged_vocab(both, tmp_path, vocab):
    paths = write_pair(tmp_path, vocab, MERGES)
    assert outcome(both[0], paths) == outcome(both[1], paths)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(merges=damaged(MERGES))
def test_damaged_merges(both, tmp_path, merges):
    paths = write_pair(tmp_path, VOCAB, merges)
    assert outcome(both[0], paths) == outcome(both[1], paths)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(vocab=damaged(VOCAB), merges=damaged(MERGES))
def test_damage_is_a_bpeline_error_or_none(Tokenizer, tmp_path, vocab, merges):
    """A damaged pair that loads still writes every byte."""
    paths = write_pair(tmp_path, vocab, merges)
    result = outcome(Tokenizer, paths)
    if isinstance(result, bytes):
        every = bytes(range(256)).decode("latin-1")
        tok = Tokenizer.load(*paths)
        assert tok.decode(tok.encode(every, special="text")) == every
    else:
        assert result[0].__name__ == "EncodingFileError"
        assert paths[0] in result[1] or paths[1] in result[1]


@pytest.mark.parametrize("cut", range(0, 60))
def test_every_short_cut(Tokenizer, tmp_path, cut):
    """Truncated downloads: no prefix of the vocabulary passes for a whole one."""
    paths = write_pair(tmp_path, VOCAB[:cut], MERGES)
    result = outcome(Tokenizer, paths)
    assert result[0].__name__ == "EncodingFileError"
    assert result[1].startswith(paths[0])


def test_every_cut_of_the_merges(Tokenizer, tmp_path):
    """Here too: only the last newline may be gone."""
    whole = outcome(Tokenizer, write_pair(tmp_path, VOCAB, MERGES))
    for cut in range(len(MERGES) - 1):
        paths = write_pair(tmp_path, VOCAB, MERGES[:cut])
        result = outcome(Tokenizer, paths)
        assert result[0].__name__ == "EncodingFileError"
        assert result[1].startswith(paths[1])
    assert outcome(Tokenizer, write_pair(tmp_path, VOCAB, MERGES[:-1])) == whole
