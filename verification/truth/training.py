"""Predicts from hardware the largest number of accelerators that a system serves in MLPerf Storage
v1.0.

The product's model has six constants (shares), which are the same for all systems. The constants
for an organisation are estimated from the results of all other organisations. The baseline is the
number that the lowest of the stated rates of links and drives allows. The benchmark defines the
rate of an accelerator that never waits for data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, floor, log

import numpy as np
from dfslab.arrays import Floats
from dfslab.models.scaling import training
from dfslab.models.scaling.training import Shares, TrainingLoad, TrainingSystem
from scipy.optimize import least_squares

from verification.figures import Figure
from verification.truth.tables import Row, factor, factor_figures, figure, known, rows

TABLE = "truth-mlperf-storage"
MODELS = ("unet3d", "resnet50", "cosmoflow")
# Expected constants, in the order of `Shares`: 0.6 of a client's links, an exponent of 0, 0.75 of
# the servers' links, 0.9 of the drives, 0.4 ms of a core for a sample and 1 ns of a core for a
# byte. DEVIATIONS has the standard deviation of each constant's natural logarithm. Only for the
# exponent, it has the standard deviation of the exponent itself. If there are many data, the
# expectations have little weight.
EXPECTED = Shares(0.6, 0.0, 0.75, 0.9, 4e-4, 1e-9)
DEVIATIONS = (0.7, 0.15, 0.5, 0.15, 1.0, 1.0)
# Residuals of ln(number) with a magnitude above this number count linearly, not squared.
LINEAR_FROM = 0.3


@dataclass(frozen=True)
class Submission:
    """The largest reported number of accelerators of one system."""

    organisation: str
    model: str
    system: TrainingSystem
    load: TrainingLoad
    reported: int


def figures() -> list[Figure]:
    """Returns three kinds of figures:

    - the median factor f between predicted and reported numbers of accelerators, over all
      submissions and for each training model
    - ln f divided by ln f of the baseline
    - the coverage of the 90 % intervals
    """
    found = [(one, predicted(one)) for one in submissions()]
    made = []
    for model in ("", *MODELS):
        some = [(one, guess) for one, guess in found if model in ("", one.model)]
        factors = [factor(max(1, guess.count), one.reported) for one, guess in some]
        others = [factor(link_roofline(one.system, one.load), one.reported) for one, _ in some]
        made += factor_figures(TABLE, "training-accelerators", model or "all", factors, others)
    held = [guess.low <= one.reported <= guess.high for one, guess in found]
    return [*made, figure(TABLE, "coverage", "accelerators", sum(held) / len(held), len(held))]


def link_roofline(system: TrainingSystem, load: TrainingLoad) -> int:
    """Returns the number of accelerators that the stated rates allow, at least 1. The number is
    limited by the smallest of three rates: of the clients' links, of the servers' links, and of the
    drives. No losses are taken into account."""
    whole = Shares(1.0, 0.0, 1.0, 1.0, 0.0, 1e-30)
    rate = min(training.capacities(system, load.sample_bytes, whole).values())
    return max(1, floor(rate / load.needed_bytes_per_s))


def predicted(one: Submission) -> training.Accelerators:
    """Returns the prediction for a submission. The shares are estimated from all other
    organisations."""
    return training.accelerators(one.system, one.load, shares_without(one.organisation))


@cache
def submissions() -> tuple[Submission, ...]:
    """Returns all submissions of the table: those of the closed division with the largest number of
    accelerators of their system."""
    return tuple(map(_submission, rows(TABLE)))


@cache
def shares_without(organisation: str) -> Shares:
    """Returns the shares that are estimated from the submissions of all organisations except
    `organisation`. If `organisation` is "", all submissions are used. The result is then the
    product's default shares."""
    return estimated([one for one in submissions() if one.organisation != organisation])


def estimated(some: Sequence[Submission]) -> Shares:
    """Fits the shares to the reported numbers of accelerators by robust least squares. The residual
    of a submission is ln(predicted number / reported number). The weight of a residual is n^(-1/4),
    where n is the number of submissions of the organisation. Further residuals keep the shares near
    EXPECTED, in units of DEVIATIONS."""
    counts: Mapping[str, int] = Counter(one.organisation for one in some)
    weights = np.array([counts[one.organisation] ** -0.25 for one in some])
    expected = _logs(EXPECTED)

    def residuals(logs: Floats) -> Floats:
        shares = _shares(logs)
        off = [log(_rate(one, shares) / one.load.needed_bytes_per_s / one.reported) for one in some]
        prior = (logs - expected) / DEVIATIONS * LINEAR_FROM
        return np.concatenate([weights * np.array(off), prior])

    return _shares(least_squares(residuals, expected, loss="soft_l1", f_scale=LINEAR_FROM).x)


def _rate(one: Submission, shares: Shares) -> float:
    return training.rate_bytes_per_s(training.capacities(one.system, one.load.sample_bytes, shares))


def _logs(shares: Shares) -> Floats:
    positive = [shares.client_link, shares.server_link, shares.drive]
    times = [shares.sample_s, shares.byte_s]
    link, server, drive, sample, byte = np.log([*positive, *times])
    return np.array([link, shares.exponent, server, drive, sample, byte])


def _shares(logs: Floats) -> Shares:
    link, exponent, server, drive, sample, byte = map(float, logs)
    return Shares(exp(link), exponent, exp(server), exp(drive), exp(sample), exp(byte))


def _submission(row: Row) -> Submission:
    whole = {
        column: None if (value := known(row, column)) is None else int(value)
        for column in ("servers", "drives")
    }
    return Submission(
        row["organisation"],
        row["model"],
        TrainingSystem(
            int(row["clients"]),
            known(row, "client_bytes_per_s"),
            known(row, "client_cores"),
            whole["servers"],
            known(row, "server_bytes_per_s"),
            whole["drives"],
            known(row, "drive_bytes_per_s"),
        ),
        TrainingLoad(
            float(row["sample_bytes"]),
            float(row["accelerator_bytes_per_s"]),
            float(row["utilisation"]),
        ),
        int(row["accelerators"]),
    )
