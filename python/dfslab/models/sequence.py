"""The sequence model: evaluates operation trees as formulas (Wu 2013, corrected), with queueing by
mean value analysis (MVA).

The model computes the unloaded latency along the critical path, the demand at each resource, and
bounds of the rate. Closed workloads are solved by exact MVA, open workloads by open stations and
finite call queues.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.models.answer import to_open_result, to_result
from dfslab.models.fit.demand import NOT_CALIBRATED, Calibration, calibrate, uncalibrated
from dfslab.models.tree.ignored import disks_behind_memory, ignored
from dfslab.models.tree.limits import limits_of, limits_of_phases
from dfslab.models.tree.prediction import Situation, situation_of
from dfslab.result import Result
from dfslab.spec.scenario import Point

NAMES = ("sequence",)


def make(name: str) -> SequenceModel:
    """Returns the method `sequence`, which is the only method of this module."""
    return SequenceModel()


class SequenceModel:
    """Predicts from the operation trees in the file system's description. The constants of the
    model are fitted by models/fit/demand.py.
    """

    name = "sequence"

    def __init__(self) -> None:
        self.calibration: Calibration | None = None

    def fit(self, results: Sequence[Result]) -> SequenceModel:
        """Calibrates the constants on measured results."""
        self.calibration = calibrate(results)
        return self

    def run(self, point: Point) -> Result:
        """Predicts one configuration. Without a calibration, the constants have their priors."""
        result, situation, constants = self._predicted(point)
        return result.model_copy(update={"ignored": ignored(situation, constants)})

    def _predicted(self, point: Point) -> tuple[Result, Situation, dict[str, float]]:
        """Returns (prediction, situation, constants) of one configuration."""
        situation = situation_of(point.scenario)
        calibration = self.calibration or uncalibrated(situation)
        missing = sorted(set(situation.constants) - set(calibration.values))
        constants = {**situation.constants, **calibration.values}
        situation = situation.at(constants)
        notes = [*situation.notes, *disks_behind_memory(situation, constants)]
        if missing:
            notes.append(f"never measured, prior used: {', '.join(missing)}")
        if not calibration.is_measured:
            notes.append(NOT_CALIBRATED)
        factor = calibration.interval_factor(situation)
        if point.scenario.workload.arrival != "closed":
            found = situation.predict_open(constants, point.scenario.workload.rate)
            response = calibration.open_factor(situation, constants, found)
            factors = (factor, response)
            result = to_open_result(self.name, point, found, factors, notes, calibration)
            return result, situation, constants
        prediction = situation.predict(constants)
        result = to_result(
            self.name,
            point,
            prediction,
            factor,
            notes,
            calibration,
            limits=limits_of(situation, constants, prediction),
            limits_of_phases=limits_of_phases(situation, constants),
        )
        return result, situation, constants
