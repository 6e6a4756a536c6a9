"""The error of predicted gains, estimated for each kind of change.

The error is learnt from one of two sources. The first source is changes that were carried out
(`intervention_error.py`); it is used for gains that a description alone predicts. The second source
is pairs of recorded configurations that differ in one thing, as described below. The second source
is used for gains that a model calibrated on a run predicts, and for kinds of change that were
carried out on too few file systems. If only one source has data on a kind of change, that source is
used.

The error is ln(predicted gain / measured gain). Its variance is proportional to |ln predicted gain|
+ IDLE_SHARE * distance, where the distance of a change is |ln(new value / old value)|. The first
term is for changes of the limiting resource. The second term is for changes of other resources,
because the model may have identified the wrong limit.

The error of a kind of change is described by one number: the standard deviation of the error when a
value is doubled and the predicted gain is 2. The estimated variance is averaged with the variance
that holds without recordings (the blind error), so that kinds with few recordings stay near the
blind error. `verification/trials/changes.py` writes the table of errors, `change_errors.json`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from dfslab.models.fit.demand import UNCALIBRATED_SD
from dfslab.quantiles import CONFIDENCE, CONFIDENCE_SDS
from dfslab.spec.changes.change import DOUBLING, KINDS, Change, ChangeKind
from dfslab.studies.decisions.gains import Basis
from dfslab.studies.decisions.intervention_error import InterventionErrors, counted

TABLE = Path(__file__).with_name("change_errors.json")
# The blind error: the standard deviation of the error if there are no recordings and a value is
# doubled. A gain is the ratio of two predictions. Their errors are assumed to be independent, and
# those of an uncalibrated model.
BLIND_SD = math.sqrt(2) * UNCALIBRATED_SD
# Weight of the blind error, in recordings. The variance of the error of a kind is a weighted mean
# of two variances: the variance in the recordings and the variance of the blind error.
BLIND_WEIGHT = 2.0
# Weight of the distance of a change in the variance of its error. The variance is proportional to
# |ln predicted gain| + IDLE_SHARE * distance.
IDLE_SHARE = 0.1
# Smallest standard deviation of the error of a change, so that no interval has a width of zero.
LEAST_SD = 0.02


class ErrorOfChange(BaseModel):
    """One recorded change, with the natural logarithms of its predicted gain and of its measured
    gain. `recording`: name of the recording that has the change. `distance`: |ln(new value / old
    value)|."""

    basis: Basis
    kind: ChangeKind
    recording: str
    distance: float
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """ln(predicted gain / measured gain)."""
        return self.predicted - self.measured


class KindError(BaseModel):
    """The estimated error of one kind of change. `doubling_sd` is the standard deviation of the
    error of the log gain when a value is doubled and the predicted gain is 2.

    `recordings`, `pairs`: number of recordings, and of compared pairs of configurations that differ
    by a change of this kind; 0 if `doubling_sd` is the blind error.
    """

    basis: Basis
    kind: ChangeKind
    recordings: int
    pairs: int
    doubling_sd: float


class ChangeErrors(BaseModel):
    """The error of every kind of change, separately for models calibrated on the run ("run") and
    for descriptions alone ("description")."""

    kinds: list[KindError]

    def of_kind(self, basis: Basis, kind: ChangeKind) -> KindError:
        """Returns the error of a kind of change; the blind error for a kind without recordings."""
        for one in self.kinds:
            if (one.basis, one.kind) == (basis, kind):
                return one
        return KindError(basis=basis, kind=kind, recordings=0, pairs=0, doubling_sd=BLIND_SD)

    def sd(
        self,
        basis: Basis,
        changes: Sequence[Change],
        log_gain: float,
        carried_out: InterventionErrors | None,
    ) -> float:
        """Returns the standard deviation of the model's error of `log_gain`, the natural logarithm
        of the gain predicted for several simultaneous changes. `carried_out`: errors learnt from
        carried-out changes of workloads with the same class of operations ("data" or "metadata");
        None if there are none.

        `log_gain` is divided among the changes in proportion to their distances, and the variances
        of the changes' errors are added, because these errors are assumed to be independent. The
        result is at least LEAST_SD.
        """
        whole = sum(one.distance for one in changes)
        variance = sum(
            self._variance(basis, one, log_gain * one.distance / whole, carried_out)
            for one in changes
            if whole
        )
        return max(LEAST_SD, math.sqrt(variance))

    def basis_of(
        self, basis: Basis, kind: ChangeKind, carried_out: InterventionErrors | None
    ) -> str:
        """Returns the data on which the interval of a gain is based, as text such as "12
        carried-out changes of link on 6 file systems"."""
        own = self.of_kind(basis, kind)
        if carried_out is not None and self._is_learnt(basis, kind, carried_out):
            return carried_out.basis_of(kind)
        if own.recordings:
            pairs = counted(own.pairs, "pair")
            return f"{pairs} of configurations in {counted(own.recordings, 'recording')}"
        return "too few recorded changes; the error of two independent predictions"

    def _is_learnt(self, basis: Basis, kind: ChangeKind, carried_out: InterventionErrors) -> bool:
        """Returns whether the error of a kind of change is learnt from carried-out changes. The
        error is not learnt from them in two cases:
        - The kind was carried out on too few file systems.
        - The model is calibrated on a run, and there are pairs of recorded configurations for this
          kind. The pairs then take precedence."""
        has_pairs = basis == "run" and self.of_kind(basis, kind).recordings > 0
        return carried_out.is_learnt(kind) and not has_pairs

    def _variance(
        self, basis: Basis, change: Change, log_gain: float, carried_out: InterventionErrors | None
    ) -> float:
        if carried_out is not None and self._is_learnt(basis, change.kind, carried_out):
            return carried_out.variance(change.kind, log_gain, change.distance)
        own = self.of_kind(basis, change.kind)
        return own.doubling_sd**2 * growth(log_gain, change.distance)


def growth(log_gain: float, distance: float) -> float:
    """Returns the variance of the error of a change relative to a reference change. The reference
    change doubles a value and also doubles the rate. `log_gain`: ln(predicted gain). `distance`:
    |ln(new value / old value)|."""
    return (abs(log_gain) + IDLE_SHARE * distance) / (DOUBLING * (1 + IDLE_SHARE))


def learnt(errors: Sequence[ErrorOfChange]) -> ChangeErrors:
    """Returns the errors by kind of change. The variance of a kind is a weighted mean over the
    recordings and the blind error. Each recording has the weight 1, whatever its number of pairs.
    The blind error has the weight BLIND_WEIGHT."""
    found = []
    for basis in ("run", "description"):
        for kind in KINDS:
            own = [one for one in errors if (one.basis, one.kind) == (basis, kind)]
            if own:
                found.append(_of_kind(basis, kind, own))
    return ChangeErrors(kinds=found)


def _of_kind(basis: Basis, kind: ChangeKind, errors: Sequence[ErrorOfChange]) -> KindError:
    by_recording: dict[str, list[float]] = {}
    for one in errors:
        scaled = abs(one.error) / math.sqrt(growth(one.predicted, one.distance))
        by_recording.setdefault(one.recording, []).append(scaled)
    spreads = [
        float(np.quantile(each, CONFIDENCE)) / CONFIDENCE_SDS for each in by_recording.values()
    ]
    weight = len(spreads) + BLIND_WEIGHT
    variance = (sum(one**2 for one in spreads) + BLIND_WEIGHT * BLIND_SD**2) / weight
    return KindError(
        basis=basis,
        kind=kind,
        recordings=len(spreads),
        pairs=len(errors),
        doubling_sd=round(math.sqrt(variance), 4),
    )


@cache
def recorded_errors() -> ChangeErrors:
    """Returns the table of errors that is stored with the package."""
    return ChangeErrors.model_validate_json(TABLE.read_text(encoding="utf-8"))
