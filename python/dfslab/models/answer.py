"""A model's answer as a Result: every metric with its interval, steps, utilisation, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfslab.models.demand import Calibration
from dfslab.models.prediction import Prediction
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.scenario import Point


def to_result(
    method: str, point: Point, prediction: Prediction, factor: float, notes: Sequence[str],
    calibration: Calibration, factors: Mapping[str, float] | None = None,
) -> Result:  # fmt: skip
    """A prediction as a Result; `factor`: how far an interval reaches up and down.

    `factors` holds those of metrics that differ.
    """
    own = factors or {}

    def metric(name: str, value: float) -> Metric:
        reach = own.get(name, factor)
        return Metric(value=value, low=value / reach, high=value * reach)

    values = {"rate_per_s": prediction.rate_per_s}
    if prediction.mean_size_bytes:
        values["throughput_bytes_per_s"] = prediction.rate_per_s * prediction.mean_size_bytes
    for operation, latency in prediction.latency_s.items():
        values[f"latency_s_mean.{operation}"] = latency
    for (operation, label), latency in prediction.quantiles_s.items():
        values[f"latency_s_{label}.{operation}"] = latency
    low, high = prediction.bounds_per_s
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        metrics={name: metric(name, value) for name, value in values.items()},
        steps=[
            Step(operation=operation, step=step, time_s_mean=time)
            for (operation, step), time in prediction.steps.items()
        ],
        utilisation={str(station): value for station, value in prediction.utilisation.items()},
        binding=prediction.binding,
        notes=list(notes),
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
