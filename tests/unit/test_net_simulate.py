"""Tests of the report of a simulated net: means of places and transitions with confidence
intervals, and the command that prints them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab.cli.root import app
from dfslab.nets.build import Net, Put, Take, definition_of
from dfslab.nets.net_json import json_text
from dfslab.nets.simulate import simulate
from typer.testing import CliRunner

LOAD = 0.5


def queue():
    """Returns a net of a queue with one server, Poisson arrivals, and exponential service times
    with a mean of 1 s. The server is busy for the fraction LOAD of the time."""
    net = Net("queue")
    source, waiting = net.place("source", initial=[()]), net.place("waiting")
    idle = net.place("idle", initial=[()])
    net.transition(
        "arrive", [Take(source)], [Put(source, delay=f"exponential({1 / LOAD})"), Put(waiting)]
    )
    net.transition("serve", [Take(waiting), Take(idle)], [Put(idle, delay="exponential(1)")])
    return definition_of(net)


def test_means_of_a_queue_are_those_of_the_closed_form():
    found = simulate(queue(), replications=12, end_time_s=20_000.0, warm_up_s=100.0, seed=3)
    assert (found.net, found.replications, found.ends) == ("queue", 12, {"end_time": 12})
    # The queue is an M/M/1 queue. The server is idle for the fraction 1 - LOAD of the time. On
    # average, LOAD^2 / (1 - LOAD) customers wait.
    for name, wanted in (("idle", 1 - LOAD), ("waiting", LOAD**2 / (1 - LOAD))):
        tokens = found.places[name].tokens
        assert 0 < tokens.half_width < 0.05 * wanted
        assert tokens.mean == pytest.approx(wanted, abs=3 * tokens.half_width)
    rate = found.transitions["serve"].rate_per_s
    assert rate.mean == pytest.approx(LOAD, abs=3 * rate.half_width)
    assert found.places["waiting"].most >= 5
    assert found.transitions["arrive"].firings.mean == pytest.approx(LOAD * 19_900, rel=0.02)


def test_one_replication_has_no_interval_and_an_instant_no_rate():
    assert (
        simulate(queue(), replications=1, max_firings=50).places["idle"].tokens.half_width is None
    )
    net = Net("instant")
    net.transition("move", [Take(net.place("from", initial=[()]))], [Put(net.place("to"))])
    found = simulate(definition_of(net), replications=2)
    assert found.ends == {"dead": 2}
    assert found.transitions["move"].rate_per_s is None
    assert found.transitions["move"].firings.mean == 1.0
    assert found.places["to"].tokens is None


def test_the_command_prints_intervals_and_json(tmp_path: Path):
    path = tmp_path / "queue.json"
    path.write_text(json_text(queue()))
    words = ["net", "run", str(path), "--end-time", "500", "--replications", "4"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "4 runs of 500 s (4 to --end-time)" in shown.output
    assert "firings/s" in shown.output
    assert "±" in shown.output
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert found["places"]["idle"]["tokens"]["half_width"] > 0
    same = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert found == same
