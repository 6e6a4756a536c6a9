"""Tests that every key of a scenario which describes hardware or the workload changes a prediction,
or is reported as ignored, for every file system."""

from __future__ import annotations

import pytest
from dfslab.models.tree.ignored import ignored
from dfslab.spec.deployment import Adapter, Disk, Network, NodeGroup
from dfslab.spec.scenario import WorkloadChoice
from support.predicted import SYSTEMS, situation_of

# For each key, a value that differs from the default so much that the key must change a prediction
# if it has an effect at all.
OF_NODES = {
    "processors": 3,
    "cores": 1,
    "frequency": "0.2 GHz",
    "share": 0.1,
    "memory": "64 MiB",
    "copy_rate": "5 MB/s",
    "call_time": "1 ms",
    "dirty_limit": 0.11,
    "dirty_background": 0.001,
}
OF_DISKS = {
    "read_rate": "2 MB/s",
    "write_rate": "2 MB/s",
    "latency": "50 ms",
    "count": 7,
    "burst": "2 s",
    "iops": 10.0,
    "file_system": "ext4",
    "capacity": "8 GiB",
    "medium": "disk",
}
OF_ADAPTERS = {"bandwidth": "20 Mbit/s", "latency": "3 ms", "burst": "2 s"}
OF_NETWORKS = {
    "latency": "20 ms",
    "loopback_latency": "5 ms",
    "window": "4 KiB",
    "jitter": "5 ms",
    "loss": 0.05,
    "congestion": "reno",
}
OF_WORKLOADS = {
    "clients": 9,
    "nodes": 1,
    "processes": 1,
    "think_time": "2 s",
    "cache": "direct",
    "fsync": True,
    "sync_io": "data",
    "mmap": True,
}
# Keys that this module does not vary: names and tables, which are no quantities of hardware, and
# keys that only open workloads have.
OTHER = {
    NodeGroup: {"name", "count", "roles", "disk", "adapter", "local_files", "profile", "power"},
    WorkloadChoice: {"name", "arrival", "rate", "ramp"},
}
TABLES = {
    NodeGroup: OF_NODES,
    Disk: OF_DISKS,
    Adapter: OF_ADAPTERS,
    Network: OF_NETWORKS,
    WorkloadChoice: OF_WORKLOADS,
}
CASES = [(table, key, value) for table, own in TABLES.items() for key, value in own.items()]
# Each resource is used by at least one of the four workloads in LOADS, which have three clients.
# The clients write more data than the memory of a server holds, write less data than this, read
# files from disk, or run a program of tasks.
SIZE = {"file_size": "96 MiB", "transfer_size": "128 KiB", "clients": 3}
LOADS = (
    {"workload": "sequential_write", "operations_per_client": 6, **SIZE},
    {"workload": "sequential_write", "operations_per_client": 1, **SIZE, "file_size": "8 MiB"},
    {"workload": "random_read", "cache": "cold", "operations_per_client": 2, **SIZE},
    {"workload": "program", "compute_time": "1 s", **SIZE},
)
DISK = {"read_rate": "40 MB/s", "write_rate": "40 MB/s", "latency": "2 ms"}
# The number of processors or cores changes a rate only if many clients share few of them. These
# keywords make such a configuration.
CROWDED = {
    "node": {"cores": 2, "frequency": "0.5 GHz"},
    "clients": 24,
    "disk": {**DISK, "count": 50},
}


def test_every_key_has_a_case():
    for table, own in TABLES.items():
        fields = set(table.model_fields)
        assert fields == own.keys() | OTHER.get(table, set()), table.__name__


def usual(load, key):
    """Returns the keywords of `situation_of` for the workload `load` before `key` is changed."""
    keys = {"memory": "512 MiB", "disk": DISK, **load}
    return {**keys, **CROWDED} if key in ("processors", "cores") else keys


def changed(load, table, key, value):
    """Returns the keywords of `situation_of` for the workload `load`, with `key` of the scenario
    table `table` set to `value`."""
    keys = usual(load, key)
    if table is Disk:
        return {**keys, "disk": {**DISK, key: value}}
    if table is Adapter:
        return {**keys, "adapter": {"bandwidth": "10 Gbit/s", key: value}}
    if table is Network:
        return {**keys, "network": {"latency": "50 us", key: value}}
    if table is NodeGroup:
        return {**keys, "node": {**keys.get("node", {}), key: value}}
    return {**keys, key: value}


@pytest.mark.grid
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("table", "key", "value"), CASES, ids=[f"{t.__name__}.{k}" for t, k, _ in CASES]
)
def test_it_moves_a_prediction_or_is_reported(system, table, key, value):
    """A change of the key must change the predicted rate of at least one workload in LOADS, unless
    the key is reported as ignored for all of them."""
    moved, silent = False, False
    for load in LOADS:
        before, after = usual(load, key), changed(load, table, key, value)
        both = [situation_of(system, keys.pop("workload"), **keys) for keys in (before, after)]
        rates = [one.predict(one.constants).rate_per_s for one in both]
        reported = [one for one in ignored(both[1], both[1].constants) if one.endswith(f".{key}")]
        moved |= abs(rates[0] / rates[1] - 1) > 1e-9
        silent |= not reported
    assert moved or not silent, f"{system}: {table.__name__}.{key} is silent"
