"""The reasons why a run supports no statement on what limits it and on what changes would gain, and
the runs that would settle them. All answers about a run take these reasons from here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from dfslab.documents.table import naming
from dfslab.method import BASELINES
from dfslab.result import Result
from dfslab.spec import clock
from dfslab.spec.design import LevelValue
from dfslab.spec.scenario import Scenario
from dfslab.studies.checks.noise import TOO_NOISY, noise_of, noisiest
from dfslab.studies.compare import is_ordered, sort_key
from dfslab.studies.runs.rerunning import rerun_command

# Largest median error of a model on held-out configurations with which the limit and the gains that
# the model predicts are stated. The value is a choice: a model with a larger error confuses one
# resource with another.
CREDIBLE = 0.5
# Number of repetitions that a noisy run is advised to make.
REPETITIONS = 10
# Largest fraction of the processors' time that other programs may use if they are not taken for the
# cause of noise. The value is a choice: an idle system with its services uses less.
QUIET = 0.1
# The numbers of clients that are proposed if a run varied no key with ordered values.
CLIENTS = "workload.clients"
MORE_CLIENTS = (1, 2, 4)
# What to do with the tool that made imported results, in words: dfslab does not execute its load.
TOOL_AGAIN = "runs of the original tool with the same options"
IN_ONE_RUN = "all files imported into one run (`dfslab import FILE1 FILE2 …`)"
TOOL_CHANGED = (
    "the original tool with the same options before and after the change, each imported as a run, "
    "and both runs compared (`dfslab compare`)"
)
NOTHING_HELD_OUT = "no configuration was held out, so no model was put to the test"


@dataclass(frozen=True)
class SettlingRun:
    """Runs that would settle an open question. `what`: the runs in words. `duration_s`: how long
    they take, in seconds; 0 if that is not known. `command`: the command that makes them; "" if no
    single command does."""

    what: str
    duration_s: float
    command: str = ""

    def sentence(self, question: str = "") -> str:
        """Returns the proposal as one line. `question`: what the runs would settle, in words; "" if
        the sentence before the line says it."""
        settles = f"Would settle {question}" if question else "Would settle it"
        takes = f", about {duration_text(self.duration_s)}" if self.duration_s else ""
        line = f"{settles}: {self.what}{takes}"
        return f"{line}: {self.command}" if self.command else f"{line}."


@dataclass(frozen=True)
class Doubt:
    """A reason to withhold the limit and all gains, and the runs that would settle it. `settling`
    is None if only a measurement of the change itself would settle it."""

    reason: str
    settling: SettlingRun | None = None


def noise_doubt(measured: Sequence[Result]) -> Doubt | None:
    """Returns a doubt if repetitions of one configuration differ too much for any conclusion;
    otherwise None. `measured`: the measurements of a run."""
    noise = noise_of(measured)
    if noise is None or noise <= TOO_NOISY:
        return None
    worst = noisiest(measured)
    name = naming(one.labels for one in measured)
    where = f", most for {name(worst)}" if worst else ""
    reason = f"repeats of one configuration differ by {noise:.0%} (standard deviation){where}"
    return Doubt(reason, repeated_runs(measured))


def repeated_runs(measured: Sequence[Result]) -> SettlingRun:
    """Returns the runs that would settle a doubt about noise: more repetitions of the same
    measurements. The runs have to be made when the machine is quiet, unless other programs used so
    little of the machine that they cannot be the cause of the noise. `measured`: the measurements
    of a run, at least one."""
    share = others_share(measured)
    if share is None or share > QUIET:
        used = "" if share is None else f" (other programs used {share:.0%} of it)"
        when = f"when `dfslab doctor` calls this machine quiet{used}"
    else:
        when = (
            f"at another time: other programs used only {share:.0%} of this machine, so the "
            "storage or its other users vary"
        )
    if any(one.is_imported for one in measured):
        return SettlingRun(f"{REPETITIONS} {TOOL_AGAIN} {when}, {IN_ONE_RUN}", 0.0)
    runs = len(measured) / len({one.point_id for one in measured})
    return SettlingRun(
        f"{REPETITIONS} repetitions {when}",
        measuring_s(measured) * REPETITIONS / runs,
        repeating_command(measured[0].point.scenario),
    )


def repeating_command(scenario: Scenario) -> str:
    """Returns the command that executes a run again with more repetitions. `scenario`: the scenario
    of the run."""
    return f"{rerun_command(scenario.run.methods)} --set run.repetitions={REPETITIONS}"


def others_share(results: Sequence[Result]) -> float | None:
    """Returns the median fraction of the processors' time that other programs used on the clients'
    machine during the runs; None if no run recorded it."""
    machines = [one.load.machine for one in results if one.load is not None]
    shares = [one.others_share for one in machines if one is not None]
    known = [share for share in shares if share is not None]
    return median(known) if known else None


def model_doubt(
    model: str, held_out: Mapping[str, float], measured: Sequence[Result]
) -> Doubt | None:
    """Returns a doubt if the predictions of a model were not put to the test, or if they failed the
    test; otherwise None.

    `held_out`: the median error of each method on held-out configurations, as a fraction.
    `measured`: the measurements of the run. A model fails the test if its error is above CREDIBLE,
    or if the error of a baseline is at most as large as the model's.
    """
    if model not in held_out:
        return nothing_held_out(measured)
    error = held_out[model]
    reason = f"the model {model} errs by {error:.0%} (median, held-out configurations)"
    better = [name for name in BASELINES if held_out.get(name, math.inf) <= error]
    if better:
        name = better[0]
        return Doubt(f"{reason}, no better than the baseline {name} ({held_out[name]:.0%})")
    return Doubt(reason) if error > CREDIBLE else None


def nothing_held_out(measured: Sequence[Result]) -> Doubt:
    """Returns the doubt about a run that held no configuration out. The settling runs are those of
    the run itself, with the middle value of the key that has most values held out. dfslab does not
    execute the load of an imported run, so the tool has to measure the change itself."""
    if any(one.is_imported for one in measured):
        return Doubt(NOTHING_HELD_OUT, SettlingRun(TOOL_CHANGED, 0.0))
    duration_s = measuring_s(measured)
    chosen = _middle_value([one.labels for one in measured])
    if chosen is None:
        return Doubt(NOTHING_HELD_OUT, _with_more_clients(measured, duration_s))
    held = json.dumps([chosen], ensure_ascii=False)
    scenario = measured[0].point.scenario
    command = f"{rerun_command(scenario.run.methods)} --set 'judge.hold_out={held}'"
    what = "the same runs with a value held out"
    return Doubt(NOTHING_HELD_OUT, SettlingRun(what, duration_s, command))


def _with_more_clients(measured: Sequence[Result], duration_s: float) -> SettlingRun:
    """Returns the runs of MORE_CLIENTS numbers of clients, with the middle number held out. All
    other keys have the values of the run. `duration_s`: how long the measurements of the run take,
    in seconds."""
    values: dict[str, list[LevelValue]] = {}
    for one in measured:
        for key, value in one.labels.items():
            if value not in values.setdefault(key, []):
                values[key].append(value)
    values[CLIENTS] = list(MORE_CLIENTS)
    held = [{CLIENTS: MORE_CLIENTS[len(MORE_CLIENTS) // 2]}]
    command = " ".join(
        [
            rerun_command(measured[0].point.scenario.run.methods),
            f"--set 'sweep={json.dumps([values], ensure_ascii=False)}'",
            f"--set 'judge.hold_out={json.dumps(held)}'",
        ]
    )
    what = f"the same runs for {len(MORE_CLIENTS)} numbers of clients, one of them held out"
    return SettlingRun(what, len(MORE_CLIENTS) * duration_s, command)


def _middle_value(labels: Sequence[Mapping[str, LevelValue]]) -> dict[str, LevelValue] | None:
    """Returns the key that has most values, with its middle value. Only keys whose values are
    numbers or quantities are considered, because a model cannot interpolate other values. Returns
    None if no such key is varied."""
    values: dict[str, list[LevelValue]] = {}
    for own in labels:
        for key, value in own.items():
            if value not in values.setdefault(key, []):
                values[key].append(value)
    varied = [key for key, own in values.items() if len(own) > 1 and all(map(is_ordered, own))]
    if not varied:
        return None
    key = max(varied, key=lambda one: len(values[one]))
    ordered = sorted(values[key], key=lambda one: sort_key({key: one}))
    return {key: ordered[len(ordered) // 2]}


def measuring_s(measured: Sequence[Result]) -> float:
    """Returns how long measurements took, in seconds: their number times the typical time of one.
    The typical time is the median time from one start to the next, which includes preparation, or
    the median time under load if that is longer. Pauses of a resumed run do not change it. Results
    without a date count with the time under load only."""
    loads = [one.load.wall_s for one in measured if one.load is not None]
    dates = (clock.recorded(one.provenance.started) for one in measured)
    starts = sorted(one for one in dates if one is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(starts)]
    return len(measured) * max(median(loads or [0.0]), median(gaps or [0.0]))


def duration_text(seconds: float) -> str:
    """Returns a duration in whole minutes, or in seconds if it is below 90 s."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1.0, seconds):.0f} s"
