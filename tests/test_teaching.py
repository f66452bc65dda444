"""bpeline.teaching: the small tokenizers and the steps of byte pair encoding."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpeline.errors import EncodingFileError, InvalidTextError, TokenIdError, TrainingError
from bpeline.teaching import (
    BPETokenizer,
    CharacterTokenizer,
    WordTokenizer,
    build_bpe_vocab,
    get_pair_counts,
    merge_pair,
    merge_word,
    train_bpe,
    word_to_symbols,
)

TOKENIZERS = [CharacterTokenizer, WordTokenizer, BPETokenizer]
SMALL = "low lower lowest low lower newest"
LARGER = SMALL + " deep learning deep learner"


def test_characters():
    tokenizer = CharacterTokenizer().train("hello world")
    assert tokenizer.vocab == {"<unk>": 0, " ": 1, "d": 2, "e": 3, "h": 4, "l": 5, "o": 6, "r": 7, "w": 8}
    assert tokenizer.vocab_size == 9
    assert tokenizer.encode("hello") == [4, 3, 5, 5, 6]
    assert tokenizer.encode("hey") == [4, 3, 0]
    assert tokenizer.decode([4, 3, 0]) == "he"
    assert tokenizer.decode([4, 3, 0], skip_special_tokens=False) == "he<unk>"
    assert tokenizer.encode("<unk>") == [0, 0, 0, 0, 0]


def test_words():
    tokenizer = WordTokenizer().train("deep learning is fun deep learning is useful")
    assert tokenizer.vocab == {"<unk>": 0, "deep": 1, "fun": 2, "is": 3, "learning": 4, "useful": 5}
    assert tokenizer.encode("deep learning is fun") == [1, 4, 3, 2]
    assert tokenizer.encode("MiniGPT is fun") == [0, 3, 2]
    assert tokenizer.decode([0, 3, 2]) == "is fun"
    assert tokenizer.decode([0, 3, 2], skip_special_tokens=False) == "<unk> is fun"


def test_bpe():
    tokenizer = BPETokenizer().train(LARGER, vocab_size=20)
    assert tokenizer.vocab_size == 20 and len(tokenizer.merges) == 20 - 14 - 1
    ids = tokenizer.encode("lower newest learner")
    assert ids == [11, 16, 12, 4, 19, 4, 17, 18, 1, 7, 4, 2, 15, 12, 4, 16]
    assert tokenizer.decode(ids) == "lower newest learner"
    assert list(tokenizer.vocab) == ["<unk>", *sorted(set(tokenizer.vocab) - {"<unk>"})]
    assert tokenizer.encode("lowx") == [tokenizer.vocab["low"], 0, tokenizer.vocab["</w>"]]
    assert tokenizer.decode(tokenizer.encode("  low\n\tlowx ")) == "low low"


def test_bpe_steps():
    merges = train_bpe(SMALL, num_merges=10)
    learned = "l+o, lo+w, low+e, low+</w>, lowe+r, lower+</w>, s+t, st+</w>"
    assert merges == [tuple(pair.split("+")) for pair in learned.split(", ")]
    assert merge_word("lowest", merges) == ["lowe", "st</w>"]
    assert merge_word("newer", merges) == ["n", "e", "w", "e", "r", "</w>"]
    alphabet = {symbol for word in SMALL.split() for symbol in word_to_symbols(word)}
    specials = ["<pad>", "<bos>", "<eos>", "<unk>"]
    vocab = build_bpe_vocab(alphabet, merges, specials)
    assert len(vocab) == 21
    assert list(vocab)[:4] == specials and list(vocab)[4:] == sorted(set(vocab) - set(specials))
    assert list(vocab.values()) == list(range(21))


def test_a_tie_goes_to_the_pair_that_is_met_first():
    assert train_bpe("ba ab cd", 1, min_frequency=1) == [("b", "a")]
    assert train_bpe("cd ab ab cd", 1) == [("c", "d")]
    assert train_bpe(["zz", "aa", "aa zz"], 1) == [("z", "z")]


def test_overlaps_merge_from_the_left():
    assert merge_pair(list("aaaaa"), ("a", "a")) == ["aa", "aa", "a"]
    assert get_pair_counts([list("aaaaa")]) == {("a", "a"): 4}
    assert merge_pair(["a"], ("a", "a")) == ["a"] and merge_pair([], ("a", "a")) == []


def test_counts_of_a_mapping_are_weighted():
    words = {("a", "b"): 3, ("b", "a", "b"): 2}
    assert list(get_pair_counts(words).items()) == [(("a", "b"), 5), (("b", "a"), 2)]


def naive_bpe(corpus, num_merges, min_frequency):
    """Every occurrence of every word, in lists; pairs counted by position."""
    words = [[*word, "</w>"] for word in corpus.split()]
    merges = []
    for _ in range(num_merges):
        pairs = [pair for word in words for pair in pairwise(word)]
        most = max(map(pairs.count, pairs), default=0)
        if most < max(min_frequency, 1):
            break
        left, right = next(pair for pair in pairs if pairs.count(pair) == most)
        merges.append((left, right))
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == (left, right):
                    word[at : at + 2] = [left + right]
                at += 1
    return merges, words


@given(st.text("ab c", max_size=40), st.integers(0, 12), st.integers(1, 3))
def test_training_is_that_of_a_naive_trainer(corpus, num_merges, min_frequency):
    merges, words = naive_bpe(corpus, num_merges, min_frequency)
    assert train_bpe(corpus, num_merges, min_frequency) == merges
    assert [merge_word(word, merges) for word in corpus.split()] == words


@pytest.mark.parametrize("cls", TOKENIZERS)
@given(text=st.text("abcé漢 \n", min_size=1, max_size=60).filter(lambda text: not text.isspace()))
def test_known_text_comes_back(cls, text):
    tokenizer = cls().train(text)
    expected = text if cls is CharacterTokenizer else " ".join(text.split())
    assert tokenizer.decode(tokenizer.encode(text)) == expected
    assert 0 not in tokenizer.encode(text)


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_one_interface(cls):
    tokenizer = cls()
    assert tokenizer.vocab == {} and tokenizer.vocab_size == 0 and tokenizer.special_tokens == {}
    assert tokenizer.train(LARGER) is tokenizer
    ids = tokenizer.encode(SMALL)
    assert all(isinstance(id, int) for id in ids)
    tokens = tokenizer.lookup_tokens(ids)
    assert [tokenizer.token_to_id(token) for token in tokens] == ids
    assert [tokenizer.id_to_token(id) for id in ids] == tokens
    assert tokenizer.vocab_size == len(tokenizer.vocab)
    assert tokenizer.unk_token == "<unk>" and tokenizer.special_tokens == {"<unk>": 0}
    assert tokenizer.token_to_id("nothing like it") is None and tokenizer.id_to_token(999) is None
    assert repr(tokenizer) == f"<{cls.__name__}: {tokenizer.vocab_size} tokens>"
    assert tokenizer.encode("") == [] and tokenizer.decode([]) == "" and tokenizer.lookup_tokens([]) == []


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_texts_are_one_or_many(cls):
    texts = ["low lower", "", "lowest low"]
    many, one = cls().train(iter(texts)), cls().train(" ".join(texts))
    if cls is CharacterTokenizer:
        assert " " in many.vocab
    assert many.vocab == one.vocab


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_training_again_forgets(cls):
    tokenizer = cls().train("xyz xyz xyz").train(SMALL)
    assert tokenizer.vocab == cls().train(SMALL).vocab
    assert getattr(tokenizer, "merges", None) == getattr(cls().train(SMALL), "merges", None)


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_unk_token_of_constructor_and_train(cls):
    assert cls(unk_token="[UNK]").train(SMALL).special_tokens == {"[UNK]": 0}
    tokenizer = cls(unk_token="[UNK]").train(SMALL, unk_token="<?>")
    assert tokenizer.unk_token == "<?>" and tokenizer.vocab["<?>"] == 0 and "[UNK]" not in tokenizer.vocab
    assert 0 in tokenizer.encode("qqq")


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_special_tokens_come_first_and_are_skipped(cls):
    tokenizer = cls(special_tokens=["<pad>", "<eos>"]).train(SMALL)
    assert tokenizer.special_tokens == {"<pad>": 0, "<eos>": 1, "<unk>": 2}
    ids = [0, *tokenizer.encode("low"), 1]
    assert tokenizer.decode(ids) == "low"
    assert tokenizer.decode(ids, skip_special_tokens=False).replace(" ", "") == "<pad>low<eos>"


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_a_vocabulary_at_hand(cls):
    trained = cls().train(LARGER)
    merges = {"merges": trained.merges} if cls is BPETokenizer else {}
    copy = cls(vocab=trained.vocab, **merges)
    assert copy.encode(LARGER + " new") == trained.encode(LARGER + " new")
    trained.vocab.clear()
    assert copy.vocab_size > 0


def test_a_vocabulary_without_unk_token():
    tokenizer = CharacterTokenizer(vocab={"a": 0, "b": 1})
    assert tokenizer.encode("abba") == [0, 1, 1, 0] and tokenizer.special_tokens == {}
    with pytest.raises(InvalidTextError, match=r"^'c' is not in the vocabulary, and there is no <unk>$"):
        tokenizer.encode("abc")


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_untrained(cls):
    with pytest.raises(InvalidTextError, match=r"the vocabulary is empty: call train first"):
        cls().encode("a")
    with pytest.raises(TokenIdError, match=r"token id 0 is not in the vocabulary \(it is empty: call train first\)"):
        cls().decode([0])


@pytest.mark.parametrize("cls", TOKENIZERS)
@pytest.mark.parametrize("id", [-1, 100])
def test_unknown_ids(cls, id):
    tokenizer = cls(vocab={"<unk>": 0, "a": 7})
    for method in (tokenizer.decode, tokenizer.lookup_tokens):
        with pytest.raises(TokenIdError, match=rf"^token id {id} is not in the vocabulary \(valid ids: 0 to 7\)$"):
            method([7, id])


@pytest.mark.parametrize("cls", TOKENIZERS)
@pytest.mark.parametrize("corpus", ["", [], ["", ""]])
def test_an_empty_corpus(cls, corpus):
    with pytest.raises(TrainingError, match=r"^the corpus is empty"):
        cls().train(corpus)


@pytest.mark.parametrize("cls", [WordTokenizer, BPETokenizer])
def test_a_corpus_without_words(cls):
    with pytest.raises(TrainingError, match=r"^the corpus is empty"):
        cls().train(" \n\t")


@pytest.mark.parametrize("cls", TOKENIZERS)
@pytest.mark.parametrize("corpus", [["a", None], [b"a"]])
def test_a_corpus_of_no_texts(cls, corpus):
    with pytest.raises(TypeError, match=r"^text \d of the corpus must be str, not (NoneType|bytes)$"):
        cls().train(corpus)


def test_faults_of_training():
    with pytest.raises(TrainingError, match=r"^vocab_size must be at least 10 \(alphabet and special tokens\), not 9$"):
        BPETokenizer().train(SMALL, vocab_size=9)
    assert BPETokenizer().train(SMALL, vocab_size=10).merges == []
    with pytest.raises(TrainingError, match=r"^min_frequency must be at least 1, not 0$"):
        BPETokenizer().train(SMALL, min_frequency=0)
    with pytest.raises(TrainingError, match=r"^num_merges must be at least 0, not -1$"):
        train_bpe(SMALL, -1)


def test_faults_of_a_vocabulary():
    with pytest.raises(EncodingFileError, match=r"^the tokens 'a' and 'b' have the same id 1$"):
        WordTokenizer(vocab={"a": 1, "b": 1})
    with pytest.raises(EncodingFileError, match=r"^merge 2: 'abc' is not in the vocabulary$"):
        BPETokenizer(vocab={"a": 0, "b": 1, "c": 2, "ab": 3}, merges=[("a", "b"), ("ab", "c")])


def test_a_vocabulary_ends_when_pairs_are_rare():
    tokenizer = BPETokenizer().train(SMALL)
    assert tokenizer.vocab_size == 18 and len(tokenizer.merges) == 8
    assert len(BPETokenizer().train(SMALL, min_frequency=3).merges) == 3
    assert Counter(map("".join, BPETokenizer().train(SMALL, min_frequency=1).merges))["newest</w>"] == 1
