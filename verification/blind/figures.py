"""Computes the figures that judge a blind campaign from its files: errors, coverage, baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from dfslab.quantiles import p90

from verification.blind import frozen, record
from verification.blind.campaign import about_of
from verification.blind.frozen import FrozenPrediction
from verification.blind.record import PREFIX, CampaignFiles, MeasuredPoint
from verification.figures import Figure
from verification.recordings import DATA

EXPERIMENT = "blind"
WHOLE = 240
# Names of two parts of a recording: the points during which the contention was at most
# MOST_CONTENTION, and all other points.
QUIET, CONTENDED = "quiet", "contended"
# The number of values of v / (u + v) that the baseline `serial` tries. u and v are the constants of
# Amdahl's law, clients / rate = u + v × clients.
SHAPES = 101


@dataclass(frozen=True)
class Judged:
    """A point with its prediction and one measurement of its rate."""

    predicted: FrozenPrediction
    measured: MeasuredPoint

    @property
    def rate_per_s(self) -> float:
        """The measured rate in operations per second."""
        assert self.measured.rate_per_s is not None, "points without a rate are not judged"
        return self.measured.rate_per_s

    @property
    def error(self) -> float:
        """The signed relative error: predicted rate / measured rate - 1."""
        return self.predicted.predicted_per_s / self.rate_per_s - 1

    @property
    def is_inside(self) -> bool:
        """Whether the measured rate is inside the predicted 90 % interval."""
        return self.predicted.low_per_s <= self.rate_per_s <= self.predicted.high_per_s

    @property
    def per_byte(self) -> float:
        """The measured rate in bytes per second, or in operations per second if the operation
        transfers no data."""
        return self.rate_per_s * max(1, self.predicted.size_bytes)


def subjects() -> list[str]:
    """Returns the names of all recorded campaigns."""
    return sorted(path.stem for path in DATA.glob(f"{PREFIX}*.json"))


def judged(files: CampaignFiles) -> list[Judged]:
    """Returns every measurement of a rate with its prediction, in the order of the measurements.

    Raises InputError if the predictions were altered after they were frozen."""
    about_of(files)
    predictions = {one.name: one for one in frozen.read(files.frozen)}
    return [
        Judged(predictions[one.name], one)
        for one in record.read(files.measured)
        if one.rate_per_s is not None
    ]


def figures(recording: str) -> list[Figure]:
    """Returns the figures of a campaign. The errors and the coverage are computed three times: for
    all points, for the points within the limit of contention, and for the points beyond it. The
    coverage of all points is also computed for each file system and each regime. One more figure
    for each baseline is the ratio of the error to the error of the baseline."""
    every = judged(CampaignFiles(recording))
    quiet = [one for one in every if not one.measured.is_contended]
    contended = [one for one in every if one.measured.is_contended]
    rows: list[tuple[str, str, float | None, int]] = []
    for part, own in (("", every), (QUIET, quiet), (CONTENDED, contended)):
        rows += [(f"blind.{name}", part, value(own), len(own)) for name, value in VALUES.items()]
    for part, own in _parts(every):
        rows.append(("blind.coverage-part", part, coverage(own), len(own)))
    for name, predict in BASELINES.items():
        rows.append(("blind.over-baseline", name, *_relative(every, predict)))
    rows.append(("blind.points", "", len(every) / WHOLE, len(every)))
    return [Figure(EXPERIMENT, recording, *row) for row in rows]


def _parts(found: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Yields (name, points) for each file system and for each regime. A regime is the kind of
    resource that limits a point."""
    for group in (_system, _regime):
        for name in sorted(set(map(group, found))):
            yield name, [one for one in found if group(one) == name]


def _system(one: Judged) -> str:
    return f"system {one.predicted.system}"


def _regime(one: Judged) -> str:
    return f"regime {one.predicted.regime}"


def median_error(found: Sequence[Judged]) -> float | None:
    """Returns the median of |error|, or None if there are no points."""
    return median(abs(one.error) for one in found) if found else None


def p90_error(found: Sequence[Judged]) -> float | None:
    """Returns the 90 % quantile of |error|, or None if there are no points."""
    return p90([abs(one.error) for one in found]) if found else None


def coverage(found: Sequence[Judged]) -> float | None:
    """Returns the share of points whose measured rate is inside the predicted interval, or None if
    there are no points."""
    return fmean(one.is_inside for one in found) if found else None


VALUES: dict[str, Callable[[Sequence[Judged]], float | None]] = {
    "median": median_error,
    "p90": p90_error,
    "coverage": coverage,
}


def roofline(one: Judged, others: Sequence[Judged]) -> float | None:
    """Returns the largest rate that the busiest disk or link allows. This rate was stored with the
    predictions before the measurement. Returns None if the point uses no disk and no link."""
    return one.predicted.roofline_per_s


def mean(one: Judged, others: Sequence[Judged]) -> float | None:
    """Returns the geometric mean of measured rates in operations per second. The mean is over the
    points of `others` that have the same operation as `one` and were measured on other testbeds.
    Returns None if there are no such points.

    If the operation moves bytes, the mean is computed from bytes per second and then divided by the
    file size of `one`.
    """
    logs = [math.log(other.per_byte) for other in _alike(one, others)]
    return math.exp(fmean(logs)) / max(1, one.predicted.size_bytes) if logs else None


def serial(one: Judged, others: Sequence[Judged]) -> float | None:
    """Returns the rate in operations per second by Amdahl's law, clients / rate = u + v × clients.
    The law is fitted to the points of `others` that have the same operation as `one` and were
    measured on other testbeds. If the operation moves bytes, the law is fitted to bytes per second.
    Returns None without such points.

    The fit minimises the squared errors of ln(rate). The fit tries SHAPES values of v / (u + v).
    For each value, u + v follows from the mean error of ln(rate). Logarithms are used because rates
    span decades: squared errors of rates would count the fastest points only.
    """
    known = _alike(one, others)
    if not known:
        return None
    clients = np.array([float(other.predicted.clients) for other in known])
    logs = np.log([other.per_byte for other in known])
    shares = np.linspace(0.0, 1.0, SHAPES)[:, None]
    laws = np.log(clients / (1 - shares + shares * clients))
    left = logs - laws
    best = int(np.argmin(left.var(axis=1)))
    own, share = float(one.predicted.clients), float(shares[best, 0])
    rate = math.exp(float(left[best].mean())) * own / (1 - share + share * own)
    return rate / max(1, one.predicted.size_bytes)


def _alike(one: Judged, others: Sequence[Judged]) -> list[Judged]:
    """Returns the points of `others` that have the same operation as `one` and were measured on
    other testbeds. A baseline uses the measured rates of these points. The predictions use no
    measured rate."""
    return [
        other
        for other in others
        if other.predicted.operation == one.predicted.operation
        and other.predicted.testbed != one.predicted.testbed
    ]


BASELINES: dict[str, Callable[[Judged, Sequence[Judged]], float | None]] = {
    "roofline": roofline,
    "mean": mean,
    "serial": serial,
}


def baseline_errors(
    found: Sequence[Judged], predict: Callable[[Judged, Sequence[Judged]], float | None]
) -> list[tuple[Judged, float]]:
    """Returns (point, |error| of the baseline) for each point for which the baseline has a
    prediction."""
    rates = [(one, predict(one, found)) for one in found]
    return [(one, abs(rate / one.rate_per_s - 1)) for one, rate in rates if rate is not None]


def _relative(
    found: Sequence[Judged], predict: Callable[[Judged, Sequence[Judged]], float | None]
) -> tuple[float | None, int]:
    """Compares the predictions with a baseline on the points for which the baseline has a value.
    Returns (a / b, number of these points). a is the median absolute error of the predictions, and
    b is that of the baseline."""
    errors = baseline_errors(found, predict)
    if not errors:
        return None, 0
    own = median(abs(one.error) for one, _ in errors)
    return own / median(error for _, error in errors), len(errors)
