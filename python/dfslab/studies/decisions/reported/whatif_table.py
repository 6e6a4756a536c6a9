"""The gains of given changes as a document: sentences, a table and JSON."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, JsonValue

from dfslab.documents.answers import Sureness
from dfslab.documents.table import Column, Table, TableCell, absent, words
from dfslab.studies.decisions.gains import (
    WORTH_JOINING,
    Basis,
    GainEstimate,
    factor_text,
    legend,
    probability_text,
)
from dfslab.studies.decisions.reported.withheld import WITHHELD, withheld_note

# Largest number of best changes that the first sentence names.
MOST_BEST = 3
# Largest number of configurations of a change for which a narrow table has one line each.
MOST_LINES = 12
RIGHT = (
    "P(right): probability that the predicted direction is right, or that the rate changes by less "
    "than 10 % if none is predicted. Rounded down."
)


class ChangedOperation(BaseModel):
    """The gain of one change for one configuration. The gain is reliable; WithheldChange is for
    other changes.

    `operations`: the operations of the configuration. `configuration`: its name, as the page of a
    run has it. `total`: number of all configurations that have the change. `rate`: gain of the
    rate. `times`: gain of the time of each operation (above 1: the operation takes less time).
    `limit`: what limits the rate after the change. `parts`: number of single changes that the
    change combines. `risk`: what the change sacrifices, such as durability; "" if nothing.
    `before_per_s`, `after_per_s`: rate before and after the change, in operations per second.
    """

    change: str
    operations: list[str]
    configuration: str
    total: int
    rate: GainEstimate
    times: dict[str, GainEstimate]
    before_per_s: float
    after_per_s: float
    limit: str
    parts: int = 1
    risk: str = ""

    @property
    def place(self) -> str:
        """The configuration in words: its name, or its operations if it is the only one."""
        return self.configuration if self.total > 1 else "+".join(self.operations)


class WithheldChange(BaseModel):
    """A change whose gain is withheld, because its prediction is not reliable. The document has no
    predicted figure and no predicted limit. One WithheldChange has all configurations with the same
    mix of operations. The fields are those of ChangedOperation; `withheld` has the reasons."""

    change: str
    operations: list[str]
    configurations: list[str]
    total: int
    withheld: list[str]
    parts: int = 1

    @property
    def places(self) -> list[str]:
        """The names of the configurations; the operations if there is only one configuration."""
        return self.configurations if self.total > 1 else ["+".join(self.operations)]


class WhatIf(BaseModel):
    """The gains of changes. A gain is withheld if its prediction is not reliable.

    `rows`: the known gains. `withheld`: the changes whose gain is withheld, in the given order.
    `basis`: "run" if the predictions are calibrated on a run, else "description". `settling`: a
    sentence on a measurement that would give the first withheld gain, with its command and
    duration; empty if no gain is withheld. `assumed`: sentences on assumptions of the scenario on
    which a gain depends, such as that the data are in memory."""

    source: str
    basis: Basis
    rows: list[ChangedOperation]
    withheld: list[WithheldChange] = []
    settling: list[str]
    notes: list[str]
    assumed: list[str] = []

    def sentences(self) -> list[str]:
        """Returns one sentence for each change. It states the range of the gains over all
        configurations, and the largest gain. If there are several changes, another sentence comes
        first: it names the change that gains most."""
        by_change = self._by_change()
        most_rows = max(map(len, by_change.values()), default=0)
        found = [_range(rows, most_rows) for rows in by_change.values()]
        found += withheld_note((one.change, one.withheld) for one in self.withheld)
        several = len({*by_change, *(one.change for one in self.withheld)}) > 1
        most = [most_sentence(self.rows)] if several else []
        return [*most, *found, *self.assumed]

    def _by_change(self) -> dict[str, list[ChangedOperation]]:
        found: dict[str, list[ChangedOperation]] = {}
        for one in self.rows:
            found.setdefault(one.change, []).append(one)
        return found

    def document(self) -> dict[str, JsonValue]:
        """The JSON document that commands print."""
        found: dict[str, JsonValue] = self.model_dump(mode="json")
        return found

    def table(self) -> Table:
        """Returns a table of all gains, with one row for each change and configuration. Changes
        whose gain is withheld follow; their rows have no figure."""
        second = "configuration" if self._several else "operations"
        columns = [Column(name, "left") for name in ("change", second)]
        columns += [Column("gain (90 %)"), Column("P(right)"), Column("certainty", "left")]
        rows = [(words(_with_risk(one)), words(one.place), *_judged(one)) for one in self.rows]
        rows += [
            (words(one.change), words(place), absent(), absent(), words(WITHHELD))
            for one in self.withheld
            for place in one.places
        ]
        right = [RIGHT] if self.rows else []
        return Table("What changes would gain", columns, rows, [*right, *self._notes()])

    def brief_tables(self) -> list[Table]:
        """Returns tables for a terminal of 80 columns: one for each change, with one line for each
        configuration. A change with more than MOST_LINES configurations has the lines of its
        smallest, median and largest gain. If no change has several configurations, returns the
        table of all gains."""
        if not self._several:
            return [self.table()]
        columns = [Column("configuration", "left", wraps=True), Column("gain (90 %)")]
        columns.append(Column("certainty", "left"))
        found = []
        for change, rows in self._by_change().items():
            shown = rows if len(rows) <= MOST_LINES else _extremes(rows)
            left = len(rows) - len(shown)
            more = f" (smallest, median, largest of {len(rows)})" if left else ""
            risk = next((f"; {one.risk}" for one in rows if one.risk), "")
            lines = [
                (words(one.place), gain_cell(one.rate), words(one.rate.statement)) for one in shown
            ]
            note = [f"--wide lists all {len(rows)} configurations."] if left else []
            found.append(Table(f"Gain of {change}{more}{risk}", columns, lines, note))
        if self.withheld:
            lines = [
                (words(f"{one.change}: {_all_places(one)}"), absent(), words(WITHHELD))
                for one in self.withheld
            ]
            found.append(Table("Withheld gains", columns, lines))
        last = found.pop()
        return [*found, replace(last, notes=[*last.notes, *self._notes()])]

    @property
    def _several(self) -> bool:
        """Whether some change is predicted for more than one configuration."""
        totals = [one.total for one in self.rows] + [one.total for one in self.withheld]
        return max(totals, default=0) > 1

    def _notes(self) -> list[str]:
        return [*legend(one.rate for one in self.rows), *self.settling, *self.notes]


def _all_places(one: WithheldChange) -> str:
    """Returns the name of the only configuration of a withheld change, or the operations and the
    number of its configurations."""
    if len(one.places) == 1:
        return one.places[0]
    return f"{'+'.join(one.operations)}, {len(one.places)} configurations"


def _extremes(rows: Sequence[ChangedOperation]) -> list[ChangedOperation]:
    """Returns the rows of the smallest, the median and the largest gain."""
    ordered = sorted(rows, key=lambda one: one.rate.gain)
    return [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]]


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
    configuration. If several sets of changes all have about the largest gain of a configuration,
    the smallest set is the best one. If configurations have different best changes, the sentence
    names the best change of each."""
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
    every = {_place(one) for one in rows}
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
        _place(one) in best and is_as_good(best[_place(one)].rate.certain_gain, one.rate.gain)
        for one in rows
        if one.rate.gain > 1 and not one.rate.is_none
    )


def _place(one: ChangedOperation) -> tuple[str, ...]:
    return (*one.operations, one.configuration)


def _best_by_configuration(
    rows: Sequence[ChangedOperation],
) -> dict[tuple[str, ...], ChangedOperation]:
    """Returns the row of the best change for each pair (operations, configuration) in which a
    change gains with the highest certainty that the file system allows."""
    sure: dict[tuple[str, ...], list[ChangedOperation]] = {}
    for one in rows:
        gains = one.rate.gain > 1 and not one.rate.is_none
        if gains and one.rate.is_as_sure_as_possible:
            sure.setdefault(_place(one), []).append(one)
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


def _range(rows: Sequence[ChangedOperation], most_rows: int) -> str:
    """Returns the sentence on the gains of one change: the smallest, the median and the largest
    gain, the configuration with the largest gain, and what limits it then. If the smallest gain is
    a stated loss, the sentence names its configuration, too.

    `rows`: one row for each configuration. `most_rows`: the largest number of configurations of any
    change. If this change has fewer configurations, its range is not comparable with that of the
    other changes. The sentence then states both numbers.
    """
    best = max(rows, key=lambda one: one.rate.gain)
    worst = min(rows, key=lambda one: one.rate.gain)
    risk = f" ({best.risk})" if best.risk else ""
    then = f"; then limits: {best.limit}" if best.limit else ""
    if len(rows) == 1:
        return f"{best.change}{risk}: {best.place}: {best.rate.judgement}{then}"
    low, median, high = (
        factor_text(one)
        for one in (
            worst.rate.gain,
            statistics.median(one.rate.gain for one in rows),
            best.rate.gain,
        )
    )
    span = f"× {low} in all" if low == high else f"× {low} to × {high}, median × {median}, in"
    number = f"{len(rows)} of {most_rows}" if len(rows) < most_rows else str(len(rows))
    text = f"{best.change}{risk}: {span} {number} configurations. Largest, {best.place}: "
    text += f"{best.rate.judgement}{then}"
    if worst.rate.gain < 1 and worst.rate.is_stated and not worst.rate.is_none:
        text += f". It loses for {worst.place}: {worst.rate.judgement}"
    return text
