"""The result of `dfslab advise --verify`: predicted gains compared with the measured gains of the
same changes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.spec.changes.goal import Goal
from dfslab.studies.checks.thresholds import OTHERS
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.decisions.reported.whatif_table import gain_cell
from dfslab.studies.trials.measured_gain import MeasuredGain

Agreement = Literal["inside", "outside", "not measured"]


class CarriedOut(BaseModel):
    """One change that was predicted and then carried out.

    `real`: the measured gain; None if the change was not measured. `refused`: why the change was
    not carried out; "" if it was carried out. `record`: id of the intervention record.
    `others_share`: largest share of the processors that other programs used during a run; None if
    unknown.
    """

    operations: list[str]
    configuration: str
    change: str
    predicted: GainEstimate
    real: MeasuredGain | None
    refused: str
    record: str
    others_share: float | None

    @property
    def agreement(self) -> Agreement:
        """Whether the measured gain is "inside" or "outside" the predicted 90 % interval; "not
        measured" if there is no measured gain."""
        if self.real is None:
            return "not measured"
        return (
            "inside" if self.predicted.low <= self.real.gain <= self.predicted.high else "outside"
        )


class VerifiedAdvice(BaseModel):
    """The changes that were carried out, in the order of the advice.

    `records`: the file with their intervention records. `is_interrupted`: whether an interrupt
    (Ctrl-C) ended the measurements early.
    """

    source: str
    goal: Goal
    rows: list[CarriedOut]
    records: str
    notes: list[str]
    is_interrupted: bool = False

    def sentences(self) -> list[str]:
        """Returns sentences on the outcome: how many measured gains are inside their predicted
        intervals, why each refused change could not be carried out, and how much processor time
        other programs used."""
        measured = [one for one in self.rows if one.real is not None]
        inside = sum(one.agreement == "inside" for one in measured)
        found = [
            f"Carried out: {len(measured)} of {len(self.rows)} changes; the measured gain of "
            f"{inside} is inside the predicted 90 % interval."
        ]
        found += [
            f"Not carried out: {one.change}: {one.refused}" for one in self.rows if one.refused
        ]
        shares = [one.others_share for one in self.rows if one.others_share is not None]
        if max(shares, default=0.0) > OTHERS:
            share = f"{max(shares):.0%}".replace("%", " %")
            found.append(
                f"Other programs used up to {share} of this machine's processors meanwhile."
            )
        return found

    def table(self) -> Table:
        """Returns a table with one row for each change: the predicted gain, the measured gain, and
        whether the measured gain is inside the predicted interval."""
        columns = [Column(name, "left") for name in ("operations", "change")]
        columns += [Column("predicted (90 %)"), Column("real (90 %)"), Column("real is", "left")]
        rows = [
            (
                words(f"{'+'.join(one.operations)}\n{one.configuration}".strip()),
                words(one.change),
                gain_cell(one.predicted),
                _real_cell(one.real),
                words(one.agreement),
            )
            for one in self.rows
        ]
        return Table("Predicted and carried out", columns, rows, [*self.notes])


def _real_cell(real: MeasuredGain | None) -> TableCell:
    if real is None:
        return words("–")
    return TableCell(real.gain, real.text, low=real.low, high=real.high)
