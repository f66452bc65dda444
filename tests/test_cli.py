"""The command line in this process: ids, texts, exit codes, messages."""

import json
import os
import stat

import numpy as np
import pytest

pytest.importorskip("typer")

import bpeline
from bpeline.cli import report
from tests.small import write_pair

HELLO = "Hello, world\n"
HELLO_IDS = [15496, 11, 995, 198]
EOT_TEXT = "a<|endoftext|>"
EOT_AS_TEXT = [64, 27, 91, 437, 1659, 5239, 91, 29]


@pytest.fixture
def hello(tmp_path):
    (tmp_path / "hello.txt").write_text(HELLO, encoding="utf-8", newline="")
    return "hello.txt"


def fails(result, message, code=1):
    """One line on stderr, nothing on stdout, no traceback."""
    assert (result.stderr, result.stdout, result.exit_code) == (f"bpeline: {message}\n", "", code)


def left(folder):
    return sorted(path.name for path in folder.iterdir())


# encode


def test_encode_to_an_array(bp, hello, tmp_path):
    result = bp("encode", hello, "-o", "ids.npy")
    assert result.exit_code == 0 and result.stdout == ""
    ids = np.load("ids.npy")
    assert ids.dtype == np.uint16 and ids.tolist() == HELLO_IDS
    assert left(tmp_path) == ["hello.txt", "ids.npy"]


def test_encode_summary(bp, hello):
    lines = bp("encode", hello, "-o", "ids.npy").stderr.splitlines()
    backend = bpeline.backend()
    assert [line.split()[0] for line in lines[:6]] == ["text", "tokens", "speed", "encoding", "ids", "begins"]
    assert lines[0] == "text      1 file, 13 bytes, 13 characters"
    assert lines[1] == "tokens    4 (3.25 bytes a token)"
    assert "MB/s (" in lines[2]
    assert lines[3] == f"encoding  gpt2, {backend} backend"
    assert lines[4] == "ids       ids.npy (uint16 array, 136 bytes)"
    assert lines[5:] == ['begins    "Hello" "," " world" "\\n"', "          15496 11 995 198"]


def test_encode_summary_in_colour(bp, hello, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stderr = bp("encode", hello, "-o", "ids.npy").stderr
    assert "\x1b[38;5;16;48;5;153mHello" in stderr


def test_encode_stdin_to_stdout(bp):
    for arguments in (["encode"], ["encode", "-"], ["encode", "-", "-o", "-"]):
        result = bp(*arguments, stdin=HELLO)
        assert (result.stdout, result.exit_code) == ("15496 11 995 198\n", 0)
        assert "ids       standard output (text)" in result.stderr


def test_encode_several_files(bp, hello, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    result = bp("encode", hello, "empty.txt", hello, "-o", "ids.npy")
    assert np.load("ids.npy").tolist() == HELLO_IDS * 2
    lines = result.stderr.splitlines()
    assert [line.strip() for line in lines[:3]] == [
        "hello.txt: 13 bytes, 4 tokens",
        "empty.txt: 0 bytes, 0 tokens",
        "hello.txt: 13 bytes, 4 tokens",
    ]
    assert "3 files, 26 bytes" in lines[3]
    assert lines[7] == "ids       ids.npy (uint16 array, the files one after another, 144 bytes)"
    bp("encode", hello, "empty.txt", hello, "-o", "ids.txt")
    assert (tmp_path / "ids.txt").read_bytes() == b"15496 11 995 198\n\n15496 11 995 198\n"


def test_encode_in_groups_gives_the_same(bp, hello, tmp_path, monkeypatch):
    monkeypatch.setattr("bpeline.cli.texts.GROUP_BYTES", 20)
    monkeypatch.setattr("bpeline.cli.output.BLOCK", 3)
    assert bp("encode", "-q", *[hello] * 5).stdout == "15496 11 995 198\n" * 5


def test_encode_empty(bp, tmp_path):
    assert bp("encode", "-o", "ids.npy").exit_code == 0
    ids = np.load("ids.npy")
    assert ids.shape == (0,) and ids.dtype == np.uint16


def test_array_file_is_what_numpy_reads_and_maps(bp, tmp_path):
    bp("encode", "-o", "ids.npy", stdin="a b " * 5000)
    ids = np.load("ids.npy", mmap_mode="r")
    assert ids.tolist() == bpeline.load("gpt2").encode("a b " * 5000)
    assert (tmp_path / "ids.npy").stat().st_size == 128 + 2 * len(ids)


def test_encode_special_is_text_unless_asked(bp):
    quiet = bp("encode", "--special", "text", stdin=EOT_TEXT)
    noted = bp("encode", stdin=EOT_TEXT)
    assert quiet.stdout == noted.stdout == " ".join(map(str, EOT_AS_TEXT)) + "\n"
    note = "note      <|endoftext|> was taken as ordinary text (--special parse makes it the token)"
    assert note in noted.stderr.splitlines() and "note" not in quiet.stderr
    assert bp("encode", "--special", "parse", stdin=EOT_TEXT).stdout == "64 50256\n"
    refused = bp("encode", "--special", "error", "-o", "ids.npy", stdin=EOT_TEXT)
    fails(refused, '-: special token "<|endoftext|>" at byte 1')


def test_encode_invalid_text(bp, hello, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"ok\xff")
    message = "bad.txt: invalid UTF-8: byte 0xff at offset 2 (--errors replace turns what is invalid into U+FFFD)"
    fails(bp("encode", "-q", hello, "bad.txt", hello, "-o", "ids.npy"), message)
    assert left(tmp_path) == ["bad.txt", "hello.txt"]
    result = bp("encode", "bad.txt", "--errors", "replace")
    assert result.stdout == "482 4210\n" and "3 bytes, 3 characters" in result.stderr


def test_encode_reads_bytes_as_they_are(bp):
    assert bp("encode", "-q", stdin=b"a\r\n\r\n b").stdout == "64 201 198 201 198 275\n"
    assert bp("encode", "-q", stdin=b"\xef\xbb\xbfa\x00b").stdout.split()[-3:] == ["64", "188", "65"]


def test_quiet_says_nothing(bp, hello):
    assert bp("encode", "-q", hello, hello, "-o", "ids.npy").stderr == ""


def test_bad_inputs(bp, tmp_path):
    (tmp_path / "folder").mkdir()
    for command in ("encode", "decode", "count"):
        fails(bp(command, "absent.txt"), "absent.txt: No such file or directory")
        fails(bp(command, "folder"), "folder: Is a directory")
    fails(bp("show", "--file", "absent.txt"), "absent.txt: No such file or directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(bp, hello, tmp_path):
    (tmp_path / hello).chmod(0)
    fails(bp("encode", hello), "hello.txt: Permission denied")


def test_bad_outputs(bp, hello, tmp_path):
    (tmp_path / "folder.npy").mkdir()
    fails(bp("encode", hello, "-o", "none/ids.npy"), "none/ids.npy: the folder none does not exist")
    fails(bp("encode", hello, "-o", "folder.npy"), "folder.npy: is a folder")
    fails(bp("decode", "-o", "none/text"), "none/text: the folder none does not exist")
    wrong = bp("encode", hello, "-o", "ids.bin")
    assert wrong.exit_code == 2 and "must end in .npy" in wrong.stderr
    assert left(tmp_path) == ["folder.npy", "hello.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_full_disk(bp, hello, tmp_path):
    (tmp_path / "full.npy").symlink_to("/dev/full")
    fails(bp("encode", "-q", hello, "-o", "full.npy"), "full.npy: No space left on device")
    fails(bp("encode", "-q", hello, "-o", "/dev/full"), "/dev/full: No space left on device")
    fails(bp("decode", "-o", "/dev/full", stdin="64"), "/dev/full: No space left on device")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_failure_keeps_the_old_output(bp, hello, tmp_path):
    (tmp_path / "ids.npy").write_bytes(b"old")
    bp("encode", hello, "absent.txt", "-o", "ids.npy")
    assert (tmp_path / "ids.npy").read_bytes() == b"old"
    assert left(tmp_path) == ["hello.txt", "ids.npy"]


def test_output_keeps_link_and_mode(bp, hello, tmp_path):
    real = tmp_path / "real.npy"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link.npy").symlink_to(real)
    bp("encode", hello, "-o", "link.npy")
    assert (tmp_path / "link.npy").is_symlink() and np.load(real).tolist() == HELLO_IDS
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


# encodings


def test_encoding_by_files_and_folder(bp, hello, tmp_path):
    (tmp_path / "pair").mkdir()
    vocab, merges = write_pair(tmp_path / "pair")
    expected = bpeline.load(vocab, merges).encode(HELLO)
    assert len(expected) == 13
    for options in (["--vocab", vocab, "--merges", merges], ["-e", tmp_path / "pair"]):
        assert bp("encode", "-q", hello, *options).stdout.split() == list(map(str, expected))


def test_encoding_by_name(bp, hello):
    for name in bpeline.encodings():
        expected = bpeline.load(name).encode(HELLO)
        assert bp("encode", "-q", hello, "-e", name).stdout.split() == list(map(str, expected))
        assert bp("decode", "-e", name, stdin=" ".join(map(str, expected))).stdout == HELLO


def test_encoding_by_rank_file(bp, hello, tmp_path):
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"Hello": 300}
    tok = bpeline.Tokenizer.from_ranks(ranks, pattern="gpt2", name="mine")
    path = tok.save(tmp_path / "mine", format="tiktoken")[0]
    assert bp("encode", "-q", hello, "-e", tmp_path / "mine").stdout.split() == list(map(str, tok.encode(HELLO)))
    fault = bp("encode", "-q", hello, "-e", path)
    assert fault.exit_code == 1 and "pass pattern=" in fault.stderr and len(fault.stderr.splitlines()) == 1
    path = bpeline.load("cl100k_base").save(tmp_path, format="tiktoken")[0]
    expected = bpeline.load("cl100k_base").encode(HELLO)
    assert bp("encode", "-q", hello, "-e", path).stdout.split() == list(map(str, expected))


def test_encoding_faults(bp, hello, tmp_path):
    vocab, merges = write_pair(tmp_path, vocab="[]")
    bad = bp("encode", hello, "--vocab", "vocab.json", "--merges", "merges.txt")
    fails(bad, "vocab.json: line 1: expected a JSON object, found '['")
    absent = bp("encode", hello, "-e", "absent")
    assert absent.exit_code == 1 and absent.stderr.startswith("bpeline: ") and "gpt2" in absent.stderr
    assert len(absent.stderr.splitlines()) == 1
    assert bp("encode", hello, "--vocab", vocab).exit_code == 2
    assert bp("encode", hello, "-e", "gpt2", "--vocab", vocab, "--merges", merges).exit_code == 2
    fails(bp("encode", hello, "--vocab", "gone.json", "--merges", merges), "gone.json: No such file or directory")


# decode


@pytest.mark.parametrize("text", ["15496 11 995 198", "15496\n11\r\n995\t198\n", "[15496, 11, 995, 198]\n"])
def test_decode_numbers(bp, text):
    result = bp("decode", stdin=text)
    assert (result.stdout_bytes, result.stderr, result.exit_code) == (HELLO.encode(), "", 0)


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<i8", "<u4"])
def test_decode_arrays(bp, tmp_path, dtype):
    np.save("ids.npy", np.array(HELLO_IDS, dtype))
    assert bp("decode", "ids.npy").stdout_bytes == HELLO.encode()
    assert bp("decode", stdin=(tmp_path / "ids.npy").read_bytes()).stdout_bytes == HELLO.encode()


def test_round_trip_to_a_file(bp, tmp_path):
    text = "naïve 漢字 👩‍🔬\r\n\x00 tail ".encode()
    (tmp_path / "in.txt").write_bytes(text)
    bp("encode", "in.txt", "-o", "ids.npy")
    assert bp("decode", "ids.npy", "-o", "out.txt").exit_code == 0
    assert (tmp_path / "out.txt").read_bytes() == text
    assert left(tmp_path) == ["ids.npy", "in.txt", "out.txt"]


def test_decode_changes_no_byte(bp):
    ids = bpeline.load("gpt2").encode("漢")
    assert bp("decode", stdin=str(ids[0])).stdout_bytes == b"\xe6"


def test_decode_in_blocks(bp, monkeypatch):
    monkeypatch.setattr("bpeline.cli.decode.BLOCK", 4)
    text = "漢字 and more, 1 2 3\n"
    ids = bpeline.load("gpt2").encode(text)
    assert bp("decode", stdin=" ".join(map(str, ids))).stdout == text
    np.save("ids.npy", np.array(ids))
    assert bp("decode", "ids.npy").stdout == text


def test_decode_specials(bp):
    assert bp("decode", stdin="64 50256 65").stdout == "a<|endoftext|>b"
    assert bp("decode", "--skip-special", stdin="64 50256 65").stdout == "ab"


def test_decode_empty(bp):
    np.save("ids.npy", np.array([], np.uint16))
    for arguments in (["decode", "ids.npy"], ["decode"]):
        result = bp(*arguments)
        assert (result.stdout, result.stderr, result.exit_code) == ("", "", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3 4.5", 'line 2: expected a token id, found "4.5"'),
        ("1 0x10", 'line 1: expected a token id, found "0x10"'),
        ("\n\n1_0", 'line 3: expected a token id, found "1_0"'),
        ("1 - 2", 'line 1: expected a token id, found "-"'),
        ("\xff", 'line 1: expected a token id, found "ÿ"'),
        ("9" * 5000, f'line 1: expected a token id, found "{"9" * 40}"'),
        ("50257", "token id 50257 is not in the vocabulary (valid ids: 0 to 50256)"),
        ("-1", "token id -1 is not in the vocabulary (valid ids: 0 to 50256)"),
        (str(2**64), f"token id {2**64} is not in the vocabulary (valid ids: 0 to 50256)"),
    ],
)
def test_decode_bad_numbers(bp, tmp_path, text, message):
    (tmp_path / "ids.txt").write_text(text, encoding="utf-8")
    fails(bp("decode", "ids.txt", "-o", "text"), f"ids.txt: {message}")
    assert left(tmp_path) == ["ids.txt"]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([1.5]), "token ids must be integers, not an array of float64"),
        (np.array([], np.float32), "token ids must be integers, not an array of float32"),
        (np.array([[1, 2]]), "token ids must be one-dimensional, not 2-dimensional"),
        (np.array(1), "token ids must be one-dimensional, not 0-dimensional"),
        (np.array([1, 70000]), "token id 70000 is not in the vocabulary (valid ids: 0 to 50256)"),
    ],
)
def test_decode_bad_arrays(bp, array, message):
    np.save("ids.npy", array)
    fails(bp("decode", "ids.npy"), f"ids.npy: {message}")


def test_decode_damaged_arrays(bp, tmp_path):
    np.save("ids.npy", np.array(HELLO_IDS, np.uint16))
    good = (tmp_path / "ids.npy").read_bytes()
    for damaged in (good[:-3], good[:50], good[:7], good[:10] + b"!" * 118):
        (tmp_path / "ids.npy").write_bytes(damaged)
        result = bp("decode", "ids.npy")
        assert result.exit_code == 1 and result.stdout == ""
        assert result.stderr.startswith("bpeline: ids.npy: not a usable .npy file: ")
        assert len(result.stderr.splitlines()) == 1
    np.save("ids.npy", np.array([{"a": 1}]), allow_pickle=True)
    assert bp("decode", "ids.npy").stderr.startswith("bpeline: ids.npy: not a usable .npy file: ")
    (tmp_path / "ids.npy").write_bytes(b"1 2 3")
    fails(bp("decode", "ids.npy"), "ids.npy: not a .npy file")


# count


def test_count(bp, hello, tmp_path):
    (tmp_path / "b.txt").write_bytes("漢字".encode())
    assert bp("count", hello).stdout == "4\t13\t13\t3.25\thello.txt\n"
    assert bp("count", stdin="").stdout == "0\t0\t0\t-\t-\n"
    tokens = len(bpeline.load("gpt2").encode("漢字"))
    assert bp("count", hello, "b.txt").stdout.splitlines() == [
        "4\t13\t13\t3.25\thello.txt",
        f"{tokens}\t2\t6\t{round(6 / tokens, 3)}\tb.txt",
        f"{tokens + 4}\t15\t19\t{round(19 / (tokens + 4), 3)}\ttotal",
    ]


def test_count_json(bp, hello):
    result = bp("count", hello, "--json")
    row = {"tokens": 4, "characters": 13, "bytes": 13, "bytes_per_token": 3.25}
    assert json.loads(result.stdout) == {
        "encoding": "gpt2",
        "files": [{"file": "hello.txt"} | row],
        "total": {"file": "total"} | row,
    }


def test_count_goes_on_after_a_bad_file(bp, hello, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    result = bp("count", "absent.txt", hello, "bad.txt", hello)
    assert result.exit_code == 1
    assert [line.split("\t")[-1] for line in result.stdout.splitlines()] == [hello, hello, "total"]
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == ["absent.txt", "bad.txt"]


def test_count_special(bp):
    assert bp("count", stdin="<|endoftext|>").stdout.startswith("7\t")
    assert bp("count", "--special", "parse", stdin="<|endoftext|>").stdout.startswith("1\t")


# show


def test_show(bp, tmp_path):
    expected = '"a" 64\n"<|endoftext|>" 50256\n'
    as_text = ['"a" 64', '"<" 27', '"|" 91', '"end" 437', '"of" 1659', '"text" 5239', '"|" 91', '">" 29']
    (tmp_path / "a.txt").write_text(EOT_TEXT)
    assert bp("show", EOT_TEXT).stdout == expected
    assert bp("show", "--file", "a.txt").stdout.splitlines() == as_text
    assert bp("show", "-", stdin=EOT_TEXT).stdout == bp("show", stdin=EOT_TEXT).stdout == "\n".join(as_text) + "\n"
    assert bp("show", "--special", "parse", stdin=EOT_TEXT).stdout == expected
    assert bp("show", "").stdout == ""
    assert bp("show", "--html", "a").stdout == bpeline.load("gpt2").show("a").html() + "\n"
    assert bp("show", "a", "--file", "a.txt").exit_code == 2


def test_show_in_colour(bp, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert bp("show", "hi").stdout == bpeline.load("gpt2").show("hi").ansi() + "\n"


# info


def test_info(bp):
    lines = dict(line.split(maxsplit=1) for line in bp("info").stdout.splitlines())
    assert lines["encoding"] == "gpt2 (built in)"
    assert lines["vocabulary"] == "50,257 ids, 50,000 merge rules"
    assert lines["specials"] == "<|endoftext|> 50256"
    assert lines["pattern"] == bpeline.load("gpt2").pattern
    assert lines["ids"] == "uint16 arrays"
    assert lines["backend"].startswith(bpeline.backend())
    assert f"bpeline {bpeline.__version__}" in lines["versions"]


def test_info_of_another_encoding(bp):
    lines = dict(line.split(maxsplit=1) for line in bp("info", "o200k_harmony").stdout.splitlines())
    assert lines["encoding"] == "o200k_harmony (built in)"
    assert lines["vocabulary"] == "201,088 ids"
    assert lines["specials"].startswith("<|startoftext|> 199998, <|endoftext|> 199999, <|reserved_200000|> 200000, ")
    assert lines["specials"].endswith(", …")
    assert lines["ids"] == "uint32 arrays"


def test_info_token(bp):
    by_id = bp("info", "gpt2", "--token", "1169").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in by_id[:4]] == [
        ["id", "1169"],
        ["text", '"the"'],
        ["bytes", "74 68 65"],
        ["spelling", "the"],
    ]
    for name in (" the", "Ġthe"):
        assert "262" in bp("info", "--token", name).stdout.splitlines()[0]
    the = bp("info", "--token", " the").stdout
    assert '" t" 256 + "he" 258, rule 6' in the
    assert "50256" in bp("info", "--token", "<|endoftext|>").stdout
    both = [line.split()[1] for line in bp("info", "--token", "262").stdout.splitlines() if line.startswith("id ")]
    assert both == ["262", "29119"]  # as an id, as a text


def test_info_unknown_token(bp):
    message = '"foo bar" is no id and no token of gpt2; as a text it is "foo" 21943, " bar" 2318'
    fails(bp("info", "--token", "foo bar"), message)
    assert bp("info", "--token", "50257").exit_code == 1


# all


@pytest.mark.parametrize("command", ["encode", "decode", "count", "show", "info"])
def test_help_has_an_example(bp, command):
    result = bp(command, "--help")
    assert result.exit_code == 0 and f"Example: bpeline {command}" in result.stdout


def test_usage(bp):
    for arguments in ([], ["encode", "--nonsense"], ["encode", "--special", "maybe"], ["count", "--threads", "0"]):
        result = bp(*arguments)
        assert result.exit_code == 2


def test_version(bp):
    result = bp("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"bpeline {bpeline.__version__} ({bpeline.backend()} backend, Python 3.")


def test_progress_without_a_terminal(bp, hello, monkeypatch, capsys):
    monkeypatch.setattr(report, "SELDOM", 0.01)
    with report.Report().progress("encoding", 2_000_000) as step:
        step.name = "book.txt"
        while "book.txt" not in capsys.readouterr().err:
            pass
        step.done = 1_000_000
        while "encoding book.txt: 1.00 MB of 2.00 MB done, 0 s" not in capsys.readouterr().err:
            pass


def test_progress_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(report, "SOON", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with report.Report().progress("encoding", 2_000_000) as step:
        step.name = "book.txt"
        while "encoding book.txt (2.00 MB)" not in capsys.readouterr().err:
            pass


def test_sizes():
    sizes = [report.size(count) for count in (0, 1, 999, 1000, 1_234_567, 2_500_000_000)]
    assert sizes == ["0 bytes", "1 byte", "999 bytes", "1.00 kB", "1.23 MB", "2.50 GB"]


def test_decode_into_a_file_says_what_it_did(bp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.txt").write_text("31373 995")
    done = bp("decode", "ids.txt", "-o", "text.txt")
    assert (tmp_path / "text.txt").read_text() == "hello world"
    tokens, speed, text = done.stderr.splitlines()
    assert tokens.split() == ["tokens", "2"]
    assert speed.startswith("speed ") and " MB/s (" in speed
    assert text.split(maxsplit=1) == ["text", "text.txt (11 bytes)"]
    assert bp("decode", "ids.txt", "-o", "text.txt", "--quiet").stderr == ""
