"""How the clients of a result are placed: as threads of one process, as several processes, or on
several nodes."""

from __future__ import annotations

from dfslab.result import Result
from dfslab.studies.contract import FinishedRun

KEYS = {"nodes": "workload.nodes", "processes": "workload.processes", "clients": "workload.clients"}
THREADS, PROCESSES = "threads", "processes"


def way(result: Result) -> str:
    """Returns how the clients of a result are distributed: over nodes, over processes, or as
    threads of one process."""
    requested = result.point.scenario.workload
    if KEYS["nodes"] in result.labels:
        return f"{PROCESSES if requested.processes > 1 else THREADS} of several nodes"
    return f"{PROCESSES} of one node" if requested.processes > 1 or _one_each(result) else THREADS


def _one_each(result: Result) -> bool:
    """Returns whether a result belongs to the series over the number of processes.

    A result with one process and one client may instead be the first point of the series over
    threads. Such a result belongs to the series over processes if the scenario varies the number of
    processes.
    """
    return KEYS["processes"] in result.labels and result.point.scenario.workload.processes >= 1


def rest(result: Result, study: FinishedRun) -> str:
    """Returns as text the varied keys of a result and their values, except the numbers of clients,
    processes and nodes. Returns "measured" if no other key varies."""
    labels = {key: value for key, value in result.labels.items() if key not in KEYS.values()}
    return study.name(labels) if labels else "measured"
