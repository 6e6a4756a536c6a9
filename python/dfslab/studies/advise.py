"""The studies `advice` and `sliders`.

The study `advice` states what limits a run, what to change, how much the change gains, and how
certain the gain is. The study `sliders` states the rates at other values of each hardware quantity.
"""

from __future__ import annotations

from dfslab.method import RunFailed
from dfslab.spec.changes.goal import Goal
from dfslab.spec.input_error import InputError
from dfslab.studies.contract import FinishedRun, Needs, Progress, Study
from dfslab.studies.decisions.decision_input import evidence_in
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.decisions.slider_points import SliderPoints, slider_points

NAMES = ("advice", "sliders")
GOAL: Goal = "rate"


class AdviceStudy(Study[Advised]):
    """Searches for the changes that raise the rate (operations per second) most. The study predicts
    rates from the run's measurements. If there are none, it uses the models of the file system's
    description. Prices are the default prices of dfslab."""

    name = "advice"
    result = Advised
    needs = Needs(results=True, models=True)
    order = 35

    def run(self, run: FinishedRun, progress: Progress) -> Advised:
        """Returns the changes that raise the rate most.

        Raises RunFailed if the sequence model predicts no configuration of the run.
        """
        try:
            evidence = evidence_in(run.folder, run.scenario, run.settled)
            return Advised(advice=recommend(evidence, GOAL, prices_of()))
        except InputError as error:
            raise RunFailed(f"no advice: {error}") from error


class SlidersStudy(Study[SliderPoints]):
    """Predicts, with the queueing model, the rates that the sliders of the page show."""

    name = "sliders"
    result = SliderPoints
    needs = Needs(results=True)
    order = 36

    def run(self, run: FinishedRun, progress: Progress) -> SliderPoints:
        """Returns the predicted rates. If no rate can be predicted, the field `reason` of the
        result says why."""
        return slider_points(run)


def make(name: str) -> AdviceStudy | SlidersStudy:
    """Returns the study `advice` or `sliders`; study discovery calls this function with the study's
    name."""
    return AdviceStudy() if name == AdviceStudy.name else SlidersStudy()
