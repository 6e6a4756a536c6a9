"""Tests of a complete run on a real HDFS. The configurations are measured and traced. The rates of
the configurations are predicted by formulas, by simulation, and by models that are fitted to the
measurements. The predictions are compared with the measured rates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import psutil
import pytest
import tomlkit
from dfslab.studies.runs.store import load_results
from support.waiting import wait_until

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
import description

ROOT = Path(__file__).parents[2]
DFSLAB = Path(sys.executable).with_name("dfslab")

pytestmark = pytest.mark.testbed
# Time limit in seconds. The limit only ends a test that has failed.
HANG_S = 240.0


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Runs `scenarios/hdfs.toml` with fewer clients and with the file sizes that the tests compare.
    Returns (folder, JSON document of the run)."""
    folder = tmp_path_factory.mktemp("hdfs")
    requested = description.shorter()
    requested["sweep"][0]["workload.file_size"] = ["256 kB", "1 MB", "4 MB", "64 MB"]
    (folder / "scenario.toml").write_text(tomlkit.dumps(requested))
    answer = subprocess.run(
        [DFSLAB, "run", "scenario.toml", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        env={**os.environ, "DFSLAB_STATE": str(folder / "state")},
    )
    assert answer.returncode == 0, answer.stderr
    assert not daemons_of(folder)
    assert not list((folder / "state").glob("beds/hdfs*"))
    return folder, json.loads(answer.stdout)


def daemons_of(folder):
    """Returns the PIDs of Java processes whose command line contains a path below `folder`."""
    return [
        process.pid
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "java" and str(folder) in " ".join(process.info["cmdline"] or [])
    ]


def test_every_method_is_judged_on_held_out_configurations(outcome):
    _, document = outcome
    for method in ("sequence", "petri", "regression", "mean"):
        score = document["held_out"][method]
        assert score["n"] == 7
        assert score["median_abs_error"] >= 0
        assert 0 <= score["coverage_90"] <= 1
    for point in document["points"]:
        assert point["measured"]["value"] > 0
        assert {"sequence", "petri", "regression", "mean"} <= set(point["predictions"])
        for metric in point["predictions"].values():
            assert metric["low"] <= metric["value"] <= metric["high"]


def test_descriptions_order_configurations_as_the_file_system_does(outcome):
    """Configurations with small files are faster than configurations with large files, both as
    predicted and as measured.

    The test does not compare the values of predicted and measured rates, because the measured rates
    depend on the load of the machine. `make bench-description` compares them.
    """
    _, document = outcome
    for operation in ("write", "read"):
        points = [p for p in document["points"] if p["operations"] == [operation]]
        for observed in (
            lambda point: point["measured"],
            lambda point: point["predictions"]["sequence"],
            lambda point: point["predictions"]["petri"],
        ):
            small, large = (
                [observed(point)["value"] for point in points if size in point["labels"].values()]
                for size in ("256 kB", "64 MB")
            )
            assert len(small) == len(large) == 2
            # Rates are in operations per second. Small files are faster in this unit, because an
            # operation on a large file transfers 250 times as many bytes.
            assert min(small) > max(large), operation


def test_steps_traces_and_versions_are_reported(outcome):
    folder, document = outcome
    run = folder / document["folder"]
    assert list((run / "traces").glob("*.otlp"))
    write = next(p for p in document["points"] if p["operations"] == ["write"])
    # Results list the outermost steps of a write, and the calls to the NameNode within these steps.
    for method in ("measure", "sequence"):
        steps = {step["step"] for step in write["steps"][method]}
        assert {step for step in steps if "/" not in step} == {"create", "write", "close"}
        assert {"create/create", "write/addBlock", "close/complete"} <= steps
    result = next(one for one in load_results(run) if one.method == "measure")
    assert any("3.4" in version for version in result.provenance.versions.values())
    assert (run / "results.parquet").stat().st_size > 1000
    # The limits fit a page that contains its charts as SVG, but no library that draws charts.
    assert 100_000 < (run / "report.html").stat().st_size < 1_500_000


def _any_or_ended(place: Path, pattern: str, child: subprocess.Popen) -> bool:
    return any(place.glob(pattern)) or child.poll() is not None


def test_ctrl_c_leaves_no_daemon(tmp_path):
    """Ctrl-C while the testbed is started or while it runs leaves no daemon, and the next run
    works."""
    text = (ROOT / "scenarios" / "hdfs.toml").read_text()
    (tmp_path / "scenario.toml").write_text(text)
    environment = {**os.environ, "DFSLAB_STATE": str(tmp_path / "state")}
    state, runs = tmp_path / "state" / "beds", tmp_path / "runs" / "hdfs"
    for place, pattern in ((state, "hdfs*/logs/*"), (runs, "2*/results/*")):
        child = subprocess.Popen(
            [DFSLAB, "measure", "scenario.toml"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun = partial(_any_or_ended, place, pattern, child)
        assert wait_until(begun, HANG_S)
        assert child.poll() is None, "it ended before it was interrupted"
        os.kill(child.pid, signal.SIGINT)
        _, said = child.communicate(timeout=HANG_S)
        assert child.returncode == 130, said
        assert "Traceback" not in said
        assert not daemons_of(tmp_path)
        assert not list((tmp_path / "state").glob("beds/hdfs*"))
