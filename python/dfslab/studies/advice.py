"""The result types of the study `advice`: the most effective hardware change for each
configuration, as it is stored and printed.

This module imports no large library, so that stored advice is printed without delay.
"""

from __future__ import annotations

from pydantic import BaseModel, JsonValue

from dfslab.documents.table import Column, Section, Table, TableCell, naming, words
from dfslab.studies.contract import FinishedRun, StudyResult

BASIS = (
    "The best single change for each configuration, predicted by the sequence model. No interval: "
    "the model's own error for such a change is not known. `dfslab compare` gives its error on "
    "this run; a run with the change carried out would settle the gain."
)


class Advice(BaseModel):
    """A single change of the deployment. `gain` is the factor on the rate that the sequence model
    predicts for it.

    `low` and `high` bound the 90 % interval of the gain. The interval includes the uncertainty of
    the model's constants, but not the error of the model itself.
    """

    point_id: str
    labels: dict[str, str | int | float | bool]
    limit: str
    change: str
    gain: float
    low: float
    high: float


class Advised(StudyResult):
    """The best change of every configuration for which some change raises the rate noticeably."""

    study = "advice"
    is_printed_by_run = False
    section_order = 65
    title = "Advice"
    empty = "No change of the declared hardware is predicted to gain more than 2 %."

    advice: list[Advice]

    def table(self) -> Table:
        """Bottleneck, recommended change and gain of each configuration."""
        name = naming(one.labels for one in self.advice)
        rows = [
            (
                words(name(one.labels)),
                words(one.limit),
                words(one.change),
                TableCell(one.gain, f"× {one.gain:.2f}"),
            )
            for one in self.advice
        ]
        columns = [Column(name, "left") for name in ("configuration", "limit", "change")]
        title = "What limits, what to change, what the model says it gains"
        return Table(title, [*columns, Column("gain")], rows, [BASIS])

    def tables(self, run: FinishedRun) -> list[Table]:
        """The table of advice; an empty list if there is no advice."""
        return [self.table()] if self.advice else []

    def section(self, run: FinishedRun) -> Section:
        """The table of advice as a section of the page.

        The section is empty if the scenario names no models.
        """
        blocks = self.tables(run) if run.methods else []
        return Section(self.study, self.title, self.section_order or 0, self.empty, blocks)

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns an empty document: the JSON of `dfslab run` leaves advice out, because `dfslab
        advise` prints it."""
        return {}
