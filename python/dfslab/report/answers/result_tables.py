"""Tables of results: one line for each configuration, or one for each result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.table import (
    NARROW,
    Table,
    TableCell,
    absent,
    estimate,
    heads,
    labels_text,
    number_text,
    words,
)
from dfslab.report.answers import rates
from dfslab.report.answers.operation_units import operations_of, unit_of
from dfslab.report.answers.result_notes import result_notes
from dfslab.result import Metric, Result
from dfslab.spec import units


def result_tables(results: Sequence[Result]) -> list[Table]:
    """Returns the tables of each method, with one line for each configuration."""
    names = dict.fromkeys(one.method for one in results)
    of_method = [[one for one in results if one.method == name] for name in names]
    return [table for group in of_method for table in rate_tables(group, rates.title_of(group))]


def rate_tables(results: Sequence[Result], title: str) -> list[Table]:
    """Returns a table with the rate of each configuration by one method. Notes that apply to all
    tables follow the last table.

    The table is split if it is wider than a small terminal and its operations have several units.
    There is then one table for each unit, such as files read/s.
    """
    whole = rates.rate_table(results, title)
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(unit_of(operations_of(one)), []).append(one)
    if len(groups) < 2 or whole.terminal_width <= NARROW:
        return [whole]
    tables = [rates.rate_table(group, f"{title}: {unit}") for unit, group in groups.items()]
    # Notes of results are printed once, for the results of all tables.
    own = [
        [note for note in one.notes if note not in {*whole.notes, *result_notes(group)}]
        for one, group in zip(tables, groups.values(), strict=True)
    ]
    own[-1] += whole.notes
    return [replace(one, notes=notes) for one, notes in zip(tables, own, strict=True)]


def result_table(results: Iterable[Result]) -> Table:
    """Returns a table with one row for each result: rate, throughput, latency, bottleneck."""
    rows, results = [], list(results)
    names = list(dict.fromkeys(result.method for result in results))
    columns = heads(
        *(["method"] if len(names) > 1 else []),
        "configuration",
        "per second",
        "throughput",
        "mean latency",
        "limit",
        left=("configuration", "limit"),
    )
    for result in results:
        throughput = result.metrics.get(metrics.THROUGHPUT)
        incomplete = "" if result.complete else " (incomplete)"
        rows.append(
            (
                *([words(result.method)] if len(names) > 1 else []),
                words(labels_text(dict(result.labels)) + incomplete),
                _metric(result.metrics.get(metrics.RATE)),
                TableCell(throughput.value, units.text(throughput.value, "B/s"))
                if throughput
                else absent(),
                words(", ".join(_mean_latencies(result))),
                words(result.bottleneck),
            )
        )
    notes = result_notes(results)
    measured = any(discover.is_instrument(name) for name in names)
    title = "Predictions and measurements" if measured else "Predictions"
    by = f" by {names[0]}" if len(names) == 1 else ""
    return Table(f"{title}{by} (90 % interval)", columns, rows, tuple(notes))


def _metric(metric: Metric | None) -> TableCell:
    """Returns a table cell with the metric's value and, on a separate line, its interval."""
    if metric is None:
        return absent()
    if metric.low is None or metric.high is None:
        return estimate(metric.value, None, None)
    interval = f"({number_text(metric.low)}–{number_text(metric.high)})"
    text = number_text(metric.value)
    return TableCell(metric.value, text, interval, metric.low, metric.high)


def _mean_latencies(result: Result) -> Sequence[str]:
    """Returns a text for each operation with its mean latency and, if it is known, its mean
    response time."""
    means = {
        name: (
            result.metrics.get(metrics.key(metrics.LATENCY, metrics.MEAN, name)),
            result.metrics.get(metrics.key(metrics.RESPONSE, metrics.MEAN, name)),
        )
        for kind in (metrics.LATENCY, metrics.RESPONSE)
        for name in metrics.operations_with(result.metrics, kind)
    }
    found = []
    for name, (latency, response) in means.items():
        since_due = "" if response is None else f"{units.text(response.value, 's')} since due"
        shown = since_due if latency is None else units.text(latency.value, "s")
        if latency is not None and since_due:
            shown += f" ({since_due})"
        found.append(f"{name} {shown}" if len(means) > 1 else shown)
    return found
