"""Tests that every run of a net checks operational laws, such as Little's law. Other tests check
that users can define breakpoints and data collectors."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.documents.net_run import DeclaredStation
from dfslab.method import RunFailed
from dfslab.models import petri
from dfslab.models.tree.prediction import Situation
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import collect, run, run_to_breakpoint
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.operations import planned


def queue(servers: int = 1) -> Net:
    """Returns a net of a queue with Poisson arrivals at 0.8 per second and exponential service
    times with mean 1 s."""
    net = Net("queue")
    job = net.colour("job", id=int)
    source, waiting = net.place("source", job, [0]), net.place("waiting", job)
    idle = net.place("idle", initial=[()] * servers)
    net.transition(
        "arrive",
        [Take(source, "s")],
        [Put(source, ["s.id + 1"], "exponential(1.25)"), Put(waiting, "s")],
    )
    net.transition("serve", [Take(waiting, "j"), idle], [Put(idle, delay="exponential(1.0)")])
    return net


def test_a_run_reports_its_stations_and_keeps_the_laws():
    (report,) = run(queue(2), seed=1, end_time_s=5000.0)
    source, servers = report.stations
    assert source.utilisation == pytest.approx(1.0)
    assert servers.servers == 2
    # By the utilisation law, the utilisation of two servers is the rate times the mean service
    # time, divided by 2. The expected utilisation is 0.4, and the standard error of the simulated
    # utilisation is below 0.01.
    rate = servers.services / 5000.0
    assert servers.utilisation == pytest.approx(rate * servers.service_s_mean / 2, rel=0.01)
    assert servers.utilisation == pytest.approx(0.4, abs=0.04)
    assert run(queue(), laws=False, max_firings=10)[0].stations is None


def test_the_laws_can_fail():
    """The check of the operational laws reports a station that breaks a law.

    A station is a queue and its servers. A station is declared by the names of two places. If one
    of these places does not exist, the station is refused.
    """
    net = queue()
    away = net.place("away")
    net.transition(
        "break", [next(p for p in net.places if p.name == "idle")], [Put(away, delay=1.0)]
    )
    declared = [DeclaredStation(idle="idle", served="waiting")]
    with pytest.raises(RunFailed, match="station idle: the utilisation law is broken"):
        run(net, seed=1, end_time_s=100.0, stations=declared)
    with pytest.raises(InputError, match="unknown place 'nowhere'"):
        run(net, stations=[DeclaredStation(idle="idle", served="nowhere")], max_firings=1)


@pytest.mark.parametrize("system", ["local", "hdfs", "glusterfs", "pvfs"])
def test_compiled_nets_keep_the_laws_at_every_station(system):
    scenario = build(
        Scenario,
        {
            "name": "laws",
            "deployment": {
                "node": [
                    {
                        "name": "one",
                        "roles": {
                            role.name: role.instances for role in discover.file_system(system).roles
                        },
                    }
                ]
            },
            "file_system": {"name": system},
            "workload": {"name": "sequential_write", "clients": 3, "file_size": "1 MiB"},
        },
    )
    situation = Situation(scenario)
    stream = [planned(c, n, "write", n, 2**20, 2**20) for n in range(3) for c in range(3)]
    job = petri.job_of(situation, situation.constants, stream)
    net, watched = job.net("laws", 3, stream)
    (report,) = petri.fire(net, seed=0, replications=1, stations=watched.laws)
    names = {station.idle for station in report.stations}
    assert names >= {law.idle for law in watched.laws}
    assert any(0 < station.utilisation < 1 for station in report.stations)


def test_breakpoints_stop_a_run_where_a_condition_holds():
    (report,) = run_to_breakpoint(queue(), "serve", "j.id >= 5", seed=1)
    assert report.reason == "until"
    ((last, *_),) = [
        [row for row in rows if row[1] >= 5]
        for rows in collect(queue(), "serve", "j.id", seed=1, end_time_s=60.0)
    ]
    assert last == (report.end_time_ns / 1e9, 5)
    with pytest.raises(InputError, match="j.size"):
        run_to_breakpoint(queue(), "serve", "j.size > 1")


def test_collectors_see_only_what_meets_their_condition():
    (rows,) = collect(queue(), "serve", "j.id * 2", "j.id % 3 == 0", seed=1, end_time_s=100.0)
    assert [value for _, value in rows] == [6 * at for at in range(len(rows))]
    assert len(rows) > 10
