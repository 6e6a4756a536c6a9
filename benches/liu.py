"""The paper's tables on a real HDFS: what its functions take by request frequency and file size.

The configurations are those of scenarios/liu-*.toml; a Java client does their sessions, each with a
file system of its own, and every call of client and daemons is counted (Liu 2018 sampled).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dfslab import discover
from dfslab.cli.shared import read_scenario
from dfslab.filesystems.hdfs.bed import Bed
from dfslab.instruments import callprofile
from dfslab.spec.check import check
from dfslab.spec.environment import workload_parameters
from dfslab.spec.scenario import Point
from dfslab.workloads import sessions
from rich.console import Console
from rich.table import Table
from traced import Mix, between, snapshot

SCENARIOS = Path(__file__).parent.parent / "scenarios"
# The paper's names, and where our points cut; sendPacket also reads the disk.
FUNCTIONS = {
    "FileSystem#createFileSystem": "create_file_system", "sendBlock": "send_block",
    "BlockSender#sendPacket": "send_packet", "FSNamesystem#getBlockLocations": "locate_blocks",
}  # fmt: skip
MOST_FILES, ALL_BYTES = 16, 256 << 20
LEAST_SESSIONS, MOST_S = 5, float(os.environ.get("DFSLAB_BENCH_SECONDS", "12"))


def figures(files: list[callprofile.File], took_s: float) -> dict[str, Any]:
    """Calls and mean seconds of the paper's functions, and of a whole request."""
    top = callprofile.merge((file.instance, file) for file in files)
    places = list(callprofile.walk(top))
    found: dict[str, Any] = {"took_s": took_s}
    for name, step in FUNCTIONS.items():
        of = [node for path, node in places if node.name.rpartition(":")[2] == step
              and (step != "send_packet" or "send_block" in path)]  # fmt: skip
        count = sum(node.count for node in of)
        total_s = sum(node.total_ns for node in of) / 1e9
        found[name] = {"count": count, "total_s": total_s,
                       "mean_s": total_s / count if count else None}  # fmt: skip
    asked = {"client:open", "client:read"}
    requests = sum(node.count for path, node in places if path == "client:open")
    spent_s = sum(node.total_ns for path, node in places if path in asked) / 1e9
    spent_s += found["FileSystem#createFileSystem"]["total_s"]
    found["total"] = {"count": requests, "total_s": spent_s,
                      "mean_s": spent_s / requests if requests else None}  # fmt: skip
    return found


def sessions_of(point: Point) -> tuple[sessions.Parameters, int, float]:
    """A configuration's parameters, how many sessions are done, and their rate."""
    told = workload_parameters(point.scenario, discover.workload("sessions"))
    assert isinstance(told, sessions.Parameters)
    rate_per_s = told.sessions_per_s * told.rate_factor
    return told, max(LEAST_SESSIONS, round(rate_per_s * MOST_S)), rate_per_s


def run(name: str) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Every configuration of a scenario on one traced bed."""
    points = check(read_scenario(SCENARIOS / f"{name}.toml", []))
    with (
        tempfile.TemporaryDirectory(prefix="dfslab-bench-") as folder,
        Bed.up({"datanodes": 3, "trace": True, "trace_interval_s": 1, "trace_directory": folder},
               notify=print) as bed,
        Mix(bed) as client,
    ):  # fmt: skip
        written = 0
        for number, point in enumerate(points):
            told, count, rate_per_s = sessions_of(point)
            size_bytes = max(1 << 16, round(told.file_size / (1 << 16)) << 16)
            files = max(2, min(MOST_FILES, ALL_BYTES // size_bytes))
            line = (f"{rate_per_s} {told.sigma} {told.requests} {told.pause} {files} "
                    f"{point.scenario.run.seed}")  # fmt: skip
            if size_bytes != written:
                client.does(f"write {files} {size_bytes}")
                written = size_bytes
            if not number:
                client.does(f"sessions 20 5 0 1 0 {files} 1")
            before = snapshot(Path(folder))
            took_s = client.does(f"sessions {count} {line}")
            found = figures(between(before, snapshot(Path(folder))), took_s)
            print(json.dumps({"labels": point.labels, **found}), flush=True)
            yield point, found


def table(title: str, rows: list[tuple[Point, dict[str, Any]]]) -> Table:
    """Functions down, configurations across: mean seconds a call."""
    drawn = Table(title=title)
    drawn.add_column("function")
    for point, _ in rows:
        label = ", ".join(f"{key.rpartition('.')[2]} {value}"
                          for key, value in point.labels.items())  # fmt: skip
        drawn.add_column(label, justify="right")
    for name in (*FUNCTIONS, "total"):
        means = [found[name]["mean_s"] for _, found in rows]
        drawn.add_row(name, *("-" if mean is None else f"{mean:.4f}" for mean in means))
    return drawn


def main() -> None:
    """Print a table for each scenario, then all figures as one JSON object."""
    names = sys.argv[1:] or ["liu-request-frequency", "liu-file-size"]
    everything = {}
    for name in names:
        rows = list(run(name))
        Console(width=150).print(table(f"{name}: mean delay (s)", rows))
        everything[name] = [{"labels": point.labels, **found} for point, found in rows]
    print(json.dumps(everything))


if __name__ == "__main__":
    sys.exit(main())
