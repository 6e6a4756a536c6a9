"""The study `learning`: effects of a designed sweep's factors, by `designs/learning.py`."""

from __future__ import annotations

from dfslab.studies.contract import FinishedRun, Needs, Progress, Study
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.runs.stages import Stage

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
        """The result of the analysis. RunFailed if there are too few measurements."""
        # Imported here, because statistics libraries take seconds to load.
        from dfslab.studies.designs.learning import learn

        return learn(run.scenario, run.of_method("measure"), progress)


def make(name: str) -> LearningStudy:
    """The study `learning`, for discovery."""
    return LearningStudy()
