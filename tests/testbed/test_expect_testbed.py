"""Tests that `dfslab expect` measures a testbed that another process has started, and names a disk
that is slower than declared."""

from __future__ import annotations

import json

import pytest
from dfslab import discover
from dfslab.filesystems.nfs.testbed import Testbed
from dfslab.instruments.discovery import place, probes
from dfslab.spec.systems.standard import standard
from dfslab.studies.expect import place_rates
from support.command import dfslab

pytestmark = pytest.mark.testbed
# Rates of the testbed's link and disk in bytes per second. No predefined scenario has the same
# rates. Both rates are so low that a busy processor sustains them as well as an idle one.
LINK, DISK = 12.5e6, 5e6


@pytest.fixture(scope="module")
def testbed(nothing_left):
    """Provides a running NFS server on a slow disk."""
    declared = standard(discover.file_system("nfs"), 1, 1, LINK, 0.0, DISK)
    with Testbed.up(notify=print, name="expected", deployment=declared) as running:
        yield running


def test_a_running_testbed_is_a_place_with_its_declared_hardware(testbed):
    found = place.find(testbed.name)
    assert found.system == "nfs"
    assert found.testbed is not None
    assert found.testbed.endpoint == testbed.endpoint
    assert found.deployment is not None
    assert {one.adapter.bandwidth for one in found.deployment.node} == {LINK}
    trips = place.probed(found).round_trips_s
    assert 0 < max(trips["server"]) < 0.1


def test_a_disk_that_is_slower_than_declared_is_named(testbed, tmp_path, monkeypatch):
    # The test replaces the functions that measure which share of the processors this process and
    # other programs get. Otherwise other work on this machine would widen the intervals and make
    # the verdict inconclusive. The limit of the disk does not depend on other work.
    monkeypatch.setattr(probes, "processor_share", lambda: 1.0)
    monkeypatch.setattr(place_rates, "others_share", lambda _: 0.0)
    words = ("expect", testbed.name, "--time", "20s", "--server-disk", "20MB/s", "--json")
    done = dfslab(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    # On a busy processor, the read from the page cache is slow. A slow link then explains the
    # measured rates as well as the slow disk does. The disk may therefore be one of the
    # alternatives instead of the fault.
    named = [answer["fault"], *answer["alternatives"]]
    assert any(text.startswith("the server disk delivers about") for text in named), named
    assert any("server disk" in row["gap"] for row in answer["rows"])
    scenario = (tmp_path / answer["scenario"]).read_text()
    assert "testbed = true" in scenario
    # The testbed is in the same state as before the command: it is up, and its export is empty.
    assert not list(testbed.server.path(testbed.directory).iterdir())
