"""`_encode_documents`: end-of-text among the ids, as documents get it that lie whole or in part in a batch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

EOT = 50256
TEXTS = st.lists(st.sampled_from(["", "", "a", " hello world", "né", "two words"]), min_size=1, max_size=6)


def ids_of(tok, texts, **options):
    return pa.array(tok._encode_documents(pa.array(texts, pa.large_string()), special="text", **options)).to_pylist()


def expected(tok, texts, end_of_text, place, if_empty, begun, open):
    found = []
    for number, ids in enumerate(tok.encode_batch(texts, special="text")):
        begins, ends = number > 0 or not begun, number < len(texts) - 1 or not open
        if ids or if_empty or not begins:
            ids = [end_of_text] * (place == "prepend" and begins) + ids + [end_of_text] * (place == "append" and ends)
        found.append(ids)
    return found


@pytest.mark.parametrize("place", ["append", "prepend"])
def test_each_side_gets_its_own(both, place):
    tokenizers = [cls.load("gpt2") for cls in both]

    @settings(max_examples=60)
    @given(TEXTS, st.booleans(), st.booleans(), st.booleans(), st.sampled_from([1, 2]))
    def check(texts, if_empty, begun, open, threads):
        options = {"end_of_text": EOT, "place": place, "if_empty": if_empty, "begun": begun, "open": open}
        for tok in tokenizers:
            assert ids_of(tok, texts, threads=threads, **options) == expected(tok, texts, **options)

    check()


@pytest.mark.parametrize("place", ["append", "prepend"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("begun, open", [(False, False), (True, True)])
def test_a_document_that_threads_share_gets_one(native, place, threads, begun, open):
    gpt2 = native.load("gpt2")
    texts = ["one two three " * 60_000, "", "four five " * 90_000]
    options = {"end_of_text": EOT, "place": place, "if_empty": False, "begun": begun, "open": open}
    assert ids_of(gpt2, texts, threads=threads, **options) == expected(gpt2, texts, **options)


def test_the_number_of_a_bad_document_is_told(both):
    for cls in both:
        texts = pa.array([b"a", b"b", b"\xff"], pa.binary())
        with pytest.raises(ValueError, match="document 2"):
            cls.load("gpt2")._encode_documents(
                texts,
                threads=1,
                special="text",
                end_of_text=EOT,
                place="append",
                if_empty=True,
                begun=False,
                open=False,
            )
