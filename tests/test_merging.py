"""Both backends against the naive oracle, on GPT-2 and on random small encodings of both kinds of rank."""

import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.oracle import Oracle
from tests.small import BYTE_TOKENS, EOT, spell, vocab_text, write_pair
from tests.texts import adversarial, any_text, texts

ANY = r"(?s:.+)"  # the whole text is one piece


def one_piece(text):
    return [text] if text else []


@pytest.fixture(scope="module")
def oracle(gpt2, tmp_path_factory):
    return Oracle.of_pair(*gpt2.save(tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="module")
def both_gpt2(both):
    return [cls.load("gpt2") for cls in both]


@settings(max_examples=300)
@given(adversarial)
@example(" \n  'll's  '")
@example("<|endoftext|" + EOT + "|>")
def test_gpt2_is_the_oracle(gpt2, oracle, text):
    assert gpt2.encode(text) == oracle.encode(text)
    assert gpt2.encode(text, special="text") == oracle.encode(text, parse=False)


@settings(max_examples=300)
@given(any_text)
def test_round_trip_of_any_text(gpt2, text):
    ids = gpt2.encode(text)
    assert gpt2.decode_bytes(ids) == text.encode()
    assert gpt2.decode(ids) == text
    assert gpt2.count(text) == len(ids)
    assert gpt2.encode_array(text).tolist() == ids


@settings(max_examples=300)
@given(texts)
def test_backends_agree(both_gpt2, text):
    native, reference = both_gpt2
    for special in ("parse", "text"):
        assert native.encode(text, special=special) == reference.encode(text, special=special)
    assert native.truncate(text, 5) == reference.truncate(text, 5)


def random_rules(rng, letters, tries, share):
    """Tokens of up to 7 letters, each put together from two known ones, and rules between them in any order.

    Each token has a rule that makes it, and a `share` of the other rules there could be; the order keeps some tokens from ever being reached.
    """
    known = [bytes([letter]) for letter in letters]
    needed = set()
    for _ in range(tries):
        left, right = rng.choice(known), rng.choice(known)
        if left + right not in known and len(left + right) <= 7:
            known.append(left + right)
            needed.add((left, right))
    tokens = known[len(letters) :]
    rules = [(t[:i], t[i:]) for t in tokens for i in range(1, len(t)) if t[:i] in known and t[i:] in known]
    rules = [pair for pair in rules if pair in needed or rng.random() < share]
    rng.shuffle(tokens)
    rng.shuffle(rules)
    return tokens, rules


samples = st.lists(st.text("abcÿ", max_size=14), min_size=1, max_size=6)


def as_pieces(tokens):
    """Texts that are a token's bytes, reached or not, and those that go on behind it."""
    whole = [token.decode(errors="ignore") for token in tokens]
    return whole + [text + "a" for text in whole]


@st.composite
def pair_encodings(draw):
    """Tokens over two or three bytes and rules between them in any order."""
    letters = draw(st.sampled_from([b"ab", b"abc", "aÿ".encode()]))
    tries, share = draw(st.integers(0, 14)), draw(st.sampled_from([0, 0.5, 1]))
    tokens, rules = random_rules(draw(st.randoms(use_true_random=False)), letters, tries, share)
    return tokens, rules, draw(samples) + as_pieces(tokens)


def load_pair(cls, tmp_path, tokens, rules):
    merges = "".join(f"{spell(left)} {spell(right)}\n" for left, right in rules)
    return cls.load(*write_pair(tmp_path, vocab_text(map(spell, tokens)), merges), pattern=ANY)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pair_encodings())
@example(([b"ab", b"aba"], [(b"ab", b"a"), (b"a", b"b")], ["abab", "aaba", "ababab"]))
@example(([b"aba", b"ba"], [(b"a", b"ba"), (b"b", b"a")], ["abab", "ababa"]))
def test_random_pair_rules(Tokenizer, tmp_path, encoding):
    tokens, rules, samples = encoding
    tok = load_pair(Tokenizer, tmp_path, tokens, rules)
    ranks = {pair: rank for rank, pair in enumerate(rules)}
    ids = BYTE_TOKENS | {token: 256 + i for i, token in enumerate(tokens)}
    oracle = Oracle(ids, lambda left, right: ranks.get((left, right)), pieces=one_piece)
    for text in [*samples, *samples]:  # the second time from a cache
        assert tok.encode(text) == oracle.encode(text)
        assert tok.decode(tok.encode(text)) == text
    assert tok.encode_batch(samples, threads=2) == [oracle.encode(text) for text in samples]


@st.composite
def rank_encodings(draw):
    """Any tokens with any ranks, gaps and unreachable tokens included, bytes in any order."""
    letters = draw(st.sampled_from([b"ab", b"abc", "aÿ".encode()]))
    word = st.lists(st.sampled_from(list(letters)), min_size=2, max_size=6).map(bytes)
    tokens = [*(bytes([byte]) for byte in range(256)), *draw(st.lists(word, unique=True, max_size=12))]
    numbers = draw(st.lists(st.integers(0, 2_000), unique=True, min_size=len(tokens), max_size=len(tokens)))
    return dict(zip(tokens, numbers, strict=True)), draw(samples) + as_pieces(tokens[256:])


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(rank_encodings())
def test_random_token_ranks(Tokenizer, encoding):
    ranks, samples = encoding
    tok = Tokenizer.from_ranks(ranks, pattern=ANY)
    oracle = Oracle.of_ranks(ranks, pieces=one_piece)
    for text in [*samples, *samples]:
        assert tok.encode(text) == oracle.encode(text)
        assert tok.decode(tok.encode(text)) == text
    assert Tokenizer.from_bytes(tok.to_bytes()).encode_batch(samples) == [oracle.encode(text) for text in samples]


@pytest.mark.parametrize("seed", range(40))
def test_dense_random_rules_on_long_pieces(Tokenizer, tmp_path, seed):
    """Many rules over two letters and pieces long enough for the queue: stale entries must not fire."""
    rng = random.Random(seed)
    tokens, rules = random_rules(rng, b"ab", tries=100, share=1)
    tok = load_pair(Tokenizer, tmp_path, tokens, rules)
    ranks = {pair: rank for rank, pair in enumerate(rules)}
    ids = BYTE_TOKENS | {token: 256 + i for i, token in enumerate(tokens)}
    oracle = Oracle(ids, lambda left, right: ranks.get((left, right)), pieces=one_piece)
    for length in (5, 16, 17, 64, 200, 300):
        text = "".join(rng.choices("ab", k=length))
        assert tok.encode(text) == oracle.encode(text)


def test_the_rules_of_the_design(Tokenizer, tmp_path):
    """Rules aba before ab: the queue on (rank, position) gives aba|b, not ab|ab."""
    tok = load_pair(Tokenizer, tmp_path, [b"ab", b"aba"], [(b"ab", b"a"), (b"a", b"b")])
    assert [tok.token_bytes(i) for i in tok.encode("abab")] == [b"aba", b"b"]


def test_a_token_that_its_rule_never_makes(Tokenizer, tmp_path):
    """The rule ab + c ranks behind b + c: the piece is a token of the vocabulary, and yet two tokens."""
    tok = load_pair(Tokenizer, tmp_path, [b"ab", b"abc", b"bc"], [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")])
    for _ in range(2):  # the second time from a cache
        assert tok.encode("abc") == [BYTE_TOKENS[b"a"], 258]
        assert tok.encode("ababc") == [256, BYTE_TOKENS[b"a"], 258]
    assert tok.token_to_id(b"abc") == 257
    assert tok.decode([257]) == "abc"
    assert Tokenizer.from_bytes(tok.to_bytes()).encode("abc") == tok.encode("abc")


def test_a_ranked_token_that_no_pair_makes(Tokenizer):
    """Ranks say it of whole pieces alone: abcd is one if it is the piece, and inside a piece never comes out."""
    tok = Tokenizer.from_ranks(BYTE_TOKENS | {b"bc": 256, b"ab": 257, b"cd": 258, b"abcd": 259}, pattern=ANY)
    a, d, x = (BYTE_TOKENS[letter] for letter in (b"a", b"d", b"x"))
    for _ in range(2):
        assert tok.encode("abcd") == [259]
        assert tok.encode("abcdx") == [a, 256, d, x]
        assert tok.encode("xabcd") == [x, a, 256, d]
    assert tok.decode([259]) == "abcd"


@pytest.mark.slow
def test_words_of_the_standard_library(gpt2, oracle):
    """Every distinct word of the interpreter's help texts."""
    from pydoc_data.topics import topics

    words = sorted({word for text in topics.values() for word in text.split(" ")})[:6_000]
    assert len(words) > 5_000
    expected = [oracle.encode(word) for word in words]
    assert gpt2.encode_batch(words) == expected
    assert gpt2.encode_ragged(words).to_lists() == expected
