"""Compares the measured rates of testbeds with the rates that `dfslab expect` predicts. Some
testbeds are healthy. All other testbeds have a planted fault, although they declare the same
hardware as a healthy testbed.

`python -m verification.trials.planted_testbeds FILE_SYSTEM FAULT` starts a testbed, compares its
rates, and appends the comparison to `data/expecting.jsonl`. The figures use every recorded
comparison. The command needs root rights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal
from unittest.mock import patch

from dfslab import discover
from dfslab.instruments.discovery import place as places
from dfslab.spec.clock import REAL, date
from dfslab.spec.deployment import Deployment, NodeGroup
from dfslab.spec.input_error import InputError
from dfslab.spec.systems.standard import standard
from dfslab.studies.expect import place_rates
from dfslab.studies.expect.comparison import PlaceComparison
from dfslab.studies.expect.hardware_facts import DeclaredHardware
from dfslab.studies.expect.place_scenario import scenario_of
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.found import testbed_class
from dfslab.testbeds.hosts import machine
from dfslab.testbeds.hosts.cluster import Cluster
from dfslab.testbeds.hosts.network import EmulatedLink
from pydantic import BaseModel

from verification.figures import Figure
from verification.recordings import DATA, INTERVENTIONS

Fault = Literal[
    "none", "late metadata server", "slow server", "slow client link", "slow server disks"
]
FAULTS: tuple[Fault, ...] = (
    "none",
    "late metadata server",
    "slow server",
    "slow client link",
    "slow server disks",
)
RECORDING = EXPERIMENT = "expecting"
FILE = DATA / f"{RECORDING}{INTERVENTIONS}"
FILE_SYSTEMS = ("cephfs", "juicefs", "glusterfs", "moosefs", "hdfs")
# Hardware of the testbeds. LINK and DISK are the bytes per second of every link and every disk.
# LATENCY_S is the one-way latency between two hosts. SERVERS is the number of data servers. No
# predefined scenario has the same hardware.
LINK, DISK, LATENCY_S, SERVERS = 45e6, 35e6, 4e-4, 3
# Sizes of the faults. The late metadata server receives each packet LATE_S seconds later. The slow
# hardware has a fraction of the declared rate: SLOW of a server's link, SLOW_CLIENT_LINK of the
# client's link, and SLOW_DISK of the disks of all servers.
LATE_S, SLOW, SLOW_CLIENT_LINK, SLOW_DISK = 0.02, 1 / 8, 1 / 2, 1 / 3
TIME_S = 30.0
# For each fault, the texts that name the fault. An answer names the fault if it contains one of the
# texts.
NAMED_BY: dict[Fault, tuple[str, ...]] = {
    "none": (),
    "late metadata server": (
        "the mds",
        "the meta",
        "the master",
        "the namenode",
        "metadata server",
    ),
    "slow server": (f"one of {SERVERS} servers",),
    "slow client link": ("the client link",),
    "slow server disks": ("the server disk",),
}


class RecordedComparison(BaseModel):
    """A comparison of a testbed with its expectation. `fault` is the fault that was requested, or
    "none"."""

    written: str
    file_system: str
    fault: Fault
    comparison: PlaceComparison

    @property
    def planted(self) -> Fault:
        """The fault that the testbed had, or "none". A file system without metadata servers cannot
        have a late metadata server. If this fault was requested for it, the result is "none"."""
        return self.fault if can_have(self.file_system, self.fault) else "none"

    @property
    def is_named(self) -> bool:
        """Whether the answer names the planted fault, or no fault if none was planted."""
        found = self.comparison.fault
        if self.planted == "none":
            return not found
        return any(text in found for text in NAMED_BY[self.planted])


def can_have(file_system: str, fault: Fault) -> bool:
    """Returns whether a testbed of a file system can have a fault. Only the fault of a late
    metadata server has a condition: the file system must have metadata servers."""
    return fault != "late metadata server" or bool(_roles(file_system, "metadata"))


def _roles(file_system: str, kind: str) -> set[str]:
    roles = discover.file_system(file_system).roles
    return {role.name for role in roles if role.kind == kind}


def declared(file_system: str) -> Deployment:
    """Returns the deployment of a healthy testbed."""
    system = discover.file_system(file_system)
    return standard(system, SERVERS, 1, LINK, LATENCY_S, DISK)


@contextmanager
def testbed_with(file_system: str, fault: Fault) -> Iterator[BaseTestbed[Any]]:
    """Returns a context with a running testbed that has a fault. The record of the testbed does not
    show the fault: it has the declared deployment. Raises InputError if the file system cannot have
    the fault."""
    if not can_have(file_system, fault):
        raise InputError("FAULT", fault, f"{file_system} has no metadata server that can be late")
    metadata = _roles(file_system, "metadata")

    def link_of(group: NodeGroup, deployment: Deployment) -> EmulatedLink:
        link = machine.link_of(group, deployment)
        is_late = fault == "late metadata server" and metadata & set(group.roles)
        return replace(link, delay_s=link.delay_s + LATE_S) if is_late else link

    kind = testbed_class(file_system, "FILE_SYSTEM")
    with (
        patch("dfslab.testbeds.hosts.cluster.link_of", link_of),
        kind.up(notify=_print, deployment=declared(file_system)) as testbed,
    ):
        assert testbed.cluster is not None
        _slow_down(testbed.cluster, fault)
        yield testbed


def _slow_down(cluster: Cluster, fault: Fault) -> None:
    """Makes a link or the disks of running hosts slower. Does nothing if the fault concerns neither
    links nor disks."""
    nodes = cluster.deployment.nodes()
    servers = [(name, group) for name, group in nodes if group.name == "server"]
    if fault == "slow server":
        cluster.slow(servers[0][0], LINK * SLOW)
    if fault == "slow client link":
        client = next(name for name, group in nodes if "client" in group.roles)
        cluster.slow(client, LINK * SLOW_CLIENT_LINK)
    if fault == "slow server disks":
        for name, group in servers:
            rates = {"read_rate": DISK * SLOW_DISK, "write_rate": DISK * SLOW_DISK}
            slow = group.model_copy(update={"disk": group.disk.model_copy(update=rates)})
            cluster.change(name, slow)


def compare(file_system: str, fault: Fault) -> RecordedComparison:
    """Starts a testbed with a fault, and compares the measured rates with the rates that its
    declared hardware predicts."""
    with testbed_with(file_system, fault) as testbed:
        place = places.find(testbed.name)
        probed = places.probed(place)
        made = scenario_of(place, probed, DeclaredHardware())
        plan = place_rates.plan(place, probed, made, TIME_S)
        print(plan.announcement(), flush=True)
        comparison = place_rates.compared(plan, _report, _print)
    # The name of a testbed is random, so the name of the file system replaces it.
    comparison = comparison.model_copy(update={"place": file_system})
    written = date(REAL).isoformat(timespec="seconds")
    return RecordedComparison(
        written=written, file_system=file_system, fault=fault, comparison=comparison
    )


def recorded() -> list[RecordedComparison]:
    """Returns the recorded comparisons in the order of their measurement."""
    if not FILE.exists():
        return []
    texts = FILE.read_text(encoding="utf-8").splitlines()
    return [RecordedComparison.model_validate_json(text) for text in texts]


def subjects() -> list[str]:
    """Returns the names of the recordings."""
    return [RECORDING] if FILE.exists() else []


def figures(recording: str) -> list[Figure]:
    """Returns three shares:

    - the share of the measured rates of healthy testbeds that are inside the expected intervals
    - the share of the planted faults that are named
    - the share of the healthy testbeds for which a fault is named
    """
    found = recorded()
    healthy = [one for one in found if one.planted == "none"]
    inside = [
        row.is_inside for one in healthy for row in one.comparison.rows if row.measured is not None
    ]
    named = [one.is_named for one in found if one.planted != "none"]
    wrong = [not one.is_named for one in healthy]
    rows = (("inside", inside), ("named", named), ("false-alarms", wrong))
    return [
        Figure(
            EXPERIMENT,
            recording,
            f"expecting.{bar}",
            "",
            sum(held) / len(held) if held else None,
            len(held),
        )
        for bar, held in rows
    ]


def _print(text: str) -> None:
    print(text, flush=True)


def _report(done: float, total: float, text: str, *remaining_s: float) -> None:
    print(f"{done:.0f} of {total:.0f}: {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Records one comparison and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification.trials.planted_testbeds")
    parser.add_argument("file_system", choices=FILE_SYSTEMS)
    parser.add_argument("fault", choices=FAULTS)
    requested = parser.parse_args(arguments)
    if not can_have(requested.file_system, requested.fault):
        parser.error(f"{requested.file_system} has no metadata server that can be late")
    found = compare(requested.file_system, requested.fault)
    with FILE.open("a", encoding="utf-8") as file:
        file.write(found.model_dump_json() + "\n")
    print("\n".join(found.comparison.sentences()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
