"""Tunes file systems on testbeds and compares the result with the best combination of settings.

Tuning measures the start settings and at most three combinations of other settings. Then all
combinations of the same settings (the grid) are measured. These measurements show how close tuning
comes to the best combination.

`python -m verification.trials.tuning FILE_SYSTEM WORKLOAD` records the next part of one case and
appends it to `data/tuning.jsonl`. The first part is the outcome of the tuning. Each further part is
a round of the grid. The command reports if all parts are already recorded. A part that was
interrupted is not recorded, and is measured again the next time. The command needs root rights.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.clock import REAL, date
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies.decisions.actions import CandidateAction
from dfslab.studies.decisions.decision_input import DecisionInput
from dfslab.studies.trials.interleaved import TimeBudget, TrialConfiguration, interleaved
from dfslab.studies.trials.live_measuring import measurable, measuring
from dfslab.studies.trials.measured_gain import START, log_ratios
from dfslab.studies.trials.trial_run import TrialRun
from dfslab.studies.trials.tuned import Tuned
from dfslab.studies.trials.tuning import GOAL, TuningPlan, tune
from pydantic import BaseModel, Field, TypeAdapter

from verification.figures import Figure
from verification.recordings import DATA, INTERVENTIONS
from verification.trials import interventions

TABLE = Path(__file__).with_suffix(".toml")
RECORDING = EXPERIMENT = "tuning"
FILE = DATA / f"{RECORDING}{INTERVENTIONS}"
RUNS, ROUNDS, CLIENTS = 3, 2, 2
# Time limit of the tuning of a case, and of one round of its grid, in seconds.
LIMIT_S = 200.0


class TunedCase(BaseModel):
    """The outcome of tuning one case. `written` is the time of recording (UTC, ISO 8601)."""

    event: Literal["tuned"] = "tuned"
    written: str
    file_system: str
    workload: str
    outcome: Tuned


class GridRound(BaseModel):
    """The runs of one round of a case's grid, in the order of their measurement. `turn` is the
    number of the round, from 0. `refused` maps each combination of settings that could not be
    measured to the reason."""

    event: Literal["grid"] = "grid"
    written: str
    file_system: str
    workload: str
    turn: int
    runs: list[TrialRun]
    refused: dict[str, str]


Line = Annotated[TunedCase | GridRound, Field(discriminator="event")]
_LINE: TypeAdapter[TunedCase | GridRound] = TypeAdapter(Line)


@dataclass(frozen=True)
class Case:
    """A file system with a workload. `singles` has the single settings and values that tuning may
    choose. `grid` has all combinations of these values that differ from the start settings."""

    file_system: str
    workload: str
    start: Scenario
    singles: Sequence[CandidateAction]
    grid: Sequence[CandidateAction]


def file_systems() -> list[str]:
    """Returns the names of the file systems in tuning.toml."""
    return list(tomllib.loads(TABLE.read_text(encoding="utf-8"))["settings"])


def workloads() -> list[str]:
    """Returns the names of the workloads in tuning.toml."""
    return list(tomllib.loads(TABLE.read_text(encoding="utf-8"))["workload"])


def case_of(file_system: str, workload: str) -> Case:
    """Returns the case of a file system and a workload in tuning.toml."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    base = interventions.base_of(file_system, "write").scenario
    values = {**table["workload"][workload], "clients": CLIENTS}
    kind = type(base.workload)
    names = {"name": f"{file_system}-{workload}", "workload": kind.model_validate(values)}
    start = base.model_copy(update=names)
    settings = [
        [CandidateAction((parse_change(text, start),)) for text in texts]
        for texts in table["settings"][file_system]
    ]
    grid = []
    for chosen in itertools.product(*[[None, *own] for own in settings]):
        parts = [one for one in chosen if one is not None]
        if parts:
            action = parts[0]
            for other in parts[1:]:
                action = action.joined(other)
            grid.append(action)
    return Case(file_system, workload, start, [one for own in settings for one in own], grid)


def record(case: Case) -> bool:
    """Measures the next part of a case and appends it to the file of recordings. Returns False if
    the file already has all parts."""
    known = [one for one in lines() if _key_of(one) == (case.file_system, case.workload)]
    if not any(isinstance(one, TunedCase) for one in known):
        _append(_tuned(case))
        return True
    measured = {one.turn for one in known if isinstance(one, GridRound)}
    for turn in range(ROUNDS):
        if turn not in measured:
            _append(_round(case, turn))
            return True
    return False


def _tuned(case: Case) -> TunedCase:
    point = Point(scenario=case.start, labels={})
    evidence = DecisionInput(TABLE, case.start, [point], "description")
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        plan = TuningPlan(evidence, point, case.singles, RUNS, LIMIT_S, records)
        print(plan.announcement(), flush=True)
        outcome, _ = tune(plan, measuring, _print, _report, _quiet)
    print("\n".join(outcome.sentences()), flush=True)
    # The path of the records is removed from the outcome, because the records were in a temporary
    # folder. The outcome itself has the predicted and the measured gains.
    outcome = outcome.model_copy(update={"records": ""})
    return TunedCase(
        written=_now(), file_system=case.file_system, workload=case.workload, outcome=outcome
    )


def _round(case: Case, turn: int) -> GridRound:
    """Measures the start settings and each combination of the grid once. In every second round, the
    grid is measured in reverse order. Raises KeyboardInterrupt if the round was interrupted or
    reached its time limit."""
    grid = case.grid if turn % 2 == 0 else case.grid[::-1]
    configurations = [TrialConfiguration(START, measurable(case.start))]
    configurations += [
        TrialConfiguration(one.text, measurable(apply(case.start, one.changes))) for one in grid
    ]
    with measuring(_quiet) as measure:
        trial = interleaved(configurations, 1, measure, GOAL, TimeBudget(LIMIT_S, REAL), _report)
    if trial.is_interrupted or len(trial.runs) + len(trial.refused) < len(configurations):
        raise KeyboardInterrupt
    return GridRound(
        written=_now(),
        file_system=case.file_system,
        workload=case.workload,
        turn=turn,
        runs=[one.model_copy(update={"turn": turn}) for one in trial.runs],
        refused=trial.refused,
    )


def lines() -> list[TunedCase | GridRound]:
    """Returns the recorded outcomes and rounds, in the order of their measurement."""
    if not FILE.exists():
        return []
    return [_LINE.validate_json(text) for text in FILE.read_text(encoding="utf-8").splitlines()]


def _append(line: TunedCase | GridRound) -> None:
    with FILE.open("a", encoding="utf-8") as file:
        file.write(line.model_dump_json() + "\n")


def subjects() -> list[str]:
    """Returns the names of the recordings."""
    return [RECORDING] if FILE.exists() else []


def figures(recording: str) -> list[Figure]:
    """Returns the figures of tuning. There is one figure for each case that was tuned and whose
    grid was measured. The figure is the gain of the settings that tuning chose, divided by the
    largest gain of the grid. The figure has no value if the grid has fewer than ROUNDS rounds.

    The last figure is the share of cases in which the chosen settings are slower than the start
    settings.
    """
    gains = {key: gains_of(key) for key in dict.fromkeys(map(_key_of, lines()))}
    kept = {
        _key_of(one): one.outcome.kept
        for one in lines()
        if isinstance(one, TunedCase) and gains[_key_of(one)]
    }
    whole = {key for key in kept if _is_whole(key)}
    rows = []
    for key, name in kept.items():
        own = {START: 1.0, **gains[key]}
        share = own[_sorted(name) or START] / max(own.values()) if key in whole else None
        rows.append(Figure(EXPERIMENT, recording, "tuning.reached", " ".join(key), share, len(own)))
    worse = [gains[key][_sorted(name)] < 1 for key, name in kept.items() if name and key in whole]
    worse_share = sum(worse) / len(whole) if whole else None
    return [*rows, Figure(EXPERIMENT, recording, "tuning.worse", "", worse_share, len(whole))]


def _is_whole(key: tuple[str, str]) -> bool:
    """Returns whether all rounds of the grid of the case `key` were measured. `key` is (file
    system, workload)."""
    turns = {one.turn for one in lines() if isinstance(one, GridRound) and _key_of(one) == key}
    return turns >= set(range(ROUNDS))


def _key_of(line: TunedCase | GridRound) -> tuple[str, str]:
    return line.file_system, line.workload


def gains_of(key: tuple[str, str]) -> dict[str, float]:
    """Returns a dictionary from each combination of settings of a case's grid to its measured gain.
    In each round, the gain is the value of the combination divided by the value of the start
    settings. The returned gain is the geometric mean over the rounds."""
    rounds = [one for one in lines() if isinstance(one, GridRound) and _key_of(one) == key]
    runs = [run for one in rounds for run in one.runs]
    names = [name for name in dict.fromkeys(run.configuration for run in runs) if name != START]
    return {_sorted(name): math.exp(fmean(log_ratios(runs, name))) for name in names}


def _sorted(name: str) -> str:
    """Returns the name of a combination of settings with its settings in alphabetical order."""
    return " and ".join(sorted(name.split(" and ")))


def _now() -> str:
    return date(REAL).isoformat(timespec="seconds")


def _print(text: str) -> None:
    print(text, flush=True)


def _quiet(text: str) -> None:
    pass


def _report(done: float, total: float, text: str, *remaining_s: float) -> None:
    print(f"{done:.0f} of {total:.0f}: {text}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Records the next part of one case and returns the exit code. The exit code is 130 if the
    measurement was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m verification.trials.tuning")
    parser.add_argument("file_system", choices=file_systems())
    parser.add_argument("workload", choices=workloads())
    requested = parser.parse_args(arguments)
    try:
        if not record(case_of(requested.file_system, requested.workload)):
            print("every part of this case is recorded")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
