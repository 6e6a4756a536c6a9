"""Assembles the output of a run from all studies: a JSON document for programs, and tables for the
terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.table import (
    Paragraph,
    Table,
    TableCell,
    absent,
    estimate,
    heads,
    labels_text,
    number_text,
    words,
)
from dfslab.report.answers import changes, narrow, rates
from dfslab.result import Metric, Result
from dfslab.spec import units
from dfslab.studies.bottlenecks import Programs
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs import completeness


def of(run: FinishedRun) -> dict[str, JsonValue]:
    """Returns the JSON document of `dfslab run`: the location of the run, notes, and the documents
    of all studies."""
    notes: list[JsonValue] = list(run.findings.notes)
    found: dict[str, JsonValue] = {
        "scenario": run.scenario.name,
        "folder": str(run.folder),
        "page": str(run.page) if run.page.exists() else None,
        "notes": notes,
    }
    if run.processor_time is not None:
        found["processor_time"] = run.processor_time.model_dump(exclude_none=True)
    if sentences := changes.closing(run):
        found["answer"] = list(sentences)
    if lacking := completeness.rows(run.results):
        found["incomplete"] = lacking
    if not _has_summary(run):
        found["results"] = [result.model_dump(mode="json") for result in run.results]
    for one in run.findings.found.values():
        found |= one.document(run)
    return found


def _has_summary(run: FinishedRun) -> bool:
    return any(one.stands_for_results for one in run.findings.found.values())


def tables(run: FinishedRun, wide: bool = False) -> list[Table | str | Paragraph]:
    """Returns the tables that `dfslab run` prints: first the results, unless a study's tables
    replace them, then the tables of the studies, then the summary in sentences.

    `wide`: show all methods and every repetition instead of one line for each configuration.
    """
    shown: list[Table | str | Paragraph] = []
    if not _has_summary(run):
        # If a program was traced, the tables of `Programs` already summarise its traces. Then only
        # measured results are listed here, and there is no table without them.
        traced = run.find(Programs) is not None
        results = run.of_method("measure") if traced else run.settled
        if results or not traced:
            shown += [result_table(results)] if wide else result_tables(results)
    for one in run.findings.found.values():
        if one.is_printed_by_run:
            shown += narrow.tables_of(one, run) if not wide else one.tables(run)
    return [*shown, *map(Paragraph, run.findings.notes), *map(Paragraph, changes.closing(run))]


def result_tables(results: Sequence[Result]) -> list[Table]:
    """Returns a table for each method, with one line for each configuration."""
    names = dict.fromkeys(one.method for one in results)
    of_method = [[one for one in results if one.method == name] for name in names]
    return [rates.rate_table(group, rates.title_of(group)) for group in of_method]


def every_table(run: FinishedRun) -> list[Table]:
    """Returns the tables of all studies, including those that `dfslab run` does not print. If some
    results are incomplete, a table of these comes first."""
    lacking = completeness.table(run.results)
    return [*([lacking] if lacking else []), *_of_studies(run)]


def _of_studies(run: FinishedRun) -> list[Table]:
    return [table for one in run.findings.found.values() for table in one.tables(run)]


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
                words(result.binding),
            )
        )
    notes = dict.fromkeys(note for result in results for note in result.notes)
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
