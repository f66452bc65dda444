"""Build backend (PEP 517, PEP 660): decides first, then delegates.

With a Rust toolchain, maturin builds the native wheel. Without one, hatchling packs the pure-Python
reference alone, which is exact but slow, and a banner says so. maturin is not asked in that case: its
own hooks would download a toolchain. `BPELINE_BUILD=native` or `=pure` forces one or the other.

A native build that fails does not turn into a pure one: whoever has Rust wants to know. The sdist is
hatchling's either way, so that it is the same whoever makes it. `prepare_metadata_for_build_*` is
left out on purpose: frontends then take the metadata from the wheel, and build it once.
"""

import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MATURIN = "maturin>=1.9.4,<2"
HATCHLING = "hatchling>=1.27"

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [HATCHLING if rust_problem() else MATURIN]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return [HATCHLING]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    return build("build_wheel", wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    return build("build_editable", wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    return str(importlib.import_module("hatchling.build").build_sdist(sdist_directory, config_settings))


def build(hook: str, folder: str, config_settings: Settings, metadata_directory: str | None) -> str:
    problem = rust_problem()
    if problem:
        pure_banner(problem)
        backend = importlib.import_module("hatchling.build")
    else:
        backend = importlib.import_module("maturin")
    try:
        return str(getattr(backend, hook)(folder, config_settings, metadata_directory))
    except SystemExit:
        if not problem:
            banner("the native build failed; the messages above say why", "BPELINE_BUILD=pure builds without Rust")
        raise


def rust_problem() -> str | None:
    """Why the wheel will be pure, or None for a native one."""
    choice = os.environ.get("BPELINE_BUILD", "")
    if choice == "pure":
        return "BPELINE_BUILD=pure"
    if choice not in ("", "native"):
        raise SystemExit(f'BPELINE_BUILD must be "native" or "pure", not {choice!r}')
    problem = next(filter(None, map(tool_problem, ("cargo", "rustc"))), None)
    if problem and choice == "native":
        raise SystemExit(f"BPELINE_BUILD=native, but {problem}")
    return problem


def tool_problem(tool: str) -> str | None:
    """What is wrong with a program of the toolchain. It is run, since a rustup proxy may stand for nothing."""
    with open("Cargo.toml", "rb") as file:
        needed = tomllib.load(file)["package"]["rust-version"]
    try:
        output = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except FileNotFoundError:
        return f"{tool} is not on PATH (Rust {needed} or newer is needed)"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{tool} does not run: {error}"
    found = re.search(r"(\d+)\.(\d+)", output)
    if not found:
        return f"{tool} --version printed {output!r}, which names no version"
    if tuple(map(int, found.groups())) < tuple(map(int, needed.split(".")[:2])):
        return f"{tool} is {found[0]} (Rust {needed} or newer is needed)"
    return None


def pure_banner(problem: str) -> None:
    lines = [
        f"building bpeline WITHOUT its native module: {problem}",
        "the package will work and give the same ids, but about a hundred times slower",
        "for speed, install Rust and install bpeline again with pip install --force-reinstall",
    ]
    leftover = sorted(Path("python/bpeline").glob("_native*.so"))
    if leftover:
        lines.append(f"an editable install would still find {leftover[0]} of an earlier build; delete it")
    banner(*lines)


def banner(*lines: str) -> None:
    rule = "=" * max(map(len, lines))
    print("", rule, *lines, rule, "", sep="\n", file=sys.stderr, flush=True)
