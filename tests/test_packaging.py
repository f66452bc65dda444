"""One version everywhere, and the build backend's decision between the native and the pure wheel."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bpeline

TOP = Path(__file__).resolve().parents[1]
CARGO = tomllib.loads((TOP / "Cargo.toml").read_text(encoding="utf-8"))
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))


def test_one_version():
    assert CARGO["package"]["version"] == PYPROJECT["project"]["version"] == bpeline.__version__


def test_the_core_needs_numpy_alone():
    assert [requirement.split(">")[0] for requirement in PYPROJECT["project"]["dependencies"]] == ["numpy"]


@pytest.fixture
def backend(monkeypatch):
    """The build backend, run in the source tree as frontends run it, with no choice made."""
    spec = importlib.util.spec_from_file_location("bpeline_build", TOP / "python" / "bpeline_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(TOP)
    monkeypatch.delenv("BPELINE_BUILD", raising=False)
    return module


@pytest.fixture
def toolchain(tmp_path, monkeypatch):
    """toolchain(cargo="echo cargo 1.95.0") puts shell scripts of that content, and nothing else, on PATH."""

    def install(**programs):
        for name, script in programs.items():
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return install


def requirement(names):
    [name] = names
    return name.split(">")[0]


GOOD = {"cargo": "echo 'cargo 1.95.0 (f2d3ce0bd 2026-03-21)'", "rustc": "echo 'rustc 1.95.0 (59807616e 2026-04-14)'"}


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
@pytest.mark.parametrize(
    ("programs", "problem"),
    [
        (GOOD, None),
        ({"cargo": "echo cargo 1.89.0-nightly", "rustc": "echo rustc 2.0.0"}, None),
        ({}, "cargo is not on PATH"),
        ({"cargo": GOOD["cargo"]}, "rustc is not on PATH"),
        ({"rustc": GOOD["rustc"]}, "cargo is not on PATH"),
        (GOOD | {"rustc": "echo rustc 1.88.0"}, "rustc is 1.88"),
        (GOOD | {"cargo": "echo cargo 1.9.0"}, "cargo is 1.9"),
        (GOOD | {"cargo": "echo no default toolchain >&2; exit 1"}, "cargo does not run"),
        (GOOD | {"cargo": "echo what"}, "cargo --version printed"),
    ],
)
def test_native_only_with_a_toolchain_that_runs_and_is_new_enough(backend, toolchain, programs, problem):
    toolchain(**programs)
    said = backend.rust_problem()
    assert said is None if problem is None else said.startswith(problem)
    tool = "maturin" if problem is None else "hatchling"
    assert requirement(backend.get_requires_for_build_wheel()) == tool
    assert requirement(backend.get_requires_for_build_editable()) == tool
    assert requirement(backend.get_requires_for_build_sdist()) == "hatchling"


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_bpeline_build_forces(backend, toolchain, monkeypatch):
    toolchain(**GOOD)
    monkeypatch.setenv("BPELINE_BUILD", "pure")
    assert requirement(backend.get_requires_for_build_wheel()) == "hatchling"
    monkeypatch.setenv("BPELINE_BUILD", "native")
    assert requirement(backend.get_requires_for_build_wheel()) == "maturin"
    monkeypatch.setenv("BPELINE_BUILD", "fast")
    with pytest.raises(SystemExit, match='BPELINE_BUILD must be "native" or "pure", not \'fast\''):
        backend.rust_problem()
    monkeypatch.setenv("BPELINE_BUILD", "native")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"BPELINE_BUILD=native, but cargo is not on PATH \(Rust 1\.\d+ or newer"):
        backend.rust_problem()


def test_a_pure_wheel_is_loud_and_has_no_native_module(tmp_path):
    build = f"import bpeline_build; print(bpeline_build.build_wheel({str(tmp_path)!r}))"
    environment = os.environ | {"PYTHONPATH": str(TOP / "python"), "BPELINE_BUILD": "pure"}
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=TOP, env=environment, capture_output=True, text=True, check=True
    )
    assert "building bpeline WITHOUT its native module: BPELINE_BUILD=pure" in done.stderr
    name = done.stdout.splitlines()[-1]
    assert name == f"bpeline-{bpeline.__version__}-py3-none-any.whl"
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", tmp_path / name], capture_output=True, text=True, check=True
    ).stdout
    assert "bpeline/_reference/unicode_tables.py" in listed
    assert "bpeline/builtin/o200k_base.pairs" in listed
    assert "_native." not in listed.replace("_native.pyi", "")
