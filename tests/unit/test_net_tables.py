"""Tests of the tables that `dfslab net run` and `net check` print: tokens that wait, digits, long
names, and the order of the properties of a state space."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab.cli.net_tables import interval, simulated
from dfslab.documents.net_run import FileMonitor, FileMonitors, FiringObservation, ValueMonitor
from dfslab.documents.nets.net_simulation import MeanValue
from dfslab.nets.build import Net, Put, Take, definition_of
from dfslab.nets.net_json import json_text
from dfslab.nets.simulate import Precision, simulate
from rich.console import Console

from tests.support import command

SERVICE_S, INTERARRIVAL_S = 0.7, 1.0


def queue(count: int | str = 1) -> Net:
    """Returns an M/M/1 queue. While a job is served, its token waits in the place `busy`."""
    net = Net("queue")
    idle, source = net.place("idle", initial=[()]), net.place("source", initial=[()])
    waiting, busy = net.place("waiting"), net.place("busy")
    arrival = f"exponential({INTERARRIVAL_S})"
    net.transition("arrive", [Take(source)], [Put(source, delay=arrival), Put(waiting)])
    service = Put(busy, delay=f"exponential({SERVICE_S})", count=count)
    net.transition("start", [Take(waiting), Take(idle)], [service])
    net.transition("end", [Take(busy)], [Put(idle)])
    return net


def test_tokens_that_wait_are_counted_apart():
    """The server is busy for 70 % of the time. The token of a busy server waits all this time."""
    found = simulate(definition_of(queue()), replications=8, end_time_s=20_000.0, warm_up_s=100.0)
    busy = found.places["busy"]
    assert busy.tokens is not None
    assert busy.waiting is not None
    assert busy.tokens.mean == 0
    assert busy.waiting.mean == pytest.approx(SERVICE_S / INTERARRIVAL_S, rel=0.03)
    assert found.places["waiting"].waiting == MeanValue(mean=0.0, half_width=0.0)


@pytest.mark.parametrize("kind", ["reset", "drawn"])
def test_waiting_tokens_that_cannot_be_counted_are_unknown(kind: str):
    net = queue() if kind == "reset" else queue("1 + 0 * floor(uniform(0, 1))")
    if kind == "reset":
        (busy,) = [one for one in net.places if one.name == "busy"]
        net.transition("never", [Take(net.place("off"))], [], reset=[busy])
    found = simulate(definition_of(net), replications=2, end_time_s=100.0)
    assert found.places["busy"].waiting is None
    assert found.places["source"].waiting is not None


def test_the_precision_of_a_place_is_also_that_of_its_waiting_tokens():
    found = simulate(
        definition_of(queue()),
        precision=Precision(0.001, most_replications=4, names=("busy",)),
        replications=4,
        end_time_s=50.0,
    )
    assert found.precision is not None
    assert not found.precision.is_reached


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (19012.345, 0.69, "19,012.35 ± 0.69"),
        (0.010003, 0.000045, "0.010003 ± 0.000045"),
        (314.68, 9.53, "314.7 ± 9.5"),
        (38009.1, 174.2, "38,009 ± 174"),
        (19000.0, 0.0, "19,000 ± 0"),
        (2.5, None, "2.5 ± ?"),
        (1e12, 3e10, "1e+12 ± 3e+10"),
    ],
)
def test_a_mean_has_the_digits_that_its_interval_needs(
    mean: float, half_width: float | None, text: str
):
    assert interval(MeanValue(mean=mean, half_width=half_width)) == text


def test_long_names_of_monitors_are_shown_completely(tmp_path: Path):
    """Two monitors whose names differ at the end only were both cut to one name."""
    names = ["Marking_size_Top'Queue_of_customers_1", "Marking_size_Top'Queue_of_customers_2"]
    monitors = FileMonitors(
        measured={
            name: FileMonitor(
                kind="Data collection",
                is_timed=False,
                monitor=ValueMonitor(
                    observations=[FiringObservation(transition="arrive", value="1")]
                ),
            )
            for name in names
        }
    )
    found = simulate(definition_of(queue()), monitors, replications=2, end_time_s=50.0)
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    for table in simulated(found):
        console.print(table)
    letters = "".join(
        line.split("│")[1].strip()
        for line in console.export_text().splitlines()
        if line.startswith("│")
    )
    assert all(name in letters for name in names)


def test_the_numbers_of_markings_come_first_in_a_state_space(tmp_path: Path):
    net = Net("short")
    net.transition("move", [Take(net.place("from", initial=[(), ()]))], [Put(net.place("to"))])
    path = tmp_path / "net.json"
    path.write_text(json_text(definition_of(net)))
    shown = command.dfslab("net", "check", path).stdout
    rows = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    first = ["markings", "complete", "arcs between markings", "strongly connected"]
    assert rows[rows.index("markings") :][:4] == first
    assert rows.index("markings") > rows.index("input arcs")
    assert "after: move × 2" in shown
    document = json.loads(command.dfslab("net", "check", path, "--json").stdout)
    assert document["state_space"]["markings"] == 3
