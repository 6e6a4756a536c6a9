"""Recomputes two kinds of statements of the DFS-Perf report.

The first kind compares two rates that may differ little. The compared rates are with processes and
with threads, of reads of a client's own files and of any client's files, or of memory and of the
file system below the memory. The second kind is about the growth of throughput with the number of
nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.documents.metrics import LATENCY, MEAN, key
from dfslab.result import Result
from dfslab.studies.runs.means import geometric_mean

from verification import recordings
from verification.figures import Figure

SCENARIO, NODES = "dfs-perf-pairs", "dfs-perf-nodes"
METADATA, ITERATE = "dfsperf_metadata", "dfsperf_iterate"
# The file systems on which the statements are judged, one tuple for each kind of statement.
OF_METADATA = ("local", "hdfs", "glusterfs", "alluxio")
OF_LOCALITY = ("hdfs", "glusterfs", "alluxio")
OF_PROCESSES = ("glusterfs", "alluxio")
MEMORY, THROUGH = "alluxio", "alluxio-through"
OF_NODES = ("glusterfs", "hdfs")


def subjects() -> list[str]:
    """Returns the names of all recordings of the scenarios SCENARIO and NODES."""
    return [one for name in (SCENARIO, NODES) for one in recordings.of_scenario(name)]


def figures(subject: str) -> list[Figure]:
    """Returns all figures that are computed from one recording."""
    if recordings.scenario_of(subject) == NODES:
        return of_nodes(subject, recordings.runs(NODES, subject))
    return of_runs(subject, recordings.runs(SCENARIO, subject))


def of_runs(subject: str, runs: Sequence[Result]) -> list[Figure]:
    """Returns the ratio of the two rates of each statement, by system. `subject` names the
    recording."""
    made = []
    for system in OF_METADATA:
        both = [
            [one for one in _of(runs, system, METADATA) if _apart(one) == apart]
            for apart in (True, False)
        ]
        made.append(_figure(subject, "metadata-processes", system, *map(_rates_per_s, both)))
    for system in OF_LOCALITY:
        pair = [_reads_per_s(runs, system, shuffle=shuffle) for shuffle in (False, True)]
        made.append(_figure(subject, "own-files", system, *pair))
    pair = [_reads_per_s(runs, system) for system in (MEMORY, THROUGH)]
    made.append(_figure(subject, "memory", "", *pair))
    for system in OF_PROCESSES:
        pair = [_reads_per_s(runs, system, apart=apart) for apart in (True, False)]
        made.append(_figure(subject, "read-processes", system, *pair))
    return made


def of_nodes(subject: str, runs: Sequence[Result]) -> list[Figure]:
    """Returns the growth of the throughput of each system with the number of client nodes. The
    growth is the throughput with the largest number of nodes divided by the throughput with the
    smallest number. `subject` names the recording."""
    made = []
    for system in OF_NODES:
        nodes = {int(str(one.labels["workload.nodes"])): one for one in _on(runs, system)}
        pair = [[_throughput(nodes[count])] for count in (max(nodes), min(nodes))]
        made.append(_figure(subject, "nodes", system, *pair))
    return made


def _on(runs: Sequence[Result], system: str) -> list[Result]:
    """Returns the runs on one system."""
    return [one for one in runs if one.labels["file_system.name"] == system]


def _throughput(run: Result) -> float:
    """Returns the bytes per second that all clients of a run read together."""
    return run.value("throughput_bytes_per_s")


def _figure(
    subject: str, bar: str, part: str, larger: Sequence[float], smaller: Sequence[float]
) -> Figure:
    """Returns the figure of a statement: geometric mean of `larger` / geometric mean of
    `smaller`."""
    value = geometric_mean(larger).value / geometric_mean(smaller).value
    points = len(larger) + len(smaller)
    return Figure("dfsperf", subject, f"dfsperf.{bar}", part, value, points)


def _of(runs: Sequence[Result], system: str, workload: str) -> list[Result]:
    """Returns the runs of one workload on one system."""
    return [
        one
        for one in runs
        if (one.labels["file_system.name"], one.labels["workload.name"]) == (system, workload)
    ]


def _apart(run: Result) -> bool:
    """Returns whether the clients of a run were processes instead of threads."""
    return int(str(run.labels["workload.processes"])) > 0


def _rates_per_s(runs: Sequence[Result]) -> list[float]:
    return [one.value() for one in runs]


def _reads_per_s(
    runs: Sequence[Result], system: str, *, shuffle: bool = False, apart: bool = False
) -> list[float]:
    """Returns the files per second that one client reads while it reads. The list has one value for
    each run of `system` with the given mode. If `shuffle` is true, the runs are those with
    shuffling, otherwise those without. If `apart` is true, the runs are those with processes,
    otherwise those with threads."""
    return [
        1 / one.value(key(LATENCY, MEAN, "read"))
        for one in _of(runs, system, ITERATE)
        if one.labels["workload.shuffle"] is shuffle and _apart(one) == apart
    ]
