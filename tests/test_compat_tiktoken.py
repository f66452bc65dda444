"""`bpeline.compat.tiktoken` beside tiktoken itself: every method, on texts, arguments and ids of all kinds.

Where tiktoken panics there is nothing to be equal to; everything else is compared, errors and their words included.
"""

import array
import collections
import copy
import functools
import inspect
import pickle
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bpeline.compat.tiktoken as compat
from bpeline.compat.tiktoken import registry
from tests.conftest import tokenizer_class
from tests.peers import EOT, GPT2_PATTERN
from tests.texts import FRAGMENTS, any_text, repaired

tiktoken = pytest.importorskip("tiktoken", minversion="0.14")

R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
BYTES = {bytes([byte]): byte for byte in range(256)}
SPECIALS = {EOT: 1000, "<|fim|>": 1001, "|fim|": 1002, "é>": 1005, "  ": 1006, "👍": 1007, "\ufffd": 1008}


def learned(pattern):
    """Bytes, and tokens of what is in the fragments: some that merges make, and some that none do."""
    rng = random.Random(7)
    data = "".join(FRAGMENTS).encode()
    tokens = {data[i : i + rng.randint(2, 4)] for i in rng.sample(range(len(data)), 120)}
    tokens |= {token + b" " for token in rng.sample(sorted(tokens), 20)} | {b"  ", b"\n\n", b" \n", b"the", b" the"}
    ranks = BYTES | {token: 256 + 3 * i for i, token in enumerate(sorted(tokens, key=lambda t: (len(t), t)))}
    return {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": SPECIALS}


ARGUMENTS = {
    "r50k pattern": learned(R50K),
    "cl100k pattern": learned(CL100K),
    "drops text": learned(r"[a-z]+|'s|\d\d|[^\s\w]|\n+(?!\S)"),
    "no special tokens": {"pat_str": GPT2_PATTERN, "mergeable_ranks": BYTES, "special_tokens": {}},
}
BUILT_IN = ["gpt2", "p50k_edit", "cl100k_base", "o200k_base"]
FOR_REFERENCE = {"drops text": learned(r"[a-z]+|'s|[0-9][0-9]|[^\s\p{L}\p{N}]|\n+(?!\S)")}  # it knows no \w and \d
SPARSE = {
    "pat_str": r"\s+(?!\S)|\s+|[a-z0-9]+|[^\sa-z0-9]+",
    "mergeable_ranks": {
        token.encode(): 7 * id for id, token in enumerate([*" \nthea,.'s", "he", " the", "\n\n", "12"])
    },
    "special_tokens": {EOT: 40},
}


PAIRS = [("native", name) for name in [*BUILT_IN, *ARGUMENTS]]
PAIRS += [("reference", name) for name in ("gpt2", "cl100k pattern", "drops text")]  # the layer above is the same


@functools.cache
def our_class(backend):
    return type("Encoding", (compat.Encoding,), {"_Tokenizer": tokenizer_class(backend)})


@functools.cache
def make_pair(backend, name):
    """Ours and tiktoken's."""
    if name in BUILT_IN:
        given = registry._constructors()[name]()
        tokenizer = tokenizer_class(backend).load(name)
        return our_class(backend)._of(tokenizer, name, given["pat_str"]), tiktoken.Encoding(**given)
    given = (FOR_REFERENCE if backend == "reference" and name in FOR_REFERENCE else ARGUMENTS)[name]
    return our_class(backend)(name, **given), tiktoken.Encoding(name, **given)


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request):
    return make_pair(*request.param)


@pytest.fixture
def gpt2_pair(backend):
    return make_pair(backend, "gpt2")


@pytest.fixture
def Encoding(backend):
    """Our class on one backend."""
    return our_class(backend)


WORDS_OF_OTHERS = (
    "bytes-like object",
    "C long",
    "out of range integral type",
    "argument must be",
    "'NoneType' object is not an instance",
)


def outcome(call, *arguments, **options):
    """What a call gives, or the type and the words of its error."""
    try:
        return "value", call(*arguments, **options)
    except Exception as error:
        words = str(error)
        return type(error).__name__, "" if any(phrase in words for phrase in WORDS_OF_OTHERS) else words
    except BaseException as panic:
        assert type(panic).__name__ == "PanicException", panic
        return "panic", ""


def assert_same(pair, method, *arguments, **options):
    """Both give the same, of the same types. Arguments that are functions make the argument anew for each."""
    results = []
    for enc in pair:
        made = [argument() if callable(argument) else argument for argument in arguments]
        results.append(outcome(getattr(enc, method), *made, **options))
    ours, theirs = results
    if theirs[0] == "panic":
        return
    if method == "encode_with_unstable" and theirs[0] == ours[0] == "value":
        theirs, ours = ((stable, sorted(completions)) for _, (stable, completions) in (theirs, ours))
        assert all(type(completion) is list for completion in ours[1])
    if isinstance(theirs[1], np.ndarray):
        assert (ours[1].dtype, ours[1].flags.writeable) == (theirs[1].dtype, theirs[1].flags.writeable)
        theirs, ours = (theirs[0], theirs[1].tolist()), (ours[0], ours[1].tolist())
    assert ours == theirs, (method, arguments, options)


fragments = [*FRAGMENTS, *SPECIALS, "fim", "12", "\ud83d", "\udc4d", "\ud83d\udc4d"]
texts = st.one_of(st.lists(st.sampled_from(fragments), max_size=12).map("".join), any_text, repaired)
some_literals = st.sets(st.sampled_from([*SPECIALS, "<|unknown|>", "t", "\ud83d"]), max_size=3)
odd = st.sampled_from([None, 5, (), ["<|fim|>"], {"<|fim|>": 1}, {"<|fim|>": 1}.keys(), "fim", {b"x"}, {""}, True])
allowed = st.one_of(st.just("all"), st.just(set()), some_literals, some_literals.map(frozenset), odd, st.just({5}))
disallowed = st.one_of(st.just("all"), st.just(()), some_literals, some_literals.map(sorted), odd)
no_texts = st.sampled_from([5, None, b"the", bytearray(b"the"), ["the"], 1.5])
given_specials = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"allowed_special": allowed}),
    st.fixed_dictionaries({"disallowed_special": disallowed}),
    st.fixed_dictionaries({"allowed_special": allowed, "disallowed_special": disallowed}),
)
many = settings(max_examples=60, suppress_health_check=list(HealthCheck))


# --- Encoding ---


@many
@given(st.one_of(texts, texts, texts, no_texts))
@pytest.mark.parametrize("method", ["encode_ordinary", "_encode_single_piece", "encode_single_token", "encode"])
def test_of_a_text(pair, method, text):
    assert_same(pair, method, text)


@many
@given(st.one_of(texts, texts, texts, no_texts), given_specials)
@pytest.mark.parametrize("method", ["encode", "encode_to_numpy"])
def test_special_tokens(pair, method, text, specials):
    assert_same(pair, method, text, **specials)


@settings(many, max_examples=20)
@given(texts, given_specials)
def test_unstable(pair, text, specials):
    assert_same(pair, "encode_with_unstable", text, **specials)


@settings(many, max_examples=100)
@given(st.text(st.sampled_from(" \n\tthe's,\u3000é"), max_size=6))
@pytest.mark.parametrize("name", ["r50k pattern", "drops text"])
def test_unstable_white_space(backend, name, text):
    assert_same(make_pair(backend, name), "encode_with_unstable", text)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base"])
@pytest.mark.parametrize("text", ["the\n", "x \n", "12\t ", "é\u3000", "a \r\n", "'"])
def test_unstable_white_space_built_in(name, text):
    assert_same(make_pair("native", name), "encode_with_unstable", text)


batches = st.one_of(
    st.lists(texts, max_size=4),
    st.lists(st.one_of(texts, no_texts), max_size=4),
    st.just("the"),
    st.just(5),
    st.just(None),
)
num_threads = st.sampled_from([{}, {}, *({"num_threads": n} for n in (1, 2, 1.5, None, 0, -1, "2"))])


@many
@given(batches, num_threads, given_specials)
def test_batches(pair, batch, num_threads, specials):
    assert_same(pair, "encode_batch", batch, **num_threads, **specials)
    assert_same(pair, "encode_ordinary_batch", batch, **num_threads)
    if isinstance(batch, list):
        assert_same(pair, "encode_batch", lambda: iter(batch), **specials)


pieces_of_bytes = st.lists(
    st.one_of(st.sampled_from([fragment.encode(errors="ignore") for fragment in fragments]), st.binary(max_size=3)),
    max_size=8,
).map(b"".join)


@many
@given(st.one_of(pieces_of_bytes, pieces_of_bytes, st.sampled_from([5, None, "the", bytearray(b"the"), [1]])))
@pytest.mark.parametrize("method", ["_encode_bytes", "_encode_single_piece", "encode_single_token"])
def test_of_bytes(pair, method, data):
    assert_same(pair, method, data)


@many
@given(any_text)
def test_only_native_bpe(gpt2_pair, text):
    """tiktoken takes `regex` for this, which knows more letters: ours are the ids of `encode_ordinary`."""
    ours, theirs = gpt2_pair
    assert ours._encode_only_native_bpe(text) == theirs.encode_ordinary(text)
    if text.isascii():
        assert_same(gpt2_pair, "_encode_only_native_bpe", text)


def test_long_texts(pair):
    for text in ("the " * 5000, " " * 3000, "a" * 3000, "\n" * 3000 + "x", "'s" * 3000, EOT * 3000):
        assert_same(pair, "encode", text, allowed_special="all")
        assert_same(pair, "_encode_bytes", text.encode() + b"\xff")


# --- Decoding ---

some_ids = st.one_of(st.integers(0, 300), st.integers(0, 1010), st.sampled_from([40, 50256, 50257, 700, True]))
bad_ids = st.sampled_from(
    [-1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, -(2**70), 1.0, None, "a", "the", b"a", [1], 16777216]
)
one_id = st.one_of(some_ids, some_ids, bad_ids, some_ids.map(np.int64), st.just(np.float32(1)), st.just(np.array([3])))
id_lists = st.lists(some_ids, max_size=6)


class Items:
    """A sequence by the old protocol."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


FORMS = [
    *(list, tuple, iter, set, collections.deque, collections.UserList, dict.fromkeys, Items),
    *(np.array, lambda ids: np.array(ids, np.uint16), lambda ids: np.array([ids]), lambda ids: np.array(ids, float)),
    *(lambda ids: array.array("l", ids), lambda ids: bytes(id % 256 for id in ids), lambda ids: "".join(map(str, ids))),
    *(lambda ids: memoryview(np.array(ids, np.int64)), lambda ids: dict.fromkeys(ids).keys(), lambda ids: 5),
    *(lambda ids: None, lambda ids: np.array(ids, bool), lambda ids: range(len(ids)), lambda ids: np.array(7)),
]


@many
@given(st.lists(one_id, max_size=5))
@pytest.mark.parametrize("method", ["decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"])
def test_ids(pair, method, ids):
    assert_same(pair, method, ids)


@pytest.mark.parametrize("form", range(len(FORMS)))
@settings(many, max_examples=40)
@given(id_lists)
def test_forms_of_ids(pair, form, ids):
    make = FORMS[form]
    for method in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        assert_same(pair, method, lambda: make(ids))
    assert_same(pair, "decode_batch", lambda: [make(ids), make(ids)])


@many
@given(id_lists, st.sampled_from(["strict", "replace", "ignore", "backslashreplace", "no such", 5, None]))
def test_how_to_decode(pair, ids, errors):
    assert_same(pair, "decode", ids, errors)
    assert_same(pair, "decode", ids, errors=errors)
    assert_same(pair, "decode_batch", [ids, ids], errors=errors)


@many
@given(st.lists(st.one_of(st.lists(one_id, max_size=3), one_id), max_size=4), num_threads)
def test_decode_batches(pair, batch, num_threads):
    assert_same(pair, "decode_batch", batch, **num_threads)
    assert_same(pair, "decode_bytes_batch", batch, **num_threads)


@many
@given(one_id)
@pytest.mark.parametrize("method", ["decode_single_token_bytes", "is_special_token"])
def test_one_id(pair, method, id):
    assert_same(pair, method, id)


@many
@given(texts)
def test_offsets(pair, text):
    ours, _ = pair
    kind, ids = outcome(ours.encode, text, allowed_special="all")
    if kind == "value":
        assert_same(pair, "decode_with_offsets", ids)


# --- The vocabulary, and what an encoding is ---

ATTRIBUTES = [
    "name",
    "_pat_str",
    "_mergeable_ranks",
    "_special_tokens",
    "_special_token_values",
    "max_token_value",
    "n_vocab",
]


def test_attributes(pair):
    ours, theirs = pair
    for name in [*ATTRIBUTES, "special_tokens_set"]:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.special_tokens_set is ours.special_tokens_set
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert ours.token_byte_values() is not ours.token_byte_values()
    assert repr(ours) == repr(theirs)
    assert outcome(lambda: ours.eot_token) == outcome(lambda: theirs.eot_token)
    with pytest.raises(AttributeError):
        ours.n_vocab = 5


def test_every_name_has_the_signature(gpt2_pair):
    _, theirs = gpt2_pair
    names = {name for name in dir(theirs) if name not in dir(object)} | {"__init__", "__repr__", "__getstate__"}
    assert names >= {"encode", "decode", "_encode_bytes", "_core_bpe", "special_tokens_set"}
    for name in names - set(vars(theirs)):
        expected = inspect.getattr_static(tiktoken.Encoding, name)
        member = inspect.getattr_static(compat.Encoding, name)
        assert type(member) is type(expected), name
        if inspect.isfunction(expected):
            parameters = [inspect.signature(each).parameters.values() for each in (member, expected)]
            ours, others = [[(p.name, p.kind, p.default) for p in each] for each in parameters]
            assert ours == others, name
    core = {name for name in dir(theirs._core_bpe) if name not in dir(object)}
    assert core <= set(dir(compat.get_encoding("gpt2")._core_bpe))


def test_the_core(pair):
    ours, theirs = (enc._core_bpe for enc in pair)
    text = "the é" + EOT
    for arguments in [(text, set()), (text, {EOT}), (text, [EOT]), (5, set()), ("\ud83d", set()), (text, {5})]:
        assert outcome(ours.encode, *arguments) == outcome(theirs.encode, *arguments)
    assert ours.encode_single_piece(b"the") == theirs.encode_single_piece(b"the")
    buffers = [core.encode_to_tiktoken_buffer("the", set()) for core in (ours, theirs)]
    assert bytes(buffers[0]) == bytes(buffers[1])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda enc: pickle.loads(pickle.dumps(enc))])
def test_copies(pair, copied):
    for enc in pair:
        if isinstance(enc, compat.Encoding):  # the class of ours cannot be found by its name
            state, enc = enc.__getstate__(), compat.Encoding.__new__(compat.Encoding)
            enc.__setstate__(state)
        again = copied(enc)
        assert again is not enc
        assert again._mergeable_ranks == enc._mergeable_ranks
        assert again.decode(again.encode("the\n")) == "the\n" or pair[1].name == "drops text"
    assert pair[0].__getstate__() == pair[1].__getstate__()


def test_registered_encodings_travel_by_name():
    enc = compat.get_encoding("gpt2")
    assert enc.__getstate__() == "gpt2"
    data = pickle.dumps(enc)
    assert len(data) < 200
    again = pickle.loads(data)
    assert again.encode("hello world") == [31373, 995]
    assert again._core_bpe is enc._core_bpe
    assert again.__getstate__() == "gpt2"


ordinary = {"pat_str": R50K, "mergeable_ranks": BYTES, "special_tokens": {}}
CONSTRUCTORS = [
    {"mergeable_ranks": {}},
    {"pat_str": 5},
    {"mergeable_ranks": {b"a": -1}},
    {"mergeable_ranks": {b"a": 2**40}},
    {"mergeable_ranks": {b"a": 1.5}},
    {"mergeable_ranks": {b"a": "x"}},
    {"mergeable_ranks": [(b"a", 1)]},
    {"mergeable_ranks": None},
    {"special_tokens": None},
    {"special_tokens": {5: 500}},
    {"special_tokens": {b"a": 500}},
    {"special_tokens": {"a": -5}},
    {"special_tokens": {"a": 2**40}},
    {"special_tokens": {"\ud83d": 500}},
    {"special_tokens": {"a": 300}, "explicit_n_vocab": 257},
    {"explicit_n_vocab": 5},
    {"explicit_n_vocab": 256},
    {"explicit_n_vocab": 0},
    {"explicit_n_vocab": "x"},
    {"name": 5},
    {"unknown": 5},
]


@pytest.mark.parametrize("changed", CONSTRUCTORS, ids=str)
def test_constructor(Encoding, changed):
    arguments = {"name": "x"} | ordinary | changed
    theirs, ours = (outcome(lambda cls=cls: repr(cls(**arguments))) for cls in (tiktoken.Encoding, Encoding))
    assert ours == theirs


def test_what_only_we_refuse(Encoding):
    """tiktoken panics at these, loops for ever, or encodes what it cannot decode."""
    for changed in [
        {"pat_str": "("},
        {"mergeable_ranks": BYTES | {b"ab": 97}},
        {"special_tokens": {"": 500}},
        {"special_tokens": {"<x>": 97}},
        {"mergeable_ranks": BYTES | {b"ab": 2**24}},
    ]:
        with pytest.raises(ValueError):
            Encoding("x", **ordinary | changed)


@pytest.fixture
def sparse_pair(Encoding):
    """Without most bytes. tiktoken panics at a text that needs one of them."""
    return Encoding("sparse", **SPARSE), tiktoken.Encoding("sparse", **SPARSE)


@many
@given(st.lists(st.sampled_from([*" \nthea,.'s", "12", EOT, "\n\n\n"]), max_size=10).map("".join))
def test_bytes_missing(sparse_pair, text):
    assert_same(sparse_pair, "encode", text, allowed_special="all")
    assert_same(sparse_pair, "encode_to_numpy", text, allowed_special="all")
    assert_same(sparse_pair, "encode_batch", [text, text], allowed_special="all")
    assert_same(sparse_pair, "decode_with_offsets", sparse_pair[0].encode(text, allowed_special="all"))
    if EOT not in text:
        for method in ("encode_ordinary", "encode_with_unstable"):
            assert_same(sparse_pair, method, text)


@many
@given(st.lists(st.integers(0, 150), max_size=3))
def test_ids_of_bytes_missing(sparse_pair, ids):
    for method in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        assert_same(sparse_pair, method, ids)


def test_a_byte_without_a_token_is_a_key_error(sparse_pair):
    ours, theirs = sparse_pair
    for name in ATTRIBUTES:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert_same(sparse_pair, "encode_single_token", "\xfc")
    for call in (
        lambda: ours.encode("the \xfc"),
        lambda: ours.encode_batch(["the", "\xfc"]),
        lambda: ours.encode_to_numpy("\xfc"),
        lambda: ours._encode_single_piece("\xfc"),
        lambda: ours._encode_bytes(b"the\xff"),
    ):
        with pytest.raises(KeyError, match="no token has the byte"):
            call()
