"""Tests the random distributions of CPN ML. Their means and variances are those that the manual of
CPN Tools states."""

from __future__ import annotations

import math
from statistics import fmean, variance

import pytest
from dfslab.nets import engine
from support.nets import read_cpn

from tests.support.cpn_constructs import Step, color, file_of, var

COUNT = 4_000
# Values of the standard normal distribution for a probability of an error below one in a million.
DEVIATIONS = 5
MOMENTS = {
    "normal(3.0, 4.0)": (3.0, 4.0),
    "gamma(2.0, 3.0)": (3 / 2, 3 / 4),
    "chisq 4": (4.0, 8.0),
    "rayleigh 2.0": (2 * math.sqrt(math.pi / 2), (4 - math.pi) / 2 * 4),
    "weibull(2.0, 1.5)": (
        2 * math.gamma(1 + 1 / 1.5),
        4 * (math.gamma(1 + 2 / 1.5) - math.gamma(1 + 1 / 1.5) ** 2),
    ),
    "beta(2.0, 3.0)": (0.4, 0.04),
    "student 8": (0.0, 8 / 6),
    "real (poisson 3.5)": (3.5, 3.5),
    "real (binomial(12, 0.25))": (3.0, 2.25),
    "erlang(3, 2.0)": (1.5, 0.75),
}


def drawn(expression: str) -> list[float]:
    """Returns COUNT random values of an expression."""
    text = file_of(
        [color("INT", "<int/>"), color("REAL", "<real/>"), var("n", "INT"), var("r", "REAL")],
        {"first": ("INT", f"{COUNT}`1"), "values": ("REAL", "")},
        [Step("draw", {"first": "n"}, {"values": expression}), Step("log", {"values": "r"}, {})],
    )
    (rows,) = engine.collect(read_cpn(text), "log", "r.value", seed=7)
    return [value for _, value in rows if isinstance(value, float)]


@pytest.mark.parametrize(("expression", "moments"), MOMENTS.items(), ids=list(MOMENTS))
def test_mean_and_variance_of_a_distribution(expression: str, moments: tuple[float, float]):
    values = drawn(expression)
    assert len(values) == COUNT
    mean, spread = moments
    assert fmean(values) == pytest.approx(mean, abs=DEVIATIONS * math.sqrt(spread / COUNT))
    assert variance(values) == pytest.approx(spread, rel=0.25)
