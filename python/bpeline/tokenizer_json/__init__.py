"""Hugging Face's tokenizer.json, as far as it is byte-level BPE.

`read` checks a file and says what it means in terms that both backends know; what bpeline does not do exactly as
tokenizers does is refused with a reason. The format is that of https://github.com/huggingface/tokenizers, release 0.23; its
`truncation` and `padding`, which transformers does not heed either, are left to the caller.
"""

from .reader import Contents, read

__all__ = ["Contents", "read"]
