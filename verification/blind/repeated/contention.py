"""Predicts measured points for the processor time that other programs left to them. The difference
from the usual prediction is the effect of other programs. The remaining error is due to the models.

The recordings have the processor time that other programs used, as a share of all processors. These
predictions therefore use a measured quantity in addition to the description and the machine's
profile, and are no blind result.
"""

from __future__ import annotations

from dataclasses import replace

from dfslab.models.tree.prediction import situation_of
from dfslab.spec.scenario import Scenario

from verification.blind.configuration import scenario_of
from verification.blind.figures import Judged
from verification.blind.machine import MachineProfile

# Smallest share of the processors that a point is assumed to get, even if other programs used more.
LEAST_SHARE = 0.1


def left_share(one: Judged, cores: int) -> float:
    """Returns the share of processor time that other programs left to a point, between LEAST_SHARE
    and 1. Returns 1 if the use of other programs is not known. `cores` is the number of the
    machine's cores.

    A point with fewer clients than cores leaves some cores idle. Other programs delay this point
    only by the processor time that they use in addition to the idle cores.
    """
    left_cores = cores * (1.0 - (one.measured.others_share or 0.0))
    return max(LEAST_SHARE, min(1.0, left_cores / min(cores, one.predicted.clients)))


def scenario_beside_others(one: Judged, machine: MachineProfile) -> Scenario:
    """Returns the scenario of a point. The hosts of the scenario have only the share of the
    processors that other programs did not use."""
    scenario = scenario_of(one.predicted.point, machine)
    share = left_share(one, machine.node.cores)
    names = [group.name for group in scenario.deployment.node]
    return scenario.replace({f"deployment.node.{name}.share": share for name in names})


def beside_others(one: Judged, machine: MachineProfile) -> Judged:
    """Returns a copy of a point with another prediction: the rate for the processor time that other
    programs left to the point. The bounds of the 90 % interval change by the same factor as the
    rate."""
    alone, beside = (
        situation_of(scenario)
        for scenario in (
            scenario_of(one.predicted.point, machine),
            scenario_beside_others(one, machine),
        )
    )
    factor = beside.predict(beside.constants).rate_per_s / alone.predict(alone.constants).rate_per_s
    predicted = replace(
        one.predicted,
        predicted_per_s=one.predicted.predicted_per_s * factor,
        low_per_s=one.predicted.low_per_s * factor,
        high_per_s=one.predicted.high_per_s * factor,
    )
    return replace(one, predicted=predicted)
