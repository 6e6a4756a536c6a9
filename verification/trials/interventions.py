"""Records predicted and measured gains of changes on testbeds. Each change concerns one resource.
The module also computes the figures that judge the predictions.

A base is the unchanged configuration of one file system and workload. The changes of a base are
divided into groups. `python -m verification.trials.interventions SYSTEM WORKLOAD --group N` carries
out one group. The command stores the predictions before it measures, and appends the interventions
to `data/interventions.jsonl`. The command needs root rights.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from dfslab.documents.answers import Sureness
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Judge, Point, Scenario, read
from dfslab.studies.decisions.decision_input import MODEL, DecisionInput
from dfslab.studies.decisions.whatif import PairedModel
from dfslab.studies.trials.feasible import why_not
from dfslab.studies.trials.intervention_record import Intervention, read_records
from dfslab.studies.trials.verifying import PlannedIntervention, VerificationPlan, carry_out

from verification.figures import Figure
from verification.recordings import DATA, INTERVENTIONS, SCENARIOS
from verification.trials import intervention_errors
from verification.trials.intervention_errors import gain, has_direction

TABLE = Path(__file__).with_suffix(".toml")
RECORDING = "interventions"
FILE = DATA / f"{RECORDING}{INTERVENTIONS}"
EXPERIMENT = "interventions"
# The scenario of each file system. The scenario comes with dfslab. The hardware of its deployment
# is replaced by the hardware in the table of bases.
SYSTEMS = {
    "nfs": "nfs",
    "glusterfs": "glusterfs",
    "moosefs": "moosefs",
    "juicefs": "juicefs",
    "hdfs": "hdfs-hosts",
    "cephfs": "cephfs",
}
ROUNDS = 2
# GROUP is the largest number of changes in a group whose changes each need a separate testbed.
# LIMIT_S is the time limit in seconds of the trial that measures a group.
GROUP, LIMIT_S = 3, 200.0
# Smallest number of changes of a file system for which its coverage is computed separately.
FEWEST = 5


@dataclass(frozen=True)
class Base:
    """The unchanged configuration of a trial, and the texts of the changes that are carried out."""

    scenario: Scenario
    changes: Sequence[str]


def workloads() -> list[str]:
    """Returns the names of the workloads of the table."""
    return [one["name"] for one in _table()["workload"]]


def base_of(system: str, workload: str) -> Base:
    """Returns the base of one file system and one workload. The table states the hardware of its
    hosts."""
    table = _table()
    own = next(one for one in table["workload"] if one["name"] == workload)
    scenario = read(SCENARIOS / f"{SYSTEMS[system]}.toml").with_sweep([])
    hardware = table["hardware"]
    values: dict[str, LevelValue] = {"deployment.network.latency": hardware["latency"]}
    for group in scenario.deployment.node:
        key = f"deployment.node.{group.name}"
        values[f"{key}.adapter.bandwidth"] = hardware["link"]
        values[f"{key}.disk.read_rate"] = values[f"{key}.disk.write_rate"] = hardware["disk"]
        if group.name == "server" and system != "nfs":
            values[f"{key}.count"] = hardware["servers"]
    if system == "hdfs":
        values["file_system.replication"] = hardware["servers"]
    found = scenario.replace(values)
    # The keys of the original scenario's workload are dropped, because the workload of this base
    # may not have them.
    choice = {key.removeprefix("workload."): value for key, value in own["values"].items()}
    kind = type(found.workload)
    found = found.model_copy(update={"workload": kind.model_validate(choice), "judge": Judge()})
    # The title is replaced, because the original title states other hardware.
    names = {"name": f"{system}-{workload}", "title": f"What do changes of {system} gain?"}
    return Base(found.model_copy(update=names).with_methods([MODEL]), own["changes"])


def plan_of(base: Base) -> VerificationPlan:
    """Plans the changes of a base. A change is left out if it is illegal on the base, if a testbed
    cannot make it, or if it changes nothing. The reason is printed."""
    start = base.scenario
    point = Point(scenario=start, labels={})
    model = PairedModel(DecisionInput(TABLE, start, [point], "description"))
    operations = list(situation_of(start).mix)
    found = []
    for text in base.changes:
        try:
            changes = (parse_change(text, start),)
            predicted = model.gain(point, changes).rate
            refused = why_not(apply(start, changes), changes)
        except InputError as error:
            print(f"left out: {text}: {error}")
            continue
        if changes[0].distance and not refused:
            found.append(PlannedIntervention(start, "", operations, changes, predicted, ""))
        else:
            print(f"left out: {text}: {refused or 'changes nothing'}")
    return VerificationPlan(start.name, "rate", "description", found, ROUNDS, LIMIT_S)


def groups_of(plan: VerificationPlan) -> list[VerificationPlan]:
    """Divides the changes of a plan into groups. The first group has the changes that concern only
    the workload, because one testbed is enough for all of them. Each other change needs a separate
    testbed. These changes are divided into as few groups as possible with at most GROUP changes."""
    of_workload = [one for one in plan.interventions if _is_of_workload(one)]
    others = [one for one in plan.interventions if not _is_of_workload(one)]
    count = math.ceil(len(others) / GROUP)
    groups = [of_workload, *(others[at::count] for at in range(count))]
    return [replace(plan, interventions=own) for own in groups if own]


def _is_of_workload(one: PlannedIntervention) -> bool:
    keys = [key for change in one.changes for key in change.values]
    return all(key.startswith("workload.") for key in keys)


def frozen(plan: VerificationPlan) -> str:
    """Returns the SHA-256 digest of a plan's changes and predicted gains, in hexadecimal digits.
    The digest is printed before anything is measured."""
    lines = [f"{one.name} {one.predicted.model_dump_json()}" for one in plan.interventions]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def subjects() -> list[str]:
    """Returns the names of the recordings."""
    return [RECORDING]


def measured() -> list[Intervention]:
    """Returns the recorded interventions that have a measured gain."""
    return [
        one
        for one in read_records(FILE)
        if one.measured is not None and one.measured.gain is not None
    ]


def figures(recording: str) -> list[Figure]:
    """Returns two sets of figures of all interventions. The first set judges the predictions as
    they were recorded. The second set judges predictions with other intervals, which are computed
    from the errors on other file systems."""
    return [*_as_predicted(recording), *intervention_errors.figures(recording, measured())]


def _as_predicted(recording: str) -> list[Figure]:
    found = measured()
    sure = [one for one in found if is_sure(one)]
    regrets = regrets_of(found)
    rows = [
        ("sign", "", _share([is_right(one) for one in sure]), len(sure)),
        ("cannot-tell", "", _share([not is_sure(one) for one in found]), len(found)),
        ("coverage", "", _share([is_inside(one) for one in found]), len(found)),
        ("regret", "", median(regrets) if regrets else None, len(regrets)),
    ]
    for system in SYSTEMS:
        own = [one for one in found if one.predicted.file_system == system]
        if len(own) >= FEWEST:
            rows.append(("coverage", system, _share([is_inside(one) for one in own]), len(own)))
    return [
        Figure(EXPERIMENT, recording, f"interventions.{bar}", part, value, points)
        for bar, part, value, points in rows
    ]


def is_sure(one: Intervention) -> bool:
    """Returns whether the prediction states a direction (a gain, a loss or no gain)."""
    return one.predicted.predicted.sureness is not Sureness.UNDECIDED


def is_right(one: Intervention) -> bool:
    """Returns whether the predicted direction is right."""
    return has_direction(one.predicted.predicted, gain(one))


def is_inside(one: Intervention) -> bool:
    """Returns whether the measured gain is inside the recorded 90 % interval of the predicted
    gain."""
    predicted = one.predicted.predicted
    return predicted.low <= gain(one) <= predicted.high


def regrets_of(found: Sequence[Intervention]) -> list[float]:
    """Returns the regret 1 - g / G for each base. G is the largest measured gain of all changes of
    the base, but at least 1. g is the measured gain of the change with the largest predicted gain.
    If no predicted gain is above 1, nothing is changed, and g is 1."""
    bases: dict[str, list[Intervention]] = {}
    for one in found:
        bases.setdefault(one.predicted.scenario, []).append(one)
    regrets = []
    for own in bases.values():
        best = max(own, key=lambda one: one.predicted.predicted.gain)
        chosen = gain(best) if best.predicted.predicted.gain > 1 else 1.0
        regrets.append(1 - chosen / max(1.0, chosen, *map(gain, own)))
    return regrets


def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _share(held: Sequence[bool]) -> float | None:
    return sum(held) / len(held) if held else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Records one group of changes of one base and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification.trials.interventions")
    parser.add_argument("system", choices=list(SYSTEMS))
    parser.add_argument("workload", choices=workloads())
    parser.add_argument("--group", type=int, default=1, help="number of the group, from 1")
    requested = parser.parse_args(arguments)
    groups = groups_of(plan_of(base_of(requested.system, requested.workload)))
    if not 1 <= requested.group <= len(groups):
        parser.error(f"--group = {requested.group}: must be from 1 to {len(groups)}")
    plan = groups[requested.group - 1]
    print(plan.announcement(), flush=True)
    print(f"predictions frozen: sha256 {frozen(plan)}", flush=True)

    def report(done: float, total: float, text: str, *remaining_s: float) -> None:
        print(f"{done:.0f} of {total:.0f}: {text}", flush=True)

    found = carry_out(plan, FILE, report, lambda text: None)
    for one in found.rows:
        real = "not measured" if one.real is None else one.real.text
        print(f"{one.change}: predicted × {one.predicted.gain:.2f}, real {real}, {one.agreement}")
        if one.refused:
            print(f"    {one.refused}")
    print("\n".join(found.notes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
