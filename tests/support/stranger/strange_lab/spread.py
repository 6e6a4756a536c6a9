"""A study that compares the fastest repetition of each configuration with the slowest."""

from __future__ import annotations

from dfslab.documents.table import Table, heads, percent, words
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study, StudyResult

NAMES = ("spread_of_package",)


class Spread(StudyResult):
    """The result of the study. `ratios` maps the id of each configuration to (fastest rate /
    slowest rate) - 1. The rates are those of the configuration's repetitions."""

    study = "spread_of_package"
    section_order = 13
    title = "Spread of repetitions"
    empty = "Nothing was repeated."

    ratios: dict[str, float]

    def tables(self, run: FinishedRun) -> list[Table]:
        """Returns a table with one row for each configuration."""
        labels = {point.id: point.labels for point in run.points}
        rows = [(words(run.name(labels[id])), percent(one)) for id, one in self.ratios.items()]
        return [Table("Fastest over slowest", heads("configuration", "spread"), rows)]


class SpreadStudy(Study[Spread]):
    """Compares the repetitions of each configuration."""

    name = "spread_of_package"
    result = Spread
    needs = Needs(measured=True)

    def run(self, run: FinishedRun, progress: Progress) -> Spread:
        """Returns the spread of the repetitions of every configuration."""
        rates: dict[str, list[float]] = {}
        for one in run.of_method("measure"):
            rates.setdefault(one.point_id, []).append(one.value())
        return Spread(ratios={id: max(all) / min(all) - 1 for id, all in rates.items()})


def make(name: str) -> SpreadStudy:
    """Returns the study; discovery calls this with the study's name."""
    return SpreadStudy()
