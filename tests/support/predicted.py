"""Builds scenarios of all described file systems on the same declared hardware, and computes
predictions for them."""

from __future__ import annotations

from dfslab import discover
from dfslab.models.limit_text import text_of
from dfslab.models.petri import simulate
from dfslab.models.tree.limits import limits_of
from dfslab.models.tree.prediction import Situation
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
# File systems that keep all data in memory, so that their predicted rates do not depend on disks.
WITHOUT_DISKS = ("alluxio", "juicefs")
# File systems that consist of one node.
OF_ONE_NODE = ("local", "openzfs")
DISK = {"read_rate": "150 MB/s", "write_rate": "150 MB/s", "latency": "8 ms"}


def table_of(system, workload, *, servers=4, adapter=None, network=None, disk=None, **keys):
    """Returns a scenario as a table (a dictionary with the keys of the TOML file). Each role has
    separate nodes: `servers` nodes for each data role, and one node for every other role. A file
    system in OF_ONE_NODE has all roles on one node.
    """
    described = discover.file_system(system)
    hardware = {
        "memory": keys.pop("memory", "8 GiB"),
        "cores": 8,
        "disk": disk or DISK,
        "adapter": adapter or {"bandwidth": "10 Gbit/s"},
        **keys.pop("node", {}),
    }
    nodes = [
        {
            "name": role.name,
            "count": servers if role.kind == "data" else 1,
            "roles": {role.name: 1},
            **hardware,
        }
        for role in described.roles
    ]
    if system in OF_ONE_NODE:
        nodes = [{"name": "node", "roles": {one.name: 1 for one in described.roles}, **hardware}]
    return {
        "name": "predicted",
        "deployment": {"node": nodes, "network": network or {"latency": "50 us"}},
        "file_system": {"name": system, **keys.pop("parameters", {})},
        "workload": {"name": workload, **keys},
        "run": {"methods": ["sequence"]},
    }


def situation_of(system, workload, **keys):
    """Returns the situation (deployment, file system and workload) of a valid scenario. The
    scenario has the requested number of data servers, or one data server if the requested number is
    invalid."""
    try:
        scenario = build(Scenario, table_of(system, workload, **keys))
        check(scenario)
    except InputError:
        scenario = build(Scenario, table_of(system, workload, **{**keys, "servers": 1}))
        check(scenario)
    return Situation(scenario)


def rate_bytes_per_s(given):
    """Returns the throughput in bytes per second that the sequence model predicts. The constants
    have their prior values, as without calibration."""
    found = given.predict(given.constants)
    return found.rate_per_s * found.moved_bytes


def simulated_bytes_per_s(given):
    """Returns the throughput in bytes per second from a simulation of the Petri net with fixed
    service times. The constants have their prior values, as without calibration."""
    found = simulate(given, given.constants, service="deterministic", replications=1)
    return found.rate_per_s * given.environment["file_size"]


def limit(given):
    """Returns the predicted bottleneck of a situation (deployment, file system and workload) as
    text."""
    return text_of(limits_of(given, given.constants))
