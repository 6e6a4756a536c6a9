"""Predicts the data and metadata rates of IO500 submissions of 2018 to 2021 from descriptions of
hardware.

The institutions are divided into groups. The laws that predict a group are estimated from the
institutions of all other groups. The baseline is the number of client nodes multiplied by the
median rate of a client node, over the institutions of the other groups.

`python -m verification.truth.hardware` estimates the laws from all institutions, and writes them to
the table that the product uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

import numpy as np
from dfslab.arrays import Floats
from dfslab.models.scaling import io_hardware
from dfslab.models.scaling.io_hardware import KINDS, IoHardware, PhaseLaw, PhaseLaws
from dfslab.quantiles import p90
from numpy.typing import NDArray
from scipy.optimize import least_squares

from verification.figures import Figure
from verification.truth.tables import Row, factor, factor_figures, figure, known, rows

TABLE = "truth-io500"
GROUPS = 10
# Residuals of ln(rate) with a magnitude above this number count linearly, not squared.
LINEAR_FROM = 0.5
# Weight of the residual of an expectation, relative to the residual of a measured rate.
PRIOR_WEIGHT = 0.5
ORIGIN = "IO500 submissions of 2018 to 2021 (verification/data/truth-io500.csv)"


@dataclass(frozen=True)
class Expected:
    """What is assumed of a phase before any data are used. `shares` has the expected factor of each
    resource. The other fields are standard deviations of natural logarithms: of a factor, of the
    effect of a kind of file system, and of the effect of a single file system."""

    shares: dict[str, float]
    share_sd: float
    kind_sd: float
    system_sd: float

    @property
    def is_metadata(self) -> bool:
        """Returns whether the operations of the phase are metadata operations, which use metadata
        servers."""
        return "metadata servers" in self.shares


# The resources of a phase, in the order of the values below.
DATA_RESOURCES = ("clients' links", "processes", "servers' links", "devices")
METADATA_RESOURCES = ("processes", "clients", "metadata servers")
# Expected rates of the phases.
# - EASY: half of the declared rates of links and devices, and 1 GB/s for each process.
# - HARD, with small writes to a shared file: a tenth of the declared rates of links and devices,
#   and 0.1 GB/s for each process.
# - METADATA: 2,000 operations per second for each process, and 50,000 for each client node and each
#   metadata server.
EASY = Expected(dict(zip(DATA_RESOURCES, (0.5, 1e9, 0.5, 0.5), strict=True)), 0.8, 0.7, 0.5)
HARD = Expected(dict(zip(DATA_RESOURCES, (0.1, 1e8, 0.1, 0.1), strict=True)), 1.5, 1.5, 1)
METADATA = Expected(dict(zip(METADATA_RESOURCES, (2e3, 5e4, 5e4), strict=True)), 1.3, 1.2, 1)
EXPONENT, EXPONENT_SD = 0.7, 0.2
EXPECTED = {
    **{phase: HARD if "hard" in phase else EASY for phase in io_hardware.DATA_PHASES},
    **dict.fromkeys(io_hardware.METADATA_PHASES, METADATA),
}


@dataclass(frozen=True)
class Submission:
    """One submission: its institution, hardware and measured rate of each phase. Phases whose rate
    is unknown or not usable are missing."""

    institution: str
    hardware: IoHardware
    rates_per_s: dict[str, float]


def figures() -> list[Figure]:
    """Returns three kinds of figures:

    - the median factor f between predicted and measured rates, for each phase, for all data phases
      and for all metadata phases
    - ln f divided by ln f of the baseline
    - the coverage of the 90 % intervals, for data rates and for metadata rates
    """
    made = []
    for bar, phases in (
        ("hardware-data", io_hardware.DATA_PHASES),
        ("hardware-metadata", io_hardware.METADATA_PHASES),
    ):
        every: list[tuple[float, float]] = []
        for phase in phases:
            found = [
                (factor(one.predicted, one.measured), factor(one.baseline, one.measured))
                for one in compared(phase)
            ]
            every += found
            made += factor_figures(TABLE, bar, phase, *_columns(found))
        made += factor_figures(TABLE, bar, "all", *_columns(every))
        held = [one for phase in phases for one in covered(phase)]
        part = f"{bar.removeprefix('hardware-')} rates"
        made.append(figure(TABLE, "coverage", part, sum(held) / len(held), len(held)))
    return made


@dataclass(frozen=True)
class Compared:
    """Three rates per second of one submission in one phase: the prediction of the law, the
    prediction of the baseline, and the measured rate. `group` is the number of the institution's
    group."""

    group: int
    predicted: float
    baseline: float
    measured: float

    @property
    def error(self) -> float:
        """Returns |ln(predicted / measured)|."""
        return abs(log(self.predicted / self.measured))


def covered(phase: str) -> list[bool]:
    """Returns, for each submission, whether its measured rate is in the predicted 90 % interval.
    The half-width of the interval is the 0.9 quantile of the errors of the submissions of all other
    groups."""
    every = compared(phase)
    widths = {
        group: p90([one.error for one in every if one.group != group]) for group in range(GROUPS)
    }
    return [bool(one.error <= widths[one.group]) for one in every]


@cache
def compared(phase: str) -> tuple[Compared, ...]:
    """Returns the comparison of each submission that has a rate of the phase. The law and the
    baseline are computed from institutions of other groups."""
    found = []
    for group in range(GROUPS):
        own: list[Submission] = []
        others: list[Submission] = []
        for one in submissions():
            if phase in one.rates_per_s:
                (own if group_of(one.institution) == group else others).append(one)
        law = estimated(others, phase)
        a_client = float(
            np.median([one.rates_per_s[phase] / one.hardware.clients for one in others])
        )
        found += [
            Compared(
                group,
                law.rate_per_s(one.hardware),
                a_client * one.hardware.clients,
                one.rates_per_s[phase],
            )
            for one in own
        ]
    return tuple(found)


def group_of(institution: str) -> int:
    """Returns the number of the group to which an institution belongs."""
    every = sorted({one.institution for one in submissions()})
    return every.index(institution) % GROUPS


def estimated(some: Sequence[Submission], phase: str) -> PhaseLaw:
    """Fits the law of a phase to the measured rates of submissions by weighted least squares. The
    residuals are differences of ln(rate). The weight of a residual is n^(-1/4), where n is the
    number of submissions of the institution."""
    expected = EXPECTED[phase]
    whole = io_hardware.units([one.hardware for one in some])
    true = np.log([one.rates_per_s[phase] for one in some])
    counts = Counter(one.institution for one in some)
    weights = np.array([counts[one.institution] ** -0.25 for one in some])
    names = _effects(some)
    acts = _acts(some, names)
    shares = np.log(list(expected.shares.values()))
    start = np.concatenate([shares, [EXPONENT], np.zeros(len(names))])
    kinds = set(KINDS.values())
    sds = [expected.kind_sd if name in kinds else expected.system_sd for name in names]
    deviations = np.array([*[expected.share_sd] * len(shares), EXPONENT_SD, *sds])

    def residuals(values: Floats) -> Floats:
        own, exponent, effects = np.split(values, [len(shares), len(shares) + 1])
        found = io_hardware.rates(whole, tuple(expected.shares), np.exp(own), float(exponent[0]))
        off = weights * (np.log(found) + acts @ effects - true)
        return np.concatenate([off, PRIOR_WEIGHT * (values - start) / deviations])

    fitted = least_squares(residuals, start, loss="soft_l1", f_scale=LINEAR_FROM).x
    own, exponent, effects = np.split(fitted, [len(shares), len(shares) + 1])
    return PhaseLaw(
        shares=dict(zip(expected.shares, map(_rounded, own), strict=True)),
        exponent=float(f"{exponent[0]:.4g}") if expected.is_metadata else 1.0,
        effects=dict(zip(names, map(_rounded, effects), strict=True)),
        half_width=0.0,
    )


def learnt() -> PhaseLaws:
    """Returns the laws of all phases, estimated from all institutions. The half-width of a law's
    interval is the 0.9 quantile of prediction errors. The errors are those for institutions that
    were left out of the estimate."""
    found = {}
    for phase in EXPECTED:
        some = [one for one in submissions() if phase in one.rates_per_s]
        half_width = float(f"{p90([one.error for one in compared(phase)]):.3g}")
        found[phase] = estimated(some, phase).model_copy(update={"half_width": half_width})
    return PhaseLaws(origin=ORIGIN, laws=found)


@cache
def submissions() -> tuple[Submission, ...]:
    """Returns all submissions of the table."""
    return tuple(map(_submission, rows(TABLE)))


def _effects(some: Sequence[Submission]) -> list[str]:
    """Returns the kinds and the names of the file systems of submissions."""
    systems = {one.hardware.file_system for one in some}
    return sorted(systems | {KINDS[name] for name in systems if name in KINDS})


def _acts(some: Sequence[Submission], names: Sequence[str]) -> NDArray[np.float64]:
    """Returns a matrix with a row for each submission and a column for each effect in `names`. An
    element is 1 if the file system of the submission has the effect, and otherwise 0."""
    acting = [(one.hardware.file_system, KINDS.get(one.hardware.file_system)) for one in some]
    return np.array([[float(name in own) for name in names] for own in acting])


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [one for one, _ in pairs], [other for _, other in pairs]


def _rounded(logarithm: float) -> float:
    return float(f"{exp(logarithm):.4g}")


def _submission(row: Row) -> Submission:
    whole = {
        column: None if (value := known(row, column)) is None else int(value)
        for column in ("servers", "devices", "metadata_servers")
    }
    described = IoHardware(
        row["file_system"],
        int(row["clients"]),
        int(row["processes"]),
        known(row, "link_bytes_per_s"),
        whole["servers"],
        whole["devices"],
        row["medium"] or None,
        whole["metadata_servers"],
    )
    measured = {phase: known(row, f"{phase}_per_s") for phase in EXPECTED}
    usable = {phase: rate for phase, rate in measured.items() if rate is not None}
    return Submission(row["institution"], described, usable)


if __name__ == "__main__":
    text = learnt().model_dump_json(indent=1)
    io_hardware.TABLE.write_text(text + "\n", encoding="utf-8")
