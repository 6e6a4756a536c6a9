"""Kill -9 in the middle of a sweep, ten times at random: the finished table is the same."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

SCENARIO = """
schema = 1
name = "killed"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
access = { directory = "data" }
[workload]
name = "sequential_write"
transfer_size = "64 KiB"
operations_per_client = 40
[run]
methods = ["measure", "mean"]
repetitions = 2
[[sweep]]
"workload.name" = ["sequential_write", "sequential_read", "random_read"]
"workload.clients" = [1, 2]
"workload.file_size" = ["64 KiB", "128 KiB", "256 KiB", "1 MiB"]
"""
KILLS, SEED, RUNS = 10, 8, 3 * 2 * 4 * 2

# One process imports everything once; its children are killed and what they left goes on. Then it
# runs the same without a kill.
KILLER = f"""
import os, random, signal, time
from pathlib import Path
from dfslab.cli.laboratory import export_runs
from dfslab.laboratory import Laboratory
from dfslab.spec.check import check
from dfslab.spec.files.outputs import Output
from dfslab.spec.scenario import read

scenario = read(Path("scenario.toml"))
chance = random.Random({SEED})
check(scenario)

def results(out):
    return {{path.name: path.stat().st_mtime_ns for path in out.glob("killed/2*/results/m*.json")}}

def sweep(out):
    laboratory = Laboratory()
    laboratory.run(laboratory.plan(scenario), out)

killed = Path("killed")
for turn in range({KILLS}):
    before = results(killed)
    child = os.fork()
    if not child:
        try:
            sweep(killed)
        finally:
            os._exit(3)
    # So many runs, not so long: however fast the machine is, some are left for the last turn.
    more = chance.randint(1, {RUNS} // {KILLS} - 2)
    while len(results(killed)) < len(before) + more:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the sweep ended before it was killed"
        time.sleep(0.001)
    time.sleep(chance.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the sweep ended before it was killed"
    after = results(killed)
    assert all(after[name] == stamp for name, stamp in before.items()), "a run was done twice"
for out in (killed, Path("whole")):
    sweep(out)
    (folder,) = out.glob("killed/2*")  # a killed sweep is resumed, not begun again
    export_runs(folder, Output("-o", Path(f"{{out}}.csv")))
"""


def table(place: Path, name: str) -> list[tuple[str, ...]]:
    """What was run: the keys and the repetition of every row."""
    with (place / f"{name}.csv").open(encoding="utf-8") as rows:
        return sorted(
            tuple(row[key] for key in sorted(row) if "workload." in key or key == "repetition")
            for row in csv.DictReader(rows)
        )


def test_ten_kills_lose_nothing_and_run_nothing_twice(tmp_path):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "data").mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", KILLER],
        cwd=tmp_path,
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    killed, whole = table(tmp_path, "killed"), table(tmp_path, "whole")
    assert len(set(killed)) == len(killed) == RUNS
    assert killed == whole
