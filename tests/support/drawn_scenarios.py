"""Draws random scenarios of all described file systems."""

from __future__ import annotations

from dfslab import discover
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

from support.predicted import OF_ONE_NODE, SYSTEMS

WORKLOADS = ("sequential_read", "sequential_write", "random_read", "random_write", "append")


def drawn(rng):
    """Returns a random scenario as a table, that is, as nested dictionaries like those of a TOML
    file."""
    system = rng.choice(SYSTEMS)
    described = discover.file_system(system)

    def node(name, count, roles):
        return {
            "name": name,
            "count": count,
            "roles": roles,
            "cores": rng.choice([1, 2, 4, 16]),
            "memory": f"{rng.choice([1, 8, 64])} GiB",
            "disk": {
                "read_rate": f"{rng.uniform(20, 2000):.0f} MB/s",
                "write_rate": f"{rng.uniform(20, 2000):.0f} MB/s",
                "latency": f"{rng.choice([0, 20, 100, 1000, 8000])} us",
                "count": rng.choice([1, 1, 2, 12]),
            },
            "adapter": {"bandwidth": f"{rng.choice([0.1, 1, 4, 10, 40])} Gbit/s"},
        }

    servers = rng.choice([1, 3, 4, 6, 8])
    if system in OF_ONE_NODE:
        nodes = [node("node", 1, {one.name: 1 for one in described.roles})]
    else:
        nodes = [
            node(one.name, servers if one.kind == "data" else 1, {one.name: 1})
            for one in described.roles
        ]
    workload = {
        "name": rng.choice(WORKLOADS),
        "clients": rng.choice([1, 2, 8, 32]),
        "file_size": rng.choice(["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB"]),
        "transfer_size": rng.choice(["4 KiB", "128 KiB", "1 MiB"]),
        "operations_per_client": rng.choice([1, 4, 20]),
        "cache": rng.choice(["warm", "cold", "direct"]),
        "fsync": rng.choice([False, True, "write"]),
        "sync_io": rng.choice(["none", "none", "data", "all"]),
    }
    latency = f"{rng.choice([20, 50, 500, 10000, 50000])} us"
    return {
        "name": "drawn",
        "deployment": {"node": nodes, "network": {"latency": latency}},
        "file_system": {"name": system},
        "workload": workload,
        "run": {"methods": ["sequence"]},
    }


def configuration(table):
    """Returns the checked configuration of a scenario's table, or None if its layout is illegal."""
    scenario = build(Scenario, table)
    try:
        check(scenario)
    except InputError:
        return None
    return Situation(scenario)
