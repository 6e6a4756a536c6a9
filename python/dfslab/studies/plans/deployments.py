"""The deployments among which a plan chooses. The deployments are built from a small catalogue of
node types, and each deployment has a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dfslab import discover
from dfslab.spec.design import LevelValue
from dfslab.spec.hardware.uncertainty import HardwareUncertainty
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.stored_copies import copies_parameter, setting_for
from dfslab.spec.units import parse

LINKS = ("10 Gbit/s", "25 Gbit/s", "100 Gbit/s")
METADATA_MEMORIES = ("64 GiB", "256 GiB", "1 TiB")
CORES, METADATA_CORES, MEMORY = 16, 32, "128 GiB"
LATENCY = "20 us"


@dataclass(frozen=True)
class DiskKind:
    """One kind of disk in the catalogue. `count`: number of these disks in a node. `capacity`:
    capacity of one disk, as text with its unit."""

    name: str
    count: int
    rate: str
    latency: str
    capacity: str


DISKS = (
    DiskKind("hard disks", 12, "200 MB/s", "8 ms", "16 TB"),
    DiskKind("SSDs", 8, "500 MB/s", "0.1 ms", "4 TB"),
    DiskKind("NVMe disks", 8, "3 GB/s", "0.02 ms", "8 TB"),
)


@dataclass(frozen=True)
class PlanLayout:
    """The parts of a deployment apart from its number of servers: file system, number of copies,
    disks and links. `uncertainty`: how far real hardware may be from the catalogue."""

    system: str
    copies: int
    link: str
    disk: DiskKind
    metadata_memory: str
    uncertainty: HardwareUncertainty = HardwareUncertainty()

    @property
    def text(self) -> str:
        """The disks and the link of one server in words."""
        return f"{self.disk.count} {self.disk.name} of {self.disk.capacity}, {self.link}"

    @property
    def node_bytes(self) -> float:
        """Capacity of a server's disks in bytes."""
        return self.disk.count * parse(self.disk.capacity, "B")


def usual_systems() -> tuple[str, ...]:
    """Returns the names of the file systems that a plan compares if the user names none. The names
    are ordered by the position that each file system's description declares."""
    described = [discover.file_system(name) for name in discover.members(discover.FILE_SYSTEMS)]
    compared = [one for one in described if one.plan_position]
    return tuple(one.name for one in sorted(compared, key=lambda one: one.plan_position))


def layouts(
    systems: tuple[str, ...], copies: int, uncertainty: HardwareUncertainty | None = None
) -> Iterator[PlanLayout]:
    """Yields every layout of the catalogue. `uncertainty`: how far real hardware may be from the
    catalogue; None if its values are exact. Raises InputError if a file system is unknown."""
    own = uncertainty or HardwareUncertainty()
    for system in systems:
        discover.file_system(system)
        for link in LINKS:
            for disk in DISKS:
                yield PlanLayout(system, copies, link, disk, METADATA_MEMORIES[-1], own)


def copies_key(system: str) -> str:
    """Returns the key of the parameter that sets the number of copies in the file system `system`.
    Returns "" if this file system can only store one copy."""
    found = copies_parameter(discover.file_system(system).parameters)
    return "" if found is None else found.key


def copies_of(system: str, copies: int) -> dict[str, int]:
    """Returns {key: value} of the file system's parameter that sets the number of copies. Returns
    {} if the file system `system` has no such parameter. Raises InputError if the file system
    cannot store this number of copies."""
    parameter = copies_parameter(discover.file_system(system).parameters)
    if parameter is not None:
        return {parameter.key: setting_for(parameter, copies)}
    if copies > 1:
        allowed = f"must be 1: {system} itself keeps one copy; disks may be mirrored below it"
        raise InputError("--copies", copies, allowed)
    return {}


def scenario_of(
    layout: PlanLayout, servers: int, clients: int, workload: Mapping[str, LevelValue]
) -> Scenario:
    """Returns the scenario that runs a workload from `clients` client nodes on `servers` servers of
    a layout. Raises InputError if the file system cannot store the layout's number of copies."""
    system = discover.file_system(layout.system)
    hardware = {"adapter": {"bandwidth": layout.link}, "memory": MEMORY, "cores": CORES}
    disk = {
        "count": layout.disk.count,
        "read_rate": layout.disk.rate,
        "write_rate": layout.disk.rate,
        "latency": layout.disk.latency,
    }
    nodes = []
    for kind, name, count in (("metadata", "master", 1), ("data", "server", servers)):
        roles = {role.name: 1 for role in system.roles if role.kind == kind}
        if roles:
            nodes.append({"name": name, "count": count, "roles": roles, "disk": disk, **hardware})
    if nodes[0]["name"] == "master":
        nodes[0] |= {"memory": layout.metadata_memory, "cores": METADATA_CORES}
    roles = {role.name: 1 for role in system.roles if role.kind == "client"}
    nodes.append({"name": "client", "count": clients, "roles": roles, **hardware})
    return build(
        Scenario,
        {
            "name": "plan",
            "deployment": {
                "node": nodes,
                "network": {"latency": LATENCY},
                "uncertainty": layout.uncertainty.factors,
            },
            "file_system": {"name": layout.system, **copies_of(layout.system, layout.copies)},
            "workload": dict(workload),
            "run": {"methods": ["sequence"]},
        },
    )
