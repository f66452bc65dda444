"""`python -m tests.parity [--full]`: print the table; exit with 1 on any mismatch."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import bpeline
from tests.backends import TOKENIZERS
from tests.parity.compare import run, table


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all 1,112,064 scalar values in the five contexts")
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    backends = {name: cls for name, cls in TOKENIZERS.items() if cls is not None}
    if "native" not in backends:
        print(f"the native backend is absent: only {bpeline.backend()} is compared", file=sys.stderr)
        if os.environ.get("BPELINE_REQUIRE_NATIVE") == "1":
            return 1
    with tempfile.TemporaryDirectory() as folder:
        report = run(backends, Path(folder), options.full, progress=True)
    print(table(report))
    wrong = report.total or report.peers_disagree or report.literal_is_ours or len(set(report.vocab_size.values())) > 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
