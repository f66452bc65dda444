"""Training: rules by their definition, on both backends, and that nothing but corpus and settings changes them."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from tests.small import ALPHABET, BYTE_TOKENS, EOT
from tests.texts import adversarial

PATTERNS = ["gpt2", "cl100k", "o200k", "[a-z]+|[^a-z]"]
CASES = [
    # Corpus, rules that are learned, in words: frequency first, then the lowest ids; overlaps count each.
    (["ab ab ab ac ac"], ["Ġ a", "Ġa b"]),
    (["aaaa"], ["a a"]),
    (["aaa"], ["a a"]),  # two overlapping pairs
    (["aa"], []),  # one
    (["   "], ["Ġ Ġ"]),
    (["zy zy", "by by"], ["b y", "z y", "Ġ by", "Ġ zy"][:2]),
    (["a" * 8, "a" * 8], ["a a", "aa aa", "aaaa aaaa"]),
    (["a\n\n\n\nb\n" * 9], ["Ċ Ċ", "ĊĊ Ċ"]),  # tokenizers issue 1534
    (["hi<|endoftext|>hi"] * 50, ["h i"]),  # tokenizers issue 985
    (["é", "é"], ["Ã ©"]),
]

small_texts = st.lists(
    st.one_of(st.text("ab", max_size=30), st.text("aé \n", max_size=30), st.text("a", max_size=40), adversarial),
    min_size=1,
    max_size=8,
).filter(any)
settings = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(PATTERNS),
        "min_frequency": st.integers(0, 4),
        "max_token_length": st.sampled_from([None, None, 1, 2, 3, 4, 5, 9]),
        "ties": st.sampled_from(["tokenizers", "first-seen"]),
        "special_tokens": st.sampled_from([(EOT,), (), ("<|", EOT, "aa")]),
    }
)


def train(Tokenizer, items, vocab_size=300, **options):
    """Trained without a word about a corpus that runs out of pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Tokenizer.train(items, vocab_size, **options)


def rules(tok):
    return [f"{tok.id_to_token(left)} {tok.id_to_token(right)}" for left, right in tok.encoding.merges()]


@pytest.mark.parametrize(("corpus", "expected"), CASES)
def test_rules(Tokenizer, corpus, expected):
    assert rules(train(Tokenizer, corpus))[: len(expected) or None] == expected


def test_ids(Tokenizer):
    tok = train(Tokenizer, ["low low lower"], 260, special_tokens=["<a>", "<b>"])
    assert tok.special_tokens == {"<a>": 0, "<b>": 1}
    assert [tok.id_to_token(id) for id in range(2, 258)] == ALPHABET
    assert [tok.id_to_token(id) for id in range(258, tok.vocab_size)] == ["lo", "low"]
    assert tok.encode("low<b>") == [259, 1]
    assert tok.name == "trained"


def test_first_seen(Tokenizer):
    corpus = ["yz yz ab ab"]
    assert rules(train(Tokenizer, corpus, 258, pattern="[a-z]+"))[0] == "a b"
    assert rules(train(Tokenizer, corpus, 258, pattern="[a-z]+", ties="first-seen"))[0] == "y z"
    # The sample of issue 6: eight rules of ten, by words in the order in which they first appear.
    words = ["low", "lower", "lowest", "low", "lower", "newest"]
    found = rules(train(Tokenizer, [word + "~" for word in words], 267, pattern="[a-z]+~", ties="first-seen"))
    assert found == ["l o", "lo w", "low e", "low ~", "lowe r", "lower ~", "s t", "st ~"]


def test_longest_tokens(Tokenizer):
    corpus = ["abcdefgh"] * 3
    longest = {most: max(map(len, train_tokens(Tokenizer, corpus, most))) for most in (1, 2, 3, 4, 5, 9, None)}
    assert longest == {1: 2, 2: 2, 3: 2, 4: 2, 5: 4, 9: 8, None: 8}


def train_tokens(Tokenizer, corpus, most):
    tok = train(Tokenizer, corpus, max_token_length=most)
    return [tok.token_bytes(id) for id in range(257, tok.vocab_size)]


def test_counts_beyond_32_bits(backend, Tokenizer):
    encoding = train(Tokenizer, ["a"], 257).encoding
    counts = Tokenizer._PieceCounts(encoding)
    # Modulo 2^32 the second would be the most frequent, and at 2^31 a signed one negative.
    counts.add_counts({b"ab": 2**33, b"cd": 2**32 + 7, b"ef": 2**31 + 1, b"gh": 9})
    counts.add_counts({b"cd": 2**33})
    assert counts.items() == [(b"ab", 2**33), (b"cd", 2**32 + 7 + 2**33), (b"ef", 2**31 + 1), (b"gh", 9)]
    found = [encoding.token_bytes(left) + encoding.token_bytes(right) for left, right in counts.merges(4)]
    assert found == [b"cd", b"ab", b"ef", b"gh"]
    assert len(counts) == 0  # used up


@given(small_texts, st.integers(0, 60), settings)
def test_both_learn_the_same(both, corpus, more, options):
    vocab_size = 256 + len(options["special_tokens"]) + more
    try:
        native, reference = (train(cls, corpus, vocab_size, **options) for cls in both)
    except bpeline.TrainingError as error:  # nothing but special tokens
        with pytest.raises(bpeline.TrainingError, match=str(error)):
            train(both[1], corpus, vocab_size, **options)
        return
    assert native.to_bytes() == reference.to_bytes()


@given(small_texts, st.integers(0, 60), st.integers(0, 60), settings)
def test_training_in_two_steps(both, corpus, first, more, options):
    first += 256 + len(options["special_tokens"])
    further = {key: options[key] for key in ("min_frequency", "max_token_length", "ties")}
    for cls in both:
        try:
            whole = train(cls, corpus, first + more, **options)
        except bpeline.TrainingError:
            return
        part = train(cls, corpus, first, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if part.vocab_size < first:
                assert part == whole
            else:
                assert part.train_more(corpus, first + more, **further) == whole


def test_train_more_on_other_text(both):
    corpus = ["Frabjous day! Callooh! Callay! " * 3] * 3
    native, reference = (cls.load("gpt2").train_more(corpus, 50262) for cls in both)
    assert native == reference
    assert native.vocab_size == 50262 and native.special_tokens == {EOT: 50256}
    gpt2 = both[0].load("gpt2")
    assert all(native.token_bytes(id) == gpt2.token_bytes(id) for id in range(50257))
    assert native.count(corpus[0]) < gpt2.count(corpus[0])
    assert native.decode(native.encode(corpus[0])) == corpus[0]


@given(st.lists(adversarial, max_size=6))
def test_items_are_the_pieces(both, corpus):
    found = []
    for cls in both:
        counts = cls._PieceCounts(cls.load("gpt2").encoding)
        counts.add(corpus)
        found.append(counts.items())
        assert counts.memory == sum(len(piece) + 64 for piece, _ in found[-1])
        assert len(counts) == len(found[-1])
    assert found[0] == found[1]
    assert b"".join(piece * count for piece, count in found[0]).count(b"\n") == "".join(corpus).count("\n")


LINES = [f"line {n % 37} of {n * n % 1013}: don't panic\n\n" for n in range(12_000)]


@pytest.fixture(scope="module")
def of_lines(native):
    return native.train(["".join(LINES)], 700)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(native, of_lines, threads):
    assert native.train(["".join(LINES)], 700, threads=threads) == of_lines
    first_seen = native.train(["".join(LINES)], 700, threads=threads, ties="first-seen")
    assert first_seen == native.train(["".join(LINES)], 700, ties="first-seen")


@pytest.mark.parametrize("block", [1 << 12, 100_003, 1 << 30])
def test_files_are_cut_where_it_does_not_matter(native, of_lines, tmp_path, monkeypatch, block):
    monkeypatch.setattr("bpeline.learning.BLOCK", block)
    (tmp_path / "lines.txt").write_bytes("".join(LINES).encode())
    assert native.train([tmp_path / "lines.txt"], 700) == of_lines


def test_a_text_is_a_text_however_it_is_stored(native):
    text = "".join(LINES[:400]) + "é漢👍" * 9
    expected = native.train([text], 370)
    assert native.train([text.encode()], 370) == native.train([bytearray(text.encode())], 370) == expected
    assert native.train((text for _ in range(1)), 370) == expected


def test_texts_and_files_mixed(Tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text("abab abab", encoding="utf-8")
    mixed = train(Tokenizer, ["xyxy ", tmp_path / "a.txt", "xyxy"], 270)
    assert mixed == train(Tokenizer, ["xyxy ", "abab abab", "xyxy"], 270)
    # A str is a text even if a file has that name.
    assert train(Tokenizer, [str(tmp_path / "a.txt")] * 2, 270) != mixed


def test_a_file_without_known_cuts(Tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr("bpeline.learning.BLOCK", 7)
    (tmp_path / "a.txt").write_text("abc abd\n" * 40, encoding="utf-8")
    from_file = train(Tokenizer, [tmp_path / "a.txt"], 270, pattern="[a-z]+ [a-z]+\n[a-z]+")
    assert from_file == train(Tokenizer, ["abc abd\n" * 40], 270, pattern="[a-z]+ [a-z]+\n[a-z]+")


def test_progress(Tokenizer, tmp_path):
    told = []
    Tokenizer.train(["low lower lowest " * 9, "newest " * 9], 261, progress=told.append)
    assert told[0] == ("counting", 9 * (17 + 7), None, told[0].seconds)
    assert told[-1][:3] == ("merging", 4, 4) and told[-1].seconds_left == 0
    assert {progress.stage for progress in told} == {"counting", "merging"}
    assert told[0].seconds_left is None
    halfway = bpeline.TrainingProgress("merging", 10, 40, 2.0)
    assert halfway.seconds_left == 6.0


def test_what_progress_raises_ends_the_training(Tokenizer):
    for stage in ("counting", "merging"):

        def stop(progress, stage=stage):
            if progress.stage == stage:
                raise KeyError(stage)

        with pytest.raises(KeyError, match=stage):
            Tokenizer.train(["low lower lowest " * 9], 258, progress=stop)


def test_a_small_corpus_warns(Tokenizer):
    with pytest.warns(
        UserWarning, match=r"no pair is left that occurs 2 times: the vocabulary has 259 tokens, not 300"
    ):
        tok = Tokenizer.train(["abc abc"], 300)
    assert tok.vocab_size == 259
    with pytest.warns(
        UserWarning, match=r"occurs 2 times and makes a token shorter than 3 bytes: .* 258 tokens, not 300"
    ):
        Tokenizer.train(["abc abc"], 300, max_token_length=3)
    with pytest.warns(UserWarning, match="257 tokens, not 300"):
        assert Tokenizer.train(["a"], 300).encode("a") == [1 + BYTE_TOKENS[b"a"]]


@pytest.mark.parametrize("max_memory", [30_000, 10**9])
def test_max_memory(both, max_memory):
    corpus = [" ".join(f"w{n}" for n in range(1000)), "common word " * 500] * 2
    found = []
    for cls in both:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(cls.train(corpus, 262, max_memory=max_memory))
        messages = [str(warning.message) for warning in caught]
        if max_memory > 10**6:
            assert messages == []
            assert found[-1] == cls.train(corpus, 262)
        else:
            assert len(messages) == 1
            # 1,000 numbers, "w", "common" and " ", twice each.
            assert messages[0].startswith(
                "max_memory=30000: of the rarest pieces 1,003 were forgotten, which occurred 2,006"
            )
            assert rules(found[-1])[0] == "Ġ w"
    assert found[0] == found[1]


@pytest.mark.parametrize("most", [0, 64 * 3, 64 * 5, 64 * 7, 10**6])
def test_prune(both, most):
    pieces = {b"abc"[:n] * (n % 3 + 1) + bytes([n]): n % 4 + 1 for n in range(1, 9)} | {b"x" * 40: 3}
    found = []
    for cls in both:
        counts = cls._PieceCounts(cls.load("gpt2").encoding)
        counts.add_counts(pieces)
        lost = counts.prune(most)
        assert lost == (len(pieces) - len(counts), sum(pieces.values()) - sum(count for _, count in counts.items()))
        assert counts.memory <= most
        found.append((lost, counts.items()))
    assert found[0] == found[1]
