"""Tests that a scenario states where its clients run (threads, processes, nodes) and which launcher
starts the clients."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from dfslab.fleet.client_hosts import HERE, Nodes
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.report.sections import processes, scaling, throughput
from dfslab.spec.input_error import InputError
from dfslab.studies.contract import FinishedRun
from support.scenarios import requested
from support.synthetic import measured, scenario


def names(point, hosts=()):
    with access.session() as session:
        if hosts:
            made = [
                SimpleNamespace(name=name, command=lambda words: ["env", *words]) for name in hosts
            ]
            session.use(SimpleNamespace(clients=made))
        found = session.client_hosts(point.scenario)
        return found if isinstance(found, Nodes) else [one.name for one in found]


def test_threads_processes_and_nodes():
    assert names(requested()) == [HERE.name]
    assert names(requested(processes=2)) == ["node-1, process 1", "node-1, process 2"]
    assert names(requested(nodes=2)) == ["node-1", "node-2"]
    assert len(names(requested(nodes=2, processes=3))) == 6
    hosts = ("left", "middle", "right")
    assert names(requested(), hosts) == list(hosts)
    assert names(requested(nodes=2), hosts) == ["left", "middle"]
    assert names(requested(nodes=1, processes=2), hosts) == ["left, process 1", "left, process 2"]
    with pytest.raises(InputError, match=r"workload.nodes = 4: the deployment has 3 client hosts"):
        names(requested(nodes=4), hosts)


def test_dask_is_joined_or_refused():
    joined = names(
        requested({"fleet": "dask", "scheduler": "tcp://head:8786"}, nodes=3, processes=2)
    )
    assert (joined.scheduler, joined.wanted, joined.processes) == ("tcp://head:8786", 3, 2)
    with pytest.raises(InputError, match="dfslab starts the scheduler of a testbed"):
        names(requested({"fleet": "dask", "scheduler": "tcp://head:8786"}), ("left",))
    with pytest.raises(InputError, match="not slurm"):
        names(requested({"fleet": "slurm"}), ("left",))
    with pytest.raises(InputError, match="yarn cluster needs the Python package dask-yarn"):
        names(requested({"fleet": "yarn"}))


def test_a_measurement_at_the_nodes_of_a_local_cluster(monkeypatch, tmp_path):
    monkeypatch.setenv("DFSLAB_STATE", str(tmp_path))
    started: list[str] = []
    with access.session(notify=started.append) as session:
        result = Measure().run(requested({"fleet": "dask"}, nodes=2), session)
        again = Measure().run(requested({"fleet": "dask"}, nodes=1), session)
        assert started == ["starting a Dask cluster of 2 nodes"], "one cluster serves both"
    assert result.complete
    assert [place.name for place in result.load.places] == ["node-1", "node-2"]
    assert [place.name for place in again.load.places] == ["node-1"]
    assert result.load.fleet.kind == "dask"


def test_the_page_shows_speed_up():
    """For each number of clients, the page shows the efficiency: 100 % × speed-up / number of
    clients. In the planted results, threads do not scale, so their efficiency is 100, 50 and 25 %.
    Processes scale perfectly, so their efficiency is 100 %."""
    results = []
    for count in (1, 2, 4):
        threads = scenario(sizes=["4 KiB"], clients=(count,), hold_out=()).points()[0]
        results.append(measured(threads, 100.0))
        labels = {**threads.labels, "workload.processes": count}
        apart = threads.scenario.with_values({"workload.processes": count})
        point = threads.model_copy(update={"scenario": apart, "labels": labels})
        results.append(measured(point, 100.0 * count))
    page = str(scaling.render(FinishedRun(scenario=results[0].point.scenario, results=results)))
    assert "processes of one node" in page
    cells = [cell for cell in page.replace("<td", "\n<td").splitlines() if "%" in cell]
    reported = [cell.partition(">")[2].partition("<")[0] for cell in cells]
    assert reported == ["100%"] * 3 + ["100%", "50%", "25%"]
    alone = FinishedRun(scenario=results[0].point.scenario, results=results[:1])
    assert scaling.render(alone) is None


def spread_over(result, rate, **workload):
    """Returns a copy of `result` for another configuration, with the rate `rate`. `workload` has
    the keys of the workload in this configuration that differ from those of `result`."""
    keys = {f"workload.{key}": value for key, value in workload.items()}
    reported = result.point.scenario.with_values(keys)
    labels = {**result.point.labels, **keys}
    return measured(result.point.model_copy(update={"scenario": reported, "labels": labels}), rate)


def shares(page):
    """Returns the texts of those table cells of a page that contain a per cent sign."""
    cells = [cell for cell in page.replace("<td", "\n<td").splitlines() if "%" in cell]
    return [cell.partition(">")[2].partition("<")[0] for cell in cells]


def test_one_node_is_the_first_point_of_several():
    """The configuration with one node is the first point of the series over the number of nodes.

    In the planted results, each node runs four clients, and two nodes have one and a half times the
    rate of one node.
    """
    point = scenario(sizes=["4 KiB"], clients=(4,), hold_out=()).points()[0]
    alone = spread_over(measured(point, 1.0), 100.0)
    two = spread_over(alone, 150.0, nodes=2, clients=8)
    page = str(scaling.render(FinishedRun(scenario=point.scenario, results=[alone, two])))
    assert "threads of several nodes" in page
    assert shares(page) == ["100%", "75%"]
    uneven = spread_over(alone, 75.0, nodes=2, clients=6)
    reported = FinishedRun(scenario=point.scenario, results=[alone, two, uneven])
    assert shares(str(scaling.render(reported))) == ["100%", "150%"], "6 and 8 clients"


def test_threads_are_compared_with_processes():
    """Runs with threads are compared with runs with processes.

    In the planted results, four processes are twice as fast as four threads in both repetitions,
    and two processes are half as fast as two threads.
    """
    point = scenario(sizes=["4 KiB"], clients=(4,), hold_out=()).points()[0]
    threads = [spread_over(measured(point, 1.0), rate, processes=0) for rate in (100.0, 400.0)]
    four = [spread_over(one, 2 * one.value(), processes=4) for one in threads]
    two = spread_over(threads[0], 50.0, processes=2)
    nodes = spread_over(threads[0], 7777.0, nodes=2, processes=2)
    lonely = spread_over(threads[0], 8888.0, clients=8, processes=8)
    reported = FinishedRun(point.scenario, [*threads, *four, two, nodes, lonely])
    page = str(processes.render(reported))
    rows = [re.findall(r">([\d.,]+)<", row) for row in page.split("<tr>")[2:]]
    assert [[row[0], row[1], row[2], row[-2], row[-1]] for row in rows] == [
        ["4", "2", "200", "50", "0.25"],
        ["4", "4", "200", "400", "2"],
    ]
    assert "7777" not in page
    assert "8888" not in page
    assert processes.render(FinishedRun(point.scenario, [*threads, nodes])) is None


def test_configurations_of_one_size_are_points_of_their_own():
    point = scenario(sizes=["4 KiB"], clients=(4,), hold_out=()).points()[0]
    one = spread_over(measured(point, 1.0), 100.0, processes=0)
    other = spread_over(one, 900.0, processes=4)
    page = str(throughput.render(FinishedRun(point.scenario, [one, other])))
    assert "processes 0" in page
    assert "processes 4" in page
    assert "processes" not in str(throughput.render(FinishedRun(point.scenario, [one, one])))
