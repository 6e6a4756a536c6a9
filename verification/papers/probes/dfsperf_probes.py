"""Compares statements of the DFS-Perf report with dfslab. The statements are about the workloads,
modes and figures of the report.

Two runs of scenarios/dfs-perf-figures.toml were recorded. `dfsperf_quiet.csv` was recorded while no
other program used the machine. `dfsperf_run.csv` was recorded earlier, has one repetition, and
other programs used the machine. The verdict on the quiet run counts. The verdict on the earlier run
is shown after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path

from dfslab import discover
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.studies.runs import csv_runs
from dfslab.studies.runs.means import geometric_mean

from verification import recordings
from verification.papers.obtained import Obtained, judged, not_judged, verdict_of

SCENARIO = "dfs-perf-figures"
# Smallest ratio of two rates that counts as a difference. Both limits were written down before the
# rates were read.
# - APART_BUSY is for the earlier run. Other programs used the machine then. They are assumed to
#   change a rate by less than a factor of three.
# - APART is for the quiet run. Each configuration was run twice, and a difference of at least 5 %
#   counts.
APART_BUSY, APART = 3.0, 1.05
# The recorded runs, each as (file, name of the run in the text, smallest ratio that counts as a
# difference). The first run gives the verdict.
RUNS = (
    ("dfsperf_quiet.csv", "a run on a quiet machine", APART),
    ("dfsperf_run.csv", "an earlier run on a busy machine", APART_BUSY),
)
# Smallest ratio at which one of two rates counts as a lot higher than the other rate. The DFS-Perf
# report states without numbers that two rates are similar, or that one is a lot higher. Here they
# are similar if their ratio is below A_LOT.
A_LOT = 1.5
# Largest number of ratios near 1 (too close to count as a difference) that are listed one by one.
NEAR_LISTED_MAX = 8
FILE_BYTES = 256 * 1024
METADATA, MIXTURE, ITERATE = "dfsperf_metadata", "dfsperf_mixture", "dfsperf_iterate"
DISTRIBUTED = ("hdfs", "glusterfs", "alluxio", "alluxio-through")
# One comparison of two rates: (name of the comparison, first rate, second rate). According to the
# DFS-Perf report, the first rate is the larger rate. A rate that was not recorded is None.
Pair = tuple[str, float | None, float | None]
# Ways to run four clients, and the value of the label `processes` of their runs.
MODES = {"threads": 0, "processes": 4}
# Numbers of files that a client reads and writes in the mixtures with 20, 50 and 80 % of writes.
MIXES = {20: (8, 2), 50: (5, 5), 80: (2, 8)}


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run of SCENARIO. `apart` is the smallest ratio of two of its rates that counts as
    a difference."""

    name: str
    results: tuple[Result, ...]
    apart: float

    def selected(self, system: str, workload: str, labels: Mapping[str, object]) -> list[Result]:
        """Returns the results of a workload on a file system whose `labels` have these values."""
        wanted = {f"workload.{key}": value for key, value in labels.items()}
        wanted |= {"file_system.name": system, "workload.name": workload}
        return [
            one
            for one in self.results
            if all(one.labels.get(key) == value for key, value in wanted.items())
        ]


@cache
def recorded_runs() -> tuple[RecordedRun, ...]:
    """Returns all recorded runs of SCENARIO. The first run gives the verdict."""
    planned = recordings.scenario(SCENARIO)
    files = [(Path(__file__).with_name(file), name, apart) for file, name, apart in RUNS]
    return tuple(
        RecordedRun(
            name,
            tuple(one for one in csv_runs.read(file, planned) if one.complete and one.metrics),
            apart,
        )
        for file, name, apart in files
        if file.exists()
    )


def of_recordings(judge: Callable[[RecordedRun], Obtained]) -> Callable[[], Obtained]:
    """Returns a probe that judges every recorded run by calling `judge`. The verdict of the probe
    is that on the first run. The probe's text ends with the verdicts on all other runs."""

    @wraps(judge)
    def probe() -> Obtained:
        first, *more = recorded_runs()
        found = judge(first)
        others = [f"; {one.name}: {judge(one).verdict}" for one in more]
        return Obtained(found.text + "".join(others), found.verdict)

    return probe


def rate(run: RecordedRun, system: str, workload: str, **labels: object) -> float | None:
    """Returns the recorded operations per second of a workload. The value is the geometric mean
    over the runs that have the given `labels`. Returns None if there is no such run."""
    found = [one.value() for one in run.selected(system, workload, labels)]
    return geometric_mean(found).value if found else None


def moved(
    run: RecordedRun, system: str, workload: str, operation: str, **labels: object
) -> float | None:
    """Returns the bytes per second that one client transfers during an operation. The value is the
    geometric mean over the runs that have the given `labels`. Returns None if no run recorded the
    operation."""
    key = f"latency_s_mean.{operation}"
    found = [
        FILE_BYTES / one.value(key)
        for one in run.selected(system, workload, labels)
        if key in one.metrics and one.value(key) > 0
    ]
    return geometric_mean(found).value if found else None


def greater(pairs: Sequence[Pair], apart: float) -> Obtained:
    """Judges whether the first rate of each pair exceeds the second rate.

    A pair is decided if one rate is at least `apart` times the other. The verdict follows from the
    numbers of decided and undecided pairs (see `verdict_of`). The text lists the ratios of decided
    pairs. If few pairs are undecided, the text also lists the ratios of undecided pairs. Otherwise
    the text states the range of these ratios.
    """
    known = [(what, larger, smaller) for what, larger, smaller in pairs if larger and smaller]
    ratios = {what: larger / smaller for what, larger, smaller in known}
    confirmed = [what for what, ratio in ratios.items() if ratio >= apart]
    contradicted = [what for what, ratio in ratios.items() if ratio <= 1 / apart]
    near = [what for what in ratios if what not in (*confirmed, *contradicted)]
    texts = [
        f"{verb} {_ratios(ratios, names)}"
        for verb, names in (("contradicted:", contradicted), ("confirmed:", confirmed))
        if names
    ]
    if near:
        span = [ratios[what] for what in near]
        listed = _ratios(ratios, near) if len(near) <= NEAR_LISTED_MAX else _span(span)
        texts.append(f"no difference: {listed}")
    if len(known) < len(pairs):
        texts.append(f"not recorded: {len(pairs) - len(known)}")
    decided = len(confirmed) + len(contradicted)
    text = f"{decided} of {len(pairs)} ratios decided; {'; '.join(texts)}"
    return Obtained(text, verdict_of(len(confirmed), len(contradicted), len(pairs) - decided))


def _ratios(ratios: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {ratios[name]:.3g}" for name in names)


def _span(ratios: Sequence[float]) -> str:
    return f"{len(ratios)} ratios of {min(ratios):.2g} to {max(ratios):.3g}"


def _text(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _metadata(run: RecordedRun, system: str, mode: str) -> float | None:
    return rate(run, system, METADATA, clients=4, processes=MODES[mode])


def _mixed(run: RecordedRun, system: str, mode: str, operation: str, percent: int) -> float | None:
    reads, writes = MIXES[percent]
    labels = {"read_files": reads, "write_files": writes, "processes": MODES[mode]}
    return moved(run, system, MIXTURE, operation, **labels)


def _iterated(
    run: RecordedRun, system: str, mode: str, operation: str, shuffle: bool
) -> float | None:
    return moved(run, system, ITERATE, operation, processes=MODES[mode], shuffle=shuffle)


def _systems() -> list[str]:
    return list(recordings.scenario(SCENARIO).systems)


@of_recordings
def figure_1(run: RecordedRun) -> Obtained:
    """Judges whether the recording has all rates that figure 1 of the DFS-Perf report shows. These
    are the rates of metadata operations with four threads and with four processes, on at least four
    systems."""
    found = {
        mode: [(one, value) for one in _systems() if (value := _metadata(run, one, mode))]
        for mode in MODES
    }
    texts = [
        f"4 {mode}: " + ", ".join(f"{one} {_text(value)}" for one, value in values)
        for mode, values in found.items()
    ]
    enough = all(len(values) >= 4 for values in found.values())
    return judged(enough, f"per second, {'; '.join(texts)}")


def _metadata_pairs(run: RecordedRun, larger: Sequence[str], smaller: Sequence[str]) -> list[Pair]:
    return [
        (f"{one} over {other} ({mode})", _metadata(run, one, mode), _metadata(run, other, mode))
        for mode in MODES
        for one in larger
        for other in smaller
    ]


@of_recordings
def local_is_fastest(run: RecordedRun) -> Obtained:
    """Judges whether metadata operations are faster on the local file system than on each
    distributed file system, with threads and with processes."""
    return greater(_metadata_pairs(run, ["local"], DISTRIBUTED), run.apart)


@of_recordings
def glusterfs_is_slowest(run: RecordedRun) -> Obtained:
    """Judges whether metadata operations are slower on GlusterFS than on HDFS and on Alluxio, with
    threads and with processes."""
    return greater(_metadata_pairs(run, ["hdfs", "alluxio"], ["glusterfs"]), run.apart)


@of_recordings
def hdfs_is_slower(run: RecordedRun) -> Obtained:
    """Judges whether metadata operations are slower on HDFS than on Alluxio, with threads and with
    processes."""
    return greater(_metadata_pairs(run, ["alluxio"], ["hdfs"]), run.apart)


@of_recordings
def hdfs_and_alluxio(run: RecordedRun) -> Obtained:
    """Judges whether HDFS and Alluxio have similar metadata rates, with threads and with processes.

    Rates are similar if their ratio is below A_LOT. The statement is not judged if the noise of the
    run (`apart`) is larger than A_LOT and the ratio is within the noise.
    """
    texts, similar = [], True
    limit = max(A_LOT, run.apart)
    for mode in MODES:
        alluxio, hdfs = _metadata(run, "alluxio", mode), _metadata(run, "hdfs", mode)
        if not alluxio or not hdfs:
            return not_judged(f"4 {mode}: not both recorded")
        similar = similar and 1 / limit < hdfs / alluxio < limit
        rates = f"hdfs {_text(hdfs)}/s, alluxio {_text(alluxio)}/s"
        texts.append(f"4 {mode}: {rates}, ratio {hdfs / alluxio:.3g}")
    can_tell = run.apart <= A_LOT
    text = "; ".join(texts)
    return judged(similar, text) if can_tell or not similar else not_judged(text)


def _faster_processes(run: RecordedRun, systems: Sequence[str]) -> list[Pair]:
    return [
        (one, _metadata(run, one, "processes"), _metadata(run, one, "threads")) for one in systems
    ]


@of_recordings
def metadata_processes(run: RecordedRun) -> Obtained:
    """Judges whether metadata operations are faster with four processes than with four threads, on
    every system."""
    return greater(_faster_processes(run, _systems()), run.apart)


@of_recordings
def local_processes(run: RecordedRun) -> Obtained:
    """Judges whether metadata operations of the local file system are at least A_LOT times as fast
    with four processes as with four threads."""
    return greater(_faster_processes(run, ["local"]), max(A_LOT, run.apart))


def _ratio_of_writes(run: RecordedRun, operation: str) -> Obtained:
    """Judges whether the throughput of `operation` falls as the share of writes rises. The shares
    are 20 %, 50 % and 80 %. The throughput has to fall on every system, with threads and with
    processes."""
    return greater(
        [
            (
                f"{system} ({mode}, {few} over {many} % writes)",
                _mixed(run, system, mode, operation, few),
                _mixed(run, system, mode, operation, many),
            )
            for system in _systems()
            for mode in MODES
            for few, many in ((20, 50), (50, 80), (20, 80))
        ],
        run.apart,
    )


@of_recordings
def figure_2_reads(run: RecordedRun) -> Obtained:
    """Judges whether reads become slower when the share of writes in the mixture rises (figure 2 of
    the DFS-Perf report)."""
    return _ratio_of_writes(run, "read")


@of_recordings
def figure_2_writes(run: RecordedRun) -> Obtained:
    """Judges whether writes become slower when the share of writes in the mixture rises (figure 2
    of the DFS-Perf report)."""
    return _ratio_of_writes(run, "write")


@of_recordings
def writes_are_slower(run: RecordedRun) -> Obtained:
    """Judges whether the distributed systems read faster than they write, in every mixture, with
    threads and with processes."""
    return greater(
        [
            (
                f"{system} ({mode}, {percent} % writes)",
                _mixed(run, system, mode, "read", percent),
                _mixed(run, system, mode, "write", percent),
            )
            for system in DISTRIBUTED
            for mode in MODES
            for percent in MIXES
        ],
        run.apart,
    )


@of_recordings
def processes_help_mixture(run: RecordedRun) -> Obtained:
    """Judges whether four processes read and write faster than four threads do, in every mixture,
    on every distributed system."""
    return greater(
        [
            (
                f"{system} ({operation}s, {percent} % writes)",
                _mixed(run, system, "processes", operation, percent),
                _mixed(run, system, "threads", operation, percent),
            )
            for system in DISTRIBUTED
            for operation in ("read", "write")
            for percent in MIXES
        ],
        run.apart,
    )


def _without_shuffling(run: RecordedRun, systems: Sequence[str], operation: str) -> Obtained:
    """Judges whether the throughput of `operation` is higher without shuffling than with it, with
    threads and with processes. With shuffling, a client reads the files of all clients."""
    return greater(
        [
            (
                f"{system} ({mode})",
                _iterated(run, system, mode, operation, False),
                _iterated(run, system, mode, operation, True),
            )
            for system in systems
            for mode in MODES
        ],
        run.apart,
    )


@of_recordings
def figure_3_shuffle(run: RecordedRun) -> Obtained:
    """Judges whether distributed systems read faster without shuffling than with it (figure 3 of
    the DFS-Perf report)."""
    return _without_shuffling(run, DISTRIBUTED, "read")


@of_recordings
def figure_3_writes(run: RecordedRun) -> Obtained:
    """Judges whether writes to Alluxio's memory are faster without shuffling than with it (figure 3
    of the DFS-Perf report)."""
    return _without_shuffling(run, ["alluxio"], "write")


@of_recordings
def figure_3_memory(run: RecordedRun) -> Obtained:
    """Judges whether reads without shuffling are faster from Alluxio's memory than through Alluxio
    from HDFS."""
    memory, through = "alluxio", "alluxio-through"
    return greater(
        [
            (
                mode,
                _iterated(run, memory, mode, "read", False),
                _iterated(run, through, mode, "read", False),
            )
            for mode in MODES
        ],
        run.apart,
    )


@of_recordings
def figure_3_processes(run: RecordedRun) -> Obtained:
    """Judges whether four processes are faster than four threads, with and without shuffling. The
    statement is about reads of GlusterFS, and about reads and writes of Alluxio's memory."""
    return greater(
        [
            (
                f"{system} ({operation}s, {'' if shuffle else 'not '}shuffled)",
                _iterated(run, system, "processes", operation, shuffle),
                _iterated(run, system, "threads", operation, shuffle),
            )
            for system, operation in (
                ("glusterfs", "read"),
                ("alluxio", "read"),
                ("alluxio", "write"),
            )
            for shuffle in (False, True)
        ],
        run.apart,
    )


def figure_4() -> Obtained:
    """Returns the numbers of nodes and clients in the scenario. Figure 4 of the DFS-Perf report
    also varies these two numbers. The two numbers are listed and not judged."""
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
