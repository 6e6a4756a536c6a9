"""Tests that the description of zFS agrees with closed forms of the costs of leases, the
cooperative cache and transactions. Processor time is zero in these tests."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.models.queue.metadata_server import limits
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

ZFS = discover.file_system("zfs")
LATENCY_S, DISK_RATE, DISK_S = 1e-3, 4e7, 8e-3
REQUEST, PACKET, SMALL = 131072, 65536, 256
FREE = dict.fromkeys(ZFS.parameters.of_origin("calibrated"), 0.0)


def scenario(name="sequential_read", parameters=None, **workload):
    """Returns a scenario of zFS in which every role has a separate node."""
    hardware = {
        "adapter": {"bandwidth": "1 Gbit/s"},
        "disk": {
            "read_rate": f"{DISK_RATE:.0f} B/s",
            "write_rate": f"{DISK_RATE:.0f} B/s",
            "latency": f"{DISK_S} s",
        },
    }
    nodes = [{"name": one.name, "roles": {one.name: 1}, **hardware} for one in ZFS.roles]
    return build(
        Scenario,
        {
            "name": "zfs",
            "deployment": {"node": nodes, "network": {"latency": f"{LATENCY_S} s"}},
            "file_system": {"name": "zfs", **(parameters or {})},
            "workload": {"name": name, **workload},
        },
    )


# Rate in bytes/s at which an adapter of 1 Gbit/s carries payload.
RATE = Situation(scenario()).environment["client.nic_bandwidth"]


def latency_s(operation, *, parameters=None, **workload):
    """Returns the seconds of one operation without load and without processor time."""
    names = {"read": "sequential_read", "write": "sequential_write"}
    found = {} if operation in names else {"operation": operation}
    name = workload.pop("name", names.get(operation, "metadata"))
    given = Situation(scenario(name, parameters, **found, **workload))
    values = {**given.constants, **FREE}
    return given.reader(values).read(given.system.operations[operation]).latency_s


def of_read(**keys):
    """Returns the seconds of reading the bytes of one request, without opening the file."""
    opened_s = latency_s("stat", parameters={"object_lease_misses": 0})
    keys["parameters"] = {"object_lease_misses": 0, **keys.get("parameters", {})}
    keys |= {"transfer_size": f"{REQUEST} B", "file_size": f"{REQUEST} B"}
    return latency_s("read", **keys) - opened_s


def test_a_request_of_another_machines_memory_is_a_triangle():
    """A read from another machine's memory takes four messages: client to file manager, file
    manager to cache, cache to client with the data, and the file manager's answer to the client.

    The data take the time of one packet, plus the time of their bytes on the link.
    """
    messages_s = 3 * (LATENCY_S + SMALL / RATE)
    data_s = LATENCY_S + REQUEST / RATE
    assert of_read(cache="warm") == pytest.approx(messages_s + data_s, rel=1e-3)


def test_a_request_of_an_object_disk_is_a_lease_and_a_read():
    """The client gets a lease from the file manager and then sends a request to the object disk. In
    a sequential read, the disk reads ahead in parallel."""
    trips_s = 4 * (LATENCY_S + SMALL / RATE)
    data_s = LATENCY_S + REQUEST / RATE
    ahead_s = 2 * (LATENCY_S + SMALL / RATE) + DISK_S + REQUEST / DISK_RATE
    expected = max(trips_s + data_s, ahead_s)
    assert of_read(cache="cold") == pytest.approx(expected, rel=1e-3)
    jumps = of_read(cache="cold", name="random_read")
    assert jumps == pytest.approx(trips_s + data_s + DISK_S + REQUEST / DISK_RATE, rel=1e-3)


def test_bytes_in_another_memory_need_no_disk():
    """A random read from disk is faster if another machine has the bytes in its memory. With
    `other_hits` of 1, it takes as long as a warm read. With 0.5, it takes the mean of the times of
    a warm and a cold read."""
    warm, cold = of_read(cache="warm"), of_read(cache="cold", name="random_read")
    every = of_read(cache="cold", name="random_read", parameters={"other_hits": 1})
    half = of_read(cache="cold", name="random_read", parameters={"other_hits": 0.5})
    assert every == pytest.approx(warm)
    assert half == pytest.approx((warm + cold) / 2)


def test_bytes_in_the_own_memory_need_no_message():
    assert of_read(cache="warm", parameters={"own_hits": 1}) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("misses", "trips"), [(0, 0), (0.25, 0.25), (1, 1)])
def test_the_first_request_of_a_file_needs_a_lease_on_its_object(misses, trips):
    """The file manager requests the lease from the lease manager, which may have to request it from
    the object disk."""
    trip_s = 2 * (LATENCY_S + SMALL / RATE)
    without = latency_s("stat", parameters={"object_lease_misses": 0})
    given = {"object_lease_misses": misses}
    assert latency_s("stat", parameters=given) - without == pytest.approx(trips * trip_s)
    given["disk_lease_misses"] = 1
    assert latency_s("stat", parameters=given) - without == pytest.approx(2 * trips * trip_s)


@pytest.mark.parametrize("operation", ["create", "rename", "delete"])
def test_a_transaction_locks_logs_and_changes_two_objects(operation):
    """A transaction takes messages between client and transaction server, two locks, one forced
    write of the log, and two changes of objects."""
    trip_s = 2 * (LATENCY_S + SMALL / RATE)
    log_s = 2 * LATENCY_S + (4096 + SMALL) / RATE + 4096 / DISK_RATE
    given = {"object_lease_misses": 0}
    found = latency_s(operation, parameters=given) - 5 * trip_s - log_s
    seeks = found / DISK_S
    assert seeks == pytest.approx(round(seeks), abs=0.01)
    assert seeks >= 1
    locked = latency_s(operation) - latency_s(operation, parameters=given)
    assert locked == pytest.approx(2 * trip_s)


def test_a_write_stays_in_memory_until_it_is_forced():
    """A client may keep up to 32 MiB unwritten in its memory. Of a write of 64 MiB, the other half
    is therefore sent before the write ends. A write of 16 MiB stays in memory until it is forced.
    """
    large = latency_s("write", file_size="64 MiB")
    sent_s = 256 * (3 * LATENCY_S + (REQUEST + 2 * SMALL) / RATE)
    leases_s = latency_s("write", file_size="64 MiB", parameters={"max_dirty": "64 MiB"})
    assert large - leases_s == pytest.approx(sent_s, rel=0.02)
    size = {"file_size": "16 MiB"}
    kept, forced = (latency_s("write", fsync=fsync, **size) for fsync in (False, True))
    assert forced - kept > 2**24 / DISK_RATE
    revoked = latency_s("write", parameters={"revocations": 1}, **size)
    assert revoked - kept == pytest.approx(128 * 2 * (LATENCY_S + SMALL / RATE))


def test_its_managers_are_its_metadata_servers():
    """Every machine may run a file manager, so four file managers serve four times as many
    requests."""
    one, four = limits(scenario()), limits(scenario(), servers=4)
    assert one.role == "file_manager"
    rates = [{each.operation: each.rate_per_s for each in found.capacity} for found in (one, four)]
    assert rates[1]["stat"] == pytest.approx(4 * rates[0]["stat"])


@pytest.mark.parametrize(
    ("parameters", "key"),
    [({"other_hits": 1.5}, "other_hits"), ({"packet_size": "256 KiB"}, "packet_size")],
)
def test_illegal_parameters_are_named(parameters, key):
    with pytest.raises(InputError, match=f"file_system.{key}"):
        check(scenario(parameters=parameters))


def pool(name):
    """Returns a scenario of a local pool of disks (OpenZFS). `name` is the file system's name in
    the scenario, because earlier versions used "zfs" instead of "openzfs"."""
    return build(
        Scenario,
        {
            "name": "pool",
            "deployment": {"node": [{"name": "machine", "roles": {"client": 1, "pool": 1}}]},
            "file_system": {"name": name, "vdevs": 1},
            "workload": {"name": "sequential_write"},
        },
    )


def test_the_earlier_name_of_openzfs_is_read():
    """Stored runs are found by the text of their scenario. The text of a scenario therefore keeps
    the earlier name of the file system, zfs."""
    earlier, today = pool("zfs"), pool("openzfs")
    assert earlier == today
    assert today.file_system.name == "openzfs"
    assert '"name": "zfs"' in today.file_system.canonical
    assert scenario().file_system.name == "zfs"
