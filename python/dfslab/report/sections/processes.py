"""Renders the section that compares clients as threads of one process with clients as several
processes, as in DFS-Perf's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from dfslab.documents.metrics import RATE
from dfslab.documents.table import Tab, Table, TableCell, count, heads, number, number_text, words
from dfslab.models.learn.features import describe
from dfslab.report.answers.client_placement import PROCESSES, THREADS, rest, way
from dfslab.report.charts.figure import Axis, Mark, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import drawn, estimated, note
from dfslab.result import Metric
from dfslab.spec.streams.stream import has_stream
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs.means import geometric_mean

TITLE = "Threads and processes"
ORDER = 22
EMPTY = "No work was done both by threads of one process and by processes."
APART = f"{PROCESSES} of one node"
NOTE = (
    "The same work by clients that are threads of one process, and by as many clients in several "
    "processes: measured means (geometric, over repetitions) with 90 % intervals."
)


@dataclass(frozen=True, order=True)
class ComparedWorkload:
    """A workload that may have been run both by threads and by processes.

    `operations`: the types of the workload's operations, as text. `varied`: the values of the
    scenario keys that vary, except clients, processes and nodes, as text. `clients`: number of
    clients.
    """

    operations: str
    varied: str
    clients: int


class ThreadsAndProcesses(NamedTuple):
    """The rates of one workload with threads and with processes.

    `threads` is the rate with all clients as threads of one process. `apart` is the rate with the
    clients distributed over several processes, and `processes` the number of these processes.
    """

    work: ComparedWorkload
    processes: int
    threads: Metric
    apart: Metric


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a chart and a table. A row of the chart shows the two rates of one workload:
    with threads, and with processes. Returns None if no workload was measured both with threads and
    with processes."""
    pairs = _pairs(study)
    if not pairs:
        return None
    what = "operations per second"
    series = [
        _series(THREADS, [pair.threads for pair in pairs], "blue", "circle"),
        _series(PROCESSES, [pair.apart for pair in pairs], "orange", "square"),
    ]
    chart = figure(
        [Panel("", series)],
        Axis(what, "1/s", log=True),
        Axis(categories=[_place(pair) for pair in pairs]),
        f"{what} by threads and by processes",
    )
    columns = heads("work", "clients", "processes", "rate of threads", "of processes", "ratio")
    return note(NOTE) + chart + drawn(Table(TITLE, columns, [_row(pair) for pair in pairs]))


def _pairs(study: FinishedRun) -> list[ThreadsAndProcesses]:
    """Returns the workloads that were measured both with threads and with processes, sorted.

    A workload has one entry for each number of processes.
    """
    threads: dict[ComparedWorkload, list[float]] = {}
    apart: dict[tuple[ComparedWorkload, int], list[float]] = {}
    for result in study.of_method("measure"):
        is_load = has_stream(result.point.scenario) and RATE in result.metrics
        if not is_load or result.value() <= 0:
            continue
        requested, spread = result.point.scenario.workload, way(result)
        operations = str(describe(result.point)["operations"])
        work = ComparedWorkload(operations, rest(result, study), requested.clients)
        if spread == THREADS:
            threads.setdefault(work, []).append(result.value())
        elif spread == APART:
            apart.setdefault((work, requested.processes), []).append(result.value())
    return [
        ThreadsAndProcesses(work, processes, geometric_mean(threads[work]), geometric_mean(rates))
        for (work, processes), rates in sorted(apart.items())
        if work in threads
    ]


def _series(spread: str, metrics: Sequence[Metric], colour: str, mark: Mark) -> Series:
    """Returns a series with one point and its interval for each workload. The vertical position of
    a point is the index of its workload. `spread`: name of the series."""
    return Series(
        spread,
        colour,
        [metric.value for metric in metrics],
        [float(row) for row in range(len(metrics))],
        mark=mark,
        low=[metric.low for metric in metrics],
        high=[metric.high for metric in metrics],
        across=True,
        hints=[f"{spread}: {number_text(metric.value)}/s" for metric in metrics],
    )


def _place(pair: ThreadsAndProcesses) -> str:
    work = pair.work
    of = "" if pair.processes == work.clients else f", {pair.processes} processes"
    return f"{work.varied}, {work.clients} client{'' if work.clients == 1 else 's'}{of}"


def _row(pair: ThreadsAndProcesses) -> list[TableCell]:
    counts = [count(pair.work.clients), count(pair.processes)]
    rates = [estimated(pair.threads), estimated(pair.apart)]
    ratio = number(pair.apart.value / pair.threads.value)
    return [words(pair.work.varied), *counts, *rates, ratio]


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.THROUGHPUT)
