"""Tests that recordings confirm the assumed uncertainty of a measured constant. The profile of the
same machine was measured twice on each of two file systems."""

from __future__ import annotations

import json
import math
import tomllib

import numpy as np
import pytest
from dfslab.filesystems.local.facts import measured
from dfslab.models.tree.prediction import MEASURED_SPREAD
from dfslab.spec.systems.local_files import LocalFiles

from verification.recordings import DATA

FSYNC = "fsync_delay"


def constants(file_system: str, half: str) -> dict[str, float]:
    """Returns the constants of one profile in SI units. The profile was measured before the
    recording of the half `half` of the grid ("development" or "judged")."""
    recording = json.loads((DATA / f"local-disk-{half}-{file_system}.json").read_text())
    (node,) = tomllib.loads(recording["profile"])["deployment"]["node"]
    return measured(LocalFiles.model_validate(node["local_files"]))


def log_sd(without: frozenset[str] = frozenset()) -> float:
    """Returns the standard deviation of ln(constant) between repeated profiles, sqrt(mean(d^2)/2).
    The mean is over both file systems and over all constants except those in `without`. For each of
    them, d is the difference between the natural logarithms of the constant in the two profiles."""
    halves = [
        math.log(first[key] / second[key]) ** 2 / 2
        for first, second in (
            (constants(one, "development"), constants(one, "judged")) for one in ("ext4", "xfs")
        )
        for key in first.keys() - without
    ]
    assert len(halves) == 2 * (10 - len(without))
    return math.sqrt(float(np.mean(halves)))


def test_the_spread_of_a_measured_constant_is_that_of_recorded_pairs():
    assert math.ceil(10 * log_sd()) / 10 == MEASURED_SPREAD


def test_fsync_on_a_shared_disk_varies_more_than_processor_times():
    assert log_sd(frozenset({FSYNC})) == pytest.approx(0.04, abs=0.005)
