"""Predicts the rates and response times of an object gateway of Ceph, as `dfslab predict TABLE`
does.

The table has reads and writes of four object sizes by 1 to 512 workers. For the predicted object
size, the measurements with two numbers of workers (concurrencies) are given. The values with all
other numbers of workers are predicted. The model has two exponents, the station's gain and the
growth of the tail. The exponents are estimated from the other object sizes only.

The baseline goes through the two given measurements. For the rate X of an operation with N workers,
the baseline is the serial law, N / X = u + v N. For response times, the baseline is a straight
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import log
from statistics import median
from typing import Literal, TypeAlias

from dfslab.models.scaling import closed_mix
from dfslab.models.scaling.closed_mix import Interval, OperationPoint

from verification.figures import Figure
from verification.truth.tables import error_figures, figure, rows

TABLE = "truth-ceph-gateway"
# Pairs of given concurrencies (numbers of workers). Each pair is one test.
GIVEN = ((1, 8), (1, 16), (1, 32))
GAINS = (0.0, 0.02, 0.04, 0.05, 0.06, 0.08, 0.1)
BARS = {"rate": "gateway-rate", "mean": "gateway-mean", "p99": "gateway-p99"}

Measure = Literal["rate", "mean", "p99"]
Pair: TypeAlias = tuple[int, int]
# Measurements of one object size: by number of workers, then by operation.
Curve: TypeAlias = Mapping[int, Mapping[str, OperationPoint]]


@dataclass(frozen=True)
class Case:
    """A measured value with two predictions: by the model and by the baseline. `measure` is "rate",
    or "mean" or "p99" of the response time. `operation` is "read" or "write"."""

    measure: Measure
    operation: str
    predicted: Interval
    baseline: float
    measured: float

    @property
    def error(self) -> float:
        """Returns the relative error of the prediction."""
        return self.predicted.value / self.measured - 1

    @property
    def baseline_error(self) -> float:
        """Returns the relative error of the baseline."""
        return self.baseline / self.measured - 1

    @property
    def is_covered(self) -> bool:
        """Returns whether the 90 % interval of the prediction contains the measured value."""
        return self.predicted.low <= self.measured <= self.predicted.high


def figures() -> list[Figure]:
    """Returns figures for each pair of given concurrencies:

    - the errors of the rates of all operations
    - the coverage of the intervals
    - for each operation, the errors of the mean and of the 0.99 quantile of the response time
    """
    made = []
    for pair in GIVEN:
        cases = [case for size in curves() for case in cases_of(size, pair)]
        named = f"from {pair[0]} and {pair[1]} workers"
        for measure, operation in (("rate", ""), *product(("mean", "p99"), ("read", "write"))):
            some = [
                one for one in cases if one.measure == measure and operation in ("", one.operation)
            ]
            part = f"{operation}s {named}" if operation else named
            errors, others = ([one.error for one in some], [one.baseline_error for one in some])
            made += error_figures(TABLE, BARS[measure], part, errors, others)
        for measure in BARS:
            held = [one.is_covered for one in cases if one.measure == measure]
            part = f"{measure} {named}"
            made.append(figure(TABLE, "coverage", part, sum(held) / len(held), len(held)))
    return made


@cache
def curves() -> dict[int, Curve]:
    """Returns {object size in bytes: {number of workers: {operation: measurement}}}. Measurements
    during which the mix of reads and writes drifted are left out."""
    found: dict[int, dict[int, dict[str, OperationPoint]]] = {}
    for row in rows(TABLE):
        if row["is_steady"] == "1":
            point = found.setdefault(int(row["object_bytes"]), {}).setdefault(
                int(row["clients"]), {}
            )
            values = (row[key] for key in ("rate_per_s", "latency_s_mean", "latency_s_p99"))
            point[row["operation"]] = OperationPoint(*map(float, values))
    return {
        size: {n: point for n, point in curve.items() if len(point) == 2}
        for size, curve in found.items()
    }


def cases_of(size: int, pair: Pair) -> Iterator[Case]:
    """Yields the predictions for one object size. The measurements with the two numbers of workers
    in `pair` are given. The values with all other numbers of workers are predicted from them."""
    curve = curves()[size]
    others = tuple(one for one in curves() if one != size)
    given = {n: curve[n] for n in pair}
    mix = closed_mix.fit(given, gain_of(others), tail_growth_of(others))
    for clients in (n for n in curve if n not in pair):
        for one in mix.predict(clients):
            measured = curve[clients][one.operation]
            serial = _baseline(given, one.operation, clients)
            mean = one.latency_s_mean, serial.latency_s_mean, measured.latency_s_mean
            yield Case(
                "rate", one.operation, one.rate_per_s, serial.rate_per_s, measured.rate_per_s
            )
            yield Case("mean", one.operation, *mean)
            assert one.latency_s_p99 is not None
            assert serial.latency_s_p99 is not None
            assert measured.latency_s_p99 is not None
            tail = one.latency_s_p99, serial.latency_s_p99, measured.latency_s_p99
            yield Case("p99", one.operation, *tail)


def _baseline(given: Curve, operation: str, clients: int) -> OperationPoint:
    """Returns the prediction of the baseline for a number of workers. The rate follows the serial
    law. Response times are on straight lines. The law and the lines go through the two measurements
    in `given`."""
    (first, one), (second, other) = ((n, point[operation]) for n, point in given.items())

    def line(at_first: float, at_second: float) -> float:
        return at_first + (at_second - at_first) * (clients - first) / (second - first)

    assert one.latency_s_p99 is not None
    assert other.latency_s_p99 is not None
    return OperationPoint(
        clients / line(first / one.rate_per_s, second / other.rate_per_s),
        line(one.latency_s_mean, other.latency_s_mean),
        line(one.latency_s_p99, other.latency_s_p99),
    )


@cache
def gain_of(sizes: Sequence[int]) -> float:
    """Returns the value of GAINS that predicts the total rates of these object sizes best. The best
    value has the smallest median of |relative error|. The rates are predicted from each pair of
    concurrencies in GIVEN."""

    def error(gain: float) -> float:
        found = []
        for size, pair in product(sizes, GIVEN):
            curve = curves()[size]
            mix = closed_mix.fit({n: curve[n] for n in pair}, gain)
            for clients in (n for n in curve if n not in pair):
                total = sum(one.rate_per_s for one in curve[clients].values())
                found.append(abs(mix.rate_per_s(clients) / total - 1))
        return median(found)

    return min(GAINS, key=error)


@cache
def tail_growth_of(sizes: Sequence[int]) -> float:
    """Returns the growth of the tail of the response times of these object sizes. The growth is the
    median of ln(t(n) / t(m)) / ln(n / m). t is the 0.99 quantile of the response time divided by
    the mean response time. m is the larger number of workers of a pair in GIVEN, and n is a number
    above m."""
    found = []
    for size, (_, largest) in product(sizes, GIVEN):
        curve = curves()[size]
        for clients, operation in product((n for n in curve if n > largest), curve[largest]):
            growth = _tail(curve[clients][operation]) / _tail(curve[largest][operation])
            found.append(log(growth) / log(clients / largest))
    return median(found)


def _tail(one: OperationPoint) -> float:
    """Returns the 0.99 quantile of the response time divided by the mean."""
    assert one.latency_s_p99 is not None
    return one.latency_s_p99 / one.latency_s_mean
