"""The runs that would settle whether a change gains, with the command that makes them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from dfslab.method import MEASURE
from dfslab.models.tree.prediction import Situation
from dfslab.spec.changes.change import Change
from dfslab.spec.check import check, check_place
from dfslab.spec.design import Design, LevelValue
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Judge, Point, Scenario
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.doubts import duration_text

# Number of runs of a configuration before and after a change, to decide by measurement whether the
# change gains.
SETTLING_RUNS = 3
REPEATED = f"run.repetitions={SETTLING_RUNS}"
BY_HAND = (
    " (dfslab cannot make it in a real system, so make it by hand and run the command before and "
    "after)"
)


def _changed_by_hand(changes: Sequence[Change], point: Point) -> list[str]:
    """Returns the keys of the changes that dfslab cannot set: on a real system, all keys except
    those of the workload."""
    if point.scenario.file_system.access.testbed:
        return []
    return [key for one in changes for key in one.values if not key.startswith("workload.")]


def needs_hardware(changes: Sequence[Change], point: Point) -> bool:
    """Returns whether other hardware has to be bought or rented to measure the changes."""
    return any(key.startswith("deployment.") for key in _changed_by_hand(changes, point))


def settling_run(
    evidence: DecisionInput, changes: Sequence[Change], situation: Situation, point: Point
) -> list[str]:
    """Returns a list with one sentence on the runs that would measure a gain. The sentence states
    their number before and after the change, their duration, and the command. The duration assumes
    the measured rate for all runs, because a duration from predicted rates would reveal the
    withheld gain.

    On a testbed, the command measures the configuration `point` before and after the change. On a
    real system, it changes only keys of the workload, and the user has to make the other changes by
    hand. The sentence has no command in two cases: the changes include other hardware of a real
    system, because an unreliable prediction does not justify a purchase; or the scenario does not
    allow a configuration that has to be measured.
    """
    new = {key: value for one in changes for key, value in one.values.items()}
    by_hand = _changed_by_hand(changes, point)
    name = " and ".join(one.text for one in changes)
    if needs_hardware(changes, point):
        return [f"Only runs on the changed hardware would settle {name}."]
    after = {**point.labels, **{key: new[key] for key in new if key not in by_hand}}
    rows = [point.labels] if after == point.labels else [point.labels, after]
    try:
        for one in check(_alone(evidence.scenario, rows)):
            check_place(one.scenario)
    except InputError as error:
        needed = "They need a change of the scenario"
        return [f"Only measurements would settle {name}. {needed}: {error}."]
    run = point.scenario.run
    rate_per_s = evidence.measured.get(point.id)
    if rate_per_s is None:
        rate_per_s = situation.predict(evidence.constants(situation)[0]).rate_per_s
    each_s = run.time_limit if run.timed else situation.operations / rate_per_s
    seconds = 2 * SETTLING_RUNS * each_s
    return [
        f"Would settle {name}: {SETTLING_RUNS} runs before and after the change"
        f"{BY_HAND if by_hand else ''}, about {duration_text(seconds)}: "
        f"dfslab measure {_file(evidence)} {_options(evidence.scenario, rows)}"
    ]


def _file(evidence: DecisionInput) -> str:
    """Returns the scenario file of a decision's input for a command. The text contains RUN instead
    of the path of a run's folder, because the text is stored and the folder can be moved."""
    if evidence.source.is_dir():
        return "RUN/scenario.toml"
    return shlex.quote(str(evidence.source))


def _alone(scenario: Scenario, rows: Sequence[Mapping[str, LevelValue]]) -> Scenario:
    """Returns the scenario that measures exactly the configurations `rows`, each SETTLING_RUNS
    times. `rows`: the varied keys of each configuration with their values."""
    one = scenario.with_methods([MEASURE]).with_rows(rows)
    update = {"judge": Judge(), "design": Design()}
    return one.model_copy(update=update).replace({"run.repetitions": SETTLING_RUNS})


def _options(scenario: Scenario, rows: Sequence[Mapping[str, LevelValue]]) -> str:
    """Returns the options with which a command measures what `_alone` describes. The sweep is
    replaced as a whole, because its grids may vary different keys."""
    sweep = [{key: [value] for key, value in row.items()} for row in rows]
    sets = [f"sweep={json.dumps(sweep, ensure_ascii=False)}"]
    sets += ["design={}"] if scenario.design.factor else []
    sets += ["judge.hold_out=[]"] if scenario.judge.hold_out else []
    return " ".join(f"--set {shlex.quote(one)}" for one in [*sets, REPEATED])
