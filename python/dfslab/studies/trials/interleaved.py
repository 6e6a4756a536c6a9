"""Measures configurations in interleaved rounds, within a time budget.

Each round measures the unchanged configuration and every changed configuration. Every second round
has the reverse order, so that linear drift of the machine cancels. The last configuration of a
round is therefore the first of the next round, and its testbed can keep running.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dfslab.method import RunFailed
from dfslab.spec import units
from dfslab.spec.changes.goal import Goal
from dfslab.spec.clock import Clock
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.contract import Progress
from dfslab.studies.trials.measured_gain import START
from dfslab.studies.trials.trial_run import Measuring, TrialRun, trial_run


@dataclass(frozen=True)
class TrialConfiguration:
    """A configuration that a trial measures. `name`: START for the unchanged configuration,
    otherwise the change as text."""

    name: str
    scenario: Scenario


@dataclass
class TimeBudget:
    """The time that a trial may take, in seconds.

    A run only begins if it is expected to end within the budget. The expected duration is the
    longest duration of the earlier runs of the same configuration. Before the first run of a
    configuration, it is the longest duration of all earlier runs.
    """

    limit_s: float
    clock: Clock
    _began_s: float = field(init=False)
    _longest_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began_s = self.clock.monotonic_s()

    @property
    def spent_s(self) -> float:
        """Seconds since the trial began."""
        return self.clock.monotonic_s() - self._began_s

    def allows(self, *names: str) -> bool:
        """Returns whether one run of each named configuration is expected to end in time."""
        longest = max(self._longest_s.values(), default=0.0)
        expected = sum(self._longest_s.get(name, longest) for name in names)
        return self.spent_s + expected <= self.limit_s

    def ran(self, name: str, duration_s: float) -> None:
        """Records the duration of a run of the configuration `name`."""
        self._longest_s[name] = max(duration_s, self._longest_s.get(name, 0.0))


@dataclass
class Trial:
    """What a trial has measured so far.

    `refused`: for each configuration that could not be measured, the reason. `is_interrupted`: an
    interrupt (Ctrl-C) ended the trial. `notes`: sentences on runs that are missing.
    """

    runs: list[TrialRun] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    is_interrupted: bool = False
    notes: list[str] = field(default_factory=list)


def interleaved(
    configurations: Sequence[TrialConfiguration],
    rounds: int,
    measuring: Measuring,
    goal: Goal,
    budget: TimeBudget,
    report: Progress,
) -> Trial:
    """Measures all configurations `rounds` times and returns the runs. The first configuration is
    the unchanged one.

    A changed configuration that fails is not measured again. Three events end the trial early: an
    interrupt, the end of the time budget, or a failure of the unchanged configuration in a later
    run. The runs until then are returned. Raises RunFailed or InputError if the first run of the
    trial fails.
    """
    trial = Trial()
    assert configurations[0].name == START, "the unchanged configuration comes first"
    total = rounds * len(configurations)
    try:
        for turn in range(rounds):
            order = configurations if turn % 2 == 0 else list(reversed(configurations))
            for at, one in enumerate(order):
                if one.name in trial.refused:
                    continue
                # In a reversed round, the unchanged configuration is measured last. Without that
                # run, the runs of the other configurations could not be compared. The budget must
                # therefore allow that run too.
                needed = [one.name] if turn % 2 == 0 or one.name == START else [one.name, START]
                if not budget.allows(*needed):
                    if at and len(needed) > 1 and budget.allows(START):
                        _measure(configurations[0], turn, measuring, goal, budget, trial)
                    trial.notes.append(_ended(budget, trial, total))
                    return trial
                report(turn * len(configurations) + at, total, f"round {turn + 1}: {one.name}")
                _measure(one, turn, measuring, goal, budget, trial)
                if START in trial.refused:
                    trial.notes.append(f"ended early: {trial.refused[START]}")
                    return trial
    except KeyboardInterrupt:
        trial.is_interrupted = True
        trial.notes.append(f"interrupted after {len(trial.runs)} of {total} runs")
    return trial


def _measure(
    one: TrialConfiguration,
    turn: int,
    measuring: Measuring,
    goal: Goal,
    budget: TimeBudget,
    trial: Trial,
) -> None:
    """Measures one configuration once and adds the run to the trial. If the run fails, the reason
    is stored in the trial. If the trial's first run fails, the error is raised instead."""
    began_s = budget.clock.monotonic_s()
    try:
        result = measuring(one.scenario, turn)
        trial.runs.append(trial_run(one.name, turn, result, goal))
    except (RunFailed, InputError) as error:
        if one.name == START and not trial.runs:
            raise
        trial.refused[one.name] = " ".join(str(error).split())
    budget.ran(one.name, budget.clock.monotonic_s() - began_s)


def _ended(budget: TimeBudget, trial: Trial, total: int) -> str:
    limit = units.text(budget.limit_s, "s", 2)
    return f"{len(trial.runs)} of {total} runs fitted in the time of {limit}"
