"""The result of the study `advice` as it is stored and printed.

This module imports no large library, so that stored advice is printed without delay.
"""

from __future__ import annotations

from pydantic import JsonValue

from dfslab.documents.table import Paragraph, Section, Tab, Table
from dfslab.studies.contract import FinishedRun, StudyResult
from dfslab.studies.decisions.reported.advice_table import Recommended


class Advised(StudyResult):
    """What limits a run, what to change, what the change gains, and how certain the gain is."""

    study = "advice"
    is_printed_by_run = False
    section_order = 65
    tab = Tab.WHAT_IF
    title = "Advice"
    empty = "No advice was computed for this run."

    advice: Recommended

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns the table of actions; an empty list if no action gains anything."""
        return [self.advice.table()] if self.advice.rows else []

    def section(self, run: FinishedRun) -> Section:
        """Returns the section of the page: the advice in sentences, and the table of actions.

        The section is empty if the scenario names no models.
        """
        blocks: list[Table | Paragraph] = []
        if run.methods:
            blocks += [Paragraph(one) for one in self.advice.sentences()]
            blocks += self.tables(run)
        return Section(self.study, self.title, self.section_order or 0, self.empty, blocks)

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns an empty document: the JSON of `dfslab run` leaves advice out, because `dfslab
        advise` prints it."""
        return {}
