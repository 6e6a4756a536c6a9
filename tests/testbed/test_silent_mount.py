"""Tests that dfslab reports a file system that never answers and exits with 1. dfslab does not wait
until its calls to this file system end."""

from __future__ import annotations

import subprocess

import pytest
from support.command import DFSLAB
from support.silent_mount import silent_mount

pytestmark = pytest.mark.testbed

# Time limit in seconds. The limit only ends tests that hang: the sum of all time limits of dfslab
# is a quarter of HANGS_S.
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


# Commands that are given the mount by a scenario, by its folder, or by an option.
COMMANDS = (
    ("measure", "silent.toml"),
    ("measure", "mount"),
    ("expect", "mount"),
    ("calibrate", "--directory", "mount"),
)


def test_a_mount_that_never_answers_is_given_up_and_its_process_named(tmp_path):
    (tmp_path / "silent.toml").write_text(SCENARIO)
    (tmp_path / "mount").mkdir()
    with silent_mount(tmp_path / "mount"):
        begun = [
            subprocess.Popen(
                [DFSLAB, *command],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for command in COMMANDS
        ]
        # The test reads the output of each command until the pipe is closed. A process that the
        # command left behind would keep the pipe open, and the test would fail.
        errors = [one.communicate(timeout=HANGS_S)[1] for one in begun]
    for command, process, error in zip(COMMANDS, begun, errors, strict=True):
        assert process.returncode == 1, command
        assert "the file system has not answered a call for 15 s" in error, command
        assert "is left behind" in error, command
        assert "Traceback" not in error, command
