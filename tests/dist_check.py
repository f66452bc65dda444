"""Builds the distributions and tries each as a user would, in an empty virtual environment.

1. the native wheel and the sdist, built from this tree;
2. the wheel, installed where no Rust is on PATH;
3. the sdist, installed natively where Rust is there;
4. the sdist, installed where no Rust is on PATH: the pure package, with its warning.

Each installation runs `tests/smoke.py` in an empty folder. Needs `build`, Rust and PyPI.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
IN_SDIST = ["Cargo.lock", "Makefile", "README.md", "python/bpeline_build.py", "rust/lib.rs", "tests/smoke.py"]
IN_WHEEL = ["bpeline/__init__.py", "bpeline/_native.pyi", "bpeline/builtin/o200k_base.pairs", "bpeline/py.typed"]

MOST_BYTES_OF_A_WHEEL = 6_000_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bpeline-dist-") as folder:
        check(Path(folder))


def check(folder: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("BPELINE_", "PYTHON"))}
    # Builds from the unpacked sdist find the dependencies compiled.
    with_rust = clean | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(TOP / "target"))}
    without_rust = clean | {"PATH": path_without_rust(clean["PATH"])}

    step("build the sdist and the native wheel")
    build: list[str | Path] = [sys.executable, "-m", "build", "--sdist", "--wheel", "--outdir", folder / "dist", TOP]
    run(build, with_rust | {"BPELINE_BUILD": "native"})
    [wheel] = (folder / "dist").glob("*.whl")
    [sdist] = (folder / "dist").glob("*.tar.gz")
    describe(sdist, sdist_names(sdist), IN_SDIST)
    wheel_names = zipfile.ZipFile(wheel).namelist()
    describe(wheel, wheel_names, IN_WHEEL)
    if wheel.stat().st_size > MOST_BYTES_OF_A_WHEEL:
        raise SystemExit(f"{wheel.name} has more than {MOST_BYTES_OF_A_WHEEL:,} bytes")
    modules = [name for name in wheel_names if name.startswith("bpeline/_native.") and not name.endswith(".pyi")]
    strangers = [name for name in wheel_names if not name.startswith(("bpeline/", "bpeline-"))]
    if len(modules) != 1 or strangers:
        raise SystemExit(f"{wheel.name}: native modules {modules}, files outside the package {strangers}")

    try_out("the native wheel, no Rust on PATH", folder / "wheel", wheel, without_rust, "native")
    try_out("the sdist, built natively", folder / "native", sdist, with_rust, "native")
    try_out("the sdist, no Rust on PATH", folder / "pure", sdist, without_rust, "reference")
    print("dist-check passed")


def try_out(title: str, folder: Path, distribution: Path, environment: dict[str, str], backend: str) -> None:
    step(title)
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distribution], environment)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    run([python, TOP / "tests" / "smoke.py", backend], environment, cwd=elsewhere)


def path_without_rust(path: str) -> str:
    folders = [
        folder for folder in path.split(os.pathsep) if not any(shutil.which(t, path=folder) for t in ("cargo", "rustc"))
    ]
    return os.pathsep.join(folders)


def sdist_names(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def describe(path: Path, names: list[str], expected: list[str]) -> None:
    missing = sorted(set(expected) - set(names))
    if missing:
        raise SystemExit(f"{path.name} lacks {', '.join(missing)}")
    print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.2f} MB")


def step(title: str) -> None:
    print(f"== {title}", flush=True)


def run(command: Sequence[str | Path], environment: dict[str, str], cwd: Path | None = None) -> None:
    """Quiet unless it fails."""
    start = time.monotonic()
    done = subprocess.run(
        command, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(map(str, command))}: exit code {done.returncode}")
    if Path(command[1]).name == "smoke.py":
        print(done.stdout, end="")
    print(f"   {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
