"""Compares the DFS-Perf report with dfslab: its workloads, its modes, and its figures.

The figures are compared with the recorded run `dfsperf_run.csv` of scenarios/dfs-perf-figures.toml,
on a machine that other programs used at the same time. Therefore two rates are compared only if
their ratio is at least three; closer rates are not judged. This rule was written down before the
recorded rates were read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dfslab import discover
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.studies.compare import geometric_mean
from dfslab.studies.runs import csv_runs

from verification import recordings
from verification.papers.obtained import Obtained, judged, not_judged

RUN = Path(__file__).with_name("dfsperf_run.csv")
SCENARIO = "dfs-perf-figures"
# Other programs used the machine during the recorded run. Their load changes a rate by less than
# this factor.
APART = 3.0
FILE_BYTES = 256 * 1024
METADATA, MIXTURE, ITERATE = "dfsperf_metadata", "dfsperf_mixture", "dfsperf_iterate"
DISTRIBUTED = ("hdfs", "glusterfs", "alluxio", "alluxio-through")


@cache
def _results() -> tuple[Result, ...]:
    found = csv_runs.read(RUN, recordings.scenario(SCENARIO))
    return tuple(one for one in found if one.complete and one.metrics)


def _selected(system: str, workload: str, labels: dict[str, object]) -> list[Result]:
    wanted = {f"workload.{key}": value for key, value in labels.items()}
    wanted |= {"file_system.name": system, "workload.name": workload}
    return [
        one
        for one in _results()
        if all(one.labels.get(key) == value for key, value in wanted.items())
    ]


def rate(system: str, workload: str, **labels: object) -> float | None:
    """Returns the recorded operations per second of a workload, as a geometric mean over the runs
    that have the given `labels`; None if there is no such run."""
    found = [one.value() for one in _selected(system, workload, labels)]
    return geometric_mean(found).value if found else None


def moved(system: str, workload: str, operation: str, **labels: object) -> float | None:
    """Returns the bytes per second of one client during an operation, as a geometric mean over the
    runs that have the given `labels`; None if no run recorded the operation."""
    key = f"latency_s_mean.{operation}"
    found = [
        FILE_BYTES / one.value(key)
        for one in _selected(system, workload, labels)
        if key in one.metrics and one.value(key) > 0
    ]
    return geometric_mean(found).value if found else None


def _greater(what: str, larger: float | None, smaller: float | None) -> Obtained:
    """Judges whether the rate `larger` exceeds the rate `smaller`. The result is "not judged" if a
    rate was not recorded, or if one is less than APART times the other."""
    if not larger or not smaller:
        return not_judged(f"{what}: not recorded")
    ratio = larger / smaller
    text = f"{what}: {_text(larger)} and {_text(smaller)}, ratio {ratio:.3g}"
    if 1 / APART < ratio < APART:
        return not_judged(f"{text}; closer than a busy machine can tell")
    return judged(ratio >= APART, text)


def _text(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _all(parts: Sequence[Obtained]) -> Obtained:
    """Returns one verdict for several comparisons: "miss" if any of them is a miss, else "hit" if
    any is a hit, else "not judged". Their texts are joined."""
    verdicts = [one.verdict for one in parts]
    text = "; ".join(one.text for one in parts)
    if "miss" in verdicts:
        return judged(False, text)
    return judged(True, text) if "hit" in verdicts else not_judged(text)


def _threads(system: str) -> float | None:
    return rate(system, METADATA, clients=4, processes=0)


def figure_1() -> Obtained:
    """Judges whether the recording has the rates of figure 1: those of metadata operations with
    four threads, on at least four systems."""
    texts = [f"{one} {_text(value)}" for one in _systems() if (value := _threads(one)) is not None]
    return judged(len(texts) >= 4, f"per second, 4 threads: {', '.join(texts)}")


def _systems() -> list[str]:
    return list(recordings.scenario(SCENARIO).systems)


def local_is_fastest() -> Obtained:
    """Judges whether metadata operations are faster on the local file system than on each
    distributed one."""
    local = _threads("local")
    return _all([_greater(f"local and {one}", local, _threads(one)) for one in DISTRIBUTED])


def glusterfs_is_slowest() -> Obtained:
    """Judges whether metadata operations are slower on GlusterFS than on HDFS and on Alluxio."""
    gluster = _threads("glusterfs")
    others = ("hdfs", "alluxio")
    return _all([_greater(f"{one} and glusterfs", _threads(one), gluster) for one in others])


def hdfs_and_alluxio() -> Obtained:
    """Judges whether the metadata rates of Alluxio and HDFS differ by less than the factor APART.
    The result is "not judged" unless both were recorded."""
    alluxio, hdfs = _threads("alluxio"), _threads("hdfs")
    if not alluxio or not hdfs:
        return not_judged("alluxio and hdfs: not both recorded")
    ratio = alluxio / hdfs
    text = f"alluxio {_text(alluxio)}/s, hdfs {_text(hdfs)}/s, ratio {ratio:.3g}"
    return judged(1 / APART < ratio < APART, text)


def _ratio_of_writes(operation: str) -> Obtained:
    """Judges whether the throughput of `operation` is higher with 20 % of writes than with 80 %, on
    every system."""
    parts = []
    for system in _systems():
        few = moved(system, MIXTURE, operation, processes=0, read_files=8, write_files=2)
        many = moved(system, MIXTURE, operation, processes=0, read_files=2, write_files=8)
        parts.append(_greater(f"{system}, 20 and 80 % writes", few, many))
    return _all(parts)


def figure_2_reads() -> Obtained:
    """Judges whether reads are slower if the mixture of reads and writes has 80 % instead of 20 %
    of writes."""
    return _ratio_of_writes("read")


def figure_2_writes() -> Obtained:
    """Judges whether writes are slower if the mixture of reads and writes has 80 % instead of 20 %
    of writes."""
    return _ratio_of_writes("write")


def writes_are_slower() -> Obtained:
    """Judges whether the distributed systems read faster than they write in a mixture of half reads
    and half writes."""
    parts = []
    for system in DISTRIBUTED:
        keys = {"processes": 0, "read_files": 5, "write_files": 5}
        read = moved(system, MIXTURE, "read", **keys)
        write = moved(system, MIXTURE, "write", **keys)
        parts.append(_greater(f"{system}, reads and writes", read, write))
    return _all(parts)


def processes_help_mixture() -> Obtained:
    """Judges whether four processes read faster than four threads do, in the mixture of reads and
    writes."""
    parts = []
    for system in DISTRIBUTED:
        keys = {"read_files": 5, "write_files": 5}
        apart = moved(system, MIXTURE, "read", processes=4, **keys)
        threads = moved(system, MIXTURE, "read", processes=0, **keys)
        parts.append(_greater(f"{system}, processes and threads", apart, threads))
    return _all(parts)


def _shuffled(system: str, operation: str, shuffle: bool) -> float | None:
    return moved(system, ITERATE, operation, processes=0, shuffle=shuffle)


def figure_3_writes() -> Obtained:
    """Judges whether writes to Alluxio's memory are faster than writes through Alluxio to HDFS."""
    memory, through = (_shuffled(one, "write", False) for one in ("alluxio", "alluxio-through"))
    return _greater("alluxio in memory and through", memory, through)


def figure_4() -> Obtained:
    """Returns the numbers of nodes and clients that the scenario varies, for the paper's figure 4.
    They are listed and not judged."""
    points = check(recordings.scenario("dfs-perf"))
    workloads = [point.scenario.workload for point in points]
    clients = sorted({one.clients for one in workloads if not one.nodes})
    nodes = sorted({one.nodes for one in workloads if one.nodes})
    text = f"clients of one node {clients}, nodes {nodes}"
    return not_judged(f"{text}; a recording needs as many machines as nodes")


def _workload(name: str, *keys: str) -> Callable[[], Obtained]:
    """Returns a probe that judges whether the workload `name` exists and has DFS-Perf's options
    `keys`."""

    def probe() -> Obtained:
        found = discover.workload(name)
        declared = found.parameters.model_fields
        lacking = [key for key in keys if key not in declared]
        text = f"{name}: {', '.join(keys)}"
        return judged(not lacking, text + (f"; lacking {', '.join(lacking)}" if lacking else ""))

    return probe


metadata = _workload("dfsperf_metadata", "loops")
simple_write = _workload("dfsperf_simple_write", "operations_per_client", "file_size")
simple_read = _workload("dfsperf_simple_read", "operations_per_client", "transfer_size")
skip_read = _workload("dfsperf_skip_read", "file_size", "transfer_size")
mixture = _workload("dfsperf_mixture", "basic_files", "read_files", "write_files")
iterate = _workload("dfsperf_iterate", "iterations", "shuffle", "read_files", "write_files")
massive = _workload("dfsperf_massive", "file_size")


def modes() -> Obtained:
    """Judges whether the scenario runs clients as threads, as processes and on several nodes."""
    points = check(recordings.scenario("dfs-perf"))
    requested = [point.scenario.workload for point in points]
    threads = any(one.clients > 1 and one.processes == 0 for one in requested)
    processes, nodes = (
        any(one.processes > 1 for one in requested),
        any(one.nodes > 1 for one in requested),
    )
    text = f"threads {threads}, processes {processes}, nodes {nodes}"
    return judged(threads and processes and nodes, text)


def side_by_side() -> Obtained:
    """Judges whether one run compares five systems in each of three workloads."""
    points = check(recordings.scenario(SCENARIO))
    workloads = {point.scenario.workload.name for point in points}
    text = f"{len(points)} configurations, {len(_systems())} series: {', '.join(_systems())}"
    return judged(len(workloads) == 3 and len(_systems()) == 5, text)
