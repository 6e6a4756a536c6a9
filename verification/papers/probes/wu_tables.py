"""Compares the settings in Tables 2 and 3 of Wu 2013 with those of dfslab's scenarios. These
scenarios predict the systems of the paper at full scale."""

from __future__ import annotations

from dataclasses import dataclass

from dfslab.spec import units
from dfslab.spec.deployment import NodeGroup

from verification import recordings
from verification.papers.obtained import Obtained, judged

TANSUO, INSPUR, EC2 = "wu-full-tansuo", "wu-full-inspur", "wu-full-ec2"
GIGABIT, MEGABIT = "1 Gbit/s", "100 Mbit/s"


@dataclass(frozen=True)
class Machines:
    """Equal machines in a table of Wu 2013. The fields are the number of machines, the processors
    of a machine, the cores and the clock of a processor, the memory, and the bandwidth of the
    network adapter. If `clients` is true, a client also runs on each machine."""

    count: int
    processors: int
    cores: int
    frequency: str
    memory: str
    bandwidth: str
    clients: bool

    def differs(self, group: NodeGroup) -> bool:
        """Returns whether a node group of a scenario differs from these machines."""
        return (
            (group.count, group.processors, group.cores)
            != (self.count, self.processors, self.cores)
            or group.frequency != units.parse(self.frequency, "Hz")
            or group.memory != units.parse(self.memory, "B")
            or group.adapter.bandwidth != units.parse(self.bandwidth, "B/s")
            or bool(group.roles.get("client", 0)) != self.clients
        )


# The DataNodes of Table 3 of Wu 2013. For the machine D4, the table prints 12 cores for each
# processor, an X5650. This processor has six cores, which are used here.
DATANODES_OF_INSPUR = (
    Machines(3, 1, 4, "2.67 GHz", "970 MB", GIGABIT, clients=True),
    Machines(1, 2, 6, "2.67 GHz", "23.5 GB", GIGABIT, clients=True),
    Machines(4, 2, 6, "2.67 GHz", "23.6 GB", GIGABIT, clients=True),
)
# Table 2 of Wu 2013. The DataNodes of the second system are those of Table 3.
DATANODES = {
    TANSUO: (Machines(17, 2, 6, "2.93 GHz", "47 GB", GIGABIT, clients=True),),
    INSPUR: DATANODES_OF_INSPUR,
    EC2: (Machines(60, 1, 1, "2.66 GHz", "1.66 GB", GIGABIT, clients=True),),
}
NAMENODE = {
    TANSUO: (Machines(1, 2, 6, "2.93 GHz", "47 GB", GIGABIT, clients=False),),
    INSPUR: (Machines(1, 1, 4, "2.4 GHz", "2 GB", MEGABIT, clients=False),),
    EC2: (Machines(1, 1, 4, "2.66 GHz", "15 GB", GIGABIT, clients=False),),
}


def table_2() -> Obtained:
    """Judges whether the scenarios of the three systems have the machines of Table 2 of Wu 2013."""
    same = all(
        _described(name, "namenode", NAMENODE[name])
        and _described(name, "datanode", DATANODES[name])
        for name in DATANODES
    )
    texts = [f"{name} {_count(name, 'datanode')}" for name in DATANODES]
    clients = ", ".join(str(_count(name, "client")) for name in DATANODES)
    return judged(same, f"DataNodes described: {', '.join(texts)}; clients {clients}")


def table_3() -> Obtained:
    """Judges whether the scenario of the second system has the DataNodes of Table 3 of Wu 2013."""
    groups = _groups(INSPUR, "datanode")
    texts = [
        f"{one.count} with {one.processors} x {one.cores} cores and {one.memory / 1e6:,.0f} MB"
        for one in groups
    ]
    return judged(_described(INSPUR, "datanode", DATANODES_OF_INSPUR), ", ".join(texts))


def _groups(scenario: str, role: str) -> list[NodeGroup]:
    return recordings.scenario(scenario).deployment.groups_of(role)


def _count(scenario: str, role: str) -> int:
    return sum(group.count for group in _groups(scenario, role))


def _described(scenario: str, role: str, machines: tuple[Machines, ...]) -> bool:
    """Returns whether the nodes of a role are described as Wu's machines."""
    groups = _groups(scenario, role)
    return len(groups) == len(machines) and not any(
        one.differs(group) for one, group in zip(machines, groups, strict=True)
    )
