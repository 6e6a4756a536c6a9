"""The study `learning`: analyses a designed sweep with the module `designs.learning`."""

from __future__ import annotations

from dfslab.studies.contract import FinishedRun, Needs, Progress, Study
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.runs.stages import Stage

NAMES = ("learning",)


class LearningStudy(Study[Learning]):
    """Analyses a sweep over declared factors: the importance of the factors, their slopes, the
    validation of models, and proposed next runs."""

    name = "learning"
    result = Learning
    needs = Needs(measured=True, models=True, design=True)
    order = 50
    stage: Stage = "learning"
    refused = "nothing was learnt from the factors"

    def run(self, run: FinishedRun, progress: Progress) -> Learning:
        """The result of the analysis. Raises RunFailed if there are too few measurements."""
        # Imported here, because statistics libraries take seconds to load.
        from dfslab.studies.designs.learning import learn

        return learn(run.scenario, run.of_method("measure"), progress)


def make(name: str) -> LearningStudy:
    """Returns the study `learning`; study discovery calls this function with the study's name."""
    return LearningStudy()
