"""Renders tables in a terminal. Also builds the tables of those commands that do not analyse a
run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dfslab.documents.planned_design import PlannedCost, PlannedDesign
from dfslab.documents.table import BORDER, NARROW
from dfslab.report.harmless import harmless
from dfslab.spec import units

if TYPE_CHECKING:
    # These types are needed for annotations only. These types are not imported at run time, because
    # a caller that has a value of such a type has already imported the type's module.
    from dfslab.documents.planned_design import PlannedDesign
    from dfslab.documents.table import Table as Contents
    from dfslab.documents.table import TableCell
    from dfslab.documents.visibility_report import Visibility
    from dfslab.studies.designs.design_plan import DesignPlan
    from dfslab.studies.runs.rate_search import SearchDocument
    from dfslab.testbeds.hosts.kernel import Feature
    from dfslab.testbeds.hosts.machine import Check

WIDE = 180
# Smallest width of a text column in characters.
LEAST_WORDS = 8
# Matches the spaces in a title at which a line may end: all except those before a percent sign.
_SPACE = re.compile(r" (?!%)")
# Characters after which a long word, such as a path or the name of a resource, may be broken.
_SEPARATOR = re.compile(r"(?<=[./_-])")


def drawn(contents: Contents, columns: int = NARROW) -> Table:
    """Converts a table to one that the library Rich prints. `columns`: width of the terminal in
    characters.

    The note of a cell is below its text, the notes of the table are at the end.
    """
    table = Table(
        title=escape(contents.title),
        caption=escape("\n".join(contents.notes)) or None,
        caption_justify="left",
    )
    contents = _with_narrow_heads(contents)
    whole = _numbers_fit(contents)
    widths = _text_widths(contents, columns)
    for number, column in enumerate(contents.columns):
        table.add_column(
            escape(column.title),
            justify=column.align,
            overflow="fold",
            no_wrap=whole and column.align == "right",
            width=widths.get(number),
        )
    for row in contents.rows:
        table.add_row(*(_broken(_text(cell), widths.get(n)) for n, cell in enumerate(row)))
    return table


def _broken(text: str, width: int | None) -> str:
    """Breaks those words of a text that are longer than `width` characters. A word is broken after
    a separator such as "/" or "_". If `width` is None, no word is broken."""
    if width is None:
        return text

    def lines(word: re.Match[str]) -> str:
        if len(word[0]) <= width:
            return word[0]
        found = [""]
        for piece in _SEPARATOR.split(word[0]):
            if found[-1] and len(found[-1]) + len(piece) > width:
                found.append("")
            found[-1] += piece
        return "\n".join(found)

    return re.sub(r"\S+", lines, text)


def _with_narrow_heads(contents: Contents) -> Contents:
    """Returns the table with narrower titles of number columns, if the table is wider than 80
    characters. A title that is wider than the numbers of its column is set with one word per
    line."""
    if contents.terminal_width <= NARROW:
        return contents
    cells = [_widest(contents, number, _longest_line, 0) for number in range(len(contents.columns))]
    titles = [_longest_line(column.title) for column in contents.columns]
    columns = [
        replace(column, title=_SPACE.sub("\n", column.title))
        if column.align == "right" and title > width
        else column
        for column, title, width in zip(contents.columns, titles, cells, strict=True)
    ]
    return replace(contents, columns=columns)


def _numbers_fit(contents: Contents) -> bool:
    """Returns whether the table fits into 80 characters if text columns are LEAST_WORDS characters
    wide and no number has a line break.

    A number with a line break inside would look like two numbers.
    """
    return _needed(contents, [LEAST_WORDS] * len(contents.columns)) <= NARROW


def _text_widths(contents: Contents, columns: int) -> dict[int, int]:
    """Returns the width in characters of each text column, by the index of the column. With these
    widths, the table is at most `columns` wide.

    The widest columns are made narrower first. Words are broken, after a separator, only if the
    table does not fit otherwise. Returns an empty dictionary if the table needs no narrower
    columns, or if it does not fit even with broken words.
    """
    texts = [n for n, column in enumerate(contents.columns) if column.align != "right"]
    widths = [0] * len(contents.columns)
    for number in texts:
        title = contents.columns[number].title
        widths[number] = _widest(contents, number, _longest_line, _longest_line(title))
    excess = _needed(contents, widths) - columns
    fitting = [
        least
        for part in (_longest_word, _longest_piece)
        if _needed(contents, least := _least_widths(contents, texts, part)) <= columns
    ]
    if excess <= 0 or not fitting:
        return {}
    least = fitting[0]
    for _ in range(excess):
        widest = max((n for n in texts if widths[n] > least[n]), key=lambda n: widths[n])
        widths[widest] -= 1
    return {number: widths[number] for number in texts}


def _least_widths(
    contents: Contents, texts: Sequence[int], part: Callable[[str], int]
) -> list[int]:
    """Returns the smallest width in characters of each text column; 0 for number columns. `texts`:
    the indices of the text columns. `part`: a function that returns the length of the longest
    unbreakable part of a text."""
    least = [0] * len(contents.columns)
    for number in texts:
        title = contents.columns[number].title
        least[number] = _widest(contents, number, part, _longest_word(title))
    return least


def _needed(contents: Contents, of_texts: Sequence[int]) -> int:
    """Returns the width in characters of a table in which no number has a line break. `of_texts`
    has one entry for each column. The entry of a text column is the width of the column; the entry
    of a number column is not used."""
    needed = 1
    for number, column in enumerate(contents.columns):
        title = _longest_line(column.title)
        is_number = column.align == "right"
        width = _widest(contents, number, _longest_line, title) if is_number else of_texts[number]
        needed += BORDER + width
    return needed


def _widest(contents: Contents, number: int, width: Callable[[str], int], least: int) -> int:
    """Returns the largest width of the cells in the column with index `number`, but at least
    `least`. `width`: function that measures the width of a cell's text in characters."""
    return max(least, *(width(_text(row[number])) for row in contents.rows), 0)


def _longest_line(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _longest_piece(text: str) -> int:
    return max((len(piece) for word in text.split() for piece in _SEPARATOR.split(word)), default=0)


def _text(cell: TableCell) -> str:
    return escape(f"{cell.line}\n{cell.note}" if cell.note else cell.line)


def plain_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Returns a Rich table of texts. The first column is aligned left, the other columns right."""
    table = Table(title=title)
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def search_tables(found: SearchDocument) -> list[Table | str]:
    """Returns the tables of a search for the highest rate: the throughput-latency curve, and a line
    with the conclusion."""
    table = Table(title=f"Rates offered, {found.objective} (90 % interval)")
    for name in ("offered", "done", "mean response", "objective's", "verdict", "runs"):
        table.add_column(name, justify="left" if name == "verdict" else "right")
    for row in found.curve:
        shown = [
            units.text(seconds, "s", 3)
            for seconds in (row.value_s, row.value_s_low, row.value_s_high)
            if seconds is not None
        ]
        value = f"{shown[0]} ({'–'.join(shown[1:])})" if len(shown) > 1 else shown[0]
        verdict = "fails: cannot keep up" if row.saturated else row.verdict
        table.add_row(
            f"{row.offered_per_s:.4g}/s",
            f"{row.rate_per_s:.4g}/s",
            units.text(row.response_s_mean, "s", 3),
            value,
            verdict,
            str(row.runs),
        )
    meets, fails, knee = found.meets_per_s, found.fails_per_s, found.knee
    lines = [
        f"meets the objective: {meets:.4g} a second" if meets else "no rate meets the objective",
        f"misses the objective: {fails:.4g} a second" if fails else "no rate misses the objective",
    ]
    if knee:
        lines.append(
            f"knee (rate over response time is largest): {knee.rate_per_s:.4g} "
            f"({knee.low:.4g} to {knee.high:.4g}) a second"
        )
    return [table, *lines]


def visibility_table(rows: Sequence[Visibility]) -> Table:
    """Returns a table of the times from the acknowledgement of a change at one client to its first
    observation by another client."""
    caption = "stale looks: begun after the acknowledgement, and still the old state"
    table = Table(title="From acknowledged at one client to visible at another", caption=caption)
    for name in (
        "change",
        "median (90 % interval)",
        "90 %",
        "longest",
        "stale looks",
        "in trials",
        "torn",
        "never",
    ):
        table.add_column(name, justify="left" if name == "change" else "right")
    for row in rows:
        found, shown = row.summary, ["-"] * 3
        if (times := found.times) is not None:
            seconds = (
                times.visible_s_p50_low,
                times.visible_s_p50_high,
                times.visible_s_p50,
                times.visible_s_p90,
                times.visible_s_max,
            )
            low, high, median, *longer = (units.text(one, "s", 3) for one in seconds)
            shown = [f"{median} ({low}–{high})", *longer]
        table.add_row(
            row.change,
            *shown,
            str(found.stale_looks),
            f"{found.stale_trials} of {found.trials}",
            str(found.torn_looks),
            str(found.unobserved),
        )
    return table


def console(json_wanted: bool, is_colourless: bool = False) -> Console:
    """Returns the console for output that people read. The console writes to stderr if stdout
    carries JSON. `is_colourless`: whether the console prints without colours; if false, the
    variable NO_COLOR decides."""
    stream = sys.stderr if json_wanted else sys.stdout
    width = None if stream.isatty() else _width_of_pipe()
    return harmless(
        Console(
            stderr=json_wanted,
            highlight=False,
            width=width,
            emoji=False,
            no_color=is_colourless or None,
        )
    )


def _width_of_pipe() -> int:
    """Returns the number of columns for output that goes to a pipe or file instead of a terminal:
    the variable COLUMNS or, if that is not set, enough for most tables."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else WIDE


def checks_table(checks: Sequence[Check]) -> Table:
    """Returns a table of the hardware of a testbed, with declared and measured values."""
    table = Table(title="Hardware, declared and measured")
    for name in ("host", "quantity"):
        table.add_column(name)
    for name in ("declared", "measured", "difference"):
        table.add_column(name, justify="right")
    for check in checks:
        unit = "s" if check.quantity == "round trip" else "B/s"
        declared, measured = check.declared, check.measured
        shown = [
            units.text(value, unit) if value is not None else "-" for value in (declared, measured)
        ]
        error = f"{measured / declared - 1:+.1%}" if declared else "-"
        table.add_row(check.host, check.quantity, *shown, error)
    return table


def features_table(features: Sequence[Feature]) -> Table:
    """Returns a table of the kernel features that testbeds use: whether this machine has each
    feature and, if not, what testbeds cannot do without it."""
    table = Table(title="Features that testbeds use")
    for name in ("feature", "here", "without it"):
        table.add_column(name)
    for feature in features:
        lack = "" if feature.present else f"disables {feature.disables}"
        table.add_row(feature.name, "yes" if feature.present else "no", lack)
    return table


def plan_document(plan: DesignPlan) -> PlannedDesign:
    """Returns a planned design as a document: the number of legal combinations of factor levels,
    the runs of each testbed, and the cost in seconds."""
    from dfslab.studies.designs.design_plan import labels

    bill = plan.bill
    return PlannedDesign(
        kind=plan.scenario.design.kind,
        legal=plan.legal.size,
        box=plan.legal.box,
        factors=[factor.name for factor in plan.legal.factors],
        testbeds=[[labels(plan.legal, row) for row in testbed] for testbed in plan.testbeds],
        bill=PlannedCost(
            testbeds=bill.testbeds,
            runs=bill.runs,
            testbed_s=float(bill.testbed_s),
            run_s=float(bill.run_s),
            longest_run_s=float(bill.longest_run_s),
            total_s=float(bill.total_s),
        ),
    )


def plan_tables(planned: PlannedDesign) -> list[Table | str]:
    """Returns the tables of a planned design: how many of all combinations of factor levels are
    legal, the runs of each testbed, and the cost in time."""
    table = Table(
        title=f"{planned.kind} design over {len(planned.factors)} factors",
        caption="the settings that all runs of a testbed share",
    )
    for name in ("testbed", "runs", "deployment and layout"):
        table.add_column(name)
    for number, rows in enumerate(planned.testbeds, 1):
        same = {k: v for k, v in rows[0].items() if all(row[k] == v for row in rows)}
        shown = ", ".join(f"{key} {value}" for key, value in same.items())
        table.add_row(str(number), str(len(rows)), shown)
    bill = planned.bill
    return [
        table,
        f"{planned.legal:,} of {planned.box:,} combinations are legal",
        f"{bill.runs} runs on {bill.testbeds} testbeds: about {bill.total_s / 60:.0f} min, of "
        f"which {bill.testbed_s / 60:.0f} min start testbeds; the longest run takes about "
        f"{bill.longest_run_s:.0f} s",
    ]
