"""The streaming decoder: the same text as the whole, never half a character, whatever the ids."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bpeline
from tests.texts import texts

# half of them single bytes, so that broken characters are common
any_ids = st.lists(st.one_of(st.integers(0, 255), st.integers(0, 50256)), max_size=30)


@given(any_ids)
@example([41840, 235])
@example([187, 64, 65, 66])
def test_the_sum_is_the_whole(gpt2, ids):
    decoder = gpt2.decoder()
    assert "".join(map(decoder.push, ids)) + decoder.finish() == gpt2.decode(ids)


@given(any_ids, st.sampled_from(["ignore", "backslashreplace"]), st.booleans())
def test_options(gpt2, ids, errors, skip):
    decoder = gpt2.decoder(errors=errors, skip_special_tokens=skip)
    parts = [decoder.push(i) for i in ids]
    assert "".join(parts) + decoder.finish() == gpt2.decode(ids, errors=errors, skip_special_tokens=skip)


@given(texts)
def test_never_half_a_character(gpt2, text):
    """Of valid text no push gives U+FFFD that is not in it, and every prefix of the output is one of the text."""
    decoder = gpt2.decoder()
    done = ""
    for i in gpt2.encode(text):
        done += decoder.push(i)
        assert text.startswith(done)
    assert done == text
    assert decoder.finish() == ""


def test_one_at_a_time(gpt2):
    decoder = gpt2.decoder()
    assert gpt2.encode("ϕ ∀") == [139, 243, 18872, 222]  # Ï, ¤, a space with two thirds of ∀, its last byte
    assert [decoder.push(i) for i in (139, 243, 18872, 222)] == ["", "ϕ", " ", "∀"]
    decoder = gpt2.decoder()
    assert [decoder.push(i) for i in (41840, 235)] == ["", "👍"]


def test_bad_bytes_do_not_stall(gpt2):
    decoder = gpt2.decoder()
    assert [decoder.push(i) for i in [187, *gpt2.encode("abc")]] == ["\ufffd", "abc"]
    assert decoder.finish() == ""


def test_finish_flushes_what_is_left(gpt2):
    decoder = gpt2.decoder()
    assert decoder.push(41840) == ""
    assert decoder.finish() == "\ufffd"
    assert decoder.push(64) == "a"  # it starts again
    assert decoder.finish() == ""


def test_strict(gpt2):
    decoder = gpt2.decoder(errors="strict")
    assert decoder.push(41840) == ""
    assert decoder.push(235) == "👍"
    with pytest.raises(UnicodeDecodeError):
        decoder.push(187)


@pytest.mark.parametrize("bad", [-1, 50257, 2**32, 2**64])
def test_a_bad_id_leaves_the_state(gpt2, bad):
    decoder = gpt2.decoder()
    assert decoder.push(41840) == ""
    with pytest.raises(bpeline.TokenIdError) as caught:
        decoder.push(bad)
    assert str(caught.value) == f"token id {bad} is not in the vocabulary (valid ids: 0 to 50256)"
    assert decoder.push(235) == "👍"


@pytest.mark.parametrize("value", [1.5, "64", None, [64]], ids=repr)
def test_what_is_no_id(gpt2, value):
    decoder = gpt2.decoder()
    assert decoder.push(41840) == ""
    with pytest.raises(TypeError) as caught:
        decoder.push(value)
    assert str(caught.value) == f"token ids must be integers, not {type(value).__name__}"
    assert decoder.push(235) == "👍"


def test_specials(gpt2):
    decoder = gpt2.decoder()
    assert [decoder.push(i) for i in (64, 50256, 65)] == ["a", "<|endoftext|>", "b"]
    decoder = gpt2.decoder(skip_special_tokens=True)
    assert [decoder.push(i) for i in (64, 50256, 65)] == ["a", "", "b"]


def test_decoders_do_not_share(gpt2):
    one, two = gpt2.decoder(), gpt2.decoder()
    assert (one.push(41840), two.push(64), one.push(235), two.finish()) == ("", "a", "👍", "")
    assert isinstance(one, bpeline.StreamDecoder)
