"""Fits the constants of descriptions to the measurements of earlier campaigns, one file system
after the other.

The fit is the calibration of dfslab, with the constants of the descriptions as priors. The fitted
constants should be those of an idle machine, but other programs used processors during the
measurements. Two corrections are made for points that processors limit. For a point of several
clients, the share of other programs is subtracted. A point of a single client is left out, because
its latency includes waits for processors, which no counter measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dfslab.models.fit.demand import Calibration, Observation, calibrate_on
from dfslab.models.tree.prediction import situation_of

from verification.blind.configuration import scenario_of
from verification.blind.figures import Judged
from verification.blind.machine import MachineProfile
from verification.blind.repeated.contention import scenario_beside_others

PROCESSOR = "processor"
FEWEST_POINTS = 5


def observation(one: Judged, machine: MachineProfile) -> Observation:
    """Returns a measured point as an observation for the calibration."""
    is_slowed = one.predicted.regime == PROCESSOR and one.predicted.clients > 1
    situation = situation_of(
        scenario_beside_others(one, machine)
        if is_slowed
        else scenario_of(one.predicted.point, machine)
    )
    return Observation(situation, tuple(sorted(situation.mix)), one.rate_per_s, {})


def is_fitted(one: Judged) -> bool:
    """Returns whether a point is used in the fit. Points of a single client that processors limit
    are not used."""
    return one.predicted.regime != PROCESSOR or one.predicted.clients > 1


def refitted(observed: Sequence[Observation]) -> Mapping[str, Calibration]:
    """Returns a dictionary from file system to fitted constants. The dictionary has only file
    systems with at least FEWEST_POINTS points."""
    groups: dict[str, list[Observation]] = {}
    for one in observed:
        groups.setdefault(one.situation.scenario.file_system.name, []).append(one)
    return {name: calibrate_on(own) for name, own in groups.items() if len(own) >= FEWEST_POINTS}


def text(observed: Sequence[Observation]) -> Iterator[str]:
    """Yields the lines of a table of constants: a headline, and one line for each constant. The
    line has the constant's value in the description, its fitted value, and the standard error of
    ln(fitted value). The last column is the share of the prior's variance that the points
    remove."""
    yield "constants fitted to these points: description -> fit (ln error; learnt)"
    for name, found in refitted(observed).items():
        system = next(
            one.situation.system
            for one in observed
            if one.situation.scenario.file_system.name == name
        )
        declared = system.parameters.of_origin("calibrated")
        for one in found.constants:
            default = declared[one.key].default or 0.0
            yield (
                f"  {name:10} {one.key:20} {default:.2e} -> {one.value:.2e} {one.unit} "
                f"({one.log_standard_error:.2f}; {one.learnt:.0%})"
            )
