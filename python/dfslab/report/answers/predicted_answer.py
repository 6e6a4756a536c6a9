"""The summary of predictions in sentences: the predicted rates and what limits them.

This module does not import the studies of runs, so `dfslab predict` starts faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dfslab.documents.table import number_text
from dfslab.method import BASELINES, MEASURE
from dfslab.report.answers.growth import flat_part
from dfslab.report.answers.operation_units import operations_of, unit_of
from dfslab.report.answers.rates import ConfigurationRate, by_configuration, short_names
from dfslab.report.answers.rates import interval as interval_cell
from dfslab.result import Metric, Result
from dfslab.spec import units
from dfslab.spec.systems.memory_writes import ASSUMED_READS, stated

# Operations that read data: a whole file, or one transfer of it.
READS = frozenset({"read", "pread"})
FROM_MEMORY = "page cache"
# Largest number of limits that a sentence names besides the most frequent one.
MOST_OTHER_LIMITS = 2
NOT_COMPUTED = "What a change would gain was not computed"
CHANGED_BY_SET = f"{NOT_COMPUTED}; `dfslab advise` needs the values of --set in a scenario file."


@dataclass(frozen=True)
class RunAnswer:
    """Sentences that summarise a run. A sentence that the results do not support is empty.

    `observed`: the measured or predicted rates. `limit`: what limits the rate and how certain this
    limit is, or why the limit is withheld. `advice`: what would raise the rate, or what to measure
    next. `is_withheld`: true if the results support no statement on what limits the rate.
    `compared`: which of several file systems is fastest. `doubt`: why the results support no
    conclusion at all; it is the first sentence. `settling`: the runs that would settle a withheld
    limit, and how long they take. `assumed`: what the prediction takes for granted, if another
    assumption would change the limit.
    """

    observed: str
    limit: str = ""
    advice: str = ""
    is_withheld: bool = False
    compared: str = ""
    doubt: str = ""
    settling: str = ""
    assumed: str = ""

    @property
    def sentences(self) -> list[str]:
        """All sentences of the summary in their order, without empty ones."""
        rates = (self.doubt, self.compared, self.observed, self.limit)
        every = (*rates, self.assumed, self.settling, self.advice)
        return [one for one in every if one]


def of_predictions(results: Sequence[Result]) -> RunAnswer | None:
    """Returns the summary of a run that has predictions only. Uses the predictions of the first
    method that is not a baseline. Returns None if there is no such method."""
    names = [one.method for one in results if one.method not in BASELINES]
    if not names:
        return None
    of_method = [one for one in results if one.method == names[0]]
    rates = by_configuration(of_method)
    if not rates:
        return None
    uncalibrated = any(one.is_calibrated is False for one in of_method)
    sure = (
        "nothing was measured, so intervals have the usual error of descriptions; --from RUN "
        "calibrates it"
        if uncalibrated
        else "the model's error on these configurations is not known"
    )
    observed = f"Predicted by {names[0]} ({sure}): {most(rates, with_intervals=True)}."
    assumed = " ".join(
        [*_warm_reads(of_method), *stated(note for one in of_method for note in one.notes)]
    )
    limit = filter(None, (predicted_limit(of_method, names[0]), flat_part(rates)))
    return RunAnswer(observed, " ".join(limit), assumed=assumed)


def _warm_reads(results: Sequence[Result]) -> list[str]:
    """Returns at most one sentence: that reads are assumed to find their data in memory. Their
    rates may then exceed those of disks and links."""
    if not any(
        one.point.scenario.workload.cache == "warm" and READS & set(operations_of(one))
        for one in results
    ):
        return []
    return [f"{ASSUMED_READS}; --set workload.cache=cold predicts reads from the servers."]


def closing_of_predictions(results: Sequence[Result], source: str | None) -> list[str]:
    """Returns the sentences that `dfslab predict` prints last. The list is empty if there is
    nothing to summarise.

    `dfslab predict` does not compute how much changes of the configuration would gain. The last
    sentence therefore names the command that computes these gains. `source` is the argument of this
    command: the scenario. None means that --set changed the scenario, so no command can name it.
    """
    answer = of_predictions(results)
    if answer is None:
        return []
    return [*answer.sentences, CHANGED_BY_SET if source is None else gains_hint(source)]


def gains_hint(source: str) -> str:
    """Returns the sentence that says which command computes the gains of changes of the
    configuration. `source` is the argument of this command: "RUN", or a scenario."""
    return f"{NOT_COMPUTED}; `dfslab advise {source}` computes it."


def predicted_limit(results: Sequence[Result], model: str) -> str:
    """Returns a sentence on the limit that a model predicts for most configurations. The sentence
    counts the configurations in which this limit is saturated, and those in which it is
    latency-bound. If less than half of the configurations have this limit, the sentence also names
    the next limits. Returns "" if the model names no limit."""
    names = [one.limits[0].name if one.limits else one.bottleneck for one in results]
    counts = Counter(filter(None, names))
    if not counts:
        return ""
    (name, number), *others = counts.most_common(1 + MOST_OTHER_LIMITS)
    of_name = [one for one, its in zip(results, names, strict=True) if its == name and one.limits]
    bounds = Counter(word for one in of_name if (word := one.limits[0].bound_word))
    if set(bounds.values()) == {number}:
        name = f"{name}, {next(iter(bounds))}"
    elif bounds:
        counted = ", ".join(f"{count} {word}" for word, count in bounds.most_common())
        name = f"{name} ({counted})"
    more = [] if 2 * number >= len(results) else [f"in {its}: {other}" for other, its in others]
    listed = "; ".join([name, *more])
    return f"The limit by {model}, in {number} of {len(results)} configurations: {listed}."


def most(rates: Sequence[ConfigurationRate], with_intervals: bool = False) -> str:
    """Returns a sentence with the highest rate of each type of operation, the highest throughput,
    and the configurations that reached them. Measured values that the page cache may have served
    are marked. `with_intervals`: whether the bounds of the 90 % interval follow each value. If not,
    the wider side of the interval follows, if it is known."""
    alone = len(rates) == 1
    names = [
        ", ".join(
            part for part in ("" if alone else name, FROM_MEMORY if is_cached(one) else "") if part
        )
        for name, one in zip(short_names(one.labels for one in rates), rates, strict=True)
    ]
    best: dict[str, tuple[float, str, Metric]] = {}
    bytes_best: tuple[float, str, Metric] | None = None
    for one, name in zip(rates, names, strict=True):
        unit = unit_of(operations_of(one.results[0]))
        if unit not in best or (one.rate.value, name) > best[unit][:2]:
            best[unit] = (one.rate.value, name, one.rate)
        moved = one.throughput
        if moved is not None and (moved.value, name) > (bytes_best or (0.0, ""))[:2]:
            bytes_best = (moved.value, name, moved)
    found = []
    for unit, (value, name, rate) in best.items():
        interval = _interval(rate, number_text) if with_intervals else _wider_side(rate)
        found.append(f"{number_text(value)} {unit}/s{_in_brackets(interval, name)}")
    if bytes_best is not None:
        value, name, rate = bytes_best
        interval = _interval(rate, _bytes_text) if with_intervals else _wider_side(rate)
        found.append(f"{_bytes_text(value)}{_in_brackets(interval, name)}")
    return ("" if alone else "highest ") + _and(found)


def _bytes_text(value_bytes_per_s: float) -> str:
    return units.text(value_bytes_per_s, "B/s", 3)


def _interval(rate: Metric, shown: Callable[[float], str]) -> str:
    """Returns the 90 % interval of a rate as text; "" if it is not known. `shown` converts a value
    to text."""
    if rate.low is None or rate.high is None:
        return ""
    return f"90 %: {shown(rate.low)} to {shown(rate.high)}"


def _wider_side(rate: Metric) -> str:
    """Returns the wider side of a rate's 90 % interval as text, such as "±4%", or "×÷2.1" for a
    wide interval; "" if the interval is not known."""
    cell = interval_cell(rate)
    if cell.value is None:
        return ""
    return f"±{cell.text}" if cell.text.endswith("%") else cell.text


def _in_brackets(*texts: str) -> str:
    """Returns the texts that are not empty, in brackets after a space; "" if all are empty."""
    known = "; ".join(filter(None, texts))
    return f" ({known})" if known else ""


def is_from_memory(one: ConfigurationRate) -> bool:
    """Returns whether the page cache of this machine may have served the data. True if the
    operations moved bytes and the scenario did not exclude the cache. False for results of other
    tools, which state nothing about this machine's cache."""
    first = one.results[0]
    is_warm = first.point.scenario.workload.cache == "warm"
    return is_warm and one.throughput is not None and not first.is_imported


def is_cached(one: ConfigurationRate) -> bool:
    """Whether a rate was measured and the page cache may have served its data."""
    return one.results[0].method == MEASURE and is_from_memory(one)


def _and(items: Sequence[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
