"""Parity: both backends against tiktoken, tokenizers and the literal pattern, on the same samples.

`python -m tests.parity` prints a table and exits with 1 on any mismatch; `--full` takes every scalar value.
All witnesses are built from the files that `save` writes, so a fault in writing shows as well.
"""
