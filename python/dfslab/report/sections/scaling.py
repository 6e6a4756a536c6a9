"""How rates grow with clients, processes and nodes: DFS-Perf's figures of speed-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import INK, SEQUENCE, axis, panels, words
from dfslab.report.table import DASH, note, number, table
from dfslab.result import Result
from dfslab.studies.compare import geometric_mean, sort_key

TITLE = "Scaling"
ORDER = 25
EMPTY = "Neither clients, processes nor nodes were varied."
KEYS = {"nodes": "workload.nodes", "processes": "workload.processes", "clients": "workload.clients"}
NOTE = (
    "Speed-up is the measured rate over that of the fewest clients of the same series, each the "
    "geometric mean over repetitions; the dotted line is as many times the rate as clients. "
    "Efficiency is one over the other."
)
Series = dict[str, dict[int, list[Result]]]


def render(study: ReportInput) -> Markup | None:
    """A curve for each series of one way to spread clients, and a table."""
    measured = study.of_method("measure")
    if not any(key in result.labels for result in measured for key in KEYS.values()):
        return None
    panel_of: dict[str, Series] = {}
    for result in measured:
        if "rate_per_s" in result.metrics and result.value() > 0:
            series = panel_of.setdefault(_way(result), {})
            places = series.setdefault(_rest(result, study), {})
            places.setdefault(result.point.scenario.workload.clients, []).append(result)
    # One point says nothing of growth.
    for series in panel_of.values():
        for name in [name for name, places in series.items() if len(places) < 2]:
            del series[name]
    panel_of = {way: series for way, series in panel_of.items() if series}
    if not panel_of:
        return None
    groups = [(way, _curves(series)) for way, series in sorted(panel_of.items())]
    clients = sorted({n for s in panel_of.values() for places in s.values() for n in places})
    ticks = {"tickvals": clients, "ticktext": [str(count) for count in clients]}
    figure = panels(
        groups, axis("clients", type="log", **ticks), axis("speed-up", type="log"),
        "measured speed-up against clients",
    )  # fmt: skip
    head = ["clients spread over", "series", "clients", "rate", "speed-up", "efficiency"]
    rows = [row for way, series in sorted(panel_of.items()) for row in _rows(way, series)]
    return note(NOTE) + figure + table(head, rows, texts=2)


def _way(result: Result) -> str:
    """How the clients are spread: over nodes, over processes, or as threads of one process."""
    asked = result.point.scenario.workload
    if KEYS["nodes"] in result.labels:
        return "processes of several nodes" if asked.processes > 1 else "threads of several nodes"
    return "processes of one node" if asked.processes > 1 or _one_each(result) else "threads"


def _one_each(result: Result) -> bool:
    """One client in one process is the first point of both series; its scenario says of which."""
    return KEYS["processes"] in result.labels and result.point.scenario.workload.processes >= 1


def _rest(result: Result, study: ReportInput) -> str:
    """What else was varied."""
    labels = {key: value for key, value in result.labels.items() if key not in KEYS.values()}
    return study.name(labels) if labels else "measured"


def _rates(places: Mapping[int, Sequence[Result]]) -> dict[int, float]:
    return {
        count: geometric_mean([result.value() for result in places[count]]).value
        for count in sorted(places)
    }


def _curves(series: Series) -> list[dict[str, Any]]:
    curves = []
    for index, (name, places) in enumerate(sorted(series.items())):
        rates = _rates(places)
        first = next(iter(rates))
        curves.append({
            "type": "scatter", "mode": "lines+markers", "name": words(name),
            "x": list(rates), "y": [rate / rates[first] for rate in rates.values()],
            "line": {"color": SEQUENCE[index % len(SEQUENCE)]},
        })  # fmt: skip
    counts = sorted({count for places in series.values() for count in places})
    return [*curves, {
        "type": "scatter", "mode": "lines", "name": "as many times as clients", "x": counts,
        "y": [count / counts[0] for count in counts], "hoverinfo": "skip",
        "line": {"color": INK, "width": 1, "dash": "dot"},
    }]  # fmt: skip


def _rows(way: str, series: Series) -> list[list[str]]:
    rows = []
    for name, places in sorted(series.items(), key=lambda one: sort_key({"series": one[0]})):
        rates = _rates(places)
        first = next(iter(rates))
        for count, rate in rates.items():
            speed_up = rate / rates[first]
            efficiency = speed_up * first / count
            told = number(speed_up) if count != first else DASH
            rows.append([way, name, str(count), f"{number(rate)}/s", told, f"{efficiency:.0%}"])
    return rows
