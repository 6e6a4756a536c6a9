"""Carries out changes on the real file system and compares their measured gains with the predicted
gains."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import frexp
from pathlib import Path

from dfslab.documents.table import labels_text
from dfslab.method import RunFailed
from dfslab.notify import Notify
from dfslab.spec import units
from dfslab.spec.changes.change import Change
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.changes.goal import Goal
from dfslab.spec.clock import REAL, Clock, date
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.contract import Progress
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.gains import Basis, GainEstimate
from dfslab.studies.decisions.reported.advice_table import Recommended
from dfslab.studies.decisions.risks import permissions_for, risk_of
from dfslab.studies.trials.carried_out import CarriedOut, VerifiedAdvice
from dfslab.studies.trials.feasible import why_not
from dfslab.studies.trials.interleaved import TimeBudget, Trial, TrialConfiguration, interleaved
from dfslab.studies.trials.intervention_record import (
    MeasuredIntervention,
    PredictedIntervention,
    append,
    prediction_of,
)
from dfslab.studies.trials.live_measuring import Opening, expected_s, measurable, measuring
from dfslab.studies.trials.measured_gain import START, measured_gains


@dataclass(frozen=True)
class PlannedIntervention:
    """A predicted change of one configuration that is to be carried out.

    `start`: the unchanged configuration. `configuration`: the varied keys of the unchanged
    configuration as text. `refused`: why the change cannot be carried out here; "" if it can be
    carried out. `risk`: what the change sacrifices, such as the durability of data; "" if nothing.
    """

    start: Scenario
    configuration: str
    operations: Sequence[str]
    changes: tuple[Change, ...]
    predicted: GainEstimate
    refused: str
    risk: str = ""

    @property
    def name(self) -> str:
        """The changes as text in the language of changes, such as "disk x2 and servers +1"."""
        return " and ".join(one.text for one in self.changes)

    @property
    def effort(self) -> tuple[bool, bool, int]:
        """The order in which changes are carried out, the smallest first:

        - changes that can be carried out, before those that cannot;
        - changes of the workload, which leave nothing to undo, before changes of settings and
          hardware, for which a testbed starts again;
        - changes whose run takes less time. Times within a factor of two count as equal."""
        if self.refused:
            return True, False, 0
        keys = [key for one in self.changes for key in one.values]
        restarts = not all(key.startswith("workload.") for key in keys)
        seconds = expected_s([apply(self.start, self.changes)])
        return False, restarts, frexp(seconds)[1]


@dataclass(frozen=True)
class VerificationPlan:
    """The changes that are carried out, the number of rounds in which they are measured, and the
    time limit in seconds. `risky`: changes that are left out because they put data at risk."""

    source: str
    goal: Goal
    basis: Basis
    interventions: Sequence[PlannedIntervention]
    rounds: int
    limit_s: float
    risky: Sequence[PlannedIntervention] = ()

    @property
    def groups(self) -> list[list[PlannedIntervention]]:
        """Returns the changes that can be carried out, grouped by their unchanged configuration.
        Each group is measured in one trial."""
        found: dict[str, list[PlannedIntervention]] = {}
        for one in self.interventions:
            if not one.refused:
                found.setdefault(one.start.toml(), []).append(one)
        return list(found.values())

    def announcement(self) -> str:
        """Returns one sentence on what is measured, how long the measurements are expected to take,
        and the time after which no further run begins."""
        runs = [one for group in self.groups for one in _order(group, self.rounds)]
        expected = units.text(expected_s([one.scenario for one in runs]), "s", 2)
        limit = units.text(self.limit_s, "s", 2)
        count = sum(len(group) for group in self.groups)
        return (
            f"Carries out {count} changes in {self.rounds} interleaved rounds: {len(runs)} runs, "
            f"expected to take {expected}; no run begins that would end after {limit}"
        )

    def left_out(self) -> list[str]:
        """Returns one sentence for each risk that is the reason why changes are left out."""
        by_risk: dict[str, dict[str, None]] = {}
        for one in self.risky:
            by_risk.setdefault(one.risk, {})[one.name] = None
        return [
            f"Left out, because {risk}: {', '.join(names)}. "
            f"{' '.join(f'--may {one}' for one in sorted(permissions_for(risk)))} carries it out."
            for risk, names in by_risk.items()
        ]


def plan_of(
    evidence: DecisionInput,
    advice: Recommended,
    most: int,
    rounds: int,
    limit_s: float,
    may: Collection[str] = (),
) -> VerificationPlan:
    """Plans to carry out at most `most` changes of an advice, the safest first. The changes are
    ordered by `PlannedIntervention.effort`; changes with equal effort stay in the order of the
    advice. A change that puts data at risk is left out unless `may` has the permission that it
    needs."""
    every = _planned(evidence, advice)
    risky = [one for one in every if not permissions_for(one.risk) <= set(may)]
    safe = sorted((one for one in every if one not in risky), key=lambda one: one.effort)
    return VerificationPlan(
        advice.source, advice.goal, evidence.basis, safe[:most], rounds, limit_s, risky
    )


def _planned(evidence: DecisionInput, advice: Recommended) -> list[PlannedIntervention]:
    """Returns the changes of an advice in its order. A change that gives the same scenario as an
    earlier change is skipped."""
    points = {labels_text(point.labels): point.scenario for point in evidence.points}
    found: list[PlannedIntervention] = []
    known: set[tuple[str, str]] = set()
    for row in advice.rows:
        configuration = labels_text(row.labels)
        start = points[configuration]
        changes = tuple(parse_changes(row.change.split(" and "), start))
        changed = apply(start, changes)
        if (configuration, changed.toml()) in known:
            continue
        known.add((configuration, changed.toml()))
        found.append(
            PlannedIntervention(
                start,
                configuration,
                row.operations,
                changes,
                row.gain,
                why_not(changed, changes),
                row.risk or risk_of(start, changed),
            )
        )
    return found


def carry_out(
    plan: VerificationPlan,
    records: Path,
    report: Progress,
    notify: Notify,
    opening: Opening = measuring,
    clock: Clock = REAL,
) -> VerifiedAdvice:
    """Carries out the planned changes and returns predicted and measured gains. The predictions are
    appended to the file `records` before anything is measured. The measurements are appended after
    all trials.

    An interrupt ends the measurements; what was measured until then is recorded and returned.
    Raises RunFailed or InputError if there is only one unchanged configuration and it cannot be
    measured.
    """
    predictions = [
        prediction_of(one.start, one.changes, plan.goal, plan.basis, one.predicted, clock)
        for one in plan.interventions
    ]
    for line in predictions:
        append(records, line)
    trials: dict[str, Trial] = {}
    notes = plan.left_out()
    for group in plan.groups:
        budget = TimeBudget(plan.limit_s / len(plan.groups), clock)
        trial = _trial(group, plan, budget, report, notify, opening)
        trials[group[0].start.toml()] = trial
        notes += trial.notes
        if trial.is_interrupted:
            break
    # After an interrupt, groups that were not begun have no trial.
    not_begun = Trial(is_interrupted=any(one.is_interrupted for one in trials.values()))
    rows = [
        _row(one, trials.get(one.start.toml(), not_begun), line, records, clock)
        for one, line in zip(plan.interventions, predictions, strict=True)
    ]
    return VerifiedAdvice(
        source=plan.source,
        goal=plan.goal,
        rows=rows,
        records=str(records),
        notes=notes,
        is_interrupted=any(one.is_interrupted for one in trials.values()),
    )


def _configurations(group: Sequence[PlannedIntervention]) -> list[TrialConfiguration]:
    start = measurable(group[0].start)
    changed = [TrialConfiguration(one.name, apply(start, one.changes)) for one in group]
    return [TrialConfiguration(START, start), *changed]


def _order(group: Sequence[PlannedIntervention], rounds: int) -> list[TrialConfiguration]:
    """Returns the configurations in the order in which their runs are measured."""
    once = _configurations(group)
    return [one for turn in range(rounds) for one in (once if turn % 2 == 0 else once[::-1])]


def _trial(
    group: Sequence[PlannedIntervention],
    plan: VerificationPlan,
    budget: TimeBudget,
    report: Progress,
    notify: Notify,
    opening: Opening,
) -> Trial:
    """Measures the changes of one unchanged configuration. If this configuration cannot be
    measured, its changes are refused and the reason is stored. If it is the only unchanged
    configuration of the plan, the error is raised instead."""
    try:
        with opening(notify) as measure:
            return interleaved(
                _configurations(group), plan.rounds, measure, plan.goal, budget, report
            )
    except (RunFailed, InputError) as error:
        if len(plan.groups) == 1:
            raise
        reason = " ".join(str(error).split())
        return Trial(refused={one.name: reason for one in group})


def _row(
    one: PlannedIntervention, trial: Trial, line: PredictedIntervention, records: Path, clock: Clock
) -> CarriedOut:
    """Returns the row of one change and appends its measurement to the records."""
    own = [run for run in trial.runs if run.configuration in (START, one.name)]
    real = measured_gains(trial.runs).get(one.name)
    refused = one.refused or trial.refused.get(one.name, "")
    append(
        records,
        MeasuredIntervention(
            prediction=line.id,
            written=date(clock).isoformat(timespec="seconds"),
            runs=[] if one.refused else own,
            gain=real,
            refused=refused,
            is_interrupted=trial.is_interrupted,
        ),
    )
    shares = [run.others_share for run in own if run.others_share is not None]
    return CarriedOut(
        operations=list(one.operations),
        configuration=one.configuration,
        change=one.name,
        predicted=one.predicted,
        real=real,
        refused=refused,
        record=line.id,
        others_share=max(shares, default=None) if real is not None else None,
    )


def check_rounds(rounds: int) -> None:
    """Raises InputError if `rounds` is less than 2, because the noise of the measurements would
    then be unknown."""
    if rounds < 2:
        raise InputError("--pairs", rounds, "must be 2 or more, so that the noise is known")
