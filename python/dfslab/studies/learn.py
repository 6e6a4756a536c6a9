"""The study `learning`: what a designed sweep teaches of its factors; learning.py computes it."""

from __future__ import annotations

from dfslab.studies.contract import FinishedRun, Needs, Progress, Study
from dfslab.studies.lessons import Learning
from dfslab.studies.stages import Stage

NAMES = ("learning",)


class LearningStudy(Study[Learning]):
    """Importance, slopes, validation and the next runs of a scenario with declared factors."""

    name = "learning"
    result = Learning
    needs = Needs(measured=True, models=True, design=True)
    order = 50
    stage: Stage = "learning"
    refused = "nothing was learnt from the factors"

    def run(self, run: FinishedRun, progress: Progress) -> Learning:
        """Everything that the measurements teach. RunFailed where they are too few."""
        # Statistics take seconds to import: only who asks for them waits.
        from dfslab.studies.learning import learn

        return learn(run.scenario, run.of_method("measure"), progress)


def make(name: str) -> LearningStudy:
    """The study."""
    return LearningStudy()
