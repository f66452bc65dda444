"""`python -m tests.parity [--full]`: print what was compared; exit with 1 on any mismatch."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import bpeline
from tests.backends import TOKENIZERS
from tests.parity import encodings
from tests.parity.compare import run, table


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all 1,112,064 scalar values in the five contexts")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these encodings; GPT-2 and all others if not given")
    parser.add_argument("--encodings", type=Path, metavar="FOLDER", help="with qwen.tiktoken, tekken*.json (.xz)")
    parser.add_argument(
        "--corpora", type=Path, metavar="FOLDER", help="with texts, .txt (.xz): 4 MB of each are compared"
    )
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    backends = {name: cls for name, cls in TOKENIZERS.items() if cls is not None}
    if "native" not in backends:
        print(f"the native backend is absent: only {bpeline.backend()} is compared", file=sys.stderr)
        if os.environ.get("BPELINE_REQUIRE_NATIVE") == "1":
            return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        if not options.only or "gpt2" in options.only:
            report = run(backends, Path(folder), options.full, progress=True)
            print(table(report), flush=True)
            wrong = (
                report.total
                or report.peers_disagree
                or report.literal_is_ours
                or len(set(report.vocab_size.values())) > 1
            )
        for subject in encodings.subjects(backends, Path(folder), options.encodings, options.only):
            encodings.run(subject, options.full, options.corpora)
            print("\n".join([subject.line(), *subject.examples]), flush=True)
            wrong = wrong or subject.mismatches
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
