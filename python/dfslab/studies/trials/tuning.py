"""Searches for the best settings of a file system in few real runs. The gain of a setting is
predicted before its run.

The start settings are measured first, and again after each run of other settings. A setting is
compared with the two runs of the start settings before and after it, so linear drift of the machine
cancels. A setting is kept only if the whole 90 % interval of its gain is above 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dfslab import quantiles
from dfslab.method import CONFIDENCE, RunFailed
from dfslab.notify import Notify
from dfslab.spec import units
from dfslab.spec.changes.change_language import apply
from dfslab.spec.changes.goal import Goal
from dfslab.spec.clock import REAL, Clock, date
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.contract import Progress
from dfslab.studies.decisions.actions import CandidateAction
from dfslab.studies.decisions.comparing.paired_runs import LEAST_LOG_SD
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.decisions.whatif import PairedModel
from dfslab.studies.trials.interleaved import TimeBudget
from dfslab.studies.trials.intervention_record import MeasuredIntervention, append, prediction_of
from dfslab.studies.trials.live_measuring import Opening, expected_s, measurable
from dfslab.studies.trials.measured_gain import START, MeasuredGain
from dfslab.studies.trials.setting_search import WORTH_A_RUN, PredictedSetting, SettingSearch
from dfslab.studies.trials.trial_run import Measuring, TrialRun, trial_run
from dfslab.studies.trials.tuned import TriedSetting, Tuned

# The goal of tuning, as in `dfslab advise --goal`: bytes or operations per second.
GOAL: Goal = "rate"


@dataclass(frozen=True)
class TuningPlan:
    """What is tuned, and the limits.

    `settings`: the single settings that may change. `runs`: largest number of runs of settings
    other than the start settings. `limit_s`: time limit in seconds. `records`: the file of
    intervention records.
    """

    evidence: DecisionInput
    point: Point
    settings: Sequence[CandidateAction]
    runs: int
    limit_s: float
    records: Path

    def announcement(self) -> str:
        """Returns one sentence on the number of runs, how long they are expected to take, and the
        time after which no further run begins."""
        start = self.point.scenario
        expected = expected_s([start]) * (2 * self.runs + 1)
        return (
            f"Tunes {len(self.settings)} single settings in at most {self.runs} runs of other "
            f"settings and {self.runs + 1} of the start settings, expected to take "
            f"{units.text(expected, 's', 2)}; no run begins that would end after "
            f"{units.text(self.limit_s, 's', 2)}"
        )


@dataclass
class _Tuning:
    """The state of a tuning: its budget, the runs so far, and the settings tried so far."""

    plan: TuningPlan
    budget: TimeBudget
    search: SettingSearch
    runs: list[TrialRun] = field(default_factory=list)
    tried: list[tuple[PredictedSetting, TriedSetting]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_interrupted: bool = False

    @property
    def starts(self) -> list[float]:
        """Returns ln(value) of the runs of the start settings, in order."""
        return [math.log(one.value) for one in self.runs if one.configuration == START]

    def noise_sd(self) -> float | None:
        """Returns the standard deviation of ln(value) between runs of the start settings; None if
        there is only one run. The standard deviation is computed from the differences of successive
        runs, so slow drift does not count as noise."""
        logs = self.starts
        if len(logs) < 2:
            return None
        squares = sum((after - before) ** 2 for before, after in zip(logs, logs[1:], strict=False))
        return max(LEAST_LOG_SD, math.sqrt(squares / (2 * (len(logs) - 1))))


def tune(
    plan: TuningPlan,
    opening: Opening,
    announce: Notify,
    report: Progress,
    notify: Notify,
    clock: Clock = REAL,
) -> tuple[Tuned, Scenario]:
    """Measures settings and returns the outcome, and the scenario with the kept settings.

    `announce` receives the prediction of each setting before its run. An interrupt ends the search;
    the settings that were measured until then are compared. Raises RunFailed or InputError if the
    first run of the start settings fails.
    """
    state = _Tuning(
        plan,
        TimeBudget(plan.limit_s, clock),
        SettingSearch(PairedModel(plan.evidence), plan.point, plan.settings),
    )
    with opening(notify) as measuring:
        try:
            _search(state, measuring, announce, report)
        except KeyboardInterrupt:
            state.is_interrupted = True
            state.notes.append(f"interrupted after {len(state.runs)} runs")
    return _outcome(state)


def _search(state: _Tuning, measuring: Measuring, announce: Notify, report: Progress) -> None:
    """Measures the start settings and then other settings. The search ends when a limit is reached,
    when no setting is promising, or when the start settings can no longer be measured."""
    plan, clock = state.plan, state.budget.clock
    _run(state, START, plan.point.scenario, measuring, report)
    for number in range(plan.runs):
        chosen = state.search.next(0.0 if _is_unverified(state) else WORTH_A_RUN)
        if chosen is None:
            state.notes.append(
                f"no further setting is expected to gain more than {WORTH_A_RUN:.1%}"
            )
            return
        name = chosen.action.text
        # After the setting, the start settings are measured again, so time for both is needed.
        if not state.budget.allows(name, START):
            state.notes.append(f"{number} of {plan.runs} settings fitted in the time")
            return
        predicted = state.search.predicted(chosen)
        line = prediction_of(
            plan.point.scenario, chosen.action.changes, GOAL, plan.evidence.basis, predicted, clock
        )
        append(plan.records, line)
        announce(
            f"run {number + 1}: {name}, predicted × {predicted.gain:.2f} "
            f"(90 %: {predicted.low:.2f} to {predicted.high:.2f})"
        )
        one = TriedSetting(
            change=name,
            predicted=predicted,
            real=None,
            refused="",
            record=line.id,
            risk=chosen.action.risk,
        )
        state.tried.append((chosen, one))
        if _measured(state, measuring, report) and not _compared(state, measuring, report):
            return


def _measured(state: _Tuning, measuring: Measuring, report: Progress) -> bool:
    """Measures the setting that was chosen last and returns whether it could be measured. If it
    could not be measured, the reason is stored in the field `refused` of the setting."""
    chosen, one = state.tried[-1]
    try:
        changed = apply(state.plan.point.scenario, chosen.action.changes)
        _run(state, one.change, changed, measuring, report)
    except (RunFailed, InputError) as error:
        refused = " ".join(str(error).split())
        state.tried[-1] = chosen, one.model_copy(update={"refused": refused})
        state.search.refuse(chosen)
        return False
    return True


def _compared(state: _Tuning, measuring: Measuring, report: Progress) -> bool:
    """Measures the start settings again after the setting that was chosen last, and updates the
    search. Returns False if the start settings can no longer be measured."""
    chosen, one = state.tried[-1]
    try:
        _run(state, START, state.plan.point.scenario, measuring, report)
    except (RunFailed, InputError) as error:
        reason = " ".join(str(error).split())
        state.notes.append(f"the start settings could not be measured again: {reason}")
        return False
    noise_sd = (state.noise_sd() or 0.0) * math.sqrt(_relative_variance(state, one.change))
    state.search.learn(chosen, _log_gain(state, one.change), noise_sd)
    return True


def _run(
    state: _Tuning, name: str, scenario: Scenario, measuring: Measuring, report: Progress
) -> None:
    budget, total = state.budget, 2 * state.plan.runs + 1
    report(len(state.runs), total, name)
    began_s = budget.clock.monotonic_s()
    # The number of a repetition selects the operations of the workload. The number is 0 for all
    # settings, so that all settings execute the same operations.
    result = measuring(measurable(scenario), 0)
    state.runs.append(trial_run(name, len(state.runs), result, GOAL))
    budget.ran(name, budget.clock.monotonic_s() - began_s)


def _is_unverified(state: _Tuning) -> bool:
    """Returns whether a measured setting is faster than the start settings, but not beyond the
    noise.

    The search then continues even if little improvement is expected. Each further run of a setting
    is followed by a run of the start settings, which makes the estimate of the noise more precise.
    """
    real = [_real(state, one.change) for _, one in state.tried]
    known = [one for one in real if one is not None and one.gain > 1]
    return bool(known) and not any(one.low is not None and one.low > 1 for one in known)


def _log_gain(state: _Tuning, name: str) -> float:
    """Returns ln(value of the setting / geometric mean of the start settings' values). The mean is
    over the runs of the start settings immediately before and after the setting."""
    at, around = _around(state, name)
    return math.log(state.runs[at].value) - sum(around) / len(around)


def _relative_variance(state: _Tuning, name: str) -> float:
    """Returns the variance of the setting's `_log_gain`, divided by the variance of ln(value) of
    one run. The ratio is 1.5 if the start settings were measured before and after the setting. The
    ratio is 2 if the run of the start settings after the setting is missing."""
    _, around = _around(state, name)
    return 1 + 1 / len(around)


def _around(state: _Tuning, name: str) -> tuple[int, list[float]]:
    """Returns the number of the setting's run, and ln(value) of the adjacent runs of the start
    settings (one or two runs)."""
    at = next(n for n, one in enumerate(state.runs) if one.configuration == name)
    nearest = state.runs[max(0, at - 1) : at + 2]
    return at, [math.log(one.value) for one in nearest if one.configuration == START]


def _real(state: _Tuning, name: str) -> MeasuredGain | None:
    """Returns the measured gain of a setting; None if the setting was not measured. Its interval
    uses the noise of all runs of the start settings."""
    if not any(one.configuration == name for one in state.runs):
        return None
    centre, noise = _log_gain(state, name), state.noise_sd()
    if noise is None:
        return MeasuredGain(gain=math.exp(centre), pairs=1)
    sd = noise * math.sqrt(_relative_variance(state, name))
    half_width = quantiles.student(0.5 + CONFIDENCE / 2, len(state.starts) - 1) * sd
    return MeasuredGain(
        gain=math.exp(centre),
        pairs=1,
        low=math.exp(centre - half_width),
        high=math.exp(centre + half_width),
        sd=sd,
    )


def _outcome(state: _Tuning) -> tuple[Tuned, Scenario]:
    """Returns the outcome and the kept scenario, and appends the measurements to the records."""
    plan, noise = state.plan, state.noise_sd()
    found = []
    for chosen, one in state.tried:
        real = _real(state, one.change)
        found.append((chosen, one.model_copy(update={"real": real})))
        append(
            plan.records,
            MeasuredIntervention(
                prediction=one.record,
                written=date(state.budget.clock).isoformat(timespec="seconds"),
                runs=[run for run in state.runs if run.configuration in (START, one.change)],
                gain=real,
                refused=one.refused,
                is_interrupted=state.is_interrupted,
            ),
        )
    better = [(chosen, one) for chosen, one in found if one.is_better and one.real is not None]
    best = max(better, key=lambda pair: pair[1].real.gain if pair[1].real else 0.0, default=None)
    kept = plan.point.scenario
    if best is not None:
        kept = apply(kept, best[0].action.changes)
    outcome = Tuned(
        source=plan.evidence.scenario.name,
        goal=GOAL,
        tried=[one for _, one in found],
        kept="" if best is None else best[1].change,
        runs=len(state.runs),
        noise=None if noise is None else math.expm1(noise),
        scenario="",
        records=str(plan.records),
        notes=state.notes,
        is_interrupted=state.is_interrupted,
    )
    return outcome, kept
