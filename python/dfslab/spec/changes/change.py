"""A change of a scenario: the keys that it sets, its kind, and the distance between the old and new
values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from dfslab.spec.design import LevelValue
from dfslab.spec.systems.local_files import OF_DISKS

# The kinds of changes, named by what is changed. The error of predicted gains is estimated
# separately for each kind.
ChangeKind = Literal[
    "clients", "servers", "copies", "link", "disk", "processor", "latency", "size", "setting"
]
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
CLIENTS: Final = "clients"
SERVERS: Final = "servers"
COPIES: Final = "copies"
LINK: Final = "link"
DISK: Final = "disk"
PROCESSOR: Final = "processor"
LATENCY: Final = "latency"
SIZE: Final = "size"
SETTING: Final = "setting"
OF_HARDWARE: tuple[ChangeKind, ...] = (SERVERS, LINK, DISK, PROCESSOR, LATENCY)
# The distance of a change whose values have no ratio, such as switching a setting on. The value
# equals the distance of a change that doubles a value.
DOUBLING = math.log(2)
# The change to twice as many clients, in the language of changes.
CLIENTS_X2 = "clients x2"
# The kind of a change by the end of its key. The first entry that has a matching end decides.
_ENDS: tuple[tuple[tuple[str, ...], ChangeKind], ...] = (
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

    `text` is the change as the user writes it. `values` maps each dotted key that changes to its
    new value. `distance` is |ln(new value / old value)|, or DOUBLING where the values have no
    ratio. `is_more` means that the change only adds hardware. Such a change lowers no rate, and it
    raises a rate at most by the factor by which it increases the hardware.
    """

    text: str
    values: Mapping[str, LevelValue]
    kind: ChangeKind
    distance: float
    is_more: bool = False

    def __hash__(self) -> int:
        return hash((self.text, tuple(sorted(self.values))))


def kind_of(key: str) -> ChangeKind:
    """Returns the kind of a change that sets the dotted `key`; SETTING if no other kind matches."""
    if ".disk." in key or (".local_files." in key and key.rpartition(".")[2] in OF_DISKS):
        return DISK
    if key.startswith("deployment.node.") and key.endswith(".count"):
        return CLIENTS if key == "deployment.node.client.count" else SERVERS
    for ends, kind in _ENDS:
        if key.endswith(ends):
            return kind
    return SETTING


def distance_of(old: float, new: float) -> float:
    """Returns the distance between two values of a key: |ln(new / old)|. If only one of the values
    is 0, the distance is DOUBLING. If both are 0, the distance is 0."""
    if old <= 0 or new <= 0:
        return 0.0 if old == new else DOUBLING
    return abs(math.log(new / old))


def adds_hardware(key: str, old: float, new: float) -> bool:
    """Returns whether a change of a key from `old` to `new` only adds hardware: the key belongs to
    the hardware, and `new` is not smaller than `old` (for a latency: not larger)."""
    more = new <= old if key.endswith("latency") else new >= old
    return kind_of(key) in OF_HARDWARE and more


def possible_log_gain(changes: Iterable[Change]) -> tuple[float, float]:
    """Returns bounds (lower, upper) of ln(new rate / old rate) if all changes are made together. If
    all changes only add hardware, the lower bound is 0 and the upper bound is the sum of the
    changes' distances. Otherwise the bounds are -infinity and infinity.

    The upper bound holds because an operation becomes at most f times as fast if a resource works f
    times as fast.
    """
    known = list(changes)
    if not all(one.is_more for one in known):
        return -math.inf, math.inf
    return 0.0, sum(one.distance for one in known)
