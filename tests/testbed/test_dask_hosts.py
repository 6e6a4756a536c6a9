"""Tests of sixteen clients of real file systems. Dask starts the clients in four hosts. The rate
has to rise with the number of hosts, and the result has to report load-generator agents that were
lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from dfslab.fleet import run as fleet
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec

pytestmark = pytest.mark.testbed
FILE_BYTES = 1 << 20
OPERATIONS = 4


SYSTEMS = {
    "glusterfs": ({"copies": 1}, [("server", 3, "brick", "160 Mbit/s")]),
    # A DataNode reserves a whole block for each block that is being written. With blocks of 128
    # MiB, the reservations of sixteen clients would fill the disks. With two replicas, a server
    # forwards half of the bytes that it receives.
    "hdfs": (
        {"replication": 2, "block_size": "8 MiB"},
        [("server", 3, "datanode", "160 Mbit/s"), ("master", 1, "namenode", "160 Mbit/s")],
    ),
}


def requested(system: str, **workload) -> Scenario:
    """Returns a scenario of the file system `system` with four client hosts, whose links are
    limited to 40 Mbit/s. `workload` sets keys of the workload.

    The links are so slow that even a busy machine can serve sixteen clients.
    """
    reported, servers = SYSTEMS[system]
    disk = {"capacity": "2 GiB", "write_rate": "60 MiB/s", "read_rate": "60 MiB/s"}
    return build(
        Scenario,
        {
            "name": "dask-hosts",
            "deployment": {
                "tolerance": 0.9,
                "node": [
                    *(
                        {
                            "name": name,
                            "count": count,
                            "roles": {role: 1},
                            "memory": "1 GiB",
                            "disk": disk,
                            "adapter": {"bandwidth": bandwidth},
                        }
                        for name, count, role, bandwidth in servers
                    ),
                    {
                        "name": "client",
                        "count": 4,
                        "roles": {"client": 1},
                        "memory": "2 GiB",
                        "disk": disk,
                        "adapter": {"bandwidth": "40 Mbit/s"},
                    },
                ],
            },
            "file_system": {"name": system, **reported, "access": {"testbed": True}},
            "workload": {
                "name": "sequential_write",
                "file_size": "1 MiB",
                "fsync": True,
                "operations_per_client": OPERATIONS,
                **workload,
            },
            "run": {"verify": "after", "fleet": "dask", "time_limit": "300 s"},
        },
    )


@pytest.mark.grid
@pytest.mark.parametrize("system", SYSTEMS)
def test_clients_scale_over_hosts_and_a_killed_agent_loses_its_own(nothing_left, system):
    rows = []
    with access.session(print) as session:
        for nodes, clients in ((1, 1), (1, 4), (2, 8), (4, 16)):
            point = requested(system, nodes=nodes, clients=clients).points()[0]
            result = Measure().run(point, session)
            assert result.complete, result.notes
            assert result.notes == []
            places = result.load.places
            assert [place.name for place in places] == [
                f"client-{number}" for number in range(1, nodes + 1)
            ]
            assert result.load.fleet.kind == "dask"
            assert result.load.verified_bytes == clients * OPERATIONS * FILE_BYTES
            assert [c.count for c in result.load.per_client] == [OPERATIONS] * clients
            # All hosts are on one machine, so their clocks are equal. The measured offsets are
            # therefore within the error of the measurement.
            assert all(abs(p.clock_offset_s) <= p.clock_error_s + 1e-5 for p in places)
            rows.append(
                (
                    nodes,
                    clients,
                    result.value("throughput_bytes_per_s") / 1e6,
                    max(place.clock_error_s for place in places),
                )
            )
        print(f"\n{system}\nnodes clients   MB/s  speed-up  clock error")
        for nodes, clients, rate, error_s in rows:
            reported = f"{nodes:5} {clients:7} {rate:6.1f} {rate / rows[0][2]:9.2f}"
            print(f"{reported}  {error_s * 1e3:.2f} ms")
        # With one client host the rate is at most 5 MB/s, because the link of the host carries no
        # more. More hosts have more links, so the rate rises.
        assert rows[1][2] < 5.2
        assert rows[3][2] > rows[1][2]
        lost_one(session, requested(system, clients=16))
        lost_scheduler(session, requested(system, clients=16))
    # No agent has left a file in the state folder.
    assert not list(Path(os.environ["DFSLAB_STATE"]).glob("parts/*/*"))


def lost_one(session: access.InstrumentSession, scenario: Scenario) -> None:
    """Kills one host's load-generator agent during the run. Checks that the result has the clients
    of the other hosts and reports the lost agent."""
    killed: list[int] = []

    def kill_one(share: float, phase: str) -> None:
        if phase == "running" and share > 0.1 and not killed:
            host = session.testbed.clients[2]
            found = [p for p in host.processes("python") if b"fleet.agent" in cmdline(p.pid)]
            killed.append(found[0].pid)
            os.kill(found[0].pid, signal.SIGKILL)

    plan = LoadPlan(
        stream=stream_spec(scenario).model_copy(update={"operations_per_client": 10}),
        target=session.target(scenario),
        run_directory="dfslab-lost",
        time_limit_s=300.0,
    )
    report, _, _ = fleet.run_load(plan, session.client_hosts(scenario), kill_one)
    assert killed
    assert not report.complete
    assert [p.name for p in report.places if p.lost] == ["client-3"]
    assert "client-3 was lost" in report.errors[-1].first
    assert "clients 8 to 11 are missing" in report.errors[-1].first
    kept = [c for c in range(16) if c not in range(8, 12)]
    assert [(c.client, c.count) for c in report.per_client] == [(c, 10) for c in kept]
    histogram = report.operations["write"].histogram.buckets
    assert sum(count for _, count in histogram) == 12 * 10
    assert report.rate_per_s > 0


def lost_scheduler(session: access.InstrumentSession, scenario: Scenario) -> None:
    """Kills the Dask scheduler during the run. Every agent then finishes its shard and leaves its
    report on disk."""
    killed: list[int] = []
    kept: set[Path] = set()

    def kill_it(share: float, phase: str) -> None:
        kept.update(Path(os.environ["DFSLAB_STATE"]).glob("parts/*/*.json"))
        if phase == "running" and share > 0.1 and not killed:
            python = session.testbed.clients[0].processes("python")
            found = [p.pid for p in python if b"dask_scheduler" in cmdline(p.pid)]
            assert len(found) == 1
            assert not kept, "it is killed before any part is done"
            os.kill(found[0], signal.SIGKILL)
            killed.extend(found)

    plan = LoadPlan(
        stream=stream_spec(scenario).model_copy(update={"operations_per_client": 8}),
        target=session.target(scenario),
        run_directory="dfslab-alone",
        time_limit_s=300.0,
    )
    report, _, _ = fleet.run_load(plan, session.client_hosts(scenario), kill_it)
    assert killed
    assert report.complete, report.errors
    assert "was lost while the load ran; the parts were read from disk" in report.fleet.notes[0]
    assert len(kept) == 4
    assert [c.count for c in report.per_client] == [8] * 16
    histogram = report.operations["write"].histogram.buckets
    assert sum(count for _, count in histogram) == 16 * 8


def cmdline(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
