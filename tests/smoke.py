"""Does an installed bpeline do its job? `python smoke.py native|reference`, run by dist_check.py.

Nothing but the standard library, numpy and bpeline is there.
"""

import hashlib
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

SAVED = {
    "vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}
TEXTS = Path(__file__).with_name("data")


def main(backend: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import bpeline
    assert bpeline.backend() == backend, f"backend {bpeline.backend()}, expected {backend}"
    spoken = [str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)]
    assert bool(spoken) == (backend == "reference"), f"warnings on the {backend} backend: {spoken}"

    tokenizer = bpeline.load("gpt2")
    assert tokenizer.encode("Hello, world!<|endoftext|>") == [15496, 11, 995, 0, 50256]
    languages = (TEXTS / "udhr.txt").read_text(encoding="utf-8")
    assert tokenizer.decode(tokenizer.encode(languages)) == languages

    book = (TEXTS / "pride_and_prejudice.txt").read_text(encoding="utf-8")
    text = book if backend == "native" else book[:20_000]
    start = time.perf_counter()
    ids = tokenizer.encode_array(text)
    seconds = time.perf_counter() - start
    assert tokenizer.decode(ids) == text
    assert tokenizer.count(text) == len(ids)

    with tempfile.TemporaryDirectory() as folder:
        for path in tokenizer.save(folder):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == SAVED[path.name], path.name

    # The command line is an extra: without it, one line that says what to install.
    command = subprocess.run([sys.executable, "-W", "ignore", "-m", "bpeline", "info"], capture_output=True, text=True)
    assert command.returncode != 0 and "pip install typer rich" in command.stderr, command
    assert "Traceback" not in command.stderr, command.stderr

    print(f"   {bpeline.__version__}, {bpeline.backend()} backend: {len(text):,} characters, {len(ids):,} tokens,")
    print(f"   {len(text) / 1e6 / seconds:.2f} MB/s" + (f"; warned: {spoken[0]}" if spoken else ""))


if __name__ == "__main__":
    main(sys.argv[1])
