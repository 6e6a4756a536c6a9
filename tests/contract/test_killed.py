"""Tests that a sweep killed by SIGKILL ten times can be resumed, and then has exactly the runs that
its scenario requests."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tomllib
from itertools import product
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
SWEPT = ("workload.name", "workload.clients", "workload.file_size")
REPETITIONS = 2
KILLS, SEED, RUNS = 10, 8, 3 * 2 * 4 * REPETITIONS

# A program that forks a child for each kill. Each child resumes the sweep and kills itself at one
# of three moments of a run: when operations begin, when half of the result's record is written, or
# when the whole record is written. After the last child, the program itself completes the sweep.
KILLER = f"""
import os, random, signal
from pathlib import Path
from types import SimpleNamespace
from dfslab import _core
from dfslab.cli.commands_work import export_runs
from dfslab.fleet import run
from dfslab.laboratory import Laboratory
from dfslab.spec.check import check
from dfslab.spec.files.outputs import Output
from dfslab.spec.scenario import read
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.records.record_log import RecordLog

MOMENTS = ("running", "half", "stored")
scenario = read(Path("scenario.toml"))
chance = random.Random({SEED})
write = os.write
killed = Path("killed")
check(scenario)

def results():
    folders = killed.glob("killed/2*")
    found = [one for folder in folders for one in RecordLog(folder).read()]
    return {{key_of(one): one.provenance.started for one in found if one.method == "measure"}}

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def sweep():
    laboratory = Laboratory()
    laboratory.run(laboratory.plan(scenario), killed)

def killed_sweep(moment, number):
    begun = []

    def load(text, progress, *watching):
        begun.append(text)
        if moment == "running" and len(begun) == number:
            watching = (die, *watching[1:])  # called when all files are made
        return _core.run_load(text, progress, *watching)

    def write_or_die(descriptor, data):
        ours = len(begun) == number and bytes(data[:10]) == b'{{"sha256":'[:10]
        if ours and moment == "half":
            write(descriptor, data[: len(data) // 2])
            die()
        done = write(descriptor, data)
        if ours and moment == "stored":
            die()
        return done

    run._core = SimpleNamespace(run_load=load)
    os.write = write_or_die
    sweep()

for turn in range({KILLS}):
    before, moment = results(), MOMENTS[turn % len(MOMENTS)]
    # So few runs that some are left for the last turn.
    number = chance.randint(1, {RUNS} // {KILLS} - 1)
    child = os.fork()
    if not child:
        try:
            killed_sweep(moment, number)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the sweep ended before it was killed"
    after = results()
    assert len(after) == len(before) + number - (moment != "stored"), (moment, number)
    assert all(after[name] == stamp for name, stamp in before.items()), "a run was done twice"
sweep()
(folder,) = killed.glob("killed/2*")  # a killed sweep is resumed, not begun again
export_runs(folder, Output("-o", Path("killed.csv")))
"""


def table(path: Path) -> list[tuple[str, ...]]:
    """Returns, for each row of a table of runs, the values of the varied keys and the
    repetition."""
    with path.open(encoding="utf-8") as rows:
        return sorted(
            (*(row[key] for key in SWEPT), row["repetition"]) for row in csv.DictReader(rows)
        )


def planned() -> list[tuple[str, ...]]:
    """Returns the rows that `table` should return, computed from the scenario: one row for each
    combination of varied keys and repetition, as text."""
    levels = [map(json.dumps, tomllib.loads(SCENARIO)["sweep"][0][key]) for key in SWEPT]
    return sorted(product(*levels, map(str, range(REPETITIONS))))


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
    assert len(planned()) == RUNS
    assert table(tmp_path / "killed.csv") == planned()
