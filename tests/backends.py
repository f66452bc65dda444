"""Both backends side by side in one process, importable by spawned children.

`bpeline.Tokenizer` is the native backend unless the package was built without it or
`BPELINE_BACKEND=reference` is set; `ReferenceTokenizer` is always the pure-Python one.
"""

import bpeline
from bpeline import _reference
from bpeline.tokenizer import Methods, Tokenizer


class ReferenceTokenizer(Methods, _reference.Core):
    """The reference backend behind the public face."""

    __slots__ = ()
    _Encoding = _reference.Encoding
    _PieceCounts = _reference.PieceCounts


NativeTokenizer = Tokenizer if bpeline.backend() == "native" else None
TOKENIZERS = {"native": NativeTokenizer, "reference": ReferenceTokenizer}
