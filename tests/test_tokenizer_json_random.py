"""Random tokenizer.json files: the same ids as tokenizers, or our error that says what is not supported; never other ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
from bpeline import tokenizer_json
from tests.random_tokenizer_json import text
from tests.random_tokenizer_json import tokenizer_json as random_file
from tests.small import ALPHABET

pytestmark = pytest.mark.parity

tokenizers = pytest.importorskip("tokenizers")


def load(cls, content):
    """The tokenizer, or None if the file is refused with a reason."""
    try:
        return cls(cls._Encoding.from_tokenizer_json("file", "random", *tokenizer_json.read(content, "file")))
    except bpeline.EncodingFileError as error:
        assert str(error)
        return None


def load_peer(content):
    """tokenizers' own, or None: it refuses some files, and panics at some."""
    try:
        return tokenizers.Tokenizer.from_str(content)
    except BaseException as error:
        assert not isinstance(error, KeyboardInterrupt)
        return None


def peer_ids(peer, text, **options):
    try:
        return peer.encode(text, **options).ids
    except BaseException as error:  # as above
        assert not isinstance(error, KeyboardInterrupt)
        return None


def is_decoded_alike(peer):
    """tokenizers spells where there is no decoder, normalizes some added tokens, and takes others such as `é` for spelled bytes."""
    added = {id: token.content for id, token in peer.get_added_tokens_decoder().items()}
    return peer.decoder is not None and all(
        peer.id_to_token(id) == content and (content.isascii() or not set(content) <= set(ALPHABET))
        for id, content in added.items()
    )


@given(st.randoms(use_true_random=False))
def test_the_same_ids_or_refused(both, rng):
    content = json.dumps(random_file(rng))
    peer = load_peer(content)
    ours = [tok for cls in both if (tok := load(cls, content)) is not None]
    if peer is None or not ours:
        return  # what we refuse may cost tokenizers all memory: an added token of which the normalizer leaves nothing
    known = [id for id in range(ours[0].vocab_size) if ours[0].token_bytes(id) is not None]
    for sample in [text(rng) for _ in range(8)]:
        for add in (False, True):
            ids = peer_ids(peer, sample, add_special_tokens=add)
            for tok in ours if ids is not None else ():
                assert tok.encode(sample, add_special_tokens=add) == ids
                assert tok.count(sample, add_special_tokens=add) == len(ids)
                with_spans, spans = tok.encode_with_spans(sample, add_special_tokens=add)
                assert with_spans == ids
                assert all(0 <= start <= end <= len(sample) for start, end in spans.tolist())
        ids = [rng.choice(known) for _ in range(rng.randint(0, 12))]
        for tok in ours if is_decoded_alike(peer) else ():
            for skip in (False, True):
                assert tok.decode(ids, skip_special_tokens=skip) == peer.decode(ids, skip_special_tokens=skip)
        peer.encode_special_tokens = True
        ids = peer_ids(peer, sample, add_special_tokens=False)
        peer.encode_special_tokens = False
        for tok in ours if ids is not None else ():
            assert tok.encode(sample, special="text") == ids


@given(st.randoms(use_true_random=False))
def test_both_backends_agree(both, rng):
    content = json.dumps(random_file(rng))
    native, reference = (load(cls, content) for cls in both)
    if native is None or reference is None:
        return
    assert native.to_bytes() == reference.to_bytes()
    assert type(native).from_bytes(reference.to_bytes()) == native
    assert type(reference).from_bytes(native.to_bytes()) == reference
    added = {"<new>": native.vocab_size + 2}
    extended = native.extend(added), reference.extend(added)
    assert extended[0].to_bytes() == extended[1].to_bytes()
    for sample in [text(rng) for _ in range(6)]:
        ids, spans = native.encode_with_spans(sample, add_special_tokens=True)
        other_ids, other_spans = reference.encode_with_spans(sample, add_special_tokens=True)
        assert (ids, spans.tolist()) == (other_ids, other_spans.tolist())
        assert native.decode_bytes(ids) == reference.decode_bytes(ids)
        assert native.decode(ids, skip_special_tokens=True) == reference.decode(ids, skip_special_tokens=True)
        for limit in (0, 1, 3):
            prefix = native.truncate(sample, limit)
            assert prefix == reference.truncate(sample, limit)
            assert sample.startswith(prefix)
            assert native.count(prefix) <= limit
        assert extended[0].encode(f"{sample}<new>{sample}") == extended[1].encode(f"{sample}<new>{sample}")


@given(st.randoms(use_true_random=False))
def test_saved_and_loaded(tmp_path_factory, native, rng):
    tok = load(native, json.dumps(random_file(rng)))
    if tok is None:
        return
    folder = tmp_path_factory.mktemp("saved")
    tok.save(folder, format="tokenizer.json")
    again = native.load(folder)
    peer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert (again.special_tokens, again.vocab_size) == (tok.special_tokens, tok.vocab_size)
    for sample in [text(rng) for _ in range(6)]:
        ids = tok.encode(sample, add_special_tokens=True)
        assert again.encode(sample, add_special_tokens=True) == ids
        assert again.encode(sample, special="text") == tok.encode(sample, special="text")
        assert peer_ids(peer, sample) in (ids, None)


@pytest.mark.parametrize(("backend_number", "most"), [(0, 0.1), (1, 0.15)])
def test_few_are_refused(both, backend_number, most):
    """Of files whose parts tokenizers itself takes. (The generator has each odd regular expression there is.)"""
    import random

    cls, files, refused = both[backend_number], 0, 0
    for seed in range(150):
        content = json.dumps(random_file(random.Random(seed)))
        if load_peer(content) is not None:
            files += 1
            refused += load(cls, content) is None
    assert files > 100
    assert refused / files < most
