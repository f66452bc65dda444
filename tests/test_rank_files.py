"""Rank files: every fault, its type and its text, what is accepted, and that both are so in tiktoken. The cases are data."""

from base64 import b64encode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bpeline
from tests.peers import GPT2_PATTERN, read_tiktoken_file
from tests.small import EOT, by_name, load_cases
from tests.test_loading_mutations import damaged

FAULTS = load_cases("rank_file_faults")
ACCEPTED = load_cases("rank_file_accepted")


def rank_file(ranks):
    return "\n".join(f"{b64encode(token).decode()} {rank}" for token, rank in ranks.items())


BYTES = {bytes([byte]): byte for byte in range(256)}


def write(folder, text):
    """Case data: `$BYTES` stands for the lines of all bytes, `$BYTES-0x21` for those of all but one."""
    most = {token: rank for token, rank in BYTES.items() if token != b"!"}
    text = text.replace("$BYTES-0x21", rank_file(most)).replace("$BYTES", rank_file(BYTES))
    path = folder / "my.tiktoken"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.mark.parametrize("case", FAULTS, ids=by_name(FAULTS))
def test_fault(Tokenizer, tmp_path, case):
    path = write(tmp_path, case["ranks"])
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(path, **case.get("kwargs", {}))
    assert str(caught.value) == case["error"].replace("$FILE", str(path))


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name(ACCEPTED))
def test_accepted(Tokenizer, tmp_path, case):
    path = write(tmp_path, case["ranks"])
    tok = Tokenizer.load(path, pattern="gpt2")
    assert {text: tok.encode(text) for text in case["ids"]} == case["ids"]
    assert (tok.name, tok.special_tokens, tok.pattern) == ("my", {}, GPT2_PATTERN)


@pytest.mark.parity
@pytest.mark.parametrize("case", ACCEPTED, ids=by_name(ACCEPTED))
def test_tiktoken_accepts_the_same(tmp_path, case):
    pytest.importorskip("tiktoken")
    peer = read_tiktoken_file(write(tmp_path, case["ranks"]), GPT2_PATTERN, {})
    assert {text: peer.encode(text) for text in case["ids"]} == case["ids"]


def test_a_gap_has_no_token(Tokenizer, tmp_path):
    path = write(tmp_path, "$BYTES\nYWI= 300")
    tok = Tokenizer.load(path, pattern="gpt2", special_tokens={EOT: 302})
    assert tok.decode([300, 302]) == f"ab{EOT}"
    for gap in (256, 299, 301):
        with pytest.raises(bpeline.TokenIdError) as caught:
            tok.decode([gap])
        assert str(caught.value) == f"token id {gap} is unused in this encoding (valid ids: 0 to 302)"


def test_both_backends_read_the_same(both, tmp_path):
    path = write(tmp_path, "YWI= 300\n$BYTES\nYWJj 256\n")
    one, two = (cls.load(path, pattern=r"\p{L}+|[^\p{L}]", special_tokens={EOT: 400}) for cls in both)
    assert one == two
    assert one.to_bytes() == two.to_bytes()


def test_a_missing_file_stays_file_not_found(Tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path / "my.tiktoken", pattern="gpt2")


def test_llama_calls_it_a_model(Tokenizer, tmp_path):
    path = write(tmp_path, "$BYTES\nYWI= 256").rename(tmp_path / "tokenizer.model")
    tok = Tokenizer.load(path, pattern="gpt2")
    assert tok.encode("ab") == [256]
    assert tok.name == "tokenizer"
    assert Tokenizer.load(tmp_path, pattern="gpt2") == tok


def test_a_model_of_sentencepiece_is_none(Tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    for source in (path, tmp_path):
        with pytest.raises(bpeline.EncodingFileError) as caught:
            Tokenizer.load(source)
        assert str(caught.value).startswith(f"{path}: not supported: a model of SentencePiece (sentencepiece")


# --- Damage of any kind ---

WHOLE = rank_file(BYTES | {b"ab": 256, b"abc": 257, b"##": 258}).encode()


def outcome(cls, path):
    try:
        return cls.load(path, pattern="gpt2").encoding.to_bytes()
    except bpeline.BpelineError as error:
        return type(error), str(error)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=damaged(WHOLE))
def test_damaged(both, tmp_path, data):
    """Both backends load the same encoding, or say the same words."""
    path = tmp_path / "my.tiktoken"
    path.write_bytes(data)
    assert outcome(both[0], path) == outcome(both[1], path)


def test_every_cut_inside_a_line(Tokenizer, tmp_path):
    """A truncated download; of one cut between two lines nothing tells."""
    path = tmp_path / "my.tiktoken"
    ends = {at for at in range(len(WHOLE)) if WHOLE[at - 1 : at] == b"\n" or WHOLE[at : at + 1] == b"\n"}
    for cut in range(WHOLE.index(b" 256"), len(WHOLE)):
        path.write_bytes(WHOLE[:cut])
        assert (cut in ends) == isinstance(outcome(Tokenizer, path), bytes)


# --- Ranks with gaps, against tiktoken ---

TOKENS = st.lists(st.text("ab ", min_size=2, max_size=6).map(str.encode), unique=True, max_size=25)
TEXTS = st.lists(st.text("ab <|>x\n", max_size=40), max_size=6)


@pytest.mark.parity
@given(tokens=TOKENS, ranks=st.permutations(range(256, 600, 7)), texts=TEXTS, shuffle=st.randoms())
def test_ranks_with_gaps(Tokenizer, tmp_path_factory, tokens, ranks, texts, shuffle):
    """Ranks in any order, so that longer tokens come before their parts and some are never made by merges."""
    tiktoken = pytest.importorskip("tiktoken")
    lines = [*BYTES.items(), *zip(tokens, ranks, strict=False)]
    shuffle.shuffle(lines)
    path = tmp_path_factory.mktemp("gaps") / "gaps.tiktoken"
    path.write_text(rank_file(dict(lines)), encoding="ascii")
    specials = {"<|x|>": 255 + 400, "<|": 777}
    tok = Tokenizer.load(path, pattern=GPT2_PATTERN, special_tokens=specials)
    peer = tiktoken.Encoding("gaps", pat_str=GPT2_PATTERN, mergeable_ranks=dict(lines), special_tokens=specials)
    for text in texts:
        assert tok.encode(text, special="text") == peer.encode_ordinary(text)
        if "<|x|>" not in text:  # where one special token begins another, tiktoken takes any
            assert tok.encode(text) == peer.encode(text, allowed_special="all")
    if texts:
        folder = path.parent / "saved"
        tok.save(folder, format="tiktoken")
        assert Tokenizer.load(folder) == tok
