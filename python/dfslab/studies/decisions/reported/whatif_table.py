"""The gains of given changes as a document: sentences, a table and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

# Largest number of best changes that the first sentence names.
MOST_BEST = 3
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
    `parts`: number of single changes that the change combines. `risk`: what the change sacrifices,
    such as durability; "" if nothing. `before_per_s`, `after_per_s`:
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
    risk: str = ""


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
    duration; empty if no gain is withheld. `assumed`: sentences on assumptions of the scenario on
    which a gain depends, such as the data in memory."""

    source: str
    basis: Basis
    rows: list[ChangedOperation]
    withheld: list[WithheldChange] = []
    settling: list[str]
    notes: list[str]
    assumed: list[str] = []

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
        most = [most_sentence(self.rows)] if several else []
        return [*most, *found, *self.assumed]

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
            (
                words(_with_risk(one)),
                words(f"{'+'.join(one.operations)}\n{one.where}"),
                *_judged(one),
            )
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


def _with_risk(one: ChangedOperation) -> str:
    """Returns a change with what it sacrifices in a second line, as the table of advice has it."""
    return f"{one.change}\n! {one.risk}" if one.risk else one.change


def _judged(one: ChangedOperation) -> tuple[TableCell, TableCell, TableCell]:
    """Returns three cells: the gain, the probability that the statement on the gain is right, and
    this statement."""
    right = TableCell(one.rate.right, probability_text(one.rate.right))
    return gain_cell(one.rate), right, words(one.rate.statement)


def most_sentence(rows: Sequence[ChangedOperation]) -> str:
    """Returns the sentence that names the change with the largest gain. Only gains of the highest
    certainty that the file system allows are considered, and changes are compared within each
    configuration. If several sets of
    changes have about the largest gain of a configuration, the smallest set is the best one. If
    configurations have different best changes, the sentence names the best change of each."""
    if not rows:
        return "Which change gains most is withheld."
    best = _best_by_configuration(rows)
    if not best:
        return "No change is predicted to gain with high certainty."
    by_change: dict[str, list[ChangedOperation]] = {}
    for one in best.values():
        by_change.setdefault(one.change, []).append(one)
    if len(by_change) == 1 and _leads_everywhere(rows, best):
        (own,) = by_change.values()
        first = max(own, key=lambda one: one.rate.certain_gain)
        single = first.parts < max(one.parts for one in rows)
        more = " (the other changes add hardly anything)" if single else ""
        return f"Gains most: {first.change}, {_size_for(first)}{more}."
    every = {(*one.operations, key) for one in rows for key in one.configurations}
    largest = sorted(by_change.values(), key=lambda own: (-len(own), own[0].change))
    named = [
        f"{own[0].change} in {len(own)} of {len(every)} (up to "
        f"{_size_for(max(own, key=lambda one: one.rate.certain_gain))})"
        for own in largest[:MOST_BEST]
    ]
    others = ["other changes in the rest"] if len(largest) > MOST_BEST else []
    listed = ", ".join([*named, *others])
    capped = any(one.rate.is_capped for one in best.values())
    word = Sureness.MEDIUM if capped else Sureness.HIGH
    return f"Gains most with {word} certainty, by configurations: {listed}."


def _leads_everywhere(
    rows: Sequence[ChangedOperation], best: Mapping[tuple[str, ...], ChangedOperation]
) -> bool:
    """Returns whether no row predicts a larger gain than the best row of the same configuration,
    even with less certainty."""
    return all(
        (place := (*one.operations, key)) in best
        and is_as_good(best[place].rate.certain_gain, one.rate.gain)
        for one in rows
        if one.rate.gain > 1 and not one.rate.is_none
        for key in one.configurations
    )


def _best_by_configuration(
    rows: Sequence[ChangedOperation],
) -> dict[tuple[str, ...], ChangedOperation]:
    """Returns the row of the best change for each pair (operations, configuration) in which a
    change gains with the highest certainty that the file system allows."""
    sure: dict[tuple[str, ...], list[ChangedOperation]] = {}
    for one in rows:
        gains = one.rate.gain > 1 and not one.rate.is_none
        if gains and one.rate.is_as_sure_as_possible:
            for key in one.configurations:
                sure.setdefault((*one.operations, key), []).append(one)
    best = {}
    for place, own in sure.items():
        largest = max(one.rate.certain_gain for one in own)
        equal = [one for one in own if is_as_good(one.rate.certain_gain, largest)]
        best[place] = min(equal, key=lambda one: (one.parts, -one.rate.certain_gain))
    return best


def _size_for(one: ChangedOperation) -> str:
    risk = f"; {one.risk}" if one.risk else ""
    return f"{one.rate.size} for {'+'.join(one.operations)}{risk}"


def is_as_good(gain: float, other: float) -> bool:
    """Returns whether `gain` is about as large as `other`, or larger: `other` is less than
    WORTH_JOINING times `gain`."""
    return other < WORTH_JOINING * gain


def gain_cell(gain: GainEstimate) -> TableCell:
    """Returns a cell with a gain and its interval."""
    return TableCell(gain.gain, gain.cell_text, low=gain.low, high=gain.high)


def _largest(rows: Sequence[ChangedOperation]) -> str:
    """Returns the sentence on the largest gain of one change. If the change has other gains in
    other configurations, the sentence ends with a remark on them. `rows`: one row for each group
    of configurations with similar gains."""
    best = max(rows, key=lambda one: one.rate.gain)
    text = _sentence(best)
    if len(rows) == 1:
        return text
    worst = min(rows, key=lambda one: one.rate.gain)
    if worst.rate.gain < 1 and worst.rate.is_stated and not worst.rate.is_none:
        place = f"{'+'.join(worst.operations)} ({worst.where})"
        return f"{text}. It loses for {place}: {worst.rate.judgement}"
    if best.rate.is_none:
        return f"{text} (the same or less in the other groups below)"
    return f"{text} (the largest gain of {len(rows)} groups below)"


def _sentence(one: ChangedOperation) -> str:
    where = f" ({one.where})" if one.total > 1 else ""
    risk = f" ({one.risk})" if one.risk else ""
    what = f"{one.change}{risk}: {'+'.join(one.operations)}{where}"
    then = f"; then limits: {one.limit}" if one.limit else ""
    return f"{what}: {one.rate.judgement}{then}"
