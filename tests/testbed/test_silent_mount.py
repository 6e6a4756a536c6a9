"""A file system that never answers: dfslab says so, exits with 1, and waits for nobody."""

from __future__ import annotations

import subprocess

import pytest
from support.command import DFSLAB
from support.silent_mount import silent_mount

pytestmark = pytest.mark.testbed

# Only ends what hangs; the limits of dfslab are a quarter of it in sum.
HANGS_S = 300
SCENARIO = """
schema = 1
name = "silent"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
access = { directory = "mount" }
[workload]
name = "sequential_read"
[run]
methods = ["measure"]
"""


def test_a_mount_that_never_answers_is_given_up_and_its_process_named(tmp_path):
    (tmp_path / "silent.toml").write_text(SCENARIO)
    (tmp_path / "mount").mkdir()
    with silent_mount(tmp_path / "mount"):
        # The output is a pipe: its end shows that the process left behind does not hold it.
        done = subprocess.run(
            [DFSLAB, "measure", "silent.toml"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
    assert done.returncode == 1
    assert "the file system has not answered a call for 15 s" in done.stderr
    assert "is left behind" in done.stderr
    assert "Traceback" not in done.stderr
