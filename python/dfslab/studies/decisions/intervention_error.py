"""The error of predicted gains, learnt from changes that were predicted and then carried out on
real file systems.

The error of one carried-out change is ln(predicted gain / measured gain). This error is the sum of
two parts: the common error of a trial and the remaining error.

The common error is measurement noise. All changes of a trial are compared with the same runs of the
unchanged configuration, so an error of those runs shifts all measured gains of the trial by the
same factor. The common error is estimated by the median of the errors of the trial.

The remaining error is the model's. Its variance is `active_sd`^2 * |ln predicted gain| / ln 2 +
`idle_sd`^2 * distance / ln 2, times a factor of the kind of change. The distance of a change is
|ln(new value / old value)|. The first term is for changes that the model expects to change the
rate. The second term is for changes of resources that the model believes idle.

Each file system has the same weight, regardless of its number of changes. The factor of a kind is
shrunk towards 1, the factor of all kinds together. Operations that move data and operations that
only change metadata have separate tables. `verification/trials/intervention_errors.py` writes the
tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Literal

from pydantic import BaseModel, TypeAdapter

from dfslab.spec.changes.change import DOUBLING, ChangeKind

# What the operations of a workload do: "data" if they move bytes, else "metadata".
OperationClass = Literal["data", "metadata"]

TABLE = Path(__file__).with_name("intervention_errors.json")
# A change whose predicted |ln gain| is at most this value counts as a change of an idle resource.
IDLE_LOG_GAIN = 0.02
# Least number of changes in a trial with a common error. The median of fewer errors would mostly be
# the model's error.
FEWEST_OF_TRIAL = 3
# Weight of the value 1 in the factor of a kind of change. The factor is the mean of one value for
# each file system and of COMMON_WEIGHT values of 1. The value 1 is the factor of all kinds
# together.
COMMON_WEIGHT = 4.0
# Least number of file systems from which errors are learnt. It applies to the errors of data
# operations, of metadata operations, and of one kind of change.
FEWEST_SYSTEMS = 3
# Smallest estimate of `idle_sd`: a few recorded changes may agree with the model by chance.
LEAST_IDLE_SD = 0.02


class CarriedOutError(BaseModel):
    """One change that was predicted and then carried out.

    `file_system`, `workload`: of the unchanged configuration. `trial`: changes with an equal
    `trial` were compared with the same runs of the unchanged configuration. `kind`, `distance`: as
    in `spec.changes.change.Change`. `predicted`, `measured`: natural logarithms of the gains.
    """

    file_system: str
    workload: str
    operations: OperationClass
    trial: str
    change: str
    kind: ChangeKind
    distance: float
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Returns ln(predicted gain / measured gain)."""
        return self.predicted - self.measured


class KindFactor(BaseModel):
    """The variance of the model's error for one kind of change, as a multiple of the variance for
    all kinds together. `file_systems`, `changes`: number of file systems and of carried-out
    changes from which the factor was estimated."""

    kind: ChangeKind
    file_systems: int
    changes: int
    factor: float


class InterventionErrors(BaseModel):
    """The model's error of the natural logarithm of a gain, for one class of operations. The error
    is learnt from carried-out changes of workloads whose operations move data, or of workloads
    whose operations only change metadata.

    `active_sd`: standard deviation of the error of a change with a predicted gain of 2. `idle_sd`:
    standard deviation of the error if a value is doubled and no gain is predicted. `measured_sd`:
    standard deviation of the common error of a trial, which is noise of the measurement. `changes`:
    the carried-out changes, from which the other fields are computed.
    """

    operations: OperationClass
    active_sd: float
    idle_sd: float
    measured_sd: float
    kinds: list[KindFactor]
    changes: list[CarriedOutError]

    def of_kind(self, kind: ChangeKind) -> KindFactor:
        """Returns the factor of a kind of change; 1 for a kind that was not carried out."""
        for one in self.kinds:
            if one.kind == kind:
                return one
        return KindFactor(kind=kind, file_systems=0, changes=0, factor=1.0)

    def variance(self, kind: ChangeKind, log_gain: float, distance: float) -> float:
        """Returns the variance of the model's error of `log_gain`, the natural logarithm of the
        gain that is predicted for one change of a kind."""
        return self.of_kind(kind).factor * _growth(
            self.active_sd**2, self.idle_sd**2, log_gain, distance
        )

    def is_learnt(self, kind: ChangeKind) -> bool:
        """Returns whether changes of this kind were carried out on at least FEWEST_SYSTEMS file
        systems."""
        return self.of_kind(kind).file_systems >= FEWEST_SYSTEMS

    def basis_of(self, kind: ChangeKind) -> str:
        """Returns the data on which the error of this kind is based, as text such as "12
        carried-out changes of link on 6 file systems (data operations)"."""
        own = self.of_kind(kind)
        return (
            f"{counted(own.changes, 'carried-out change')} of {kind} on "
            f"{counted(own.file_systems, 'file system')} ({self.operations} operations)"
        )


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun in the singular or plural, such as "1 recording"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _growth(active: float, idle: float, log_gain: float, distance: float) -> float:
    return (active * abs(log_gain) + idle * distance) / DOUBLING


def learnt_from(changes: Sequence[CarriedOutError]) -> list[InterventionErrors]:
    """Returns the errors that are learnt from carried-out changes: one table for "data" operations,
    and one for "metadata" operations. A table is omitted if the changes with these operations were
    carried out on fewer than FEWEST_SYSTEMS file systems."""
    found = []
    for operations in ("data", "metadata"):
        own = [one for one in changes if one.operations == operations]
        if len({one.file_system for one in own}) >= FEWEST_SYSTEMS:
            found.append(_table_of(operations, own))
    return found


def _table_of(operations: OperationClass, changes: Sequence[CarriedOutError]) -> InterventionErrors:
    common = _common_errors(changes)
    known = [(one, _residual_square(one, common, changes)) for one in changes]
    idle = _mean_of_systems(
        (one.file_system, square * DOUBLING / one.distance)
        for one, square in known
        if abs(one.predicted) <= IDLE_LOG_GAIN
    )
    idle = max(idle, LEAST_IDLE_SD**2)
    active = _mean_of_systems(
        (one.file_system, (square - idle * one.distance / DOUBLING) * DOUBLING / abs(one.predicted))
        for one, square in known
        if abs(one.predicted) > IDLE_LOG_GAIN
    )
    active = max(active, 0.0)
    kinds = [
        _factor(kind, [pair for pair in known if pair[0].kind == kind], active, idle)
        for kind in sorted({one.kind for one in changes})
    ]
    return InterventionErrors(
        operations=operations,
        active_sd=round(math.sqrt(active), 4),
        idle_sd=round(math.sqrt(idle), 4),
        measured_sd=round(_root_mean_square(common.values()), 4),
        kinds=kinds,
        changes=list(changes),
    )


def _common_errors(changes: Sequence[CarriedOutError]) -> dict[str, float]:
    """Returns the common error of each trial that has at least FEWEST_OF_TRIAL changes."""
    trials: dict[str, list[float]] = {}
    for one in changes:
        trials.setdefault(one.trial, []).append(one.error)
    return {name: median(own) for name, own in trials.items() if len(own) >= FEWEST_OF_TRIAL}


def _residual_square(
    one: CarriedOutError, common: Mapping[str, float], changes: Sequence[CarriedOutError]
) -> float:
    """Returns the square of a change's remaining error. In a trial with n changes, it is (error -
    common error of the trial)² * n / (n - 1). The factor n / (n - 1) corrects for the degree of
    freedom that the common error takes. If the trial has no common error, the result is error²."""
    if one.trial not in common:
        return one.error**2
    count = sum(other.trial == one.trial for other in changes)
    return (one.error - common[one.trial]) ** 2 * count / (count - 1)


def _factor(
    kind: ChangeKind, known: Sequence[tuple[CarriedOutError, float]], active: float, idle: float
) -> KindFactor:
    systems: dict[str, list[float]] = {}
    for one, square in known:
        expected = _growth(active, idle, one.predicted, one.distance)
        systems.setdefault(one.file_system, []).append(square / expected)
    total = sum(fmean(own) for own in systems.values()) + COMMON_WEIGHT
    return KindFactor(
        kind=kind,
        file_systems=len(systems),
        changes=len(known),
        factor=round(total / (len(systems) + COMMON_WEIGHT), 4),
    )


def _mean_of_systems(values: Iterable[tuple[str, float]]) -> float:
    """Returns the mean over file systems of the mean of each file system's values; 0 without
    values."""
    systems: dict[str, list[float]] = {}
    for name, value in values:
        systems.setdefault(name, []).append(value)
    return fmean(fmean(own) for own in systems.values()) if systems else 0.0


def _root_mean_square(values: Iterable[float]) -> float:
    known = [one**2 for one in values]
    return math.sqrt(fmean(known)) if known else 0.0


def errors_for(
    operations: OperationClass, tables: Sequence[InterventionErrors] | None = None
) -> InterventionErrors | None:
    """Returns the table for a class of operations; None if there is none. `tables`: the tables to
    choose from; None for the tables that are stored with the package."""
    known = intervention_errors() if tables is None else tables
    return next((one for one in known if one.operations == operations), None)


def is_learnt_on(file_system: str, operations: OperationClass) -> bool:
    """Returns whether the stored errors of a class of operations were learnt from changes that were
    carried out on a file system, among others."""
    carried_out = errors_for(operations)
    return carried_out is not None and any(
        one.file_system == file_system for one in carried_out.changes
    )


_TABLES: TypeAdapter[list[InterventionErrors]] = TypeAdapter(list[InterventionErrors])


@cache
def intervention_errors() -> list[InterventionErrors]:
    """Returns the tables of errors that are stored with the package."""
    return _TABLES.validate_json(TABLE.read_text(encoding="utf-8"))
