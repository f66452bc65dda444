"""Texts to time, built from what every CPython carries: its own sources and the texts of its `help()`.

The same on every run of one Python version, with no file from outside. `MIXED` is written here: scripts,
emoji and exotic white space, so that strings of 2 and 4 bytes a character are timed too.
"""

import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

from tests.parity.samples import PROSE

MODULES = ("argparse", "ast", "codecs", "datetime", "difflib", "fractions", "gettext", "heapq", "inspect", "locale")

TINY = "Hello, world! It's 38 characters long."
ENGLISH = "\n\n".join(topics[name] for name in sorted(topics))
CODE = [(Path(sysconfig.get_path("stdlib")) / f"{name}.py").read_text(encoding="utf-8") for name in MODULES]
SHORT = ENGLISH[:4096]  # 4 KB
DOCUMENT = ENGLISH[:100_000]
MIXED = (PROSE * 200)[:100_000]


def documents():
    """1.4 MB: help texts of 1 to 15 KB, source files, mixed scripts."""
    sizes = (1_000, 3_000, 6_000, 9_000, 15_000)
    english = [ENGLISH[5_000 * i : 5_000 * i + sizes[i % 5]] for i in range(90)]
    return [*english, *CODE, MIXED]
