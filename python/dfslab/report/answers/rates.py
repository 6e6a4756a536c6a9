"""The rate of each configuration: the mean over its repetitions, with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.documents import metrics
from dfslab.documents.table import (
    DASH,
    Column,
    Table,
    TableCell,
    Value,
    absent,
    heads,
    labels_text,
    naming,
    number_text,
    quantity,
    words,
)
from dfslab.report.answers.operation_units import common_unit, explained, operations_of, unit_of
from dfslab.report.answers.phase_rates import PhaseRates, limit_cell, phases_of
from dfslab.report.answers.result_notes import result_notes
from dfslab.result import Metric, Result
from dfslab.studies.runs.means import geometric_mean

SURE = "±: wider side of the 90 % interval."
WIDE_SURE = f"{SURE} ×÷2: from half to twice the value."
LIMIT_SHARE = "limit: its share of an operation's time, which is not its utilisation."
LIMIT_BUSY = "limit: a percentage is the part of the time for which the station is busy."


@dataclass(frozen=True)
class ConfigurationRate:
    """The results of one method for one configuration, averaged over the repetitions.

    `rate`: operations per second. `throughput`: bytes per second; None if no bytes are moved.
    `latency_s_p99`: 99th percentile of the slowest operation's latency in seconds. Means are
    geometric means over the repetitions.
    """

    results: Sequence[Result]
    rate: Metric
    throughput: Metric | None
    latency_s_p99: float | None

    @property
    def labels(self) -> Mapping[str, Value]:
        """The scenario keys that vary, with the values of this configuration."""
        return self.results[0].labels

    @property
    def is_complete(self) -> bool:
        """Whether every repetition is complete."""
        return all(one.complete for one in self.results)


def by_configuration(results: Iterable[Result]) -> list[ConfigurationRate]:
    """Groups the results of one method by configuration. Returns one entry for each configuration,
    in the order of the results. Results without a rate are left out."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        if metrics.RATE in one.metrics:
            groups.setdefault(one.point_id, []).append(one)
    return [_taken_together(group) for group in groups.values()]


def _taken_together(group: Sequence[Result]) -> ConfigurationRate:
    rate = _mean(group, metrics.RATE)
    assert rate is not None
    return ConfigurationRate(group, rate, _mean(group, metrics.THROUGHPUT), _slowest(group, "p99"))


def _mean(group: Sequence[Result], key: str) -> Metric | None:
    """Returns the geometric mean of a metric over the results that have it; None if no result has
    the metric.

    No mean is computed if only one result has the metric, or if a value is not positive. The metric
    of the first of these results is then returned with its own interval.
    """
    known = [one.metrics[key] for one in group if key in one.metrics]
    if not known or any(one.value <= 0 for one in known):
        return known[0] if known else None
    return known[0] if len(known) == 1 else geometric_mean([one.value for one in known])


def _slowest(group: Sequence[Result], statistic: str) -> float | None:
    """Returns the value of a latency statistic for the slowest operation of a configuration, in
    seconds. `statistic` is "mean" or a quantile such as "p99". Returns None if no times are
    known."""
    operations = {name for one in group for name in operations_of(one)}
    keys = [metrics.key(metrics.LATENCY, statistic, name) for name in operations]
    means = [mean.value for key in keys if (mean := _mean(group, key)) is not None]
    return max(means, default=None)


def short_names(configurations: Iterable[Mapping[str, Value]]) -> list[str]:
    """Returns the names of configurations, as by `naming`, in the same order."""
    every = list(configurations)
    name = naming(every)
    return [name(one) for one in every]


def rate_table(results: Sequence[Result], title: str) -> Table:
    """Returns a table with one line for each configuration of one method: rate, interval,
    throughput, times, and the limit if the method predicts one."""
    rates = by_configuration(results)
    operations = [operations_of(one.results[0]) for one in rates]
    common = common_unit(operations) if rates else ""
    predicts = any(limit_of(one.results[0]) for one in rates)
    last = ("limit",) if predicts else ("p99 time",)
    columns: list[Column] = heads(
        "configuration", f"{common or 'operations'}/s", "±", "bytes/s", *last, left=("limit",)
    )
    rows = []
    for name, one, done in zip(
        short_names(one.labels for one in rates), rates, operations, strict=True
    ):
        unit = "" if common else f" {unit_of(done)}/s"
        rows.append(
            (
                words(name + ("" if one.is_complete else " (incomplete)")),
                _value(one.rate, unit),
                interval(one.rate),
                quantity(one.throughput.value, "B/s") if one.throughput else absent(),
                *(
                    [words(limit_of(one.results[0]))]
                    if predicts
                    else [quantity(one.latency_s_p99, "s")]
                ),
            )
        )
        rows.extend(_phase_row(part) for part in phases_of(one.results))
    notes = result_notes(results)
    about = [_common(rates), sure_note(rows), _limit_note(rates) if predicts else ""]
    return Table(
        title, columns, rows, tuple(one for one in (*about, explained(results), *notes) if one)
    )


def sure_note(rows: Iterable[Sequence[TableCell]]) -> str:
    """Returns the note that explains the column "±". Factors are explained only if a row has
    one."""
    has_factor = any(cell.text.startswith("×÷") for row in rows for cell in row)
    return WIDE_SURE if has_factor else SURE


def _limit_note(rates: Sequence[ConfigurationRate]) -> str:
    """Returns what the percentages of a column of limits mean. Methods that divide the time of an
    operation state limits with shares of this time. Simulations state how busy a station is."""
    firsts = [one.results[0] for one in rates]
    if any(one.limits for one in firsts):
        return LIMIT_SHARE
    return LIMIT_BUSY if any("%" in one.bottleneck for one in firsts) else ""


def _phase_row(part: PhaseRates) -> tuple[TableCell, ...]:
    """Returns the table line of one phase, which follows the line of its configuration."""
    moved = part.throughput_bytes_per_s
    return (
        words(f"  phase {part.name}"),
        _value(part.rate, ""),
        interval(part.rate),
        quantity(moved, "B/s") if moved else absent(),
        words(part.limit),
    )


def _common(rates: Sequence[ConfigurationRate]) -> str:
    """Returns as text the swept keys that have one value in all configurations of `rates`. Names of
    configurations omit these keys."""
    if len(rates) < 2:
        return ""
    first = rates[0].labels
    same = {
        key: value
        for key, value in first.items()
        if all(key in one.labels and one.labels[key] == value for one in rates)
    }
    return f"All: {labels_text(same)}." if same else ""


def _value(rate: Metric, unit: str) -> TableCell:
    return TableCell(rate.value, number_text(rate.value) + unit, low=rate.low, high=rate.high)


def interval(metric: Metric) -> TableCell:
    """Returns a cell with the relative size of a metric's interval, such as "4 %". The relative
    size is the larger half-width of the interval divided by the metric's value.

    For wide intervals, the factor f = max(high / value, value / low) is used. From f = 2, the cell
    has f instead, such as "×÷2.1"; from f = 1000, "unknown". The cell has a dash if there is no
    interval, or if its lower end or the value is not positive.
    """
    if metric.low is None or metric.high is None or metric.low <= 0 or metric.value <= 0:
        return TableCell(None, DASH)
    factor = max(metric.high / metric.value, metric.value / metric.low)
    share = max(metric.high - metric.value, metric.value - metric.low) / metric.value
    text = f"{share:.0%}" if factor < 2 else f"×÷{factor:.2g}" if factor < 1000 else "unknown"
    return TableCell(share, text)


def limit_of(result: Result) -> str:
    """Returns the strongest limit of a predicted configuration as text; "" if the method names no
    limit. If the method states the limit's share of the time, the text has this share. If the
    method states that the limit is saturated or latency-bound, the text says so."""
    return limit_cell(result.limits[0]) if result.limits else result.bottleneck


def limit_name(result: Result) -> str:
    """Returns the name of the strongest limit of a predicted configuration; "" if the method names
    no limit."""
    return result.limits[0].title if result.limits else result.bottleneck


def title_of(results: Sequence[Result]) -> str:
    """Returns the title of a table of one method's results."""
    method = results[0].method if results else ""
    if not discover.is_instrument(method):
        return f"Predicted by {method}"
    repetitions = 1 + max(one.repetition for one in results)
    done = "Traced" if method == "trace" else "Measured"
    return done if repetitions == 1 else f"{done}, means of {repetitions} runs"
