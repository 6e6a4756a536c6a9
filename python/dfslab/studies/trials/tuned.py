"""The result of `dfslab tune`: the settings that were measured, and the combination that is
kept."""

from __future__ import annotations

from pydantic import BaseModel

from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.spec.changes.goal import Goal
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.decisions.reported.whatif_table import gain_cell
from dfslab.studies.trials.measured_gain import MeasuredGain

KEPT = "kept"


class TriedSetting(BaseModel):
    """A combination of settings that was measured.

    `predicted`: the gain that was stated before the run. `real`: the measured gain, compared with
    the runs of the start settings before and after the run; None if the run failed. `refused`: why
    the run failed. `record`: id of the intervention record. `risk`: what the settings sacrifice,
    such as durability; "" if nothing.
    """

    change: str
    predicted: GainEstimate
    real: MeasuredGain | None
    refused: str
    record: str
    risk: str = ""

    @property
    def is_better(self) -> bool:
        """Whether the setting is faster than the start settings beyond the noise of the
        measurements. True if the 90 % interval of the setting's measured gain is above 1."""
        return self.real is not None and self.real.low is not None and self.real.low > 1.0


class Tuned(BaseModel):
    """The outcome of tuning. `kept`: the combination that is kept; "" if the start settings are
    kept. `scenario`: the file with the kept settings. `runs`: number of measured runs, including
    the runs of the start settings. `noise`: relative standard deviation of one run of the start
    settings; None if unknown."""

    source: str
    goal: Goal
    tried: list[TriedSetting]
    kept: str
    runs: int
    noise: float | None
    scenario: str
    records: str
    notes: list[str]
    is_interrupted: bool = False

    def sentences(self) -> list[str]:
        """The outcome in sentences: what is kept and why, and which settings could not be run."""
        chosen = next((one for one in self.tried if one.change == self.kept), None)
        measured = sum(one.real is not None for one in self.tried)
        if chosen is not None and chosen.real is not None:
            head = f"Best of {measured} measured settings: {self.kept}, {chosen.real.text}."
        elif measured:
            head = (
                f"The start settings are kept: none of {measured} measured settings is better "
                "beyond noise."
            )
        else:
            head = "The start settings are kept: no other setting was measured."
        refused = [f"Not run: {one.change}: {one.refused}" for one in self.tried if one.refused]
        risks = [f"Risk of {one.change}: {one.risk}." for one in self.tried if one.risk]
        return [head, *risks, *refused]

    def table(self) -> Table:
        """Returns a table with one row for each measured combination, in the order of the runs."""
        columns = [Column("setting", "left"), Column("predicted (90 %)"), Column("real (90 %)")]
        columns.append(Column("choice", "left"))
        rows = [
            (
                words(one.change),
                gain_cell(one.predicted),
                words("–")
                if one.real is None
                else TableCell(one.real.gain, one.real.text, low=one.real.low, high=one.real.high),
                words(KEPT if one.change == self.kept else ""),
            )
            for one in self.tried
        ]
        notes = list(self.notes)
        if self.noise is not None:
            share = f"{self.noise:.1%}".replace("%", " %")
            notes.insert(0, f"Repeated runs of the start settings differ by {share}.")
        return Table(f"Settings for {self.goal}", columns, rows, notes)
