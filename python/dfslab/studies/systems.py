"""Compares several file systems under the same workloads.

The compared values are the rate of operations, and the throughput of one client during reads and
during writes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.metrics import LATENCY, MEAN, RATE, key
from dfslab.documents.table import Table, TableCell, absent, heads, naming, number_text, words
from dfslab.result import Metric, Result
from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.systems.choice import NAME_KEY
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult
from dfslab.studies.runs.means import geometric_mean

NAMES = ("systems",)
# Operations that move bytes. Their throughput is shown for one client.
MOVING = ("read", "write")


class SystemsRow(BaseModel):
    """One measure of one workload by one method, for every file system that has results for it.

    `labels`: the varied keys except the file system, with their values. `measure`: "rate", "read"
    or "write". "rate" is the number of operations per second of all clients. "read" and "write" are
    the bytes per second of one client during operations of this name. `values`: the value with its
    90 % interval, by file system.
    """

    labels: dict[str, LevelValue]
    measure: str
    method: str
    values: dict[str, Metric]


class SystemsComparison(StudyResult):
    """The result of the study `systems`: one row for each workload, measure and method. `systems`
    are the compared file systems, as the scenario names them.
    """

    study = "systems"

    systems: list[str]
    rows: list[SystemsRow]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns one table of rates and, if bytes were moved, one of the throughput of a client.
        Each file system has a column."""
        rates = [row for row in self.rows if row.measure == "rate"]
        moved = [row for row in self.rows if row.measure != "rate"]
        found = [self._table("Operations per second by file system", rates, "")]
        if moved:
            title = "Bytes per second of one client by file system"
            found.append(self._table(title, moved, "B/s"))
        return found

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """The JSON document. Its key `systems` has the file systems and the rows."""
        return {self.study: self.model_dump(mode="json")}

    def _table(self, title: str, rows: Sequence[SystemsRow], unit: str) -> Table:
        name = naming({str(row.labels): row.labels for row in rows}.values())
        methods = len({row.method for row in self.rows}) > 1
        lines = []
        for row in rows:
            parts = [name(row.labels)] if row.labels else ["all"]
            parts += [row.measure] if row.measure != "rate" else []
            parts += [row.method] if methods else []
            cells = [_cell(row.values.get(system), unit) for system in self.systems]
            lines.append((words(", ".join(parts)), *cells))
        notes = ["below: 90 % interval over repetitions; a dash: not run on this file system"]
        return Table(title, heads("workload", *self.systems), lines, notes)


def _cell(metric: Metric | None, unit: str) -> TableCell:
    """Returns the table cell of one file system: a rate, or a throughput in the SI unit `unit`. The
    cell shows a dash if `metric` is None."""
    if metric is None:
        return absent()
    low, high = metric.low, metric.high
    interval = "" if low is None or high is None else f"{_text(low, unit)}–{_text(high, unit)}"
    return TableCell(metric.value, _text(metric.value, unit), interval, low, high)


def _text(value: float, unit: str) -> str:
    return units.text(value, unit, 3) if unit else number_text(value)


class SystemsStudy(Study[SystemsComparison]):
    """Compares the file systems that a scenario's sweep names."""

    name = "systems"
    result = SystemsComparison
    needs = Needs()
    order = 5

    def run(self, run: FinishedRun, progress: Progress) -> SystemsComparison | None:
        """The comparison; None if fewer than two file systems have results."""
        return compared(run.settled)


def make(name: str) -> SystemsStudy:
    """Returns the study `systems`; study discovery calls this function with the study's name."""
    return SystemsStudy()


def compared(results: Sequence[Result]) -> SystemsComparison | None:
    """Compares the file systems of these results. Returns None if fewer than two file systems have
    results."""
    known = [one for one in results if one.metrics and NAME_KEY in one.labels]
    systems = list(dict.fromkeys(str(one.labels[NAME_KEY]) for one in known))
    if len(systems) < 2:
        return None
    rows = [row for measure, value in _measures().items() for row in _rows(known, measure, value)]
    return SystemsComparison(systems=systems, rows=rows)


def _measures() -> dict[str, Callable[[Result], float | None]]:
    """Returns a dictionary from the name of each measure to a function. The function takes a result
    and returns the value of the measure. The function returns None if the result has no such
    value."""
    found: dict[str, Callable[[Result], float | None]] = {"rate": _rate}
    for operation in MOVING:
        found[operation] = _throughput_of(operation)
    return found


def _rate(result: Result) -> float | None:
    known = result.metrics.get(RATE)
    return known.value if known is not None and known.value > 0 else None


def _throughput_of(operation: str) -> Callable[[Result], float | None]:
    """Returns a function that computes the throughput of one client in a measured run, in bytes per
    second: (mean bytes of an `operation`) / (mean latency of the operation). The function returns
    None if the run moved no bytes by this operation or has no latency of the operation."""
    latency = key(LATENCY, MEAN, operation)

    def throughput(result: Result) -> float | None:
        counted = result.load.operations.get(operation) if result.load is not None else None
        if counted is None or not counted.count or not counted.bytes:
            return None
        seconds = result.metrics.get(latency)
        if seconds is None or seconds.value <= 0:
            return None
        return counted.bytes / counted.count / seconds.value

    return throughput


def _rows(
    results: Sequence[Result], measure: str, value: Callable[[Result], float | None]
) -> list[SystemsRow]:
    """Returns the rows of one measure. There is one row for each pair of workload and method for
    which the measure has a value. The rows have the order of the results."""
    groups: dict[tuple[Hashable, ...], dict[str, list[Result]]] = {}
    for result in results:
        if value(result) is not None:
            place = (result.method, *other_labels(result.labels).items())
            groups.setdefault(place, {}).setdefault(str(result.labels[NAME_KEY]), []).append(result)
    rows = []
    for of_system in groups.values():
        first = next(iter(of_system.values()))[0]
        values = {system: _mean(own, value) for system, own in of_system.items()}
        labels = other_labels(first.labels)
        rows.append(SystemsRow(labels=labels, measure=measure, method=first.method, values=values))
    return rows


def _mean(results: Sequence[Result], value: Callable[[Result], float | None]) -> Metric:
    """Returns the geometric mean of `value` over the results, which are repetitions of one
    measurement, with an interval. If there is only one result and `value` is the rate, returns the
    rate of this result with the interval that the result has."""
    if len(results) == 1 and value is _rate:
        return results[0].metrics[RATE]
    return geometric_mean([found for one in results if (found := value(one)) is not None])


def other_labels(labels: Mapping[str, LevelValue]) -> dict[str, LevelValue]:
    """Returns the varied keys other than the file system, with their values."""
    return {key: value for key, value in labels.items() if key != NAME_KEY}
