"""The comparison of two runs as a document: sentences, a table and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, JsonValue

from dfslab.documents.metrics import RATE, parsed
from dfslab.documents.table import (
    Column,
    Table,
    TableCell,
    absent,
    number_text,
    seconds_text,
    words,
)

RunVerdict = Literal["higher", "lower", "no difference found", "cannot tell"]
# A comparison that finds no difference is inconclusive if it could only have found changes larger
# than this relative change (median over all metrics and configurations). 1.0 is a doubling.
NOTHING_FOUND = 1.0
# Relative changes above this limit are shown as factors, because percentages of four digits are
# hard to read.
MOST_PERCENT = 1.0
# The change of a rate, as a fraction, for which the necessary repetitions are stated, and the
# probability with which they find it.
SMALL_CHANGE, FOUND = 0.03, 0.95
P_VALUE = "p: corrected for the number of comparisons."
ALONE = "Each interval is for one comparison alone; only verdicts are corrected for their number."


class ComparedMetric(BaseModel):
    """One metric at one configuration in two runs. `before`, `after`: geometric means over the
    repetitions in the SI unit `unit`. `change`: value after / value before - 1, with its 90 %
    interval.

    `adjusted`: p-value, corrected for the number of comparisons between the two runs. `detectable`:
    the smallest relative change that would be found with a probability of 80 %. Both, and the
    interval, are None if nothing was measured twice.
    """

    configuration: str
    metric: str
    unit: str
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    adjusted: float | None = None
    detectable: float | None = None
    verdict: RunVerdict

    @property
    def is_found(self) -> bool:
        """Whether the comparison found a difference."""
        return self.verdict in ("higher", "lower")

    @property
    def name(self) -> str:
        """The metric in words, such as "rate" or "p99 of read"."""
        key = parsed(self.metric)
        return f"{key.name.rsplit('_', 1)[-1]} of {key.operation}" if key.operation else "rate"

    @property
    def change_text(self) -> str:
        """The change as text, with its interval if there is one."""
        if self.low is None or self.high is None:
            return _changed(self.change)
        return f"{_changed(self.change)} ({_changed(self.low)} to {_changed(self.high)})"

    @property
    def values_text(self) -> str:
        """The values before and after with their unit."""
        return f"{self._value_text(self.before)} → {self._value_text(self.after)}"

    def _value_text(self, value: float) -> str:
        return f"{number_text(value)}/s" if self.metric == RATE else seconds_text(value)


class ComparedRuns(BaseModel):
    """The comparison of two runs. `noise`: relative standard deviation of the rate between
    repetitions; if no rate was compared, the relative standard deviation of the noisiest metric.
    None if nothing was measured twice. `needed`: the repetitions in each run with which a change of
    a rate by SMALL_CHANGE would be found with the probability FOUND; None if they are not known or
    too many.

    `disturbed`: sentences on what disturbed one of the runs, or both.
    `differs`: sentences on what differs between the runs apart from their results: settings,
    machines, software, and the configurations that only one run has. `failed`: one sentence for
    each violation of a rule of --fail-if. `undecided`: one sentence for each rule whose violation
    might not have been found.
    """

    before: str
    after: str
    rows: list[ComparedMetric]
    noise: float | None
    needed: int | None = None
    disturbed: list[str] = []
    differs: list[str] = []
    failed: list[str]
    undecided: list[str] = []
    notes: list[str]

    def sentences(self) -> list[str]:
        """The comparison in sentences: what disturbed the runs, what differs, what size of
        difference would have been found, and how the runs differ otherwise."""
        rules = [f"Fails: {rule}" for rule in self.failed]
        rules += [f"Not decided: {rule}" for rule in self.undecided]
        return [*self.disturbed, *self._answer(), *rules, *self.differs]

    def _answer(self) -> list[str]:
        if self.noise is None:
            return [f"{_largest(self.rows)} The noise is not known."]
        known = [one.detectable for one in self.rows if one.detectable is not None]
        smallest = float(np.median(known))
        noise = f"Repetitions of one configuration differ by {_percent(self.noise)} in their rate"
        if any(one.is_found for one in self.rows):
            found = [*_differing(self.rows, "rates"), *_differing(self.rows, "times")]
        elif smallest > NOTHING_FOUND:
            more = f"only a change by more than a factor of {1 + NOTHING_FOUND:g} would be found"
            head = (
                f"Inconclusive: in {len(self.rows)} comparisons no difference stood out from noise."
            )
            return [head, f"{noise}, and {more}; measure more repetitions (run.repetitions)."]
        else:
            found = [f"No difference found in {len(self.rows)} comparisons."]
        power = f"a change {size_text(smallest)} would be found with 80 %"
        if self.needed is not None:
            power += (
                f", one of {100 * SMALL_CHANGE:g} % of a rate in {100 * FOUND:g} of 100 "
                f"comparisons with run.repetitions={self.needed}"
            )
        return [*found, f"{noise}; {power}."]

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print; `answer` has the sentences."""
        found: dict[str, JsonValue] = {"answer": list(self.sentences())}
        return {**found, **self.model_dump(mode="json")}

    def table(self) -> Table:
        """Returns a table with one row for each metric and configuration, significant differences
        first."""
        columns = [Column(name, "left") for name in ("configuration", "metric")]
        columns += [Column(name, "left") for name in ("before → after", "change (90%)")]
        columns += [Column("p"), Column("verdict", "left")]
        rows = [
            (
                words(one.configuration),
                words(one.name),
                words(one.values_text),
                TableCell(one.change, _unbroken(one.change_text), low=one.low, high=one.high),
                absent()
                if one.adjusted is None
                else TableCell(one.adjusted, f"{one.adjusted:.3g}"),
                words(one.verdict),
            )
            for one in sorted(self.rows, key=lambda one: one.adjusted or 0.0)
        ]
        return Table(f"{self.after} compared with {self.before}", columns, rows, self.notes)


# Words for higher and lower values of the rates and of the times.
_WORDS = {"rates": ("higher (faster)", "lower (slower)"), "times": ("longer", "shorter")}


def _differing(rows: Sequence[ComparedMetric], kind: Literal["rates", "times"]) -> list[str]:
    """Returns one sentence on the rates, or on the times, that differ; an empty list if none was
    compared. The sentence has the largest difference with its interval."""
    own = [one for one in rows if (one.metric == RATE) == (kind == "rates")]
    found = [one for one in own if one.is_found]
    if not own:
        return []
    if not found:
        blind = sum(one.verdict == "cannot tell" for one in own)
        noisy = f" ({blind} of them are too noisy to tell)" if blind else ""
        return [f"No difference found in {len(own)} {kind}{noisy}."]
    largest = max(found, key=lambda one: abs(math.log1p(one.change)))
    counts = [
        f"{number} {word}"
        for verdict, word in zip(("higher", "lower"), _WORDS[kind], strict=True)
        if (number := sum(one.verdict == verdict for one in found))
    ]
    most = f"{largest.name} at {largest.configuration}, {largest.values_text}"
    return [
        f"Second run, of {len(own)} {kind}: {', '.join(counts)}; most: {most}, "
        f"{largest.change_text}."
    ]


def _unbroken(text: str) -> str:
    """Returns a text of a table whose percentages and factors are one word each, so that no line
    ends inside them."""
    return text.replace(" %", "%").replace("× ", "×")


def _largest(rows: Sequence[ComparedMetric]) -> str:
    """Returns a sentence with the largest change."""
    largest = max(rows, key=lambda one: abs(math.log1p(one.change)))
    return (
        f"The largest of {len(rows)} differences: {largest.name} at {largest.configuration}, "
        f"{largest.values_text}, {largest.change_text}."
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def size_text(share: float) -> str:
    """Returns the size of a relative change as text: "of 12.0 %", or "by a factor of 3.2"."""
    if share > MOST_PERCENT:
        return f"by a factor of {number_text(1 + share)}"
    return f"of {_percent(share)}"


def _changed(share: float) -> str:
    """Returns a relative change as text: as a percentage, or as a factor if it is a large
    increase."""
    if share > MOST_PERCENT:
        return f"× {number_text(1 + share)}"
    return f"{share:+.1%}".replace("%", " %")
