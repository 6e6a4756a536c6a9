"""Gives tests the recorded data of tests/recorded: the outputs of real systems, and a recorded
run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "recorded"
# Recorded outputs of server counters. The keys are file systems, and the values are files in
# tests/recorded.
COUNTERS = {
    "glusterfs": RECORDED / "glusterfs-profile.xml",
    "cephfs": RECORDED / "ceph-osd.0-perf.json",
    "moosefs": RECORDED / "moosefs.stats",
}
RUN = RECORDED / "run"


@pytest.fixture
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of a copy of the recorded run: eight configurations of writes, which were
    measured, traced and predicted."""
    return copied(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of one copy of the recorded run. All tests of a module share the copy, so
    they must not change the results in it."""
    return copied(tmp_path_factory.mktemp("kept"))


def copied(folder: Path) -> Path:
    """Copies the recorded run to another folder and returns the copy's path."""
    return Path(shutil.copytree(RUN, folder / "run"))
