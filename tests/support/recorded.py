"""Recorded outputs of real systems and a recorded run, kept in tests/recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "recorded"
# File system -> recorded text of its servers' own counters.
COUNTERS = {
    "glusterfs": RECORDED / "glusterfs-profile.xml",
    "cephfs": RECORDED / "ceph-osd.0-perf.json",
    "moosefs": RECORDED / "moosefs.stats",
}
RUN = RECORDED / "run"


@pytest.fixture
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded run: eight configurations of writes, measured, traced, predicted."""
    return copied(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded run for all tests of a module, which change no result in it."""
    return copied(tmp_path_factory.mktemp("kept"))


def copied(folder: Path) -> Path:
    """Copy the recorded run to another folder and return its path."""
    return Path(shutil.copytree(RUN, folder / "run"))
