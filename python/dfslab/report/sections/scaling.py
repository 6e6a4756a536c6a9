"""Renders the section on how rates scale with clients, processes and nodes, as in DFS-Perf's
speed-up figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from dfslab.documents.metrics import RATE
from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    count,
    heads,
    number,
    number_text,
    rate,
    words,
)
from dfslab.report.answers.client_placement import KEYS, PROCESSES, THREADS, rest, way
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, left_out, note
from dfslab.result import Result
from dfslab.studies.compare import sort_key
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs.means import geometric_mean

TITLE = "Scaling"
ORDER = 25
EMPTY = "No scaling was measured. It needs measurements at two or more numbers of clients."
NOTE = (
    "Speed-up is the measured rate divided by the rate of the fewest clients, each the geometric "
    "mean over repetitions. Small points are repetitions, divided by the same rate. On the dotted "
    "line the rate grows as much as the number of clients. Efficiency is the speed-up divided by "
    "the growth of the number of clients."
)
Places = dict[int, list[Result]]
# The curves of a chart, by the name of the curve. A curve has, for each number of clients, the
# results of its configurations.
Groups = dict[str, Places]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: one chart for each way to distribute clients, with a curve for each series, and
    a table. Returns None if clients, processes and nodes were not varied."""
    measured = study.of_method("measure")
    if not any(key in result.labels for result in measured for key in KEYS.values()):
        return None
    panel_of: dict[str, Groups] = {}
    for result in measured:
        if RATE in result.metrics and result.value() > 0:
            series = panel_of.setdefault(way(result), {})
            places = series.setdefault(rest(result, study), {})
            places.setdefault(result.point.scenario.workload.clients, []).append(result)
    _begin_with_one_node(panel_of)
    # A series with a single point shows no scaling, so it is left out.
    single: list[str] = []
    for spread, series in panel_of.items():
        for name in [name for name, places in series.items() if len(places) < 2]:
            single.append(f"{spread}: {name}" if len(panel_of) > 1 else name)
            del series[name]
    panel_of = {spread: series for spread, series in panel_of.items() if series}
    if not panel_of:
        return None
    several = len(panel_of) > 1
    panels = [
        Panel(f"{spread}: {name}" if several else name, _series(places))
        for spread, series in sorted(panel_of.items())
        for name, places in sorted(series.items(), key=lambda one: sort_key({"series": one[0]}))
    ]
    clients = sorted({n for s in panel_of.values() for places in s.values() for n in places})
    chart = figure(
        panels,
        Axis("clients", log=True, ticks=[(number, str(number)) for number in clients]),
        Axis("speed-up (ratio)", log=True),
        "measured speed-up against clients",
    )
    columns = heads(
        "clients spread over",
        "series",
        "clients",
        "rate",
        "speed-up",
        "efficiency",
        left=["series"],
    )
    rows = [row for spread, series in sorted(panel_of.items()) for row in _rows(spread, series)]
    table = Table("Rates", columns, rows, folded=f"All {len(rows)} rates as a table")
    missing = left_out("lines", single, "each has only one number of clients")
    return note(NOTE) + chart + missing + contents(table)


def _begin_with_one_node(panel_of: Mapping[str, Groups]) -> None:
    """Adds a first point to curves in `panel_of` whose clients run on several nodes. The point has
    the results with all clients on one node.

    These results are in another curve of the same name, whose clients run on one node as threads or
    as processes. No point is added if the curve's number of clients per node varies, or if no run
    on one node had this number of clients.
    """
    for spread, alone in ((THREADS, THREADS), (PROCESSES, f"{PROCESSES} of one node")):
        for name, places in panel_of.get(f"{spread} of several nodes", {}).items():
            requested = [results[0].point.scenario.workload for results in places.values()]
            of_each = {one.clients / one.nodes for one in requested if one.nodes}
            known = panel_of.get(alone, {}).get(name, {})
            if len(of_each) == 1 and (count := of_each.pop()) in known:
                places.setdefault(int(count), known[int(count)])


def _rates(places: Mapping[int, Sequence[Result]]) -> dict[int, float]:
    return {
        count: geometric_mean([result.value() for result in places[count]]).value
        for count in sorted(places)
    }


def _series(places: Mapping[int, Sequence[Result]]) -> list[Series]:
    """Returns the speed-up of one group of configurations as series. The speed-up is the rate
    divided by the rate at the smallest number of clients.

    The series are the curve of the means, the points of the single repetitions, and the line of
    growth in proportion to the clients.
    """
    rates = _rates(places)
    first = next(iter(rates))
    repeated = [
        (clients, result.value() / rates[first]) for clients in rates for result in places[clients]
    ]
    ideal = Series(
        "proportional to clients",
        palette.REFERENCE,
        [first, max(rates)],
        [1.0, max(rates) / first],
        line="dot",
    )
    small = Series(
        "repetitions",
        palette.MEASURED,
        [clients for clients, _ in repeated],
        [value for _, value in repeated],
        mark="circle",
        faint=True,
    )
    line = Series(
        "measured mean",
        "blue",
        list(rates),
        [rate_per_s / rates[first] for rate_per_s in rates.values()],
        line="solid",
        mark="circle",
        hints=[
            f"{clients} clients: {number_text(rate_per_s)}/s, "
            f"{number_text(rate_per_s / rates[first])} times"
            for clients, rate_per_s in rates.items()
        ],
    )
    return [ideal, small, line] if len(repeated) > len(rates) else [ideal, line]


def _rows(spread: str, series: Groups) -> list[list[TableCell]]:
    rows = []
    for name, places in sorted(series.items(), key=lambda one: sort_key({"series": one[0]})):
        rates = _rates(places)
        first = next(iter(rates))
        for clients, rate_per_s in rates.items():
            speed_up = rate_per_s / rates[first]
            efficiency = speed_up * first / clients
            rows.append(
                [
                    words(spread),
                    words(name),
                    count(clients),
                    rate(rate_per_s),
                    number(speed_up if clients != first else None),
                    TableCell(efficiency, f"{efficiency:.0%}"),
                ]
            )
    return rows


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.THROUGHPUT, is_general=True)
