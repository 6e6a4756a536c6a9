"""Renders the section on workload runs: the stonewall (when the first client finished), the phases,
the rate per second, and the cost of the load generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from markupsafe import Markup

from dfslab.documents.load_report import GeneratorReport, Second
from dfslab.documents.measured_load import CountedCalls, DiskReads, MeasuredLoad, MeasuredPhase
from dfslab.documents.table import (
    DASH,
    Tab,
    Table,
    TableCell,
    absent,
    heads,
    number,
    number_text,
    percent,
    quantity,
    rate,
    seconds,
    words,
)
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, heading, left_out, note
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.compare import sort_key
from dfslab.studies.contract import FinishedRun

TITLE = "Load generator and rates"
ORDER = 32
EMPTY = "No load was measured."
LONG_TABLE = 24
# A chart of the operations completed in each second is drawn only for runs of more than this number
# of seconds.
FEWEST_SECONDS = 5
RATES_BELOW = "The table below has their rates."
MOST_CURVES = 5
NOTE = (
    "Medians over repetitions. Rates count until the last client had finished and until the first "
    "had (stonewall). The generator's own time is processor time of one operation of the same "
    "stream on a target that does nothing, in brackets that of a system call that does nothing. "
    "Late is the 99th percentile of the start lag: the time from the scheduled to the actual start "
    "of an operation. Calls are those of one operation."
)
NOTE_STEADY = (
    "Runs of more than 20 s are examined for a steady state (MSER-5): its start, its rate, and the "
    "95 % interval of that rate. The rate's interval within the run (95 %) is bootstrapped from "
    "blocks of neighbouring seconds, of the steady state if there is one."
)


@dataclass(frozen=True)
class MeasuredRun:
    """One measured run, with its workload report and its load generator report.

    Runs of external programs are not represented by this class, because they have no such reports.
    """

    result: Result
    load: MeasuredLoad
    generator: GeneratorReport


LoadPart = MeasuredLoad | MeasuredPhase
FigureOfRun = Callable[[MeasuredRun], float | None]
RunsCell = Callable[[Sequence[MeasuredRun]], TableCell]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a table of all configurations, a table of their phases, and charts of longer
    runs. None if no run has a report of the load generator."""
    groups: dict[str, list[MeasuredRun]] = {}
    for result in study.of_method("measure"):
        # A run of an external program has no report of the load generator.
        if (load := result.load) and load.generator:
            groups.setdefault(result.point_id, []).append(MeasuredRun(result, load, load.generator))
    if not groups:
        return None
    ordered = sorted(groups.values(), key=lambda group: sort_key(group[0].result.labels))
    names = [study.name(group[0].result.labels) for group in ordered]
    rows = [[words(name), *_cells(group)] for name, group in zip(names, ordered, strict=True)]
    table = _filled(Table("Runs", heads("configuration", *COLUMNS, "page cache"), rows))
    phases = [
        row for name, group in zip(names, ordered, strict=True) for row in _phases(name, group)
    ]
    judged = any(part.steady for group in ordered for one in group for part in one.load.parts())
    shown = f"{NOTE} {NOTE_STEADY}" if judged else NOTE
    return note(shown) + _course(names, ordered) + _long(table) + _of_phases(phases)


def _of_generator(value: Callable[[GeneratorReport], float]) -> FigureOfRun:
    """Returns a function that reads a number from the load generator's report.

    The function returns None for a reported 0, which means that the number was not measured.
    """
    return lambda run: value(run.generator) or None


def _of_calls(value: Callable[[CountedCalls], float | None]) -> FigureOfRun:
    """Returns a function that reads a number from the counted calls of a run.

    The function returns None if calls were not counted.
    """

    def of(run: MeasuredRun) -> float | None:
        counted = run.load.calls.whole if run.load.calls else None
        return value(counted) if counted else None

    return of


def _late_s(run: MeasuredRun) -> float | None:
    return run.generator.late.p99_s if run.load.schedule else None


def _failed(run: MeasuredRun) -> float | None:
    return sum(one.errors for one in run.load.operations.values()) or None


def _rate(value_per_s: float) -> str:
    return f"{number_text(value_per_s)}/s"


def _median(value: FigureOfRun, shown: Callable[[float], TableCell]) -> RunsCell:
    def cell(group: Sequence[MeasuredRun]) -> TableCell:
        known = [one for one in map(value, group) if one is not None]
        return shown(float(np.median(known))) if known else absent()

    return cell


def _nanoseconds(value_ns: float) -> TableCell:
    return seconds(value_ns * 1e-9)


def _own_time(group: Sequence[MeasuredRun]) -> TableCell:
    """Returns the cell of the time that the load generator itself spends for each operation.

    The time of the cheapest system call is added for comparison, if both times were measured.
    """
    own = _median(_of_generator(lambda one: one.own_ns_per_op), _nanoseconds)(group)
    floor = _median(_of_generator(lambda one: one.call_floor_ns), _nanoseconds)(group)
    if own.value is None or floor.value is None:
        return own
    return TableCell(own.value, f"{own.text} ({floor.text})")


def _of_whole(shown: Callable[[Sequence[LoadPart]], TableCell]) -> RunsCell:
    """Returns a function that makes a table cell from the repetitions of a configuration.
    Repetitions of workloads with several phases are ignored, because a separate table shows each
    phase."""
    return lambda group: shown([one.load for one in group if not one.load.phases])


def _steady(each: Sequence[LoadPart]) -> TableCell:
    """Returns a cell that states when the steady state began, the rate in the steady state, and how
    many runs did not reach it. The cell has a dash if no run was examined for a steady state."""
    judged = [one.steady for one in each if one.steady]
    settled = [one for one in judged if one.reached]
    if not judged:
        return absent()
    if not settled:
        return words("did not settle in its first half")
    three = [(one.from_s, one.rate_per_s, one.rate_per_s_half_width) for one in settled]
    from_s, rate_per_s, half = (float(one) for one in np.median(three, axis=0))
    others = len(judged) - len(settled)
    settling = f"from {number_text(from_s)} s on: {_rate(rate_per_s)} ± {number_text(half)}"
    return words(settling + (f"; {others} of {len(judged)} did not settle" if others else ""))


def _interval(each: Sequence[LoadPart]) -> TableCell:
    known = [one.rate_interval for one in each if one.rate_interval]
    if not known:
        return absent()
    low = np.median([one.low_per_s for one in known])
    high = np.median([one.high_per_s for one in known])
    return words(f"{number_text(float(low))} to {_rate(float(high))}")


COLUMNS: dict[str, RunsCell] = {
    "rate": _median(lambda run: run.result.value(), rate),
    "until the first had finished": _median(lambda run: run.load.stonewall_rate_per_s, rate),
    "steady": _of_whole(_steady),
    "the rate's own interval": _of_whole(_interval),
    "own time": _own_time,
    "of the mean latency": _median(_of_generator(lambda one: one.share_of_latency), percent),
    "late": _median(_late_s, seconds),
    "failed": _median(_failed, number),
    "system calls": _median(_of_calls(lambda one: one.system_calls_per_operation), number),
    "servers' calls": _median(_of_calls(lambda one: one.server_calls_per_operation), number),
}


def _cells(group: Sequence[MeasuredRun]) -> list[TableCell]:
    return [*(cell(group) for cell in COLUMNS.values()), words(_cache(group[0]))]


def _cache(run: MeasuredRun) -> str:
    """Returns the requested page-cache state as text. Evidence for the state follows, if there is
    any: the bytes that stayed in the cache, and the bytes that disks delivered."""
    stated: list[str] = [run.result.point.scenario.workload.cache]
    cache = run.load.cache
    if cache and (proof := cache.proof):
        stated.append(f"{_bytes(proof.resident_bytes)} of {_bytes(proof.prepared_bytes)} left")
    if cache and cache.disks:
        stated.append(f"disks gave {_given(cache.disks)}")
    return ", ".join(stated)


def _given(disks: DiskReads) -> str:
    return f"{_bytes(disks.read_bytes)} of {_bytes(disks.requested_bytes)}"


def _bytes(value: float) -> str:
    return units.text(value, "B", 3)


def _filled(table: Table, always: int = 0) -> Table:
    """Returns a table without the columns that have only dashes. The first `always` columns are
    kept."""
    kept = [
        place
        for place in range(len(table.columns))
        if place < always or any(row[place].text != DASH for row in table.rows)
    ]
    columns = [table.columns[place] for place in kept]
    return replace(
        table, columns=columns, rows=[[row[place] for place in kept] for row in table.rows]
    )


def _long(table: Table) -> Markup:
    """Returns the HTML of a table, which is collapsed if it has many rows."""
    count = len(table.rows)
    folded = f"All {count}" if count > LONG_TABLE else ""
    return contents(replace(table, folded=folded), titled=False)


def _phases(name: str, group: Sequence[MeasuredRun]) -> list[list[TableCell]]:
    found: dict[str, list[MeasuredPhase]] = {}
    # Calls are not averaged over repetitions: each phase keeps the counts of the first run that
    # has them.
    counts: dict[str, CountedCalls] = {}
    for run in group:
        calls = run.load.calls.phases if run.load.calls else ()
        for phase, counted in zip_longest(run.load.phases, calls):
            if phase is not None:
                found.setdefault(phase.name, []).append(phase)
                if counted is not None:
                    counts.setdefault(phase.name, counted)
    return [
        [words(name), words(phase), *_of_phase(each, counts.get(phase))]
        for phase, each in found.items()
    ]


def _of_phase(each: Sequence[MeasuredPhase], calls: CountedCalls | None) -> list[TableCell]:
    def median(value: Callable[[MeasuredPhase], float]) -> float:
        return float(np.median([value(one) for one in each]))

    moved = median(lambda one: one.throughput_bytes_per_s)
    disks = each[0].cache.disks
    return [
        words(", ".join(each[0].operations)),
        number(median(lambda one: one.count)),
        seconds(median(lambda one: one.window_s)),
        rate(median(lambda one: one.rate_per_s)),
        rate(median(lambda one: one.stonewall_rate_per_s)),
        quantity(moved or None, "B/s"),
        _steady(each),
        _interval(each),
        words(_given(disks)) if disks and disks.requested_bytes else absent(),
        _called(calls.system_calls_per_operation if calls else None),
        _called(calls.server_calls_per_operation if calls else None),
    ]


def _called(per_operation: float | None) -> TableCell:
    return number(per_operation or None)


def _of_phases(rows: Sequence[Sequence[TableCell]]) -> Markup:
    if not rows:
        return Markup("")
    columns = heads(
        "configuration",
        "phase",
        "operations",
        "count",
        "time",
        "rate",
        "until the first had finished",
        "throughput",
        "steady",
        "the rate's own interval",
        "from disks",
        "system calls",
        "servers' calls",
        left=["phase", "operations"],
    )
    return heading("Phases") + _long(_filled(Table("Phases", columns, rows), always=8))


def _course(names: Sequence[str], ordered: Sequence[Sequence[MeasuredRun]]) -> Markup:
    """Returns the HTML of charts with the operations completed in each second, for the first run of
    selected configurations."""
    long = [
        (name, group[0].load.seconds)
        for name, group in zip(names, ordered, strict=True)
        if len(group[0].load.seconds) > FEWEST_SECONDS
    ]
    short = [
        name
        for name, group in zip(names, ordered, strict=True)
        if len(group[0].load.seconds) <= FEWEST_SECONDS
    ]
    reason = f"they ran for at most {FEWEST_SECONDS} s"
    missing = left_out("configurations", short, reason, RATES_BELOW)
    if not long:
        return missing
    places = np.linspace(0, len(long) - 1, min(MOST_CURVES, len(long)))
    chosen = [long[round(place)] for place in places]
    panels = [Panel(name, [_curve(shown)]) for name, shown in chosen]
    drawn = {name for name, _ in chosen}
    others = [name for name, _ in long if name not in drawn]
    reason = f"at most {MOST_CURVES} curves are drawn"
    missing += left_out("configurations", others, reason, RATES_BELOW)
    chart = figure(
        panels,
        Axis("time after the start", "s"),
        Axis("operations per second", "1/s", from_zero=True),
        "operations of each second of the load",
        "Operations of each second",
    )
    return chart + missing


def _curve(shown: Sequence[Second]) -> Series:
    # The last second is left out, because it is incomplete.
    counts = [one.count for one in shown[:-1]]
    places = [place + 0.5 for place in range(len(counts))]
    return Series("", palette.SEQUENCE[0], places, counts, line="solid", stepped=True)


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.RAW)
