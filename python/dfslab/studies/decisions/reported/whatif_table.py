"""The gains of given changes as a document: sentences, a table and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from dfslab.documents.answers import Sureness
from dfslab.documents.table import Column, Table, TableCell, absent, words
from dfslab.studies.decisions.gains import (
    WORTH_JOINING,
    Basis,
    GainEstimate,
    legend,
    probability_text,
)
from dfslab.studies.decisions.reported.withheld import WITHHELD, withheld_note

RIGHT = (
    "P(right): probability that the predicted direction is right, or that the rate changes by less "
    "than 10 % if none is predicted. Rounded down."
)


class ChangedOperation(BaseModel):
    """The gain of one change for configurations with the same mix of operations and similar gains.
    They form one row of the table. The gain is reliable; WithheldChange is for other changes.

    `rate`: gain of the rate. `times`: gain of the time of each operation (above 1: the operation
    takes less time). `configurations`: the configurations of this row. `total`: number of all
    configurations with this mix. `where`: the values in which the configurations of this row
    differ from others with the same mix. `limit`: what limits the rate after the change.
    `parts`: number of single changes that the change combines. `before_per_s`, `after_per_s`:
    rate of the row's first configuration before and after the change, in operations per second.
    """

    change: str
    operations: list[str]
    configurations: list[str]
    total: int
    where: str
    rate: GainEstimate
    times: dict[str, GainEstimate]
    before_per_s: float
    after_per_s: float
    limit: str
    parts: int = 1


class WithheldChange(BaseModel):
    """A change whose gain is withheld, because its prediction is not reliable. It has no predicted
    figure and no predicted limit. One WithheldChange has all configurations with the same mix of
    operations. The fields are those of ChangedOperation; `withheld` has the reasons."""

    change: str
    operations: list[str]
    configurations: list[str]
    total: int
    withheld: list[str]
    parts: int = 1


class WhatIf(BaseModel):
    """The gains of changes. A gain is withheld if its prediction is not reliable.

    `rows`: the known gains. `withheld`: the changes whose gain is withheld, in the given order.
    `basis`: "run" if the predictions are calibrated on a run, else "description". `settling`: a
    sentence on a measurement that would give the first withheld gain, with its command and
    duration; empty if no gain is withheld."""

    source: str
    basis: Basis
    rows: list[ChangedOperation]
    withheld: list[WithheldChange] = []
    settling: list[str]
    notes: list[str]

    def sentences(self) -> list[str]:
        """Returns one sentence for each change. It states the largest gain of the change, and the
        configurations that have this gain. If there are several changes, another sentence comes
        first: it names the change that gains most."""
        by_change: dict[str, list[ChangedOperation]] = {}
        for one in self.rows:
            by_change.setdefault(one.change, []).append(one)
        found = [_largest(rows) for rows in by_change.values()]
        found += withheld_note((one.change, one.withheld) for one in self.withheld)
        several = len({*by_change, *(one.change for one in self.withheld)}) > 1
        return [self._most(), *found] if several else found

    def _most(self) -> str:
        """Returns the sentence that names the change with the largest gain. Only gains of high
        certainty are considered. If several sets of changes have about the largest gain, the
        sentence names the smallest set."""
        if not self.rows:
            return "Which change gains most is withheld."
        sure = [
            one
            for one in self.rows
            if one.rate.sureness is Sureness.HIGH and one.rate.gain > 1 and not one.rate.is_none
        ]
        if not sure:
            return "No change is predicted to gain with high certainty."
        largest = max(one.rate.gain for one in sure)
        equal = [one for one in sure if is_as_good(one.rate.gain, largest)]
        best = min(equal, key=lambda one: (one.parts, -one.rate.gain))
        adds = best.parts == max(one.parts for one in equal)
        more = "" if adds else " (the other changes add hardly anything)"
        text = f"Gains most: {best.change}, × {best.rate.gain:.2f} for {'+'.join(best.operations)}"
        return f"{text}{more}."

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return found

    def table(self) -> Table:
        """Returns a table of the gains. It has one row for each change and each group of
        configurations that have the same mix of operations and the same gain. Changes whose gain is
        withheld follow; their rows have no figure."""
        columns = [Column(name, "left") for name in ("change", "operations")]
        columns += [Column("gain (90 %)"), Column("P(right)"), Column("how sure", "left")]
        rows = [
            (words(one.change), words(f"{'+'.join(one.operations)}\n{one.where}"), *_judged(one))
            for one in self.rows
        ]
        rows += [
            (
                words(one.change),
                words("+".join(one.operations)),
                absent(),
                absent(),
                words(WITHHELD),
            )
            for one in self.withheld
        ]
        notes = [*legend(one.rate for one in self.rows), *([RIGHT] if self.rows else [])]
        return Table(
            "What changes would gain", columns, rows, [*notes, *self.settling, *self.notes]
        )


def _judged(one: ChangedOperation) -> tuple[TableCell, TableCell, TableCell]:
    """Returns three cells: the gain, the probability that the statement on the gain is right, and
    this statement."""
    right = TableCell(one.rate.right, probability_text(one.rate.right))
    return gain_cell(one.rate), right, words(one.rate.statement)


def is_as_good(gain: float, other: float) -> bool:
    """Returns whether `gain` is about as large as `other`, or larger: `other` is less than
    WORTH_JOINING times `gain`."""
    return other < WORTH_JOINING * gain


def gain_cell(gain: GainEstimate) -> TableCell:
    """Returns a cell with a gain and its interval."""
    text = f"× {gain.gain:.2f} ({gain.low:.2f}–{gain.high:.2f})"
    return TableCell(gain.gain, text, low=gain.low, high=gain.high)


def _largest(rows: Sequence[ChangedOperation]) -> str:
    """Returns the sentence on the largest gain of one change. If the change has other gains in
    other configurations, the sentence ends with a remark on them. `rows`: one row for each group
    of configurations with similar gains."""
    best = max(rows, key=lambda one: one.rate.gain)
    text = _sentence(best)
    if len(rows) == 1:
        return text
    if best.rate.is_none:
        return f"{text} (the same or less in the other groups below)"
    return f"{text} (the largest gain of {len(rows)} groups below)"


def _sentence(one: ChangedOperation) -> str:
    where = f" ({one.where})" if one.total > 1 else ""
    what = f"{one.change}: {'+'.join(one.operations)}{where}"
    then = f"; then limits: {one.limit}" if one.limit else ""
    return f"{what}: {one.rate.judgement}{then}"
