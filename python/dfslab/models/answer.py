"""Converts a model's prediction to a Result, which has every metric with its interval, step times,
utilisation, and calibrated constants.

The parts of a result are validated when they are constructed, but the result itself is not
validated. Validation of a `Result` needs a validator for all documents of measurements, and
building this validator takes longer than a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfslab.documents import metrics as metric_names
from dfslab.documents.answers import (
    CalibrationFit,
    FittedConstant,
    Limit,
    OpenLoadAnswer,
    PredictedPhase,
)
from dfslab.documents.metrics import LATENCY, MEAN, RESPONSE
from dfslab.models.fit.demand import Calibration
from dfslab.models.limit_text import text_of
from dfslab.models.tree.predicted import OpenPrediction, Prediction
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.scenario import Point


def to_result(
    method: str,
    point: Point,
    prediction: Prediction,
    factor: float,
    notes: Sequence[str],
    calibration: Calibration,
    factors: Mapping[str, float] | None = None,
    limits: Sequence[Limit] = (),
    limits_of_phases: Sequence[Sequence[Limit]] = (),
) -> Result:
    """Converts a prediction to a Result.

    - `factor`: each interval is [value / `factor`, value * `factor`].
    - `factors`: factors of single metrics, by metric name, which replace `factor`.
    - `limits`: the resources and waits that limit the rate (models/tree/limits.py).
    - `limits_of_phases`: the resources and waits that limit the rate of each phase.
    """
    own = factors or {}

    def metric(name: str, value: float) -> Metric:
        return _around(value, own.get(name, factor))

    values = {metric_names.RATE: prediction.rate_per_s}
    if prediction.moved_bytes:
        values[metric_names.THROUGHPUT] = prediction.rate_per_s * prediction.moved_bytes
    for operation, latency in prediction.latency_s.items():
        values[metric_names.key(LATENCY, MEAN, operation)] = latency
    for (operation, label), latency in prediction.quantiles_s.items():
        values[metric_names.key(LATENCY, label, operation)] = latency
    low, high = prediction.bounds_per_s
    return Result.model_construct(
        method=method,
        point_id=point.id,
        point=point,
        metrics={name: metric(name, value) for name, value in values.items()},
        steps=[
            Step(operation=operation, step=str(step), time_s_mean=time)
            for (operation, step), time in prediction.steps.items()
        ],
        utilisation={str(station): value for station, value in prediction.utilisation.items()},
        bottleneck=text_of(limits),
        limits=list(limits),
        phases=_phases(prediction, own.get(metric_names.RATE, factor), limits_of_phases),
        notes=list(notes),
        is_calibrated=calibration.is_measured,
        fit=CalibrationFit(
            bounds_per_s=(low, high),
            unloaded_s=dict(prediction.unloaded_s),
            constants=[
                FittedConstant(
                    key=c.key,
                    meaning=c.meaning,
                    unit=c.unit,
                    value=c.value,
                    log_standard_error=c.log_standard_error,
                    learnt=c.learnt,
                )
                for c in calibration.constants
            ],
        ),
        provenance=provenance(point.scenario.run.seed),
    )


def _phases(
    prediction: Prediction, factor: float, limits_of_phases: Sequence[Sequence[Limit]]
) -> list[PredictedPhase]:
    """Returns the phases of a prediction. Each interval is [rate / `factor`, rate * `factor`]."""
    return [
        PredictedPhase(
            name=one.name,
            rate_per_s=one.rate_per_s,
            rate_per_s_low=one.rate_per_s / factor,
            rate_per_s_high=one.rate_per_s * factor,
            throughput_bytes_per_s=one.throughput_bytes_per_s,
            limits=list(limits),
        )
        for one, limits in zip(prediction.phases, limits_of_phases, strict=True)
    ]


def to_open_result(
    method: str,
    point: Point,
    found: OpenPrediction,
    factors: tuple[float, float],
    notes: Sequence[str],
    calibration: Calibration,
) -> Result:
    """Converts a prediction for an open workload to a Result.

    `factors` is (interval factor of the rate, interval factor of the response times). Both are >=
    1. Below saturation, the rate equals the offered rate, so both ends of its interval equal the
    rate.
    """
    rate_factor = factors[0] if found.rate_per_s < found.offered_per_s else 1.0
    metrics = {metric_names.RATE: _around(found.rate_per_s, rate_factor)}
    for operation, time in found.operations_s.items():
        metrics[metric_names.key(RESPONSE, MEAN, operation)] = _around(time, factors[1])
    if len(found.operations_s) == 1:
        (operation,) = found.operations_s
        for label, time in found.quantiles_s.items():
            metrics[metric_names.key(RESPONSE, label, operation)] = _around(time, factors[1])
    remarks = list(notes)
    if found.offered_per_s > found.largest_rate_per_s:
        remarks.append(
            f"the offered rate exceeds what {found.bottleneck} can serve: "
            f"{found.largest_rate_per_s:.4g} a second"
        )
        if found.places is None:
            remarks.append("the call queue is unbounded, so no response time is predicted")
        else:
            remarks.append(
                f"{found.refused:.1%} of the calls find the call queue of {found.places:g} full"
            )
    return Result.model_construct(
        method=method,
        point_id=point.id,
        point=point,
        metrics=metrics,
        bottleneck=found.bottleneck,
        notes=remarks,
        is_calibrated=calibration.is_measured,
        provenance=provenance(point.scenario.run.seed),
        open_load=OpenLoadAnswer(
            offered_per_s=found.offered_per_s,
            largest_rate_per_s=found.largest_rate_per_s,
            call_queue=found.places,
            refused=found.refused,
        ),
    )


def _around(value: float, factor: float) -> Metric:
    return Metric(value=value, low=value / factor, high=value * factor)
