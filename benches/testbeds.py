"""Starts each real file system on hosts, checks its hardware, writes files and reads them back, and
stops it.

The bench prints the start times, the declared hardware and the measured hardware. The bench fails
if the hardware differs from its declaration, if content differs, or if anything remains on the
machine. The last line is one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dfslab import discover
from dfslab.instruments import access
from dfslab.instruments.measure import run_load
from dfslab.method import RunFailed
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.holdings import holdings, settled
from dfslab.testbeds.hosts.hardware import Check
from rich.console import Console
from rich.table import Table

SERVERS = 3
COUNTS = {"metadata": 1, "data": SERVERS, "client": 2}


@dataclass(frozen=True)
class Hardware:
    """The declared hardware of every node: rate of its link, rate of its disk and network delay.
    `tolerance` is the largest allowed relative difference between measured and declared
    hardware."""

    link: str
    disk: str
    delay: str
    tolerance: float

    def node(self) -> dict[str, Any]:
        """Returns the keys, with values, by which a node of a scenario declares this link and this
        disk."""
        disk = {"read_rate": self.disk, "write_rate": self.disk}
        return {"adapter": {"bandwidth": self.link}, "disk": disk}


# Hardware that is so slow that a small idle machine can provide it. If a testbed with this hardware
# fails its hardware check, the testbed is at fault, not the machine.
FREE = Hardware("200 Mbit/s", "60 MiB/s", "1 ms", 0.05)
# Hardware for a machine whose processors are mostly in use by other programs.
BUSY = Hardware("100 Mbit/s", "30 MiB/s", "4 ms", 0.3)

# Layouts of each file system that are tested in addition to the file system's default layout.
LAYOUTS: dict[str, list[dict[str, Any]]] = {
    "glusterfs": [
        {"copies": 3},
        {"copies": 3, "data_fragments": 2},
        {"shard": 1, "shard_block_size": "4 MiB"},
    ],
    "cephfs": [
        {"copies": 3, "data_fragments": 2},
        {"copies": 2, "stripe_unit": "64 KiB", "stripe_count": 2, "object_size": "1 MiB"},
    ],
    "moosefs": [{"goal": 2}],
}


@dataclass(frozen=True)
class Case:
    """A file system in one of its layouts. `layout` has the parameters that declare the layout,
    none for the default layout.
    """

    system: str
    layout: dict[str, Any]

    def __str__(self) -> str:
        return " ".join([self.system, *(f"{key}={value}" for key, value in self.layout.items())])


@dataclass(frozen=True)
class Seen:
    """The results of one testbed, from its start until its removal."""

    start_s: float
    hardware_check_s: float
    down_s: float
    versions: dict[str, str]
    verified_bytes: int
    errors: list[Any]
    complete: bool
    hardware: list[Check]
    left_over: list[str]

    @property
    def good(self) -> bool:
        """Whether the case passed: the hardware was as declared, all content was read back and
        verified, no errors occurred, and nothing remained on the machine."""
        held = all(check.holds for check in self.hardware)
        whole = self.complete and self.verified_bytes > 0
        return held and whole and not self.errors and not self.left_over


def cases(names: Sequence[str] = ()) -> list[Case]:
    """Returns one case for each layout of the file systems in `names`. If `names` is empty, the
    cases are those of all file systems that have a testbed.
    """
    have = [
        name
        for name in discover.members(discover.FILE_SYSTEMS)
        if discover.file_system(name).has_testbed
    ]
    return [Case(name, layout) for name in names or have for layout in ({}, *LAYOUTS.get(name, ()))]


def scenario(case: Case, declared: Hardware) -> Scenario:
    """Returns a scenario for a case. Each host has roles of one kind only: metadata, data or
    client. Two client hosts write files and read them back.
    """
    system = discover.file_system(case.system)
    counts = {**COUNTS, **({"data": 1} if case.system == "nfs" else {})}
    nodes = [
        {"name": kind, "count": counts[kind], "roles": roles, **declared.node()}
        for kind in counts
        if (roles := {role.name: 1 for role in system.roles if role.kind == kind})
    ]
    return build(
        Scenario,
        {
            "name": case.system,
            "deployment": {
                "node": nodes,
                "network": {"latency": declared.delay},
                "tolerance": declared.tolerance,
            },
            "file_system": {"name": case.system, "access": {"testbed": True}, **case.layout},
            "workload": {
                "name": "mixture",
                "read_share": 0.5,
                "file_size": "8 MiB",
                "clients": 2,
                "operations_per_client": 6,
                "cache": "cold",
            },
            "run": {"methods": ["measure"], "verify": "inline"},
        },
    )


def one(case: Case, declared: Hardware, notify: Callable[[str], None]) -> Seen:
    """Starts one testbed, checks its hardware, runs the workload on it and stops it. Returns the
    results. Raises TestbedError if the testbed cannot be started or stopped, and RunFailed if the
    workload cannot run.
    """
    before = holdings()
    point = scenario(case, declared).points()[0]
    with access.session(notify) as session:
        session.reach(point.scenario)
        testbed = session.testbed
        measured = run_load(point, session)
        began = time.monotonic()
    return Seen(
        start_s=round(testbed.start_s - testbed.hardware_check_s, 2),
        hardware_check_s=round(testbed.hardware_check_s, 2),
        down_s=round(time.monotonic() - began, 2),
        versions=testbed.versions,
        verified_bytes=measured.load.verified_bytes,
        errors=[error.model_dump() for error in measured.load.errors],
        complete=measured.complete,
        hardware=testbed.hardware,
        left_over=settled(before),
    )


def _worst(checks: Sequence[Check], kind: str) -> Check | None:
    """Returns the check of the quantity `kind` whose measured value differs most from the declared
    value. A check without a declared value counts as a difference of 0. Returns None if there is no
    check of this quantity.
    """
    alike = [check for check in checks if check.quantity == kind]
    return max(alike, key=lambda c: abs(c.measured - (c.declared or c.measured)), default=None)


def main(names: list[str]) -> int:
    """Tests the file systems in `names`, or all file systems that have a testbed if `names` is
    empty. Returns the exit code."""
    console = Console(width=150)
    seen: dict[str, Seen] = {}
    failed: dict[str, str] = {}
    for case in cases(names):
        console.print(f"[bold]{case}[/]")
        try:
            seen[str(case)] = one(case, FREE, lambda text: console.print(f"  {text}"))
        except (TestbedError, RunFailed) as error:
            failed[str(case)] = str(error)
            console.print(f"  failed: {error}")
    table = Table(
        title=f"{SERVERS} servers, 2 clients, {FREE.link}, {FREE.delay} each way, disks {FREE.disk}"
    )
    for column in (
        "file system",
        "start s",
        "check s",
        "link",
        "round trip",
        "disk write",
        "disk read",
        "verified MiB",
        "down s",
        "left",
    ):
        table.add_column(column, justify="right")
    for name, given in seen.items():
        table.add_row(name, *_cells(given))
    for name in failed:
        table.add_row(name, "failed")
    console.print(table)
    documents = {name: asdict(given) for name, given in seen.items()}
    print(json.dumps({**documents, **{name: {"failed": why} for name, why in failed.items()}}))
    return 0 if not failed and all(given.good for given in seen.values()) else 1


def _cells(seen: Seen) -> list[str]:
    found = []
    for kind in ("link rate", "round trip", "disk write rate", "disk read rate"):
        check = _worst(seen.hardware, kind)
        if check is None or not check.declared:
            found.append("-")
        elif kind == "round trip":
            found.append(f"{check.measured * 1e3:.2f} ms")
        else:
            found.append(f"{check.measured / check.declared - 1:+.1%}")
    return [
        f"{seen.start_s:.1f}",
        f"{seen.hardware_check_s:.1f}",
        *found,
        f"{seen.verified_bytes / 2**20:.0f}",
        f"{seen.down_s:.1f}",
        str(len(seen.left_over)),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
