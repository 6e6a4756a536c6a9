"""Measures the errors of predicted changes. A change is the ratio of the rates of two recorded
configurations that differ in one factor. The error of a predicted change is ln(predicted ratio /
measured ratio).

Each fold of a recording's configurations is held out once, and the model is calibrated on the other
folds. A pair then consists of one configuration that was used for the calibration and one that was
held out. The errors of the uncalibrated model, whose constants are priors, are computed for all
pairs of configurations. All errors include the noise of the measurements.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence

from dfslab.models.fit.demand import Calibration, Observation, calibrate, observations, uncalibrated
from dfslab.models.tree.prediction import situation_of
from dfslab.result import Result
from dfslab.spec.changes.differences import change_between
from dfslab.studies.decisions.change_error import TABLE, ErrorOfChange, learnt
from dfslab.studies.decisions.gains import Basis

from verification import recordings

FOLDS = 4
SEED = 1


def pairs_of(scenario: str, recording: str) -> Iterator[ErrorOfChange]:
    """Yields the errors of predicted changes between pairs of configurations of one recording. The
    errors of the uncalibrated model come first, then those of the calibrated models. Only complete
    runs with closed arrivals are used. Only pairs between which `change_between` finds a change are
    used."""
    results = [one for one in recordings.runs(scenario, recording) if one.complete]
    results = [one for one in results if one.point.scenario.workload.arrival == "closed"]
    by_point: dict[str, list[Result]] = {}
    for result in results:
        by_point.setdefault(result.point_id, []).append(result)
    ids = sorted(by_point)
    random.Random(SEED).shuffle(ids)
    observed = {key: observations(group) for key, group in by_point.items()}
    known = {key: found[0] for key, found in observed.items() if found}
    plain = uncalibrated(situation_of(results[0].point.scenario))
    yield from _of_basis(recording, "description", plain, known, list(known), list(known))
    for turn in range(FOLDS):
        held_out = [key for key in ids[turn::FOLDS] if key in known]
        fitted = [key for key in known if key not in held_out]
        calibration = calibrate([one for key in fitted for one in by_point[key]])
        yield from _of_basis(recording, "run", calibration, known, fitted, held_out)


def _of_basis(
    recording: str,
    basis: Basis,
    calibration: Calibration,
    known: Mapping[str, Observation],
    fitted: Sequence[str],
    held_out: Sequence[str],
) -> Iterator[ErrorOfChange]:
    rates = {
        key: one.situation.predict({**one.situation.constants, **calibration.values}).rate_per_s
        for key, one in known.items()
    }
    for first in fitted:
        for second in held_out:
            if first == second or (basis == "description" and first > second):
                continue
            one, other = known[first], known[second]
            found = change_between(one.situation.scenario, other.situation.scenario)
            if found is None:
                continue
            measured = math.log(other.rate_per_s / one.rate_per_s)
            predicted = math.log(rates[second] / rates[first])
            yield ErrorOfChange(
                basis=basis,
                kind=found[0],
                recording=recording,
                distance=found[1],
                predicted=predicted,
                measured=measured,
            )


def learnt_from() -> list[tuple[str, str]]:
    """Returns (scenario, recording) for every recording from which the errors are computed. Of each
    scenario, it is the first recording.

    Designed studies are excluded, because their configurations differ in many factors at the same
    time. Tables of public measurements are excluded, because they belong to no scenario.
    """
    names = dict.fromkeys(
        recordings.scenario_of(path.stem) for path in sorted(recordings.DATA.glob("*.csv"))
    )
    return [
        (name, recordings.of_scenario(name)[0])
        for name in names
        if name and not recordings.scenario(name).design.factor
    ]


def every_pair() -> list[ErrorOfChange]:
    """Returns the errors of predicted changes between pairs of configurations, from all recordings
    that `learnt_from` lists."""
    return [pair for name, recording in learnt_from() for pair in pairs_of(name, recording)]


def main() -> None:
    """Computes the errors of the pairs of all recordings that `learnt_from` lists, and writes the
    table of errors to its file."""
    table = learnt(every_pair())
    TABLE.write_text(json.dumps(table.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
