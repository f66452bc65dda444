"""The tests of bpeline: one suite, run on both backends (see conftest.py)."""
