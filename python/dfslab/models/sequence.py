"""The sequence model: operation trees as formulas with queueing (Wu 2013, corrected, and MVA).

Unloaded latency by critical path, demands per resource, exact MVA for a closed load, bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.models.answer import to_result
from dfslab.models.demand import Calibration, calibrate, uncalibrated
from dfslab.models.prediction import Situation
from dfslab.result import Result
from dfslab.spec.scenario import Point

NAMES = ("sequence",)


def make(name: str) -> SequenceModel:
    """The method of that name."""
    return SequenceModel()


class SequenceModel:
    """Predicts from the description; its constants are fitted by models/demand.py."""

    name = "sequence"

    def __init__(self) -> None:
        self.calibration: Calibration | None = None

    def fit(self, results: Sequence[Result]) -> SequenceModel:
        """Calibrate the constants on measured results."""
        self.calibration = calibrate(results)
        return self

    def run(self, point: Point) -> Result:
        """Predict one configuration."""
        situation = Situation(point.scenario)
        calibration = self.calibration or uncalibrated(situation)
        missing = sorted(set(situation.constants) - set(calibration.values))
        constants = {**situation.constants, **calibration.values}
        prediction = situation.predict(constants)
        factor = calibration.interval_factor(situation)
        notes = situation.notes
        if missing:
            notes.append(f"never measured, prior used: {', '.join(missing)}")
        if self.calibration is None:
            notes.append("not calibrated: nothing was measured")
        return to_result(self.name, point, prediction, factor, notes, calibration)
