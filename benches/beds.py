"""Every real file system here in turn: started on hosts, checked, written, read back, taken down.

Prints start times and declared beside measured hardware; fails when something is not as declared,
content comes back different, or anything is left on the machine. The last line is one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from dfslab import discover
from dfslab.beds.errors import BedError
from dfslab.beds.holdings import holdings, settled
from dfslab.instruments import access
from dfslab.instruments.measure import run_load
from dfslab.method import RunFailed
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from rich.console import Console
from rich.table import Table

SERVERS = 3
# What a small, busy machine can give, so that a refusal tells of a bed and not of its neighbours.
LINK, DISK, DELAY = "200 Mbit/s", "60 MiB/s", "1 ms"
NODE = {"adapter": {"bandwidth": LINK}, "disk": {"read_rate": DISK, "write_rate": DISK}}
COUNTS = {"metadata": 1, "data": SERVERS, "client": 2}


# Layouts beside each system's usual one.
LAYOUTS = {
    "glusterfs": [{"copies": 3}, {"copies": 3, "data_fragments": 2},
                  {"shard": 1, "shard_block_size": "4 MiB"}],
    "cephfs": [{"copies": 3, "data_fragments": 2},
               {"copies": 2, "stripe_unit": "64 KiB", "stripe_count": 2, "object_size": "1 MiB"}],
    "moosefs": [{"goal": 2}],
}  # fmt: skip


def scenario(name: str, layout: dict[str, Any]) -> Scenario:
    """Each kind of role on hosts of its own; two client hosts write and read back."""
    system = discover.file_system(name)
    counts = {**COUNTS, **({"data": 1} if name == "nfs" else {})}
    nodes = [
        {"name": kind, "count": counts[kind], "roles": roles, **NODE}
        for kind in counts
        if (roles := {role.name: 1 for role in system.roles if role.kind == kind})
    ]
    return build(Scenario, {
        "name": name,
        "deployment": {"node": nodes, "network": {"latency": DELAY}},
        "file_system": {"name": name, "access": {"bed": True}, **layout},
        "workload": {"name": "mixture", "read_share": 0.5, "file_size": "8 MiB", "clients": 2,
                     "operations_per_client": 6, "cache": "cold"},
        "run": {"methods": ["measure"], "verify": "inline"},
    })  # fmt: skip


def one(name: str, layout: dict[str, Any], console: Console) -> dict[str, Any]:
    """Start, check, load, take down; what was seen."""
    before = holdings()
    point = scenario(name, layout).points()[0]
    with access.session(lambda text: console.print(f"  {text}")) as session:
        session.reach(point.scenario)
        bed = session.bed
        outcome, _ = run_load(point, 0, session)
        seen = {
            "start_s": round(bed.start_s - bed.hardware_check_s, 2),
            "hardware_check_s": round(bed.hardware_check_s, 2),
            "versions": bed.versions,
            "verified_bytes": outcome["verified_bytes"],
            "errors": outcome["errors"],
            "complete": outcome["complete"],
            "hardware": {kind: _worst(bed.hardware, kind) for kind in _kinds(bed.hardware)},
        }
        began = time.monotonic()
    seen["down_s"] = round(time.monotonic() - began, 2)
    seen["left_over"] = settled(before)
    return seen


def _kinds(checks: list[Any]) -> list[str]:
    return list(dict.fromkeys(check.quantity for check in checks))


def _worst(checks: list[Any], kind: str) -> dict[str, float | None]:
    """The check of that kind that is farthest from its declaration."""
    alike = [check for check in checks if check.quantity == kind]
    worst = max(alike, key=lambda check: abs(check.measured - (check.declared or check.measured)))
    return {"declared": worst.declared, "measured": worst.measured}


def main(names: list[str]) -> int:
    """All file systems that have a bed, or those named."""
    console = Console(width=150)
    have = [name for name in discover.members("filesystems", folders=True)
            if discover.file_system(name).has_bed]  # fmt: skip
    seen: dict[str, Any] = {}
    for name in names or have:
        for layout in ({}, *LAYOUTS.get(name, ())):
            case = " ".join([name, *(f"{key}={value}" for key, value in layout.items())])
            console.print(f"[bold]{case}[/]")
            try:
                seen[case] = one(name, layout, console)
            except (BedError, RunFailed) as error:
                seen[case] = {"failed": str(error)}
                console.print(f"  failed: {error}")
    table = Table(title=f"{SERVERS} servers, 2 clients, {LINK}, {DELAY} each way, disks {DISK}")
    for column in ("file system", "start s", "check s", "link", "round trip", "disk write",
                   "disk read", "verified MiB", "down s", "left"):  # fmt: skip
        table.add_column(column, justify="right")
    for name, one_seen in seen.items():
        table.add_row(name, *_cells(one_seen))
    console.print(table)
    print(json.dumps(seen))
    good = all(
        not one_seen.get("failed") and not one_seen["left_over"] and not one_seen["errors"]
        and one_seen["complete"] and one_seen["verified_bytes"] > 0 for one_seen in seen.values()
    )  # fmt: skip
    return 0 if good else 1


def _cells(seen: dict[str, Any]) -> list[str]:
    if "failed" in seen:
        return ["failed"]
    found = []
    for kind in ("link rate", "round trip", "disk write rate", "disk read rate"):
        check = seen["hardware"].get(kind)
        if check is None:
            found.append("-")
        elif kind == "round trip":
            found.append(f"{check['measured'] * 1e3:.2f} ms")
        else:
            found.append(f"{check['measured'] / check['declared'] - 1:+.1%}")
    return [f"{seen['start_s']:.1f}", f"{seen['hardware_check_s']:.1f}", *found,
            f"{seen['verified_bytes'] / 2**20:.0f}", f"{seen['down_s']:.1f}",
            str(len(seen["left_over"]))]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
