"""The study `check`: judges the measurements of a run by the plausibility rules (the "lie
detector")."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from dfslab.documents.table import Paragraph, Section, Tab, Table, TableCell, heads, words
from dfslab.studies.checks.noise import NoiseFloor, noise_table, of_repetitions
from dfslab.studies.checks.of_results import of_results
from dfslab.studies.checks.rule import Finding, judged, rules
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult

NAMES = ("check",)


class Checked(StudyResult):
    """The findings of the plausibility rules for one run. It also has the number of performance
    figures that were judged, the number of rules, and the noise of the measured rates."""

    study = "check"
    is_worth_a_page = False
    section_order = 12
    tab = Tab.RAW
    title = "Check of the figures"
    empty = "Nothing was measured that rules could judge."

    figures: int
    rules: int
    findings: list[Finding]
    noise: list[NoiseFloor] = []

    def tables(self, run: FinishedRun) -> list[Table]:
        """A list with one table, which has a row for each rule that fired; an empty list if no rule
        fired."""
        return [finding_table(self.findings)] if self.findings else []

    def section(self, run: FinishedRun) -> Section:
        """Returns the section of the page: the findings, or a sentence that there are none, and
        then the noise between repetitions."""
        blocks: list[Table | Paragraph] = [Paragraph(self.summary), *self.tables(run)]
        blocks += [noise_table(self.noise)] if self.noise else []
        return Section(self.study, self.title, self.section_order or 0, self.empty, blocks)

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns the findings as JSON. An empty list of findings means that figures were judged
        and no rule fired."""
        return {self.study: self.model_dump(mode="json")}

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        return summary(self.figures, self.rules, self.findings)


class CheckStudy(Study[Checked]):
    """Judges every measured result by every plausibility rule. A rule does not fire if a fact that
    it needs is unknown."""

    name = "check"
    result = Checked
    needs = Needs(measured=True)
    order = 90

    def run(self, run: FinishedRun, progress: Progress) -> Checked | None:
        """Returns the findings; None if nothing was measured."""
        evidence = of_results(run.settled)
        if not evidence:
            return None
        return Checked(
            figures=len(evidence),
            rules=len(rules()),
            findings=judged(evidence),
            noise=of_repetitions(run.settled),
        )


def make(name: str) -> CheckStudy:
    """Returns the study `check`; study discovery calls this function with the study's name."""
    return CheckStudy()


def summary(figures: int, known: int, findings: Sequence[Finding]) -> str:
    """Returns one sentence: how many figures were judged by how many rules, and which rules
    fired."""
    fired = list(dict.fromkeys(one.rule for one in findings))
    counted = f"{figures} figure{'s' if figures != 1 else ''} judged by {known} rules"
    return f"{counted}: {', '.join(fired) if fired else 'no rule fired'}."


def finding_table(findings: Sequence[Finding]) -> Table:
    """Returns a table with one row for each rule that found an implausible figure. A row has the
    rule's first finding, the number of further findings, why the figure is wrong, and how to find
    out the correct figure."""
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(one.rule, []).append(one)
    rows: list[Sequence[TableCell]] = []
    notes = []
    for name, members in groups.items():
        more = len(members) - 1
        others = f" (and {more} other{'s' if more > 1 else ''})" if more else ""
        first = members[0]
        rows.append((words(name), words(first.subject + others), words(first.stated)))
        notes.append(f"{name}: {first.reason} To settle it: {first.settles}")
    columns = heads("rule", "figure", "contradiction", left=("figure", "contradiction"))
    return Table("Figures that are wrong or in doubt", columns, rows, notes)
