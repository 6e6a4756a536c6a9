"""Gives tests the outputs of real systems and the run that are recorded in tests/recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "recorded"
# The keys are file systems. Each value is the file with the recorded output of the counters of its
# servers.
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
    """Returns the path of one copy of the recorded run, which all tests of a module share. These
    tests must not change the results in it."""
    return copied(tmp_path_factory.mktemp("kept"))


def copied(folder: Path) -> Path:
    """Copies the recorded run to another folder and returns the copy's path."""
    return Path(shutil.copytree(RUN, folder / "run"))
