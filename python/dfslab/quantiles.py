"""Computes quantiles of samples, and of the normal distribution, Student's t distribution and the
gamma distribution.

No statistics library is used: every prediction interval needs a quantile, and scipy.stats takes
longer to load than all other modules. The distribution functions are computed by the series and
continued fractions of Abramowitz and Stegun (6.5.29, 6.5.31, 26.5.8). These functions are inverted
by Halley's method where it converges, otherwise by bracketing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist

# The probability with which the intervals of predictions contain the value, and the half-width of
# such an interval of a normal distribution, in standard deviations.
CONFIDENCE = 0.90
CONFIDENCE_SDS = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
# NEARLY_NORMAL: above this number of degrees of freedom, the quantile of Student's t is computed
# from the normal quantile. _STEPS: largest number of terms of a continued fraction. If more terms
# would be needed, the fraction never converges, because its terms are rounded to doubles.
NEARLY_NORMAL = 1000.0
# The probability of the quantile that `p90` returns.
P90 = 0.9
_STEPS, _TINY, _SETTLED = 10_000, 1e-300, 1e-16
# Relative width of the interval around a root at which its search ends.
_NARROW = 4e-16


def normal(probability: float) -> float:
    """Returns the quantile of the standard normal distribution at a probability."""
    return NormalDist().inv_cdf(probability)


def p90(values: Sequence[float]) -> float:
    """Returns the 90 % quantile of a sample, such as the errors of predictions. The sample must not
    be empty. The quantile is interpolated linearly between neighbouring values (type 7 of Hyndman
    and Fan 1996, The American Statistician 50), as NumPy does."""
    ordered = sorted(map(float, values))
    place = P90 * (len(ordered) - 1)
    below = math.floor(place)
    low, high, share = ordered[below], ordered[math.ceil(place)], place - below
    if share >= 0.5:
        return high - (high - low) * (1 - share)
    return low + (high - low) * share


@lru_cache(maxsize=4096)
def student(probability: float, freedom: float) -> float:
    """Returns the quantile of Student's t distribution with `freedom` degrees of freedom; NaN if
    `freedom` is not positive."""
    if freedom <= 0:
        return math.nan
    if probability < 0.5:
        return -student(1 - probability, freedom)
    if probability == 0.5:
        return 0.0
    if freedom > NEARLY_NORMAL:
        return _nearly_normal(normal(probability), freedom)
    upper = 2 * (1 - probability)

    def excess(square: float) -> float:
        """Returns `upper` - P(|t| > sqrt(square)). The difference is 0 if sqrt(square) is the
        wanted quantile. `upper` is the two-sided tail probability of this quantile."""
        return upper - _beta(freedom / 2, 0.5, freedom / (freedom + square))

    return math.sqrt(_root(excess))


def student_beyond(t: float, freedom: float) -> float:
    """Returns the two-sided p-value of `t`: the probability that a value of Student's t
    distribution with `freedom` degrees of freedom exceeds |t| in magnitude."""
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t)) if t else 1.0


def _nearly_normal(z: float, freedom: float) -> float:
    """Returns the quantile of Student's t distribution for many degrees of freedom, by its
    expansion around the normal quantile `z` (Abramowitz and Stegun 26.7.5)."""
    parts = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(part / freedom**power for power, part in enumerate(parts))


@lru_cache(maxsize=4096)
def gamma(probability: float, shape: float, scale: float = 1.0) -> float:
    """Returns the quantile of the gamma distribution with the given shape and scale."""
    found = _halley(probability, shape)
    if found is not None:
        return scale * found
    if probability > 0.5:
        return scale * _root(lambda x: (1 - probability) - _gamma(shape, x)[1])
    return scale * _root(lambda x: _gamma(shape, x)[0] - probability)


def _halley(probability: float, shape: float) -> float | None:
    """Returns the quantile of the gamma distribution with scale 1, or None if the method diverges.
    Halley's method starts from the approximation of Wilson and Hilferty."""
    third = 1 / (9 * shape)
    x = shape * (1 - third + normal(probability) * math.sqrt(third)) ** 3
    if shape < 1 or x < shape / 20:
        return None
    for _ in range(20):
        below, above = _gamma(shape, x)
        excess = probability - below if probability <= 0.5 else above - (1 - probability)
        density = math.exp((shape - 1) * math.log(x) - x - math.lgamma(shape))
        step = -excess / density
        step /= 1 - 0.5 * min(1.0, step * ((shape - 1) / x - 1))
        if x - step <= 0:
            return None
        x -= step
        # Convergence is cubic, so the error after this step is below the precision of a double.
        if abs(step) <= 1e-8 * x:
            return x
    return None


def _root(rising: Callable[[float], float]) -> float:
    """Returns the root of an increasing function of positive numbers. Returns 0 if the root is
    below the smallest positive double."""
    low, high = 1.0, 1.0
    while rising(high) < 0:
        high *= 4
    while rising(low) > 0:
        low /= 4
        if low < _TINY:
            return 0.0
    # The root lies between `low` and `high`. Regula falsi (Illinois variant) narrows this interval,
    # with bisection steps if it converges slowly.
    f_low, f_high = rising(low), rising(high)
    for step in range(200):
        if high - low <= _NARROW * high or f_low == f_high:
            break
        between = (low * f_high - high * f_low) / (f_high - f_low)
        if step % 3 == 2 or not low < between < high:
            between = math.sqrt(low) * math.sqrt(high) if high > 2 * low else (low + high) / 2
        value = rising(between)
        if value == 0:
            return between
        if value < 0:
            low, f_low, f_high = between, value, f_high / 2 if step % 3 else f_high
        else:
            high, f_high, f_low = between, value, f_low / 2 if step % 3 else f_low
    return (low + high) / 2


def _gamma(shape: float, x: float) -> tuple[float, float]:
    """Returns the lower and the upper regularised incomplete gamma function (P and Q) of `shape` at
    x.

    The smaller of the two values has full precision.
    """
    if x == 0:
        return 0.0, 1.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for count in range(1, _STEPS):
            term *= x / (shape + count)
            total += term
            if term < total * _SETTLED:
                break
        return front * total, 1 - front * total
    upper = front / (x + 1 - shape + _fraction(lambda n: (-n * (n - shape), x + 2 * n + 1 - shape)))
    return 1 - upper, upper


def _beta(a: float, b: float, x: float) -> float:
    """Returns the regularised incomplete beta function I_x(a, b)."""
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )

    def term(n: int) -> tuple[float, float]:
        m = n // 2
        if n % 2:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0

    return front / a / (1 + _fraction(term))


def _fraction(term: Callable[[int], tuple[float, float]]) -> float:
    """Evaluates the continued fraction a_1 / (b_1 + a_2 / (b_2 + ...)) by Lentz's method.

    `term(n)` returns the pair (a_n, b_n).
    """
    found, c, d = _TINY, _TINY, 0.0
    for n in range(1, _STEPS):
        a, b = term(n)
        d = 1 / ((b + a * d) or _TINY)
        c = (b + a / c) or _TINY
        found *= c * d
        if abs(c * d - 1) < _SETTLED * 4:
            break
    return found
