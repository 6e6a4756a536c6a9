"""Renders the section on how rates scale with clients, processes and nodes, as in DFS-Perf's
speed-up figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from dfslab.report.contract import PageSection
from dfslab.report.figure import AxisOptions, Curve
from dfslab.report.page_table import DASH, note, number, table
from dfslab.report.plot import INK, SEQUENCE, axis, panels, words
from dfslab.result import Result
from dfslab.studies.compare import geometric_mean, sort_key
from dfslab.studies.contract import FinishedRun

TITLE = "Scaling"
ORDER = 25
EMPTY = "Neither clients, processes nor nodes were varied."
KEYS = {"nodes": "workload.nodes", "processes": "workload.processes", "clients": "workload.clients"}
NOTE = (
    "Speed-up is the measured rate over that of the fewest clients of the same series, each the "
    "geometric mean over repetitions; the dotted line is as many times the rate as clients. "
    "Efficiency is one over the other."
)
THREADS, PROCESSES = "threads", "processes"
Series = dict[str, dict[int, list[Result]]]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a chart with a curve for each series, for each way to distribute clients,
    and a table. None if clients, processes and nodes were not varied."""
    measured = study.of_method("measure")
    if not any(key in result.labels for result in measured for key in KEYS.values()):
        return None
    panel_of: dict[str, Series] = {}
    for result in measured:
        if "rate_per_s" in result.metrics and result.value() > 0:
            series = panel_of.setdefault(way(result), {})
            places = series.setdefault(rest(result, study), {})
            places.setdefault(result.point.scenario.workload.clients, []).append(result)
    _begin_with_one_node(panel_of)
    # A series with a single point shows no scaling, so it is left out.
    for series in panel_of.values():
        for name in [name for name, places in series.items() if len(places) < 2]:
            del series[name]
    panel_of = {spread: series for spread, series in panel_of.items() if series}
    if not panel_of:
        return None
    names = sorted({name for series in panel_of.values() for name in series})
    groups = [(spread, _curves(series, names)) for spread, series in sorted(panel_of.items())]
    clients = sorted({n for s in panel_of.values() for places in s.values() for n in places})
    ticks: AxisOptions = {
        "type": "log",
        "tickvals": clients,
        "ticktext": [str(count) for count in clients],
    }
    figure = panels(
        groups,
        axis("clients", **ticks),
        axis("speed-up", type="log"),
        "measured speed-up against clients",
    )
    head = ["clients spread over", "series", "clients", "rate", "speed-up", "efficiency"]
    rows = [row for spread, series in sorted(panel_of.items()) for row in _rows(spread, series)]
    return note(NOTE) + figure + table(head, rows, texts=2)


def way(result: Result) -> str:
    """How the clients of a result are distributed: over nodes, over processes, or as threads of
    one process."""
    requested = result.point.scenario.workload
    if KEYS["nodes"] in result.labels:
        return f"{PROCESSES if requested.processes > 1 else THREADS} of several nodes"
    return f"{PROCESSES} of one node" if requested.processes > 1 or _one_each(result) else THREADS


def _begin_with_one_node(panel_of: Mapping[str, Series]) -> None:
    """Adds the configuration with one node to each series over nodes.

    It is measured only once, as part of the series over processes or threads.
    """
    for spread, alone in ((THREADS, THREADS), (PROCESSES, f"{PROCESSES} of one node")):
        for name, places in panel_of.get(f"{spread} of several nodes", {}).items():
            requested = [results[0].point.scenario.workload for results in places.values()]
            of_each = {one.clients / one.nodes for one in requested if one.nodes}
            known = panel_of.get(alone, {}).get(name, {})
            if len(of_each) == 1 and (count := of_each.pop()) in known:
                places.setdefault(int(count), known[int(count)])


def _one_each(result: Result) -> bool:
    """Whether a result belongs to the series over processes. Its first point is one process with
    one client.

    The scenario decides, because the point with one client also begins the series over threads.
    """
    return KEYS["processes"] in result.labels and result.point.scenario.workload.processes >= 1


def rest(result: Result, study: FinishedRun) -> str:
    """The varied keys of a result other than clients, processes and nodes, as text."""
    labels = {key: value for key, value in result.labels.items() if key not in KEYS.values()}
    return study.name(labels) if labels else "measured"


def _rates(places: Mapping[int, Sequence[Result]]) -> dict[int, float]:
    return {
        count: geometric_mean([result.value() for result in places[count]]).value
        for count in sorted(places)
    }


def _curves(series: Series, names: Sequence[str]) -> list[Curve]:
    """The curves of all series of a panel. A series has the same colour in every panel."""
    curves: list[Curve] = []
    for name, places in sorted(series.items()):
        rates = _rates(places)
        first = next(iter(rates))
        curves.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": words(name),
                "x": list(rates),
                "y": [rate / rates[first] for rate in rates.values()],
                "line": {"color": SEQUENCE[names.index(name) % len(SEQUENCE)]},
            }
        )
    counts = sorted({count for places in series.values() for count in places})
    return [
        *curves,
        {
            "type": "scatter",
            "mode": "lines",
            "name": "as many times as clients",
            "x": counts,
            "y": [count / counts[0] for count in counts],
            "hoverinfo": "skip",
            "line": {"color": INK, "width": 1, "dash": "dot"},
        },
    ]


def _rows(spread: str, series: Series) -> list[list[str]]:
    rows = []
    for name, places in sorted(series.items(), key=lambda one: sort_key({"series": one[0]})):
        rates = _rates(places)
        first = next(iter(rates))
        for count, rate in rates.items():
            speed_up = rate / rates[first]
            efficiency = speed_up * first / count
            shown = number(speed_up) if count != first else DASH
            rows.append([spread, name, str(count), f"{number(rate)}/s", shown, f"{efficiency:.0%}"])
    return rows


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
