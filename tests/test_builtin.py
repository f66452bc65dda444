"""The built-in encodings: known ids, what tiktoken says of them, the published files, and that they are values."""

import copy
import hashlib
import pickle

import pytest

import bpeline
from bpeline import models
from tests.small import EOT, load_cases

CASES = load_cases("cases")
SIZES = {
    "gpt2": 50_257,
    "r50k_base": 50_257,
    "p50k_base": 50_281,
    "p50k_edit": 50_284,
    "cl100k_base": 100_277,
    "o200k_base": 200_019,
    "o200k_harmony": 201_088,
}
# As tiktoken pins them.
SHA256 = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
SHA256 |= {
    "gpt2": SHA256["r50k_base"],
    "p50k_edit": SHA256["p50k_base"],
    "o200k_harmony": SHA256["o200k_base"],
}
LIKE = {"r50k_base": "gpt2", "o200k_harmony": "o200k_base"}  # the same ids for text


@pytest.fixture(params=SIZES)
def tok(request, Tokenizer):
    return Tokenizer.load(request.param)


def test_names():
    assert bpeline.encodings() == list(SIZES)


def test_size_and_name(tok):
    assert tok.vocab_size == SIZES[tok.name]
    assert tok.encoding.is_builtin
    assert tok.eot_token == tok.special_tokens[EOT] == tok.encode(EOT)[0]


@pytest.mark.parametrize("name", ["gpt2", "r50k_base", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_known_ids(Tokenizer, name):
    tok = Tokenizer.load(name)
    cases = CASES[LIKE.get(name, name)]
    assert len(cases) == 99
    for case in cases:
        text, ids = case["text"], case["ids"]
        assert tok.encode(text) == ids, text
        assert tok.encode(text.encode()) == ids
        assert tok.encode_array(text).tolist() == ids
        assert tok.count(text) == len(ids)
        assert tok.encode_with_spans(text)[0] == ids
        assert tok.decode(ids) == text
        assert tok.truncate(text, len(ids)) == text
    assert tok.encode_ragged([case["text"] for case in cases]).to_lists() == [case["ids"] for case in cases]


@pytest.mark.parametrize("name", ["p50k_base", "p50k_edit"])
def test_runs_of_spaces(Tokenizer, name):
    """p50k is r50k and runs of 2 to 25 spaces; one id between them is that of <|endoftext|>."""
    tok, old = Tokenizer.load(name), Tokenizer.load("r50k_base")
    for length in range(2, 26):  # of "   b" the last space is that of b
        assert tok.encode(" " * length) == [50255 + length]
        assert tok.token_bytes(50255 + length) == b" " * length
        assert tok.encode("x" + " " * length + " b") == [87, 50255 + length, 275]
    assert tok.encode(" " * 26) == [50271, 50265]
    assert tok.encode("a\n  b") == [64, 198, 220, 275]
    for case in CASES["gpt2"]:
        if "  " not in case["text"]:
            assert tok.encode(case["text"]) == old.encode(case["text"]) == case["ids"]


def test_two_special_tokens_share_an_id(Tokenizer):
    tok = Tokenizer.load("o200k_harmony")
    assert tok.encode("<|endofprompt|><|reserved_200018|>") == [200018, 200018]
    assert tok.decode([200018]) == "<|endofprompt|>"
    assert len(tok.special_tokens) == 1091


def test_backends_agree(both):
    for name in SIZES:
        one, two = (cls.load(name) for cls in both)
        assert one == two
        assert hash(one) == hash(two)


def test_the_published_files(tok, Tokenizer, tmp_path):
    saved = tok.save(tmp_path, format="tiktoken")
    assert [path.name for path in saved] == [f"{tok.name}.tiktoken", "bpeline.json"]
    assert hashlib.sha256(saved[0].read_bytes()).hexdigest() == SHA256[tok.name]
    if tok.name in LOADED_BY_CONTENT:
        return
    loaded = Tokenizer.load(tmp_path)
    assert loaded.name == tok.name
    assert loaded.special_tokens == tok.special_tokens
    if tok.name == "gpt2":  # there pairs are ranked
        assert loaded == Tokenizer.load("r50k_base")
    else:
        assert loaded == tok
        assert not loaded.encoding.is_builtin


LOADED_BY_CONTENT = ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]


@pytest.mark.parametrize("name", LOADED_BY_CONTENT)
def test_a_published_file_is_known_by_its_content(Tokenizer, tmp_path, name):
    tok = Tokenizer.load(name)
    path = tok.save(tmp_path, format="tiktoken")[0].rename(tmp_path / "other.tiktoken")
    loaded = Tokenizer.load(path)
    assert loaded == tok
    assert (loaded.name, loaded.encoding.is_builtin) == ("other", False)


def test_a_published_file_is_no_other_and_the_callers_word_counts(Tokenizer, tmp_path):
    tok = Tokenizer.load("r50k_base")
    path = tok.save(tmp_path, format="tiktoken")[0]
    mine = Tokenizer.load(path, special_tokens={})
    assert (mine.pattern, mine.special_tokens) == (tok.pattern, {})
    assert Tokenizer.load(path, pattern=r"\s+|\S+").special_tokens == tok.special_tokens
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(bpeline.EncodingFileError) as caught:
        Tokenizer.load(path)
    assert "pass pattern=" in str(caught.value)
    assert Tokenizer.load(path, pattern="r50k", special_tokens=tok.special_tokens) == tok  # read line by line


def test_a_built_in_is_a_value(tok, Tokenizer):
    data = pickle.dumps(tok)
    assert len(data) < 300
    assert pickle.loads(data) == tok == Tokenizer.load(tok.name)
    assert pickle.loads(data).encoding is Tokenizer.load(tok.name).encoding
    assert copy.deepcopy(tok) is tok
    more = tok.extend({"<|more|>": 300_000})
    assert more != tok
    assert more.encode("<|more|>") == [300_000]


def test_by_content(Tokenizer):
    tok = Tokenizer.load("cl100k_base")
    assert Tokenizer.from_bytes(tok.to_bytes()) == tok


def test_an_unknown_name(both):
    for cls in both:
        with pytest.raises(ValueError) as caught:
            cls._Encoding.builtin("gpt5")
        assert str(caught.value) == f'no built-in encoding is called "gpt5" (built in: {", ".join(SIZES)})'


# --- What tiktoken says ---


@pytest.mark.parity
@pytest.mark.parametrize("name", SIZES)
def test_tiktoken_says_the_same(name, monkeypatch):
    pytest.importorskip("tiktoken")
    from tiktoken_ext import openai_public

    hashes = []
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda _, expected_hash: hashes.append(expected_hash))
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **_: None)
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    assert set(openai_public.ENCODING_CONSTRUCTORS) == set(SIZES)
    tok = bpeline.load(name)
    assert tok.special_tokens == theirs["special_tokens"]
    assert tok.vocab_size == theirs.get("explicit_n_vocab", tok.vocab_size)
    assert hashes == ([] if name == "gpt2" else [SHA256[name]])
    if name.startswith(("cl100k", "o200k")):
        assert tok.pattern == theirs["pat_str"]


@pytest.mark.parity
def test_models_are_those_of_tiktoken():
    model = pytest.importorskip("tiktoken.model")
    assert models.ENCODING_OF == model.MODEL_TO_ENCODING
    assert models.ENCODING_OF_PREFIX == model.MODEL_PREFIX_TO_ENCODING
    for name in [*model.MODEL_TO_ENCODING, *model.MODEL_PREFIX_TO_ENCODING]:
        for asked in (name, f"{name}-2030-01-01", f"{name}x", name[:-1], f"ft:{name}:mine", ""):
            try:
                expected = model.encoding_name_for_model(asked)
            except KeyError:
                with pytest.raises(bpeline.UnknownModelError):
                    models.encoding_name(asked)
            else:
                assert models.encoding_name(asked) == expected


def test_encoding_for_model():
    tok = bpeline.encoding_for_model("gpt-4o", cache_bytes=1234)
    assert type(tok) is bpeline.Tokenizer
    assert (tok.name, tok.cache_bytes) == ("o200k_base", 1234)
    assert tok == bpeline.load("o200k_base")
    assert bpeline.encoding_for_model("gpt-4-0613").name == "cl100k_base"


def test_an_unknown_model():
    with pytest.raises(bpeline.UnknownModelError) as caught:
        bpeline.encoding_for_model("llama-3")
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, bpeline.BpelineError)
    names = ", ".join(SIZES)
    assert (
        str(caught.value) == f'the encoding of the model "llama-3" is not known; load the encoding by its name: {names}'
    )
