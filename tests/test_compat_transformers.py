"""bpeline.compat.transformers beside transformers itself: results, encodings and exceptions."""

import copy
import json
import os
import pickle
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpeline
from tests import random_tokenizer_json

pytest.importorskip("transformers")

from tests import fast_tokenizers as peers
from tests.fast_tokenizers import outcome

from bpeline.compat.transformers import AutoTokenizer, Backend, Encoding, wrap  # isort: skip

pytestmark = pytest.mark.parity


# --- Calls ---

TEXT = st.builds(random_tokenizer_json.text, st.builds(random.Random, st.integers(0, 1 << 32)), st.integers(0, 14))
TEXTS = st.lists(TEXT, max_size=3)
ODD = [  # what no one should pass, or what may be taken for something else
    *((None,), (3,), (b"abc",), ("\ud800",), (["a", "\ud83d\udc4d"],), (["a", None],), (["a", 3],), ([],), ([""],)),
    *(
        ("a", ""),
        ("", "a"),
        (["a"], "b"),
        ("a", ["b"]),
        (["a"], ["b", "c"]),
        (("a", "b"),),
        ([["a", "b"], ["c", "d"]],),
    ),
    *(
        ([("a", "b"), ("c", "d")],),
        (["a", ("b", "c")],),
        (["a", ["b"]],),
        ([("a", "b"), (["c"], ["d"])],),
        ([["a", 1]],),
    ),
    (["a", type("S", (str,), {})("b")],),
]


@st.composite
def arguments(draw):
    """What goes before the options of a call, and whether it is split into words."""
    kind = draw(st.integers(0, 9))
    batch = draw(TEXTS)
    same_size = st.lists(TEXT, min_size=len(batch), max_size=len(batch))
    if kind < 3:
        return draw(st.sampled_from([(batch,), (draw(TEXT),)])), False
    if kind < 6:
        return draw(st.sampled_from([(batch, draw(same_size)), (draw(TEXT), draw(TEXT))])), False
    if kind < 9:
        words = draw(st.tuples(TEXTS, TEXTS))
        more = draw(st.tuples(TEXTS, TEXTS))
        return draw(st.sampled_from([(batch,), (list(words),), words, (list(words), list(more))])), True
    return draw(st.sampled_from(ODD)), draw(st.booleans())


FLAGS = [
    *("return_token_type_ids", "return_attention_mask", "return_overflowing_tokens", "return_special_tokens_mask"),
    *("return_offsets_mapping", "return_length", "add_special_tokens", "split_special_tokens"),
]
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "padding": st.sampled_from([True, False, "longest", "max_length", "do_not_pad", "other"]),
        "truncation": st.sampled_from(
            [True, True, "only_first", "only_second", "longest_first", "do_not_truncate", False, "other"]
        ),
        "max_length": st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 16, 50, None, -1]),
        "stride": st.sampled_from([0, 1, 2, 3, 5]),
        "pad_to_multiple_of": st.sampled_from([None, 1, 4, 8]),
        "padding_side": st.sampled_from(["left", "right", "other"]),
        "return_tensors": st.sampled_from(["np", None, "pt", "other"]),
        **dict.fromkeys(FLAGS, st.booleans()),
    },
)


@pytest.fixture(scope="module", params=["gpt2", "qwen", "deepseek", *peers.SMALL])
def pair(request, tmp_path_factory):
    """A fast tokenizer, and the same wrapped."""
    if request.param == "gpt2":
        tokenizer = peers.gpt2(tmp_path_factory.mktemp("gpt2"))
    elif request.param in peers.SMALL:
        tokenizer = peers.SMALL[request.param]()
    elif os.environ.get("BPELINE_SHARED"):
        tokenizer = getattr(peers, request.param)()
    else:
        pytest.skip("BPELINE_SHARED names no folder with encodings/")
    return tokenizer, wrap(tokenizer)


@settings(max_examples=settings.default.max_examples * 10)
@given(arguments(), OPTIONS, st.sampled_from(["__call__", "__call__", "__call__", "encode", "tokenize"]))
def test_calls(pair, arguments, options, method):
    arguments, split_into_words = arguments
    expected, found = (
        outcome(getattr(tokenizer, method), *arguments, is_split_into_words=split_into_words, **options)
        for tokenizer in pair
    )
    assert found == expected


@given(st.data())
def test_decoding(pair, data):
    tokenizer, wrapped = pair
    ids = st.lists(st.integers(0, len(tokenizer) + 1) | st.sampled_from([-1, 1 << 32, True, 1.5, "a"]), max_size=8)
    real = TEXT.map(lambda text: tokenizer(text)["input_ids"])
    batch = data.draw(st.lists(real | ids, max_size=3) | real | ids)
    options = data.draw(
        st.fixed_dictionaries(
            {}, optional=dict.fromkeys(["skip_special_tokens", "clean_up_tokenization_spaces"], st.booleans())
        )
    )
    for method in ("decode", "batch_decode", "convert_ids_to_tokens"):
        assert outcome(getattr(wrapped, method), batch, **options) == outcome(
            getattr(tokenizer, method), batch, **options
        )


def test_every_token(pair):
    tokenizer, wrapped = pair
    everything = [[id] for id in range(len(tokenizer) + 1)]
    assert wrapped.batch_decode(everything) == tokenizer.batch_decode(everything)
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert wrapped.convert_ids_to_tokens(range(len(tokenizer))) == tokens
    assert wrapped.convert_tokens_to_ids(tokens) == tokenizer.convert_tokens_to_ids(tokens)
    assert wrapped.convert_tokens_to_string(tokens[:300]) == tokenizer.convert_tokens_to_string(tokens[:300])
    assert wrapped.get_vocab() == tokenizer.get_vocab()


def test_chat_templates(pair):
    tokenizer, wrapped = pair
    chat = [{"role": "user", "content": "don't you know?"}, {"role": "assistant", "content": "漢字 <|im_end|>"}]
    for options in (
        {"tokenize": False},
        {},
        {"add_generation_prompt": True, "return_dict": True, "padding": "max_length", "max_length": 40},
        {"return_tensors": "np", "truncation": True, "max_length": 7},
    ):
        expected = outcome(tokenizer.apply_chat_template, chat, **options)
        assert outcome(wrapped.apply_chat_template, chat, **options) == expected
        assert outcome(wrapped.apply_chat_template, [chat, chat[:1]], **options) == outcome(
            tokenizer.apply_chat_template, [chat, chat[:1]], **options
        )


def test_pad(pair):
    tokenizer, wrapped = pair
    texts = ["the cat", "", "the cat sat on the mat"]
    for options in ({}, {"pad_to_multiple_of": 8, "return_tensors": "np"}, {"padding": "max_length", "max_length": 9}):
        assert outcome(wrapped.pad, wrapped(texts), **options) == outcome(tokenizer.pad, tokenizer(texts), **options)


# --- What bpeline does itself ---


def served(batch):
    return all(type(encoding) is Encoding for encoding in batch.encodings)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_special_tokens": False},
        {"padding": True, "truncation": True, "max_length": 7, "return_tensors": "np"},
        {"truncation": True, "max_length": 10, "stride": 1, "return_overflowing_tokens": True},
        {"padding": "max_length", "max_length": 30, "padding_side": "left", "return_special_tokens_mask": True},
    ],
)
def test_ordinary_calls_are_bpelines(pair, options, monkeypatch):
    """None of them needs tokenizers to encode anything."""
    tokenizer, wrapped = pair
    monkeypatch.setattr("bpeline.compat.transformers.snapshot.Snapshot.encode_again", None)
    texts = ["the cat sat on the mat <|im_end|>", "don't you know?", ""]
    assert served(wrapped(texts, **options))
    assert served(wrapped(texts, ["12345 Hello", "we'll see", "x"], **options))
    words = [text.split() for text in texts]
    batch, expected = (each(words, is_split_into_words=True, **options) for each in (wrapped, tokenizer))
    assert served(batch)
    for number in range(len(expected["input_ids"])):
        assert batch.word_ids(number) == expected.word_ids(number)
        assert batch.sequence_ids(number) == expected.sequence_ids(number)


@pytest.mark.parametrize("name", ["like qwen", "like deepseek", "like roberta", "like llama 3"])
def test_offsets_are_bpelines(name, monkeypatch):
    tokenizer = peers.SMALL[name]()
    wrapped = wrap(tokenizer)
    monkeypatch.setattr("bpeline.compat.transformers.snapshot.Snapshot.encode_again", None)
    texts = ["the cat é 漢字\u0301", "", "don't  \n\u0300"]
    expected = tokenizer(texts, texts, return_offsets_mapping=True)["offset_mapping"]
    assert wrapped(texts, texts, return_offsets_mapping=True)["offset_mapping"] == expected


@pytest.mark.parametrize("seed", range(60))
def test_random_files(seed):
    """Random tokenizer.json files, through the backend alone: the same encodings and texts, or the file is refused."""
    rng = random.Random(seed)
    file = json.dumps(random_tokenizer_json.tokenizer_json(rng))
    tokenizer = outcome(peers.Tokenizer.from_str, file)
    if isinstance(tokenizer, tuple):
        return
    try:
        wrapped = Backend(peers.Tokenizer.from_str(file))
    except bpeline.EncodingFileError:
        return
    both = tokenizer, wrapped
    for round in range(6):
        truncation = {
            "max_length": rng.choice([2, 3, 4, 6, 10, 100]),
            "stride": rng.choice([0, 1]),
            "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
            "direction": rng.choice(["left", "right"]),
        }
        padding = {
            "direction": rng.choice(["left", "right"]),
            "length": rng.choice([None, 5, 20]),
            "pad_to_multiple_of": rng.choice([None, 4]),
            "pad_id": 7,
            "pad_type_id": 3,
        }
        set_truncation, set_padding, split_into_words, add = (rng.random() < 0.5 for _ in range(4))
        inputs = [an_input(rng, split_into_words) for _ in range(rng.randint(0, 3))]
        for each in both:
            outcome(each.enable_truncation, **truncation) if set_truncation else each.no_truncation()
            each.enable_padding(**padding) if set_padding else each.no_padding()
            each.encode_special_tokens = round % 2 == 1
        expected, found = (outcome(each.encode_batch, inputs, split_into_words, add) for each in both)
        assert found == expected
        ids = [rng.randrange(tokenizer.get_vocab_size() + 2) for _ in range(12)]
        for skip in (True, False):
            assert outcome(wrapped.decode, ids, skip) == outcome(tokenizer.decode, ids, skip)
        assert wrapped.decode_batch([ids, []]) == tokenizer.decode_batch([ids, []])


def an_input(rng, split_into_words):
    def sequence():
        words = [random_tokenizer_json.text(rng, 3) for _ in range(rng.randint(0, 3))]
        return words if split_into_words else " ".join(words)

    return sequence() if rng.random() < 0.6 else (sequence(), sequence())


def test_encode_of_the_backend():
    tokenizer = peers.SMALL["template"]()._tokenizer
    wrapped = Backend(copy.deepcopy(tokenizer))
    for arguments in (("the cat",), ("the", "cat"), (["the", "cat"], None, True), (("a", "b"),), (None,), ("a", 3)):
        assert outcome(wrapped.encode, *arguments) == outcome(tokenizer.encode, *arguments)
        assert outcome(wrapped.encode, *arguments, add_special_tokens=False) == outcome(
            tokenizer.encode, *arguments, add_special_tokens=False
        )


# --- Changes, copies, and where tokenizers come from ---

TEXTS_WITH_NEWS = ["the cat<new> sat", "THE cat  <m> sat</s>"]


def same(tokenizer, wrapped):
    assert outcome(wrapped, TEXTS_WITH_NEWS) == outcome(tokenizer, TEXTS_WITH_NEWS)
    assert wrapped.decode(range(len(tokenizer))) == tokenizer.decode(range(len(tokenizer)))
    return True


CHANGES = {
    "a token": lambda tokenizer: tokenizer.add_tokens(["<new>"]),
    "a special token": lambda tokenizer: tokenizer.add_special_tokens({"cls_token": "<new>"}),
    "the normalizer": lambda tokenizer: setattr(
        tokenizer.backend_tokenizer, "normalizer", peers.normalizers.Lowercase()
    ),
    "inside of the pre-tokenizer": lambda tokenizer: setattr(
        tokenizer.backend_tokenizer.pre_tokenizer, "add_prefix_space", True
    ),
    "the post-processor": lambda tokenizer: setattr(tokenizer, "add_bos_token", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(change):
    tokenizer = peers.SMALL["template"]()
    wrapped = wrap(tokenizer)
    before, expected = wrapped(TEXTS_WITH_NEWS), outcome(tokenizer, TEXTS_WITH_NEWS)
    text = tokenizer.decode(range(len(tokenizer)))
    for each in (tokenizer, wrapped):
        CHANGES[change](each)
    assert same(tokenizer, wrapped)
    assert (outcome(tokenizer, TEXTS_WITH_NEWS), tokenizer.decode(range(len(tokenizer)))) != (expected, text)
    assert peers.plain(before) == expected, "an encoding was made anew from the changed tokenizer"
    assert served(wrapped(TEXTS_WITH_NEWS))


def test_a_component_kept_from_before():
    tokenizer = peers.SMALL["template"]()
    wrapped = wrap(tokenizer)
    kept = [each.backend_tokenizer.pre_tokenizer for each in (tokenizer, wrapped)]
    for round in range(3):
        assert same(tokenizer, wrapped)
        for component in kept:
            component.add_prefix_space = round % 2 == 0


def dropout(tokenizer, unserved):
    tokenizer.backend_tokenizer.model.dropout = 1.0 if unserved else None


def decoder(tokenizer, unserved):
    tokenizer.backend_tokenizer.decoder = peers.decoders.Fuse() if unserved else peers.decoders.ByteLevel()


@pytest.mark.parametrize("change", [dropout, decoder])
def test_a_change_to_what_bpeline_does_not_serve(change):
    tokenizer = peers.SMALL["template"]()
    wrapped = wrap(tokenizer)
    ids = list(range(len(tokenizer)))
    for each in (tokenizer, wrapped):
        change(each, unserved=True)
    with pytest.warns(UserWarning, match=f"from here on tokenizers encodes, not bpeline: .*{change.__name__}"):
        assert same(tokenizer, wrapped)
    assert not served(wrapped("the cat"))
    assert wrapped.decode(ids) == tokenizer.decode(ids)
    for each in (tokenizer, wrapped):
        change(each, unserved=False)
    assert wrapped.decode(ids) == tokenizer.decode(ids)
    assert same(tokenizer, wrapped) and served(wrapped("the cat"))


def test_the_wrapped_is_a_copy():
    tokenizer = peers.SMALL["template"]()
    wrapped = wrap(tokenizer)
    assert type(wrapped) is type(tokenizer)
    wrapped.add_tokens(["<new>"])
    assert len(wrapped) == len(tokenizer) + 1
    again = wrap(wrapped)
    assert again("<new>") == wrapped("<new>") and again.backend_tokenizer is not wrapped.backend_tokenizer


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda wrapped: pickle.loads(pickle.dumps(wrapped))])
def test_copies(duplicate):
    tokenizer = peers.SMALL["template"]()
    wrapped = wrap(tokenizer, threads=1)
    other = duplicate(wrapped)
    assert same(tokenizer, other) and served(other("the cat"))
    backend = duplicate(wrapped.backend_tokenizer)
    backend.add_tokens(["<new>"])
    assert same(tokenizer, wrapped)


def test_pickled_results():
    tokenizer = peers.SMALL["template"]()
    expected, batch = tokenizer(["the cat", "sat"], padding=True), wrap(tokenizer)(["the cat", "sat"], padding=True)
    for found in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):
        assert found.data == expected.data
        assert list(map(peers.plain, found.encodings)) == list(map(peers.plain, expected.encodings))
    assert repr(batch[0]) == repr(expected[0])


def test_changed_results_change_nothing_else():
    batch = wrap(peers.SMALL["template"]())(["the cat"])
    batch["input_ids"][0].append(0)
    assert batch.tokens() == batch[0].tokens and len(batch.word_ids()) == len(batch["input_ids"][0]) - 1
    batch[0].pad(20)
    assert len(batch[0]) == len(batch[0].ids) == len(batch.tokens()) == 20


def test_saved_and_loaded(tmp_path):
    tokenizer = peers.SMALL["like qwen"]()
    wrap(tokenizer).save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, threads=1)
    assert same(tokenizer, loaded) and served(loaded("the cat"))
    trained = loaded.train_new_from_iterator(peers.CORPUS, 300)
    assert trained("the cat") == tokenizer.train_new_from_iterator(peers.CORPUS, 300)("the cat")


def test_what_cannot_be_wrapped():
    from tokenizers import Tokenizer, models

    word_piece = peers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordPiece({"a": 0}, unk_token="a")))
    with pytest.raises(bpeline.EncodingFileError, match="WordPiece"):
        wrap(word_piece)
    with pytest.raises(TypeError, match="expected a fast tokenizer of transformers, got a str"):
        wrap("gpt2")


def test_without_transformers():
    code = "import sys; sys.modules['transformers'] = None\nimport bpeline.compat.transformers"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "bpeline.compat.transformers needs transformers" in found.stderr
    assert found.stderr.rstrip().endswith("pip install transformers")
