"""Tests that the slow component is first in the ranking of the components of a real HDFS. One
component was made slow for the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]
BENCH = Path(__file__).parents[2] / "benches" / "interventions.py"


def test_a_slowed_disk_is_named_first(nothing_left):
    answer = subprocess.run(
        [sys.executable, str(BENCH)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env={
            **os.environ,
            "DFSLAB_BENCH_ROUNDS": "1",
            "DFSLAB_BENCH_FILES": "4",
            "DFSLAB_BENCH_WARM_UP": "1",
        },
    )
    assert answer.returncode == 0, answer.stderr
    row = json.loads(next(line for line in answer.stdout.splitlines() if line.startswith("{")))
    assert row["named"] == row["part"] == "datanode-1: disk"
    # Only the sign of the gain and its interval are checked, because this test has few files and
    # may run on a busy machine. A benchmark checks the size of the gain.
    assert 0 < row["low"] <= row["predicted"] <= row["high"] < 1
    assert row["slow_s"] > 0
