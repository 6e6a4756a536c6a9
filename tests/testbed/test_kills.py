"""Tests that `testbed down --all` cleans the machine after dfslab was killed at a random moment."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dfslab.testbeds import registry, state
from dfslab.testbeds.holdings import holdings, settled
from support.waiting import wait_until

pytestmark = pytest.mark.testbed
DFSLAB = str(Path(sys.executable).with_name("dfslab"))
UP = [
    "testbed",
    "up",
    "glusterfs",
    "--servers",
    "2",
    "--clients",
    "1",
    "--link",
    "200Mbit",
    "--disk",
    "10MiB/s",
]
RUN = """schema = 1
name = "killed"
file_system = { name = "glusterfs", access = { testbed = true } }
workload = { name = "sequential_write", file_size = "8 MiB", operations_per_client = 40 }
run = { methods = ["measure"] }

[deployment]
# A busy machine may give less than the declared rates; other tests check these.
tolerance = 0.9

[[deployment.node]]
name = "server"
count = 2
roles = { brick = 1 }
adapter = { bandwidth = "200 Mbit/s" }
disk = { write_rate = "10 MiB/s", capacity = "2 GiB" }

[[deployment.node]]
name = "client"
roles = { client = 1 }
adapter = { bandwidth = "200 Mbit/s" }
"""


def started(words: list[str], folder: Path) -> subprocess.Popen:
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen([DFSLAB, *words], cwd=folder, stdout=said, stderr=said)


def phases() -> list[str]:
    """Returns the stage, such as "up", of each testbed in the state folder, as stated in the
    testbed's record on disk."""
    records = [folder.read() for folder in state.folders()]
    return [record.phase for record in records if record]


def once(true: Callable[[], bool], child: subprocess.Popen, limit_s: float = 240) -> None:
    assert wait_until(lambda: true() or child.poll() is not None, limit_s)
    assert child.poll() is None, "it ended before it was killed"


def killed(child: subprocess.Popen, after_s: float) -> bool:
    """Kills the process `child` after `after_s` seconds. Returns whether the process was still
    running at that time."""
    time.sleep(after_s)
    ran = child.poll() is None
    child.kill()
    child.wait()
    return ran


def killed_start(folder: Path, rng: random.Random) -> bool:
    """Starts a testbed and kills dfslab at a random moment of the start. Returns False if dfslab
    had already ended."""
    before = len(state.folders())
    child = started(UP, folder)
    once(lambda: len(state.folders()) > before, child)
    return killed(child, rng.uniform(0, 6))


def killed_run(folder: Path, rng: random.Random) -> bool:
    """Runs a scenario on a new testbed and kills dfslab during the workload. Returns False if
    dfslab had already ended."""
    before = phases().count("up")
    child = started(["run", "killed.toml"], folder)
    once(lambda: phases().count("up") > before, child)
    return killed(child, rng.uniform(0, 3))


def killed_end(folder: Path, rng: random.Random) -> bool:
    """Takes a testbed down and kills dfslab after it has begun to end the daemons. Returns False if
    dfslab had already ended."""
    child = started(UP, folder)
    assert child.wait(240) == 0
    name = max(
        registry.list_testbeds(), key=lambda testbed: (testbed.state == "up", testbed.created)
    ).name
    child = started(["testbed", "down", name], folder)
    once(lambda: ("up", name) not in {(b.state, b.name) for b in registry.list_testbeds()}, child)
    return killed(child, rng.uniform(0, 0.05))


def test_ten_kills_leave_what_testbed_down_cleans(nothing_left, tmp_path):
    """dfslab is killed ten times while it starts, uses or takes down a testbed. Afterwards,
    `testbed down --all` removes everything that dfslab left on the machine.

    The JSON files that killed runs have stored are complete.
    """
    rng = random.Random(5)
    (tmp_path / "killed.toml").write_text(RUN)
    before = holdings()
    rounds = [killed_end, *[killed_start, killed_run] * 3, killed_start, killed_end, killed_start]
    ran = [kill(tmp_path, rng) for kill in rounds]
    print(
        [
            f"{kill.__name__}: {'cut off' if cut else 'had ended'}"
            for kill, cut in zip(rounds, ran, strict=True)
        ]
    )
    for kill in set(rounds):
        assert any(cut for one, cut in zip(rounds, ran, strict=True) if one is kill)
    assert settled(before, 0) != [], "there was nothing to clean"
    down = subprocess.run([DFSLAB, "testbed", "down", "--all"], capture_output=True, text=True)
    assert down.returncode == 0, down.stderr
    assert settled(before) == []
    for path in tmp_path.rglob("*.json"):
        json.loads(path.read_text())
