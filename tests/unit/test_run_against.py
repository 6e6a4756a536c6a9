"""Tests of `dfslab run A --against B`. The command alternates the measurements of two runs. The
command prints the same comparison as `dfslab compare` prints for these runs."""

from __future__ import annotations

import json

import pytest
from dfslab.fleet.live_log import FILE
from dfslab.instruments import access
from dfslab.instruments.contract import MeasurementOptions
from dfslab.laboratory import Laboratory
from dfslab.method import RunFailed
from dfslab.spec.scenario import read
from dfslab.studies.runs import store
from dfslab.studies.runs.sweep import SweepPlan, measure_alternately
from support.command import dfslab
from support.synthetic import measured

SCENARIO = """
schema = 1
name = "{name}"
[[deployment.node]]
name = "machine"
roles = {{ client = 1, storage = 1 }}
[file_system]
name = "local"
[workload]
name = "sequential_write"
file_size = "{size}"
operations_per_client = 4
[run]
methods = ["measure", "mean"]
repetitions = {repetitions}
"""


def scenario(folder, name, size="64 KiB", repetitions=3):
    """Writes a scenario file and returns its path."""
    path = folder / f"{name}.toml"
    path.write_text(SCENARIO.format(name=name, size=size, repetitions=repetitions))
    return path


class Recording:
    """A fake instrument that fails for the scenario `failing`. The instrument records the names of
    the scenarios and the folders for traces, both in the order of the measurements."""

    name = "measure"

    def __init__(self, order, traced):
        self.order, self.traced = order, traced

    def run(self, point, session, repetition, options):
        self.order.append(point.scenario.name)
        self.traced.append(options.trace_directory)
        if point.scenario.name == "failing":
            raise RunFailed("no disk")
        return measured(point, 10.0, repetition)


def quiet(*_):
    """Discards progress messages."""


def alternating(tmp_path, *names):
    """Measures scenarios alternately. Returns two lists: the scenarios' names in the order of the
    measurements, and the stores of the scenarios' runs."""
    order, traced, plans = [], [], []
    with access.session() as session:
        for name in names:
            chosen = read(scenario(tmp_path, name))
            opened = store.open_run(chosen, tmp_path / "runs")
            options = MeasurementOptions(trace_directory=tmp_path / name)
            instrument = Recording(order, traced)
            plans.append(SweepPlan(chosen, [instrument], opened, session, options))
        measure_alternately(plans, quiet)
    assert [folder.name for folder in traced] == order, "each run has separate options"
    return order, [one.store for one in plans]


def test_measurements_alternate_and_the_order_turns(tmp_path):
    order, stores = alternating(tmp_path, "a", "b")
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert [len(store.load_results(one.folder)) for one in stores] == [3, 3]


def test_a_run_that_fails_does_not_end_the_other(tmp_path):
    order, (good, _) = alternating(tmp_path, "a", "failing")
    assert order.count("a") == 3
    assert all(one.complete for one in store.load_results(good.folder))


def test_two_scenarios_are_run_in_turn_and_compared(tmp_path):
    first, second = scenario(tmp_path, "a"), scenario(tmp_path, "b", "256 KiB")
    done = dfslab("run", first, "--against", second, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {row["metric"] for row in found["rows"]} >= {"rate_per_s", "latency_s_mean.write"}
    for name in ("a", "b"):
        folder = tmp_path / "runs" / name / "latest"
        results = [one for one in store.results_of(folder) if one.method == "measure"]
        assert len(results) == 3
        assert (folder / "report.html").exists()
    assert dfslab("compare", "runs/a/latest", "runs/b/latest", cwd=tmp_path).returncode == 0


def test_a_scenario_against_itself_has_two_folders(tmp_path):
    path = scenario(tmp_path, "a")
    done = dfslab("run", path, "--against", path, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["before"].startswith("runs/a/")
    assert found["after"].startswith("runs/against/a/")


@pytest.mark.parametrize(
    ("repetitions", "words", "named"),
    [
        (1, (), "run.repetitions = 1: must be 2 or more in a"),
        (2, ("--from", "runs/x"), "--from"),
        (2, ("--set", 'run.methods=["mean"]'), "must contain"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path, repetitions, words, named):
    first, second = scenario(tmp_path, "a", "1 MiB", repetitions), scenario(tmp_path, "b")
    done = dfslab("run", first, "--against", second, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_sweeps_without_a_common_configuration_are_refused(tmp_path):
    first, second = scenario(tmp_path, "a"), scenario(tmp_path, "b")
    first.write_text(first.read_text() + '[[sweep]]\n"workload.clients" = [2, 4]\n')
    done = dfslab("run", first, "--against", second, cwd=tmp_path)
    assert done.returncode == 2
    assert "has no configuration of a" in done.stderr


def test_a_second_scenario_that_cannot_be_reached_is_refused_before_anything_is_measured(tmp_path):
    first, second = scenario(tmp_path, "a"), scenario(tmp_path, "b")
    gone = f'access = {{ directory = "{tmp_path / "gone"}" }}'
    second.write_text(second.read_text().replace('name = "local"', f'name = "local"\n{gone}'))
    done = dfslab("run", first, "--against", second, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "gone" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_both_runs_have_a_live_log_while_they_alternate(tmp_path):
    """Each measurement is announced in the live logs of both runs, which are removed at the end."""
    texts = []

    def progress(done, total, text, *remaining_s):
        logs = list(tmp_path.glob(f"runs/*/*/{FILE}"))
        if text.startswith("round "):
            assert len({log.parent.resolve() for log in logs}) == 2
            assert all(text in log.read_text() for log in logs)
            texts.append(text)

    laboratory = Laboratory(progress)
    plans = [laboratory.plan(read(scenario(tmp_path, name, repetitions=2))) for name in ("a", "b")]
    laboratory.run_against(tuple(plans), tmp_path / "runs")
    assert texts == ["round 1: a", "round 1: b", "round 2: b", "round 2: a"]
    assert not list((tmp_path / "runs").glob(f"**/{FILE}"))
