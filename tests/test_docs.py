"""Both backends explain themselves in the same words, and the examples in them run."""

import inspect

import pytest

import bpeline
from bpeline import _reference
from bpeline._reference import Core as Reference
from tests.backends import NativeTokenizer

METHODS = sorted(name for name, member in vars(Reference).items() if callable(member) and name.islower())
PUBLIC = [name for name in METHODS if not name.startswith("_")]


@pytest.mark.skipif(NativeTokenizer is None, reason="the native module is not built")
@pytest.mark.parametrize("name", PUBLIC)
def test_native_has_the_words_of_the_reference(name):
    assert inspect.getdoc(getattr(NativeTokenizer, name)) == inspect.getdoc(getattr(Reference, name))


def test_every_public_method_is_compared():
    assert len(PUBLIC) == 12, PUBLIC


@pytest.mark.skipif(NativeTokenizer is None, reason="the native module is not built")
def test_native_lists_have_the_words_of_the_reference():
    ours, theirs = bpeline.ArrowTokens, _reference.ArrowTokens
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)
    for name in ("__arrow_c_schema__", "__arrow_c_array__", "__arrow_c_stream__"):
        assert inspect.getdoc(getattr(ours, name)) == inspect.getdoc(getattr(theirs, name))
