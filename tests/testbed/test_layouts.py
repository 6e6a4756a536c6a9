"""Tests of each layout of the real file systems. A layout is started as declared, can be written
and then read with cold caches, and is removed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
import testbeds

pytestmark = pytest.mark.testbed
LINK_BYTES_PER_S = 100e6 / 8  # bytes per second, as in testbeds.BUSY
# File systems whose default layout is tested in `test_real_systems` and therefore not in this
# module.
SHARED = {"glusterfs", "moosefs", "cephfs", "juicefs", "hdfs"}
CASES = [case for case in testbeds.cases() if case.layout or case.system not in SHARED]


def test_every_system_that_is_shared_has_a_testbed():
    assert {case.system for case in testbeds.cases()} >= SHARED


# `make testbeds` starts all layouts; a normal run of the tests starts a sample of them.
@pytest.mark.grid
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_layout_is_as_declared_verified_and_leaves_nothing(nothing_left, case):
    observed = testbeds.one(case, testbeds.BUSY, print)
    assert observed.left_over == []
    assert (observed.complete, observed.errors) == (True, [])
    assert observed.verified_bytes > 0
    kinds = {check.quantity for check in observed.hardware}
    assert kinds >= {"link rate", "round trip"}
    # The start of the testbed has compared the measured hardware with the declared hardware. The
    # test only checks that the link rate was compared.
    links = {check.declared for check in observed.hardware if check.quantity == "link rate"}
    assert links == {LINK_BYTES_PER_S}
    assert all(observed.versions.values())
