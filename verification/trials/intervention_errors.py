"""Computes the error of predicted gains from the recorded interventions. Judges this error on file
systems that were not used to compute it.

`python -m verification.trials.intervention_errors` writes the table of errors that the package
contains.

For the judgement, each file system is left out once. The error is computed from the interventions
of the other file systems. This error determines the intervals and the certainty of the predicted
gains on the file system that was left out. The predicted gains are those that were recorded before
any measurement.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Sequence
from statistics import fmean, median

import numpy as np
from dfslab.documents.answers import Sureness
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.changes.change import Change
from dfslab.spec.scenario import Scenario
from dfslab.studies.decisions.change_error import recorded_errors
from dfslab.studies.decisions.gains import SMALL, GainEstimate, gain_of
from dfslab.studies.decisions.intervention_error import (
    TABLE,
    CarriedOutError,
    InterventionErrors,
    errors_for,
    learnt_from,
)
from dfslab.studies.decisions.whatif import operations_of
from dfslab.studies.trials.intervention_record import Intervention
from dfslab.studies.trials.measured_gain import START

from verification.figures import Figure

EXPERIMENT = "interventions"
# Smallest number of interventions for which a median error is computed. The medians are computed
# for each workload and for each kind of change.
FEWEST_OF_PART = 5


def figures(recording: str, interventions: Sequence[Intervention]) -> list[Figure]:
    """Returns two kinds of figures. The first kind judges the predicted gains on each file system
    with errors that are computed from other file systems. The second kind is the signed median
    errors by workload and by kind of change."""
    found = judged(interventions)
    sure = [
        (one, predicted) for one, predicted in found if predicted.sureness is not Sureness.UNDECIDED
    ]
    right = [has_direction(predicted, gain(one)) for one, predicted in sure]
    inside = [predicted.low <= gain(one) <= predicted.high for one, predicted in found]
    unsure = [predicted.sureness is Sureness.UNDECIDED for _, predicted in found]
    rows = [
        Figure(EXPERIMENT, recording, f"gains.{bar}", "", fmean(held) if held else None, len(held))
        for bar, held in (("sign", right), ("cannot-tell", unsure), ("coverage", inside))
    ]
    parts: dict[str, list[float]] = {}
    for one in errors_of(interventions):
        parts.setdefault(one.workload, []).append(one.error)
        parts.setdefault(f"{one.operations}: {one.kind}", []).append(one.error)
    rows += [
        Figure(EXPERIMENT, recording, "gains.bias", part, median(own), len(own))
        for part, own in parts.items()
        if len(own) >= FEWEST_OF_PART
    ]
    return rows


def gain(one: Intervention) -> float:
    """Returns the measured gain of an intervention that has one."""
    assert one.measured is not None
    assert one.measured.gain is not None
    return one.measured.gain.gain


def has_direction(predicted: GainEstimate, measured: float) -> bool:
    """Returns whether the predicted direction is right. A predicted gain or loss is right if the
    measured gain has the same direction. A prediction of no gain is right if the measured gain is
    between 1 / (1 + SMALL) and 1 + SMALL."""
    if predicted.is_none:
        return abs(math.log(measured)) < math.log1p(SMALL)
    return (predicted.gain > 1) == (measured > 1)


def errors_of(interventions: Sequence[Intervention]) -> list[CarriedOutError]:
    """Returns the errors of the interventions that have a measured gain. Each intervention consists
    of a single change."""
    return [error for one in interventions if (error := _error_of(one)) is not None]


def _error_of(one: Intervention) -> CarriedOutError | None:
    """Returns the error of one intervention, or None if the intervention has no measured gain."""
    if one.measured is None or one.measured.gain is None:
        return None
    change = one.predicted.changes[0]
    scenario = Scenario.model_validate(tomllib.loads(one.predicted.scenario))
    return CarriedOutError(
        file_system=one.predicted.file_system,
        workload=scenario.name.removeprefix(f"{one.predicted.file_system}-"),
        operations=operations_of(situation_of(scenario)),
        trial=_trial(one),
        change=change.text,
        kind=change.kind,
        distance=round(change.distance, 4),
        predicted=round(math.log(one.predicted.predicted.gain), 4),
        measured=round(math.log(one.measured.gain.gain), 4),
    )


def _trial(one: Intervention) -> str:
    """Returns a digest that identifies the runs of the unchanged configuration with which an
    intervention was compared. Interventions that were compared with the same runs have the same
    digest."""
    assert one.measured is not None
    starts = [f"{run.value}" for run in one.measured.runs if run.configuration == START]
    text = "\n".join([one.predicted.scenario, *starts])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def judged(interventions: Sequence[Intervention]) -> list[tuple[Intervention, GainEstimate]]:
    """Returns (intervention, predicted gain) for each intervention. The interval and the certainty
    of the gain are computed from the interventions on other file systems."""
    known = [(one, error) for one in interventions if (error := _error_of(one)) is not None]
    found = []
    for system in dict.fromkeys(error.file_system for _, error in known):
        others = learnt_from([error for _, error in known if error.file_system != system])
        found += [
            (one, _estimate(errors_for(error.operations, others), error))
            for one, error in known
            if error.file_system == system
        ]
    return found


def _estimate(carried_out: InterventionErrors | None, error: CarriedOutError) -> GainEstimate:
    change = Change(error.change, {}, error.kind, error.distance)
    sd = recorded_errors().sd("description", [change], error.predicted, carried_out)
    noise_sd = 0.0 if carried_out is None else carried_out.measured_sd
    return gain_of(np.array([math.exp(error.predicted)]), (sd,), noise_sd=noise_sd)


def main() -> None:
    """Learns the errors from all recorded interventions and writes them to the package's table."""
    from verification.trials.interventions import measured

    tables = [one.model_dump(mode="json") for one in learnt_from(errors_of(measured()))]
    TABLE.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
