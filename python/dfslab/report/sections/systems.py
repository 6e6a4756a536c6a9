"""Renders the section that compares several file systems, as in DFS-Perf's figures 1 to 3. There is
one chart for each workload, with a panel for clients as threads and one for clients as processes.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab import discover
from dfslab.documents.table import Tab, naming, number_text
from dfslab.report.answers.client_placement import KEYS, PROCESSES, THREADS
from dfslab.report.charts import palette
from dfslab.report.charts.figure import MARKS, Axis, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, folded, note
from dfslab.spec.design import LevelValue
from dfslab.studies.contract import FinishedRun
from dfslab.studies.systems import SystemsComparison, SystemsRow

TITLE = "File systems side by side"
ORDER = 18
EMPTY = "The scenario compares no file systems: its sweep names none, or one."
WORKLOAD = "workload.name"
# Distance between the points of two file systems in one row of a chart, as a fraction of the row's
# height. This distance keeps the points from overlapping.
SHIFT = 0.16
NOTE = (
    "Measured geometric means over repetitions with 90 % intervals. Rates are of all clients; "
    "throughput is that of one client during the operations that read, or write."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: one chart for each workload, and the tables of the comparison. Returns None if
    file systems were not compared."""
    found = study.find(SystemsComparison)
    if found is None:
        return None
    tables = [folded(one.title, contents(one, titled=False)) for one in found.tables(study)]
    return note(NOTE) + Markup("").join([*charts(study), *tables])


def charts(study: FinishedRun) -> list[Markup]:
    """Returns the HTML of one chart for each workload; an empty list if file systems were not
    compared."""
    found = study.find(SystemsComparison)
    if found is None:
        return []
    measured = [row for row in found.rows if row.method == "measure"]
    return [_chart(name, found.systems, rows) for name, rows in _by_workload(measured, study)]


def _by_workload(
    rows: Sequence[SystemsRow], study: FinishedRun
) -> list[tuple[str, list[SystemsRow]]]:
    """Returns pairs (name of a workload, its rows), in the order of the scenario. For a workload
    that moves bytes, the rows with its throughput are included, otherwise the rows with its
    rate."""
    groups: dict[str, list[SystemsRow]] = {}
    for row in rows:
        groups.setdefault(str(row.labels.get(WORKLOAD, study.scenario.workload.name)), []).append(
            row
        )
    return [
        (name, [row for row in own if row.measure != "rate"] or own) for name, own in groups.items()
    ]


def _chart(workload: str, systems: Sequence[str], rows: Sequence[SystemsRow]) -> Markup:
    """Returns the HTML of one workload's chart, with points for each file system. There is a panel
    for each measure and each way to distribute the clients."""
    # A configuration may have two rows, one for reads and one for writes. Both have the name of the
    # configuration.
    name = naming({str(_varied(row)): _varied(row) for row in rows}.values())
    groups: dict[tuple[str, str], list[SystemsRow]] = {}
    for row in rows:
        groups.setdefault((row.measure, _way(row)), []).append(row)
    panels = [
        Panel(
            way if measure == "rate" else f"{measure}, {way}",
            _series(systems, own),
            y_axis=Axis(categories=[name(_varied(row)) or "all" for row in own]),
        )
        for (measure, way), own in groups.items()
    ]
    of_rates = rows[0].measure == "rate"
    what = "operations per second" if of_rates else "throughput of one client"
    x_axis = Axis(what, "1/s" if of_rates else "B/s", log=True)
    title = discover.workload(workload).title
    return figure(panels, x_axis, Axis(), title, title)


def _series(systems: Sequence[str], rows: Sequence[SystemsRow]) -> list[Series]:
    """Returns a series of points for each file system. Each configuration of a panel is a row of
    the chart.

    File systems differ both in colour and in shape.
    """
    found = []
    for place, system in enumerate(systems):
        own = [(row, one.values[system]) for row, one in enumerate(rows) if system in one.values]
        metrics = [metric for _, metric in own]
        found.append(
            Series(
                system,
                palette.of_place(place),
                [metric.value for metric in metrics],
                [row + SHIFT * (place - (len(systems) - 1) / 2) for row, _ in own],
                mark=MARKS[place % len(MARKS)],
                low=[metric.low for metric in metrics],
                high=[metric.high for metric in metrics],
                across=True,
                hints=[f"{system}: {number_text(metric.value)}" for metric in metrics],
            )
        )
    return found


def _varied(row: SystemsRow) -> dict[str, LevelValue]:
    """Returns the varied keys of a row that distinguish it within one panel: all keys except the
    workload and the number of processes."""
    apart = (WORKLOAD, KEYS["processes"])
    return {key: value for key, value in row.labels.items() if key not in apart}


def _way(row: SystemsRow) -> str:
    """Returns how the clients of a row were distributed: as threads of one process, or over
    processes."""
    processes = row.labels.get(KEYS["processes"], 0)
    return PROCESSES if isinstance(processes, int) and processes > 1 else THREADS


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.THROUGHPUT)
