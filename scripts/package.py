"""Builds the wheel and the source distribution, with scenarios and the agent as package data.

    python scripts/package.py FOLDER [--profile PROFILE]

The tracked files of the checkout are copied to a temporary folder, the data are added to the copy
of the package, and maturin builds both distributions there. So the checkout stays unchanged, and
only tracked files are packaged.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dfslab.testbeds.java_agent import PACKAGED_JAR, agent_jar

ROOT = Path(__file__).parents[1]
PACKAGE = Path("python") / "dfslab"
# The files and folders from which the distributions are built.
SOURCES = ("python", "core", "Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE")
# The folder of compiled files. If CARGO_TARGET_DIR names a folder that other builds also use, their
# compiled dependencies need not be compiled again.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The Python of the environment into which `make package` installs Zig.
TOOLS = Path(sys.prefix) / "wheel" / "bin" / "python"
# Options for a wheel that runs wherever manylinux2014 does: on Linux distributions from 2014 on.
# Zig's linker links against the symbols of glibc 2.17 (docs/decisions/029).
BASELINE = ("--zig", "--compatibility", "manylinux2014")


def tracked(*places: str) -> list[Path]:
    """Returns the tracked files at or below the given places of the checkout, relative to the
    checkout.
    """
    command = ["git", "ls-files", "-z", "--", *places]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return [Path(os.fsdecode(name)) for name in answer.stdout.split(b"\0") if name]


def stage(folder: Path) -> None:
    """Copies the files from which the distributions are built into a folder, and adds the package
    data.
    """
    for path in tracked(*SOURCES):
        _copy(ROOT / path, folder / path)
    for path in tracked("scenarios"):
        _copy(ROOT / path, folder / PACKAGE / path)
    _copy(agent_jar(print), folder / PACKAGE / PACKAGED_JAR)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def build(output: Path, profile: str, tools: Path) -> list[Path]:
    """Builds the wheel and the source distribution into a folder, and returns their paths. `tools`
    is the Python of an environment with the packages of `requirements-package.txt`.
    """
    maturin = Path(sys.executable).with_name("maturin")
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(TARGET),
        "CARGO_ZIGBUILD_PYTHON_PATH": str(tools),
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    with tempfile.TemporaryDirectory(prefix="dfslab-package-") as name:
        folder = Path(name)
        stage(folder)
        common = ["--out", str(output.resolve())]
        wheel = ["build", "--locked", "--strip", "--profile", profile, *BASELINE]
        for words in (["sdist"], wheel):
            command = [str(maturin), *words, *common]
            subprocess.run(command, cwd=folder, env=environment, check=True)
    return sorted(output.glob("dfslab-*"))


def main() -> None:
    """Builds both distributions and prints their names and sizes in megabytes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", default="release", help="Cargo profile of the compiled core")
    parser.add_argument(
        "--tools", type=Path, default=TOOLS, help="Python with requirements-package.txt installed"
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for path in build(options.folder, options.profile, options.tools):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
