"""The sequence model: operation trees as formulas with queueing (Wu 2013, corrected, and MVA).

Unloaded latency by critical path, demands per resource, exact MVA for a closed load, bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.models.demand import Calibration, calibrate, uncalibrated
from dfslab.models.prediction import Prediction, Situation
from dfslab.result import Metric, Result, Step, provenance
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
        notes = [f"never measured, prior used: {', '.join(missing)}"] if missing else []
        if self.calibration is None:
            notes.append("not calibrated: nothing was measured")
        return to_result(self.name, point, prediction, factor, notes, calibration)


def to_result(
    method: str, point: Point, prediction: Prediction, factor: float, notes: list[str],
    calibration: Calibration,
) -> Result:  # fmt: skip
    """A prediction and the factor its interval reaches up and down, as a Result."""

    def metric(value: float) -> Metric:
        return Metric(value=value, low=value / factor, high=value * factor)

    metrics = {"rate_per_s": metric(prediction.rate_per_s)}
    if prediction.mean_size_bytes:
        metrics["throughput_bytes_per_s"] = metric(
            prediction.rate_per_s * prediction.mean_size_bytes
        )
    for operation, latency in prediction.latency_s.items():
        metrics[f"latency_s_mean.{operation}"] = metric(latency)
    low, high = prediction.bounds_per_s
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        metrics=metrics,
        steps=[
            Step(operation=operation, step=step, time_s_mean=time)
            for (operation, step), time in prediction.steps.items()
        ],
        utilisation={str(station): value for station, value in prediction.utilisation.items()},
        binding=prediction.binding,
        notes=notes,
        detail={
            "bounds_per_s": [low, high],
            "unloaded_s": dict(prediction.unloaded_s),
            "constants": [
                {"key": c.key, "meaning": c.meaning, "unit": c.unit, "value": c.value,
                 "log_standard_error": c.log_standard_error, "learnt": c.learnt}
                for c in calibration.constants
            ],
        },
        provenance=provenance(point.scenario.run.seed),
    )  # fmt: skip
