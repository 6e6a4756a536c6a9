"""Predicts a mix of operations at other numbers of clients from measurements at two or more
numbers.

The clients form a closed workload: each of them always has one operation of the mix in progress.
The mix as a whole is fitted as a delay and one station (`delayed_station`). By Little's law, the
mean response time of the mix is (number of clients) / (rate of the mix).

Each kind of operation has a separate delay, and a separate demand at the same station. The wait at
the station is proportional to this demand (BCMP theorem). The mean response time of each kind is
therefore a linear function of the mean response time of the mix. The 0.99 quantile is the mean
response time times a ratio. The ratio is interpolated between the measured numbers of clients, and
grows slowly above the largest measured number of clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np

from dfslab.arrays import Floats
from dfslab.models.scaling import delayed_station

# Exponent of the growth of the station's service rate with its queue length.
GAIN = 0.05
# Exponent of the growth of (0.99 quantile / mean) beyond the largest measured number of clients.
TAIL_GROWTH = 0.2
# Half-widths of the 90 % intervals in natural logarithms: of the rate, of the mean response time,
# and of the 0.99 quantile of the response time. At n clients, the half-widths are multiplied by
# sqrt(|ln(n / m)|), where m is the nearest number of clients that was measured.
RATE_ERROR, MEAN_ERROR, TAIL_ERROR = 0.15, 0.27, 0.5
# Smallest value of |ln(n / m)| in the width of an interval. A smaller value is replaced by
# LEAST_DISTANCE.
LEAST_DISTANCE = 0.25
FEWEST_COUNTS = 2
MOST_CLIENTS = 100_000
# Smallest delay with which the fit starts, as a share of a response time: the mix's mean response
# time at the smallest measured number of clients.
START_DELAY_SHARE = 0.1
# Bounds of ln(delay / r) and ln(demand / r) in the fit. Here r is the mix's mean response time at
# the smallest measured number of clients.
LOG_RANGE = (-25, 5)
FIT_TOLERANCE = 1e-12


@dataclass(frozen=True)
class OperationPoint:
    """The measurement of one kind of operation at one number of clients. The measurement has the
    operations per second of all clients, and the mean and the 0.99 quantile of the response time in
    seconds. The quantile is None if unknown."""

    rate_per_s: float
    latency_s_mean: float
    latency_s_p99: float | None = None


# The operations of a mix at one number of clients, by kind of operation.
MixPoint = Mapping[str, OperationPoint]


@dataclass(frozen=True)
class Interval:
    """A predicted value and its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OperationPrediction:
    """The prediction of one kind of operation: operations per second of all clients, and mean and
    0.99 quantile of the response time in seconds."""

    operation: str
    rate_per_s: Interval
    latency_s_mean: Interval
    latency_s_p99: Interval | None


@dataclass(frozen=True)
class ClosedMix:
    """A fitted mix.

    `delay_s` is the mean time in seconds that an operation of the mix spends outside the station.
    `demand_s` is its mean time at the station if no other operation is there. `gain` and
    `tail_growth` are exponents (see GAIN and TAIL_GROWTH). `points` has the measurements by number
    of clients, in ascending order.
    """

    delay_s: float
    demand_s: float
    gain: float
    tail_growth: float
    points: Mapping[int, MixPoint]

    @property
    def operations(self) -> tuple[str, ...]:
        """Returns the kinds of operation of the mix."""
        return tuple(next(iter(self.points.values())))

    def rate_per_s(self, clients: int) -> float:
        """Returns the predicted rate of all operations together, per second."""
        return delayed_station.rate_per_s(clients, self.delay_s, self.demand_s, self.gain)

    def predict(self, clients: int) -> list[OperationPrediction]:
        """Returns the predictions of all kinds of operation at a number of clients."""
        mix_s = clients / self.rate_per_s(clients)
        return [self._prediction(kind, clients, mix_s) for kind in self.operations]

    def _prediction(self, kind: str, clients: int, mix_s: float) -> OperationPrediction:
        share = float(np.mean([_share(point, kind) for point in self.points.values()]))
        mean_s = self._mean_s(kind, mix_s)
        ratio = self._tail_ratio(kind, clients)
        apart = sqrt(max(LEAST_DISTANCE, min(abs(log(clients / n)) for n in self.points)))
        return OperationPrediction(
            kind,
            _interval(share * clients / mix_s, RATE_ERROR * apart),
            _interval(mean_s, MEAN_ERROR * apart),
            None if ratio is None else _interval(mean_s * ratio, TAIL_ERROR * apart),
        )

    def _mean_s(self, kind: str, mix_s: float) -> float:
        """Returns the mean response time in seconds of one kind of operation at the point where the
        mean response time of the mix is `mix_s`.

        If `mix_s` is at most the shortest measured time of the mix, the result is proportional to
        `mix_s`. Otherwise the result follows from a straight line: measured times of this kind as a
        function of measured times of the mix. The result is the line's value at `mix_s`, but at
        least the shortest measured time of this kind. If the fitted line falls, the result is the
        geometric mean of the measured times of this kind.
        """
        x = np.array([n / _total_per_s(point) for n, point in self.points.items()])
        y = np.array([point[kind].latency_s_mean for point in self.points.values()])
        shortest = int(np.argmin(x))
        if mix_s <= x[shortest]:
            return float(y[shortest] * mix_s / x[shortest])
        # The line minimises the squared relative errors. Its slope is a ratio of two demands, so it
        # must not be negative.
        weights = np.column_stack([1 / y, x / y])
        at_zero, slope = np.linalg.lstsq(weights, np.ones_like(y), rcond=None)[0]
        if slope < 0:
            return float(np.exp(np.log(y).mean()))
        return max(float(at_zero + slope * mix_s), float(y.min()))

    def _tail_ratio(self, kind: str, clients: int) -> float | None:
        """Returns the 0.99 quantile over the mean at a number of clients; None if no quantile was
        measured."""
        known = {
            n: one.latency_s_p99 / one.latency_s_mean
            for n, one in ((n, point[kind]) for n, point in self.points.items())
            if one.latency_s_p99 is not None
        }
        if not known:
            return None
        measured = np.log(list(known))
        between = float(np.interp(log(clients), measured, np.log(list(known.values()))))
        beyond = max(0.0, log(clients) - float(measured[-1]))
        return max(1.0, exp(between + self.tail_growth * beyond))


def fit(
    points: Mapping[int, MixPoint], gain: float = GAIN, tail_growth: float = TAIL_GROWTH
) -> ClosedMix:
    """Fits a mix to `points`, which has the measurements of the mix by number of clients. At least
    two numbers of clients are needed, each with the same kinds of operation."""
    assert len(points) >= FEWEST_COUNTS, "a mix is fitted from two numbers of clients or more"
    ordered = {n: points[n] for n in sorted(points)}
    rates = [_total_per_s(point) for point in ordered.values()]
    delay_s, demand_s = _delay_and_demand(list(ordered), rates, gain)
    return ClosedMix(delay_s, demand_s, gain, tail_growth, ordered)


def _delay_and_demand(
    clients: Sequence[int], rates_per_s: Sequence[float], gain: float
) -> tuple[float, float]:
    """Returns the delay and the demand in seconds that minimise the squared relative errors of the
    rates."""
    alone_s = clients[0] / rates_per_s[0]
    busy_s = min(clients[-1] ** gain / rates_per_s[-1], alone_s)

    def errors(logs: Floats) -> Floats:
        delay_s, demand_s = np.exp(logs)
        found = [delayed_station.rate_per_s(n, delay_s, demand_s, gain) for n in clients]
        return np.log(np.array(found) / rates_per_s)

    start = np.log([max(alone_s - busy_s, START_DELAY_SHARE * alone_s), busy_s])
    below, above = LOG_RANGE
    limits = (log(alone_s) + below, log(alone_s) + above)
    import scipy

    found = scipy.optimize.least_squares(
        errors, start, bounds=limits, xtol=FIT_TOLERANCE, ftol=FIT_TOLERANCE
    )
    delay_s, demand_s = np.exp(found.x)
    return float(delay_s), float(demand_s)


def _total_per_s(point: MixPoint) -> float:
    return sum(one.rate_per_s for one in point.values())


def _share(point: MixPoint, kind: str) -> float:
    return point[kind].rate_per_s / _total_per_s(point)


def _interval(value: float, half_width: float) -> Interval:
    """Returns a value with its interval; `half_width` is in natural logarithms."""
    assert 0 < value < inf, "a prediction is positive and finite"
    return Interval(value, value * exp(-half_width), value * exp(half_width))
