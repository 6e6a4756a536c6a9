"""Plans what `dfslab tune` measures.

The module plans the tuning of the first configuration of a scenario, or of an existing directory or
running testbed of the user. In a directory or testbed of the user, only client settings change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dfslab.instruments.discovery import place as places
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.spec.check import check
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Judge, Point, Scenario
from dfslab.studies.decisions.decision_input import MODEL, DecisionInput
from dfslab.studies.expect.hardware_facts import DeclaredHardware
from dfslab.studies.expect.place_scenario import scenario_of
from dfslab.studies.trials.live_measuring import Opening, measurable, measuring
from dfslab.studies.trials.tunable_settings import settings_of
from dfslab.studies.trials.tuning import TuningPlan

# The default workload when an existing directory or a running testbed is tuned. Options of the
# command change it.
WORKLOAD: dict[str, LevelValue] = {
    "workload.file_size": "16 MiB",
    "workload.transfer_size": "128 KiB",
    "workload.operations_per_client": 16,
    "workload.clients": 2,
}


def place_scenario(found: DiscoveredPlace) -> tuple[Scenario, Opening]:
    """Returns a scenario of an existing directory, an address or a running testbed, without sweep,
    and the function that opens it for measurements. The hardware of the place is probed."""
    made = scenario_of(found, places.probed(found), DeclaredHardware())
    scenario = made.busy.with_sweep([]).replace(WORKLOAD)
    return scenario, partial(measuring, place=found)


def plan_tuning(
    source: Path,
    scenario: Scenario,
    may: Sequence[str],
    runs: int,
    limit_s: float,
    records: Path,
    is_running: bool,
) -> TuningPlan:
    """Plans the tuning of a scenario's first configuration.

    `may`: permissions of `risks.PERMISSIONS`. `is_running`: the testbed belongs to the
    user, so only settings of clients change. Raises InputError if no setting can change, if the
    scenario cannot be measured here, or if its gains cannot be predicted.
    """
    points = scenario.points()
    labels = points[0].labels
    alone = points[0].scenario.with_methods([MODEL]).model_copy(update={"judge": Judge()})
    _check(alone)
    point = Point(scenario=alone, labels=labels)
    settings = settings_of(alone, may, is_running)
    if not settings:
        raise InputError("SCENARIO", str(source), "has no setting that can be changed and measured")
    evidence = DecisionInput(source, scenario, [point], "description")
    return TuningPlan(evidence, point, settings, runs, limit_s, records)


def _check(scenario: Scenario) -> None:
    """Raises InputError if the scenario cannot be measured here, or if its gains cannot be
    predicted."""
    measurable(scenario)
    check(scenario)
    if scenario.workload.arrival != "closed":
        allowed = 'must be "closed", because the rate of an open workload is given'
        raise InputError("workload.arrival", scenario.workload.arrival, allowed)
