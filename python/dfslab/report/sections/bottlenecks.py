"""Renders the section on traced programs: the time of each file system function, and the most
effective changes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import Tab
from dfslab.report.contract import PageSection
from dfslab.report.flame import NOTE, flame
from dfslab.report.page_table import folded, note, percent, seconds, share, table, wide
from dfslab.studies.bottlenecks import Bottlenecks, FunctionCost, Gain, Programs
from dfslab.studies.contract import FinishedRun

TITLE = "Bottlenecks of programs"
ORDER = 66
EMPTY = "No program was traced."
FUNCTIONS = (
    "Mean time of a call, number of calls, and their total time; every call of every process is "
    "counted. The time of a function includes the times of the functions that it calls."
)
RANKED = (
    "The saving in the time of the clients' calls if a step were twice as fast wherever it occurs, "
    "with a 90 % interval. For comparison, the step's share of the summed self time is shown."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the table of functions, the steps and the parts (processors, disks, links)
    ranked by what they would save if they were faster, and the call trees of each configuration.
    None if no program was traced."""
    found = study.find(Programs)
    if found is None:
        return None
    rows = found.programs
    trees = [
        folded(study.name(one.labels), flame(one.roots, f"call trees {number}"))
        for number, one in enumerate(rows, 1)
    ]
    return Markup("").join(
        [
            Markup("<h3>Functions</h3>"),
            note(FUNCTIONS),
            _functions(study, rows),
            Markup("<h3>What to make faster</h3>"),
            note(RANKED),
            _ranked(study, rows),
            Markup("<h3>Call trees of each configuration</h3>"),
            note(NOTE),
            *trees,
        ]
    )


def _functions(study: FinishedRun, rows: Sequence[Bottlenecks]) -> Markup:
    """Returns an HTML table with functions as rows and configurations as columns, as in Liu 2018's
    Table 1."""
    names = dict.fromkeys(one.name for row in rows for one in row.functions)
    by_name = [{one.name: one for one in row.functions} for row in rows]
    shown = [[name, *(_cell(known.get(name)) for known in by_name)] for name in names]
    shown.append(["all calls of clients", *(seconds(row.calls_s) for row in rows)])
    shown.append(["the whole program", *(seconds(row.took_s) for row in rows)])
    return table(["function", *(study.name(row.labels) for row in rows)], shown)


def _cell(one: FunctionCost | None) -> Markup:
    if one is None or one.mean_s is None:
        return Markup("<td>–</td>")
    return Markup("<td>{}<small>{:,} calls, {}</small></td>").format(
        seconds(one.mean_s), one.count, seconds(one.total_s)
    )


def _ranked(study: FinishedRun, rows: Sequence[Bottlenecks]) -> Markup:
    shown = []
    for row in rows:
        for place, one in enumerate(row.steps):
            part = row.parts[place] if place < len(row.parts) else None
            first = (study.name(row.labels), row.by_sum) if not place else ("", "")
            shown.append(
                [
                    first[0],
                    wide(one.name),
                    share(one.saving),
                    *_sure(one),
                    wide(part.name if part else ""),
                    percent(part.saving) if part else "",
                    wide(first[1]),
                ]
            )
    head = [
        "configuration",
        "step",
        "time saved",
        "90 % interval",
        "verdict",
        "part",
        "time saved",
        "first by sum",
    ]
    return table(head, shown)


def _sure(one: Gain) -> tuple[str, str]:
    return f"{percent(one.low)} to {percent(one.high)}", one.verdict


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.TIME)
