"""Tests that clients run inside the client hosts of a real testbed, on all client hosts at the same
time."""

from __future__ import annotations

import pytest
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.instruments.visibility import visibility
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.hosts.host import DATA_ADAPTER, Host

pytestmark = pytest.mark.testbed


def test_a_mounted_file_system_is_measured_from_two_client_hosts(nothing_left):
    disk = {"capacity": "1 GiB", "write_rate": "40 MiB/s", "read_rate": "40 MiB/s"}
    machine = {"memory": "512 MiB", "adapter": {"bandwidth": "200 Mbit/s"}, "disk": disk}
    scenario = build(
        Scenario,
        {
            "name": "two-clients",
            "deployment": {
                "node": [
                    {"name": "server", "count": 2, "roles": {"brick": 1}, **machine},
                    {"name": "client", "count": 2, "roles": {"client": 1}, **machine},
                ],
                "tolerance": 0.9,
            },
            "file_system": {"name": "glusterfs", "copies": 2, "access": {"testbed": True}},
            "workload": {
                "name": "sequential_write",
                "file_size": "4 MiB",
                "clients": 3,
                "operations_per_client": 4,
                "fsync": True,
            },
            "run": {"verify": "after"},
        },
    )
    point = scenario.points()[0]
    with access.session(print) as session:
        session.reach(scenario)
        testbed = session.testbed
        before = [sent_bytes(host) for host in testbed.clients]
        result = Measure().run(point, session)
        sent = [sent_bytes(host) - was for host, was in zip(testbed.clients, before, strict=True)]
        created, appended = visibility(scenario, 3, session, changes=("create", "append"))
        mounts = [host.path(testbed.mount_point) for host in testbed.clients]
        assert all(list(mount.glob("dfslab-*")) == [] for mount in mounts)
    assert (created.summary.unobserved, appended.summary.unobserved) == (0, 0)
    # No appended byte is visible before the append is acknowledged. The test does not check how
    # many polls return the old state, because this number depends on the machine: a client uses
    # cached attributes for a second before it requests them again.
    assert appended.summary.before == 0
    assert result.complete
    assert result.notes == []
    parts = [(p.name, p.clients_from, p.clients_to) for p in result.load.places]
    assert parts == [("client-1", 0, 2), ("client-2", 2, 3)]
    assert [client.count for client in result.load.per_client] == [4, 4, 4]
    # Every copy of a file leaves through the link of the client host that wrote the file.
    each_bytes = 4 * (4 << 20)
    assert result.load.verified_bytes == 3 * each_bytes
    assert sent[0] > 2 * 2 * each_bytes
    assert sent[1] > 1 * 2 * each_bytes


def sent_bytes(host: Host) -> int:
    """Returns the bytes that a host's network adapter for data has sent since the host was
    created."""
    lines = host.run("cat", "/proc/net/dev").splitlines()
    adapter = next(line for line in lines if line.strip().startswith(DATA_ADAPTER))
    return int(adapter.partition(":")[2].split()[8])
