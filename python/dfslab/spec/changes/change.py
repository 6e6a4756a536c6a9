"""A change of a scenario: the keys that it sets, its kind, and the distance between the old and new
values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dfslab.spec.design import LevelValue

# The kinds of changes. The error of predicted gains is estimated separately for each kind.
CLIENTS, SERVERS, COPIES = "clients", "servers", "copies"
LINK, DISK, PROCESSOR, LATENCY = "link", "disk", "processor", "latency"
SIZE, SETTING = "size", "setting"
OF_HARDWARE = (SERVERS, LINK, DISK, PROCESSOR, LATENCY)
KINDS = (CLIENTS, SERVERS, COPIES, LINK, DISK, PROCESSOR, LATENCY, SIZE, SETTING)
# Distance of a change that has no ratio, such as switching a setting on. It is that of a doubling.
DOUBLING = math.log(2)
# End of a key -> kind of change. The first match applies.
_ENDS = (
    (("workload.clients", "workload.nodes", "workload.processes"), CLIENTS),
    ((".adapter.bandwidth",), LINK),
    ((".network.latency", ".adapter.latency", ".loopback_latency"), LATENCY),
    ((".cores", ".frequency", ".share", ".processors", ".shared_cores"), PROCESSOR),
    (("_size", ".data_per_client"), SIZE),
    (("file_system.copies", "file_system.replication", "file_system.data_fragments"), COPIES),
)
# Keys that define how long a workload runs, not what the workload does.
OF_LENGTH = ("workload.operations_per_client", "workload.files_per_client")


@dataclass(frozen=True)
class Change:
    """One change of a scenario.

    `text`: the change as the user writes it. `values`: dotted key -> new value. `kind`: one of
    KINDS. `distance`: |natural logarithm of new value / old value|; DOUBLING where there is no
    ratio. `is_more`: whether the change only adds hardware, which lowers no rate and raises a rate
    at most in proportion.
    """

    text: str
    values: Mapping[str, LevelValue]
    kind: str
    distance: float
    is_more: bool = False

    def __hash__(self) -> int:
        return hash((self.text, tuple(sorted(self.values))))


def kind_of(key: str) -> str:
    """Returns the kind of a change of the dotted `key`; SETTING if no other kind matches."""
    if ".disk." in key:
        return DISK
    if key.startswith("deployment.node.") and key.endswith(".count"):
        return CLIENTS if key == "deployment.node.client.count" else SERVERS
    for ends, kind in _ENDS:
        if key.endswith(ends):
            return kind
    return SETTING


def distance_of(old: float, new: float) -> float:
    """Returns the distance between two values of a key: |ln(new / old)|, or that of a doubling if
    one value is 0."""
    if old <= 0 or new <= 0:
        return 0.0 if old == new else DOUBLING
    return abs(math.log(new / old))


def adds_hardware(key: str, old: float, new: float) -> bool:
    """Returns whether a change of a key only adds hardware: a larger amount, or a lower latency."""
    more = new <= old if key.endswith("latency") else new >= old
    return kind_of(key) in OF_HARDWARE and more


def possible_log_gain(changes: Iterable[Change]) -> tuple[float, float]:
    """Returns bounds of the log gain of changes: (0, sum of distances) if they only add hardware,
    else infinite.

    A resource that takes 1/f of the time makes an operation at most f times as fast.
    """
    known = list(changes)
    if not all(one.is_more for one in known):
        return -math.inf, math.inf
    return 0.0, sum(one.distance for one in known)
