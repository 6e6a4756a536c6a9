"""The same work by threads of one process and by as many processes: DFS-Perf's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dfslab.models.features import describe
from dfslab.report.page import ReportInput
from dfslab.report.plot import SEQUENCE, axis, chart, log_axis, with_interval, words
from dfslab.report.sections.scaling import PROCESSES, THREADS, rest, way
from dfslab.report.table import note, number, predicted, table
from dfslab.result import Metric, Result
from dfslab.studies.compare import geometric_mean

TITLE = "Threads and processes"
ORDER = 22
EMPTY = "No work was done both by threads of one process and by processes."
WAYS = {THREADS: THREADS, f"{PROCESSES} of one node": PROCESSES}
NOTE = (
    "The same work by clients that are threads of one process, and by one process each: measured "
    "means (geometric, over repetitions) with 90 % intervals."
)
Work = tuple[str, str, int]
Pair = Mapping[str, Metric]


def render(study: ReportInput) -> Markup | None:
    """A row for each work, with both ways on it, and a table."""
    pairs = _pairs(study)
    if not pairs:
        return None
    rates = [metric.value for pair in pairs.values() for metric in pair.values()]
    what = "operations per second"
    layout = {
        "height": 110 + 24 * len(pairs), "xaxis": log_axis(what, rates),
        "yaxis": axis("", type="category", autorange="reversed", automargin=True),
    }  # fmt: skip
    figure = chart(_traces(pairs), layout, f"{what} by threads and by processes")
    head = ["work", "clients", *WAYS.values(), "processes to threads"]
    rows = [_row(work, pair) for work, pair in pairs.items()]
    return note(NOTE) + figure + table(head, rows, texts=1)


def _pairs(study: ReportInput) -> dict[Work, Pair]:
    """Work (operations, what else was varied, clients) that was done either way, in order."""
    seen: dict[Work, dict[str, list[float]]] = {}
    for result in study.of_method("measure"):
        spread = WAYS.get(way(result))
        if spread is not None and "rate_per_s" in result.metrics and result.value() > 0:
            seen.setdefault(_work(result, study), {}).setdefault(spread, []).append(result.value())
    return {
        work: {spread: geometric_mean(rates) for spread, rates in by_way.items()}
        for work, by_way in sorted(seen.items())
        if len(by_way) == len(WAYS)
    }


def _work(result: Result, study: ReportInput) -> Work:
    clients = result.point.scenario.workload.clients
    return str(describe(result.point)["operations"]), rest(result, study), clients


def _traces(pairs: Mapping[Work, Pair]) -> list[dict[str, Any]]:
    """Points of either way beside each other."""
    return [
        _trace(
            spread,
            [_place(work) for work in pairs],
            [pair[spread] for pair in pairs.values()],
            SEQUENCE[index],
        )  # fmt: skip
        for index, spread in enumerate(WAYS.values())
    ]


def _trace(
    spread: str, places: Sequence[str], metrics: Sequence[Metric], colour: str
) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": spread, "y": places,
        "x": [metric.value for metric in metrics], "marker": {"color": colour, "size": 9},
        "error_x": {**with_interval(metrics), "color": colour},
    }  # fmt: skip


def _place(work: Work) -> str:
    _, varied, clients = work
    return words(f"{varied}, {clients} client{'' if clients == 1 else 's'}")


def _row(work: Work, pair: Pair) -> list[Any]:
    _, varied, clients = work
    told = [predicted(pair[spread]) for spread in WAYS.values()]
    ratio = pair[PROCESSES].value / pair[THREADS].value
    return [varied, str(clients), *told, number(ratio)]
