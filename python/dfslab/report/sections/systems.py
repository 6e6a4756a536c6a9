"""Renders the section that compares several file systems, as in DFS-Perf's figures 1 to 3: one
chart for each workload, with a panel for clients as threads and one for clients as processes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab import discover
from dfslab.documents.table import Name, naming
from dfslab.report.contract import PageSection
from dfslab.report.figure import Curve
from dfslab.report.page_table import contents, note
from dfslab.report.plot import SEQUENCE, axis, log_axis, panels, with_interval, words
from dfslab.report.sections.scaling import KEYS, PROCESSES, THREADS
from dfslab.spec.design import LevelValue
from dfslab.studies.contract import FinishedRun
from dfslab.studies.systems import SystemsComparison, SystemsRow

TITLE = "File systems side by side"
ORDER = 18
EMPTY = "The scenario compares no file systems: its sweep names none, or one."
WORKLOAD = "workload.name"
# If there are more file systems than colours, the shapes of points distinguish them.
SYMBOLS = ("circle", "diamond", "square")
NOTE = (
    "Measured geometric means over repetitions with 90 % intervals. Rates are of all clients; "
    "throughput is that of one client during the operations that read, or write."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: one chart for each workload, and the tables of the comparison. None without
    a comparison.
    """
    found = study.find(SystemsComparison)
    if found is None:
        return None
    measured = [row for row in found.rows if row.method == "measure"]
    charts = [_chart(name, found.systems, rows) for name, rows in _by_workload(measured, study)]
    tables = [contents(one) for one in found.tables(study)]
    return note(NOTE) + Markup("").join([*charts, *tables])


def _by_workload(
    rows: Sequence[SystemsRow], study: FinishedRun
) -> list[tuple[str, list[SystemsRow]]]:
    """Returns (workload, its rows), in the order of the scenario. If a workload moves bytes, only
    its rows with throughput are kept, otherwise its rows with rates."""
    groups: dict[str, list[SystemsRow]] = {}
    for row in rows:
        groups.setdefault(str(row.labels.get(WORKLOAD, study.scenario.workload.name)), []).append(
            row
        )
    return [
        (name, [row for row in own if row.measure != "rate"] or own) for name, own in groups.items()
    ]


def _chart(workload: str, systems: Sequence[str], rows: Sequence[SystemsRow]) -> Markup:
    """Returns the HTML of one workload's chart, with a curve for each file system. There is a panel
    for each measure and each way to distribute the clients."""
    # Rows of reads and of writes have the same configuration, which is named once.
    name = naming({str(_varied(row)): _varied(row) for row in rows}.values())
    groups: dict[tuple[str, str], list[SystemsRow]] = {}
    for row in rows:
        groups.setdefault((row.measure, _way(row)), []).append(row)
    drawn = [
        (way if measure == "rate" else f"{measure}, {way}", _curves(systems, own, name))
        for (measure, way), own in groups.items()
    ]
    what = "operations per second" if rows[0].measure == "rate" else "bytes per second of a client"
    values = [metric.value for row in rows for metric in row.values.values()]
    title = discover.workload(workload).title
    figure = panels(
        drawn, axis("", type="category", automargin=True), log_axis(what, values), title
    )
    return Markup("<h3>{}</h3>{}").format(title, figure)


def _curves(systems: Sequence[str], rows: Sequence[SystemsRow], name: Name) -> list[Curve]:
    """Returns one curve for each file system over the configurations of a panel."""
    curves: list[Curve] = []
    for place, system in enumerate(systems):
        own = [row for row in rows if system in row.values]
        metrics = [row.values[system] for row in own]
        colour = SEQUENCE[place % len(SEQUENCE)]
        curves.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": words(system),
                "x": [words(name(_varied(row))).replace(", ", "<br>") for row in own],
                "y": [metric.value for metric in metrics],
                "error_y": {**with_interval(metrics), "color": colour},
                "line": {"color": colour, "width": 1, "dash": "dot"},
                "marker": {
                    "color": colour,
                    "size": 9,
                    "symbol": SYMBOLS[place // len(SEQUENCE) % len(SYMBOLS)],
                },
            }
        )
    return curves


def _varied(row: SystemsRow) -> dict[str, LevelValue]:
    """Returns the varied keys of a row within one panel: all except workload and processes."""
    apart = (WORKLOAD, KEYS["processes"])
    return {key: value for key, value in row.labels.items() if key not in apart}


def _way(row: SystemsRow) -> str:
    """Returns how the clients of a row were distributed: as threads of one process, or over
    processes."""
    processes = row.labels.get(KEYS["processes"], 0)
    return PROCESSES if isinstance(processes, int) and processes > 1 else THREADS


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
