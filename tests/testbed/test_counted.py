"""Tests that the server counters of real file systems count every byte and call of a recorded
command."""

from __future__ import annotations

import pytest
from dfslab.cli.traces import trace_work
from dfslab.instruments.tracing import counter_profiles

pytestmark = pytest.mark.testbed
WRITES, SIZE_BYTES = 20, 4096
COMMAND = ["dd", "if=/dev/zero", "of=written", f"bs={SIZE_BYTES}", f"count={WRITES}", "oflag=sync"]


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
    if system == "juicefs":
        assert not any(found.losses.values())
