"""Compares predicted with published times of a program that consists of tasks. Files of earlier
tasks are in page caches. The file system is a local disk, or an NFS server that writes through.

The published program repeats a read, a computation and a write three times. The caches are dropped
before the program starts. All inputs of the predictions are hardware that the authors measured. A
read or write call copies each byte once into memory, so the rates of reads and writes cannot exceed
the rate at which memory is written. The thresholds of dirty pages are not published. The assumed
thresholds are Linux's defaults (20 % and 10 % of memory).
"""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from statistics import fmean

from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario

from verification.figures import Figure
from verification.recordings import DATA

LOCAL, NFS = "wrench-pagecache-local", "wrench-pagecache-nfs"
BARS = {"read": "pagecache.reads", "write": "pagecache.writes"}
SUM = "sum"
Row = dict[str, str]


def subjects() -> list[str]:
    """Returns the names of the tables of published times."""
    return [LOCAL, NFS]


def figures(subject: str) -> list[Figure]:
    """Returns the mean |error| of predicted reads and writes of one table."""
    found = []
    for op, bar in BARS.items():
        rows = [row for row in table(subject) if row["op"] == op]
        errors = [abs(predicted_s(subject, row) / float(row["measured_s"]) - 1) for row in rows]
        found.append(Figure("pagecache", subject, bar, "", fmean(errors), len(errors)))
    return found


@cache
def table(subject: str) -> list[Row]:
    """Returns the rows of a table of published times. A row is a dictionary from column to text."""
    with (DATA / f"{subject}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def predicted_s(subject: str, row: Row) -> float:
    """Returns the predicted seconds of a row. A row has the time of one task's read or write, or
    the sum of these times over the three tasks."""
    times = _times_s(subject, row["instances"], row["file_gb"])
    if row["task"] == SUM:
        return sum(seconds for (op, _), seconds in times.items() if op == row["op"])
    return times[row["op"], int(row["task"])]


@cache
def _times_s(subject: str, instances: str, file_gb: str) -> dict[tuple[str, int], float]:
    """Returns the predicted seconds of each operation of a program. The keys are (operation, number
    of the task from 1)."""
    row = next(
        one for one in table(subject) if (one["instances"], one["file_gb"]) == (instances, file_gb)
    )
    situation = Situation(build(Scenario, scenario(subject, row), ""))
    constants = {**situation.constants, **_measured_constants(row)}
    count: dict[str, int] = defaultdict(int)
    found = {}
    situation = situation.at(constants)
    for index, phase in enumerate(situation.phases):
        (op,) = phase.mix
        count[op] += 1
        rate_per_s = situation.alone(index).predict(constants).rate_per_s
        found[op, count[op]] = int(instances) / rate_per_s - phase.pause_s
    return found


def _measured_constants(row: Row) -> dict[str, float]:
    """Returns the constants that follow from measured hardware, as a dictionary from name to value.
    Each is the processor time in seconds for copying a byte."""
    byte_s = 1e-6 / float(row["memory_write_mb_s"])
    return dict.fromkeys(
        ("read_byte_cpu", "write_byte_cpu", "client_byte_cpu", "server_byte_cpu"), byte_s
    )


def scenario(subject: str, row: Row) -> dict[str, object]:
    """Returns the scenario of one row's program, as a table (dictionary). With NFS, client and
    server are on different nodes with the same memory."""
    disk = {
        "read_rate": f"{row['disk_read_mb_s']} MB/s",
        "write_rate": f"{row['disk_write_mb_s']} MB/s",
    }
    node = {"processors": 2, "cores": 16, "memory": f"{row['memory_gib']} GiB", "disk": disk}
    if subject == LOCAL:
        nodes = [{"name": "node", **node, "roles": {"client": 1, "storage": 1}}]
        system: dict[str, object] = {"name": "local"}
    else:
        link = {"adapter": {"bandwidth": f"{row['network_gbit']} Gbit/s"}}
        nodes = [
            {"name": "client", **node, **link, "roles": {"client": 1}},
            {"name": "server", **node, **link, "roles": {"server": 1}},
        ]
        system = {"name": "nfs", "server_write_through": 1}
    return {
        "name": subject,
        "deployment": {"node": nodes},
        "file_system": system,
        "workload": {
            "name": "program",
            "clients": int(row["instances"]),
            "cache": "cold",
            "file_size": int(float(row["file_gb"]) * 1e9),
            "transfer_size": "1 MiB",
            "compute_time": f"{row['cpu_s_per_task']} s",
        },
    }
