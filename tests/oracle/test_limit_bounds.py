"""Tests that the bounds "saturated" and "latency" of a limit agree with predictions for more
clients. With twice as many clients, the predicted rate of a latency-bound configuration rises, and
that of a saturated configuration hardly rises."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.models.limit_text import text_of
from dfslab.models.tree.limits import CLIENTS_HELP, IDLE, limits_of
from dfslab.models.tree.prediction import Situation
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.scenario import read
from dfslab.studies.decisions.decision_input import evidence_of_description
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from support.predicted import situation_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = ("quickstart.toml", "hdfs-hosts.toml", "glusterfs.toml")
LATENCY_HELPS = 1.02


def doubled(scenario):
    """Returns the factor by which twice as many clients raise the predicted rate."""
    before = Situation(scenario)
    after = Situation(apply(scenario, [parse_change("clients x2", scenario)]))
    rates = [one.predict(one.constants).rate_per_s for one in (before, after)]
    return rates[1] / rates[0]


def first_limits(file):
    """Yields (scenario of one configuration, its first limit) for each configuration of a scenario
    file that has a limit."""
    scenario = read(SCENARIOS / file)
    for point in evidence_of_description(scenario, SCENARIOS / file).points:
        given = Situation(point.scenario)
        if limits := limits_of(given, given.constants):
            yield point.scenario, limits[0]


@pytest.mark.parametrize("file", FILES)
def test_more_clients_raise_a_latency_bound_rate_only(file):
    found = list(first_limits(file))
    assert found
    for scenario, limit in found:
        if limit.bound == "latency":
            assert doubled(scenario) > LATENCY_HELPS, (limit, scenario.workload)
        if limit.bound == "saturated":
            assert doubled(scenario) < 1 / IDLE + CLIENTS_HELP, (limit, scenario.workload)


@pytest.mark.parametrize(
    ("clients", "bound"), [(1, "latency"), (64, "saturated")], ids=["one client", "many clients"]
)
def test_one_client_waits_for_a_disk_that_many_clients_saturate(clients, bound):
    disk = {"read_rate": "2 GB/s", "write_rate": "2 GB/s", "latency": "5 ms", "count": 8}
    sizes = {"file_size": "64 KiB", "transfer_size": "64 KiB", "cache": "cold"}
    given = situation_of("nfs", "sequential_read", disk=disk, clients=clients, **sizes)
    first = limits_of(given, given.constants)[0]
    assert first.name == "server.disk"
    assert first.bound == bound
    assert ("latency-bound" in text_of([first])) == (bound == "latency")


@pytest.mark.parametrize("file", FILES)
def test_advice_never_adds_clients_to_a_saturated_limit(file):
    """If the advice doubles the clients and predicts a gain, the limit in the same row is not
    called saturated, because more clients do not relieve a saturated limit."""
    scenario = read(SCENARIOS / file)
    advice = recommend(evidence_of_description(scenario, SCENARIOS / file), "rate", prices_of())
    for row in advice.rows:
        if row.change == "clients x2" and row.gain.gain > 1 / IDLE + CLIENTS_HELP:
            assert "saturated" not in row.limit, (row.limit, row.gain)
