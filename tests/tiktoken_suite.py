"""Runs tiktoken's own tests, unchanged, on `bpeline.compat.tiktoken`: `python -m tests.tiktoken_suite [SDIST] [OPTIONS]`.

Without the path of an sdist it is fetched from PyPI, of the version that the module follows; where that cannot be, the
run is skipped. OPTIONS go to pytest. A sitecustomize.py makes `import tiktoken` mean ours from the start, in the processes that
the tests start too, and one more test sees that it does.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import bpeline
import bpeline.compat.tiktoken as compat

INSTALL = "import bpeline.compat.tiktoken\nbpeline.compat.tiktoken.install()\n"
IS_OURS = (
    "import tiktoken\n\n\ndef test_it_is_ours():\n    assert tiktoken.Encoding.__module__.startswith('bpeline.')\n"
)


def fetch(folder: Path) -> Path | None:
    """The sdist from PyPI."""
    wanted = f"tiktoken=={compat.__version__}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", wanted]
    if subprocess.run([*command, "--dest", folder], check=False).returncode:
        return None
    return next(folder.glob("tiktoken-*.tar.gz"))


def run(sdist: Path, folder: Path, options: list[str]) -> int:
    with tarfile.open(sdist) as archive:
        members = [member for member in archive if Path(member.name).parts[1:2] == ("tests",)]
        archive.extractall(folder, members, filter="data")
    (tests,) = folder.glob("*/tests")
    (tests / "test_it_is_ours.py").write_text(IS_OURS)
    shim = folder / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(INSTALL)
    # hypothesis makes texts of the literals in modules that are not in such a folder, and special tokens are among ours:
    # those tiktoken itself refuses in a text.
    packages = folder / "site-packages"
    packages.symlink_to(Path(bpeline.__file__).parents[1], target_is_directory=True)
    path = os.pathsep.join([str(shim), str(packages)])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tests.parent}",
        str(tests),
        *options,
    ]
    return subprocess.run(command, cwd=tests.parent, env=os.environ | {"PYTHONPATH": path}, check=False).returncode


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="tiktoken-suite-") as name:
        folder = Path(name)
        given = [Path(argument) for argument in arguments if argument.endswith(".tar.gz")]
        sdist = given[0].resolve() if given else fetch(folder)
        if sdist is None:
            print("skipped: the sdist of tiktoken cannot be fetched")
            return 0
        return run(sdist, folder, [argument for argument in arguments if not argument.endswith(".tar.gz")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
