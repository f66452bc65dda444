"""Both backends explain themselves in the same words, and the examples in them run."""

import inspect

import pytest

from bpeline._reference import Core as Reference
from tests.backends import NativeTokenizer

METHODS = sorted(name for name, member in vars(Reference).items() if callable(member) and name.islower())
PUBLIC = [name for name in METHODS if not name.startswith("_")]


@pytest.mark.skipif(NativeTokenizer is None, reason="the native module is not built")
@pytest.mark.parametrize("name", PUBLIC)
def test_native_has_the_words_of_the_reference(name):
    assert inspect.getdoc(getattr(NativeTokenizer, name)) == inspect.getdoc(getattr(Reference, name))


def test_every_public_method_is_compared():
    assert len(PUBLIC) == 11, PUBLIC
