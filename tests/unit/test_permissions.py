"""Tests of files and folders that this user may not read or write. Each error is one line with the
path and the user, and the exit code says whether an input or the run was at fault."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command import DFSLAB

SCENARIO = """
schema = 1
name = "m"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_write"
file_size = "4 KiB"
operations_per_client = 5
[run]
methods = ["measure"]
"""
# The words that take the right to pass by permissions from root, and from no other user.
PLAIN_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def plain(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `dfslab WORDS` in a folder, as a user for whom permissions hold."""
    if os.geteuid() == 0 and not shutil.which(PLAIN_USER[0]):
        pytest.skip("root passes by permissions, and setpriv is missing")
    limited = PLAIN_USER if os.geteuid() == 0 else []
    command = [*limited, DFSLAB, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@contextmanager
def mode(path: Path, mode: int) -> Iterator[None]:
    """Returns a context in which a path has other permissions."""
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provides a folder with a scenario and one complete run of it."""
    folder = tmp_path_factory.mktemp("permissions")
    (folder / "m.toml").write_text(SCENARIO)
    (folder / "closed").mkdir()
    done = plain("measure", "m.toml", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


USER = f"user {os.geteuid()} may not"
CHANGE = "change its permissions, or use `sudo`"


@pytest.mark.parametrize(
    ("closed", "words", "path"),
    [
        ("runs", ("report", "runs/m/latest"), "runs"),
        ("runs/m", ("compare", "runs/m/latest", "runs/m/latest"), "runs/m"),
        ("runs/m/latest/results", ("check", "runs/m/latest"), "runs/m/latest/results"),
        ("closed", ("trace", "report", "closed/x.otlp"), "closed"),
        ("closed", ("measure", "closed/m.toml"), "closed"),
    ],
)
def test_a_folder_that_may_not_be_entered_is_named(place, closed, words, path):
    with mode(place / closed, 0):
        done = plain(*words, folder=place)
    found = done.stderr.replace(str((place / "runs/m/latest").resolve()), "runs/m/latest")
    assert found in (
        f"dfslab: {path}: {USER} enter it; {CHANGE}\n",
        f"dfslab: {path}: {USER} read it; {CHANGE}\n",
    )
    assert done.returncode == 2


@pytest.mark.parametrize("name", ["results/records.jsonl", "scenario.toml"])
def test_a_file_of_a_run_that_may_not_be_read_is_named(place, name):
    with mode(place / "runs/m/latest" / name, 0):
        done = plain("export", "runs/m/latest", "--as", "csv", "-o", "x.csv", folder=place)
    assert done.stderr == f"dfslab: runs/m/latest/{name}: {USER} read it; {CHANGE}\n"
    assert done.returncode == 2
    assert not (place / "x.csv").exists()


def test_a_run_that_cannot_be_rewritten_is_named_without_a_temporary_file(place):
    run = (place / "runs/m/latest").resolve()
    with mode(run, 0o555):
        done = plain("report", "runs/m/latest", folder=place)
    another = "name another folder, or use `sudo`"
    assert done.stderr == f"dfslab: runs/m/latest: {USER} write there; {another}\n"
    assert done.returncode == 1


@pytest.mark.parametrize("name", [".", "scenario.toml"])
def test_a_run_that_may_not_be_read_is_not_left_out_in_silence(place, name):
    """The unreadable run may be the unfinished run of the same scenario, so no new run is begun."""
    run = (place / "runs/m/latest").resolve()
    before = sorted((place / "runs/m").iterdir())
    with mode(run / name, 0):
        done = plain("measure", "m.toml", folder=place)
        fresh = plain("measure", "m.toml", "--fresh", "--plan", folder=place)
    which = f"runs/m/{run.name}" + ("" if name == "." else f"/{name}")
    assert done.stderr.startswith(f"dfslab: --out = 'runs': {which}: {USER} ")
    assert done.stderr.endswith(
        f"{CHANGE}; this may be an unfinished run of the scenario, and --fresh starts a new one\n"
    )
    assert done.returncode == 2
    assert "unfinished" not in fresh.stderr
    assert sorted((place / "runs/m").iterdir()) == before


def test_an_output_that_cannot_be_written_is_refused_before_the_work(place):
    with mode(place / "closed", 0o555):
        done = plain("calibrate", "-o", "closed/c.toml", folder=place)
    assert done.stderr == (
        f"dfslab: --output = 'closed': is not writable for user {os.geteuid()}; name another "
        "folder, or use `sudo`\n"
    )
    assert done.returncode == 2
