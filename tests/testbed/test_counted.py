"""Tests that the server counters of real file systems count every byte and call of a recorded
command. For GlusterFS and CephFS, the tests also check the spans of single calls: each span is
below the span of the call that caused it."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.cli.traces import trace_work
from dfslab.documents.traces.trace_profile import Entry
from dfslab.instruments import trace
from dfslab.instruments.tracing import counter_profiles

pytestmark = pytest.mark.testbed
WRITES, SIZE_BYTES = 20, 4096
COMMAND = ["dd", "if=/dev/zero", "of=written", f"bs={SIZE_BYTES}", f"count={WRITES}", "oflag=sync"]


def calls(folder: Path) -> list[Entry]:
    """Returns the entries of the call profile that a recording wrote to `folder`: one entry for
    each calling path."""
    return trace.profile([folder / "calls.trace"]).ranking


@pytest.mark.parametrize("system", ["glusterfs", "juicefs"])
def test_what_a_command_wrote_was_counted(system, nothing_left, tmp_path):
    folder = tmp_path / "traced"
    found = trace_work.record_command(system, {}, COMMAND, folder, lambda text: None)
    named = {row.path.step.lower(): row for row in found.ranking_by_name}
    # Each write is synchronous, so the client cannot merge writes and the counts are exact.
    assert named["write"].bytes == WRITES * SIZE_BYTES
    assert named["write"].count == WRITES
    assert named["create"].count >= 1
    assert 0 < named["write"].total_s < 60
    assert found.counted is (system in counter_profiles.formats())
    if system == "glusterfs":
        of_brick = [row for row in calls(folder) if row.name == "brick:WRITE"]
        assert sum(row.count for row in of_brick) == WRITES
        # A synchronous write ends at the brick before it ends at the client. So the write at the
        # brick is recorded as a call within the client's write.
        assert {str(row.path.parent) for row in of_brick} == {"client:WRITE"}
    if system == "juicefs":
        assert not any(found.losses.values())


def test_operations_of_cephfs_for_one_write_are_one_tree(nothing_left, tmp_path):
    """Every synchronous write is a call of one OSD. This OSD copies the data to other OSDs. The
    calls that copy the data are below the first call in the call tree."""
    folder = tmp_path / "traced"
    trace_work.record_command("cephfs", {}, COMMAND, folder, lambda text: None)
    rows = calls(folder)
    named = {str(row.path): row for row in rows}
    assert named["osd:osd_op"].count >= WRITES
    assert named["osd:osd_op/osd:osd_repop"].count >= WRITES
    assert any(row.name == "mds:create" for row in rows)
