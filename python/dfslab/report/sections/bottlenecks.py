"""Renders the section on traced programs: the time of each file system function, and the most
effective changes."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    absent,
    heads,
    percent,
    percent_text,
    seconds,
    seconds_text,
    words,
)
from dfslab.report.contract import PageSection
from dfslab.report.flame import NOTE, flame
from dfslab.report.page_table import drawn, folded, heading, note
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
    """Returns HTML; None if no program was traced. The HTML has the table of functions, two
    rankings, and the call trees of each configuration.

    One ranking is of steps, the other of parts (processors, disks, links). Both rank by the time
    that would be saved if the step or part were faster.
    """
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
            heading("Functions"),
            note(FUNCTIONS),
            drawn(_functions(study, rows)),
            heading("What to make faster"),
            note(RANKED),
            drawn(_ranked(study, rows)),
            heading("Call trees of each configuration"),
            note(NOTE),
            *trees,
        ]
    )


def _functions(study: FinishedRun, rows: Sequence[Bottlenecks]) -> Table:
    """Returns a table with functions as rows and configurations as columns, as in Liu 2018's
    Table 1."""
    names = dict.fromkeys(one.name for row in rows for one in row.functions)
    by_name = [{one.name: one for one in row.functions} for row in rows]
    shown = [[words(name), *(_cell(known.get(name)) for known in by_name)] for name in names]
    shown.append([words("all calls of clients"), *(seconds(row.calls_s) for row in rows)])
    shown.append([words("the whole program"), *(seconds(row.took_s) for row in rows)])
    columns = heads("function", *(study.name(row.labels) for row in rows))
    return Table("Functions", columns, shown)


def _cell(one: FunctionCost | None) -> TableCell:
    if one is None or one.mean_s is None:
        return absent()
    calls = f"{one.count:,} calls, {seconds_text(one.total_s)}"
    return TableCell(one.mean_s, seconds_text(one.mean_s), calls)


def _ranked(study: FinishedRun, rows: Sequence[Bottlenecks]) -> Table:
    shown = []
    for row in rows:
        for place, one in enumerate(row.steps):
            part = row.parts[place] if place < len(row.parts) else None
            first = (study.name(row.labels), row.by_sum) if not place else ("", "")
            shown.append(
                [
                    words(first[0]),
                    words(one.name),
                    percent(one.saving, is_bar=True),
                    words(_interval(one)),
                    words(one.verdict),
                    words(part.name if part else ""),
                    percent(part.saving) if part else TableCell(None, ""),
                    words(first[1]),
                ]
            )
    columns = heads(
        "configuration",
        "step",
        "time saved",
        "90 % interval",
        "verdict",
        "part",
        "time saved",
        "first by sum",
        wrapped=("step", "part", "first by sum"),
    )
    return Table("What to make faster", columns, shown)


def _interval(one: Gain) -> str:
    return f"{percent_text(one.low)} to {percent_text(one.high)}"


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.TIME)
