"""Predicts the rate of a larger number of servers from the rate of a smaller number, when data are
placed by a hash.

A hash puts a random number of placements (placement groups, chunks or objects) on each server. The
server with the most placements limits the rate of a closed workload, because every client waits for
this server repeatedly. With more servers, the largest of these random numbers is larger relative to
their mean. The rate therefore grows more slowly than the number of servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log

import numpy as np

# Number of placement groups on a server if the table does not state this number: Ceph's
# mon_target_pg_per_osd.
PLACEMENTS = 100.0
# Noise between two runs, as a part of the half-width of the 90 % interval in natural logarithms.
# The other part is |ln(predicted rate / proportional rate)|.
RUN_ERROR = 0.05
# Numbers of placements on a server are considered up to this many standard deviations above the
# mean.
FARTHEST = 12.0


@dataclass(frozen=True)
class ScaledRate:
    """The predicted rate per second at another number of servers with its 90 % interval.
    `proportional_per_s` is the rate for comparison that is proportional to the number of
    servers."""

    operation: str
    servers: int
    rate_per_s: float
    low_per_s: float
    high_per_s: float
    proportional_per_s: float


def busiest_over_mean(servers: int, placements: float) -> float:
    """Returns a ratio of numbers of placements: the expected number on the server with the most
    placements, divided by the mean number on a server.

    `placements` is the mean number on a server. The numbers are taken as independent Poisson
    variables, which is the limit of hashing for many servers. The expectation of the largest number
    is the sum over k of the probability that the largest number exceeds k.
    """
    assert servers >= 1, "there is a server"
    assert placements > 0, "a server has placements"
    most = int(placements + FARTHEST * np.sqrt(placements)) + int(FARTHEST)
    logs = [k * log(placements) - placements - lgamma(k + 1) for k in range(most)]
    below = np.minimum(np.exp(logs).cumsum(), 1.0)
    return max(1.0, float((1 - below**servers).sum()) / placements)


def scaled(
    operation: str, rate_per_s: float, measured: int, wanted: int, placements: float = PLACEMENTS
) -> ScaledRate:
    """Returns the rate at `wanted` servers, from the rate at `measured` servers. `placements` is
    the mean number of placements on a server. It is assumed that the numbers of clients and
    placements grow in proportion to the number of servers."""
    proportional = rate_per_s * wanted / measured
    skew = log(busiest_over_mean(measured, placements) / busiest_over_mean(wanted, placements))
    half_width = abs(skew) + RUN_ERROR
    found = proportional * exp(skew)
    return ScaledRate(
        operation, wanted, found, found * exp(-half_width), found * exp(half_width), proportional
    )
