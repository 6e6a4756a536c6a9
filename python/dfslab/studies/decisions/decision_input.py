"""The input of a decision: a description of a deployment, or a stored run with its calibration and
noise."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from dfslab.documents.metrics import RATE
from dfslab.documents.table import Name, naming
from dfslab.models.fit.demand import CalibratedConstant, Calibration, calibrate, uncalibrated
from dfslab.models.tree.hardware_draws import DRAWS, hardware_draws
from dfslab.models.tree.prediction import Situation
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Judge, Point, Scenario, read
from dfslab.studies.checks.noise import pooled_sd
from dfslab.studies.decisions.gains import Basis
from dfslab.studies.runs import store
from dfslab.studies.runs.progress_kept import unfinished_in

# Largest number of configurations of a sweep for which gains are computed. From a larger sweep,
# this number of configurations is chosen evenly, and the user is notified.
MOST_CONFIGURATIONS = 24
MODEL = "sequence"
# Name of the workload of an imported result whose system is not described.
PROGRAM = "command"
NEEDS_SYSTEM = (
    "is the job of another tool: a decision needs the system that "
    "`dfslab import FILE --on SCENARIO` names"
)


@dataclass
class DecisionInput:
    """The configurations for a decision, and the available knowledge about them.

    `basis`: "run" if the constants are calibrated on measurements, else "description". `results`:
    the results of the run; empty for a description. `noise_sd`: standard deviation of the natural
    logarithm of a configuration's mean measured rate, from repetitions. `source`: the scenario file
    or the run's folder.
    """

    source: Path
    scenario: Scenario
    points: Sequence[Point]
    basis: Basis
    calibration: Calibration | None = None
    results: Sequence[Result] = ()
    noise_sd: float = 0.0
    notes: Sequence[str] = ()

    @cached_property
    def measured(self) -> dict[str, float]:
        """Returns a dictionary from the id of each configuration to the geometric mean of its
        measured rates in operations per second."""
        return {
            key: float(np.exp(np.mean(np.log(values))))
            for key, values in _rates(self.results, "measure").items()
        }

    @cached_property
    def name(self) -> Name:
        """Returns the function that names a configuration by its labels, as the page of a run
        does."""
        if self.results:
            return naming({one.point_id: one.labels for one in self.results}.values())
        return naming(labels for _, labels in self.scenario.labels())

    def rates_by(self, method: str) -> dict[str, float]:
        """Returns a dictionary from the id of each configuration to the rate in operations per
        second that a method of the run predicted."""
        return {key: values[0] for key, values in _rates(self.results, method).items()}

    def constants(self, situation: Situation) -> list[dict[str, float]]:
        """Returns several sets of values for the constants of a configuration. The first set has
        the estimates, the other sets are random draws.

        A constant that occurs in several configurations has the same draws in all of them. Both
        predictions of a gain, before and after a change, therefore use the same draw.
        """
        return drawn_constants(situation, self.calibration)

    def values(self, situation: Situation) -> list[dict[str, float]]:
        """Returns `constants`, extended by draws of the hardware that the deployment states to be
        uncertain. All sets have the same variables."""
        return drawn_values(situation, self.calibration)

    def rate_factor(self, point: Point, situation: Situation) -> float:
        """Returns the factor f of the 90 % interval [rate / f, rate * f] of the rate that the
        sequence model predicts for a configuration. The interval contains the model's own error.

        The factor is that of the run's stored prediction. If the run predicted only other
        configurations, the largest of their factors is used, because a stored calibration lacks
        the residuals of its fit. Without any stored prediction, the factor is that of the present
        calibration, or of the description if nothing was measured.
        """
        stored = {
            one.point_id: rate.high / rate.value
            for one in self.results
            if one.method == MODEL
            and (rate := one.metrics.get(RATE)) is not None
            and rate.high is not None
            and rate.value > 0
        }
        if stored:
            return stored.get(point.id, max(stored.values()))
        return (self.calibration or uncalibrated(situation)).interval_factor(situation)


def drawn_constants(
    situation: Situation, calibration: Calibration | None = None
) -> list[dict[str, float]]:
    """Returns several sets of values for the constants of a configuration. The first set has the
    estimates, and DRAWS further sets are random draws. Without a calibration, constants are drawn
    from their priors."""
    names = sorted(situation.constants)
    fitted = {} if calibration is None else calibration.values
    spreads = _spreads(situation, names, calibration)
    base = {key: fitted.get(key, situation.constants[key]) for key in names}
    drawn = [
        {key: base[key] * math.exp(spreads[key] * _draws(key)[turn]) for key in names}
        for turn in range(DRAWS)
    ]
    return [base, *drawn]


def drawn_values(
    situation: Situation, calibration: Calibration | None = None
) -> list[dict[str, float]]:
    """Returns `drawn_constants`, extended by draws of the hardware that the deployment states to be
    uncertain. All sets have the same variables."""
    sets, drawn = drawn_constants(situation, calibration), hardware_draws(situation)
    if not drawn:
        return sets
    return [{**one, **own} for one, own in zip(sets, drawn, strict=True)]


def _spreads(
    situation: Situation, names: Sequence[str], calibration: Calibration | None
) -> dict[str, float]:
    """Returns the standard deviation of the natural logarithm of each constant: the standard
    deviation from the calibration, or that of the prior if the constant was not calibrated."""
    found = {key: situation.spread(key) for key in names}
    if calibration is not None:
        errors = {one.key: one.log_standard_error for one in calibration.constants}
        found |= {key: errors[key] for key in names if key in errors}
    return {key: value if math.isfinite(value) else 1.0 for key, value in found.items()}


def evidence_of(source: Path) -> DecisionInput:
    """Returns the decision input from a run's folder or a scenario's file. Raises InputError if
    `source` is neither."""
    if source.is_dir():
        return _of_run(source)
    return evidence_of_description(read(source), source)


def evidence_of_description(scenario: Scenario, source: Path) -> DecisionInput:
    """Returns the decision input from a scenario without measurements. `source` is the scenario's
    file or name, for messages."""
    points, notes = _legal_points(scenario, source)
    return DecisionInput(source, scenario, points, "description", notes=notes)


def _legal_points(scenario: Scenario, source: Path) -> tuple[list[Point], list[str]]:
    """Returns (configurations, notes). The configurations are at most MOST_CONFIGURATIONS legal
    ones that the sequence model can predict. The notes are about configurations that are left out
    and about uncertain hardware. Raises InputError if no configuration remains."""
    points, refused = [], []
    for found in scenario.points():
        point = found.model_copy(update={"scenario": _alone(found.scenario)})
        try:
            check(point.scenario)
        except InputError as error:
            refused.append(error)
            continue
        if point.scenario.workload.arrival != "closed":
            allowed = 'gains of open workloads are not predicted; workload.arrival must be "closed"'
            refused.append(InputError("workload.arrival", None, allowed))
            continue
        points.append(point)
    if not points:
        raise refused[0].of(str(source))
    notes = [f"{len(refused)} configurations left out: {refused[0]}"] if refused else []
    notes += [one for one in [scenario.deployment.uncertainty.note()] if one]
    if len(points) > MOST_CONFIGURATIONS:
        notes.append(f"{MOST_CONFIGURATIONS} of {len(points)} configurations, evenly chosen")
        places = np.linspace(0, len(points) - 1, MOST_CONFIGURATIONS).round().astype(int)
        points = [points[place] for place in places]
    return points, notes


def _alone(scenario: Scenario) -> Scenario:
    """Returns the scenario with the sequence model as the only method and without held-out
    configurations."""
    return scenario.with_methods([MODEL]).model_copy(update={"judge": Judge()})


def _of_run(folder: Path) -> DecisionInput:
    store.check_folder(folder)
    found = evidence_in(folder, read(folder / "scenario.toml"), store.results_of(folder))
    unfinished = unfinished_in(folder)
    if unfinished is None:
        return found
    return replace(found, notes=[f"{unfinished.sentence}.", *found.notes])


def evidence_in(source: Path, scenario: Scenario, results: Sequence[Result]) -> DecisionInput:
    """Returns the decision input from the results of a run. If nothing was measured, the input is
    the run's description alone."""
    if scenario.workload.name == PROGRAM and any(one.is_imported for one in results):
        raise InputError("workload.name", PROGRAM, NEEDS_SYSTEM).of(str(source))
    points, notes = _legal_points(scenario, source)
    if not any(one.method == "measure" and one.complete for one in results):
        notes.append("the run holds no measurement: its description alone is used")
        return DecisionInput(source, scenario, points, "description", notes=notes)
    calibration, noise_sd = _calibration(results), _noise_sd(results)
    return DecisionInput(source, scenario, points, "run", calibration, results, noise_sd, notes)


def _calibration(results: Sequence[Result]) -> Calibration:
    """Returns the calibration with which the run's predictions were made. If the predictions
    contain no calibration, fits one to the results that are not held out.

    A stored prediction has the constants and their standard errors, but not their covariances. The
    covariances are taken as 0.
    """
    fits = [one.fit for one in results if one.method == MODEL and one.fit is not None]
    if not fits or not fits[0].constants:
        return calibrate([one for one in results if not one.point.held_out])
    constants = tuple(
        CalibratedConstant(
            one.key, one.meaning, one.unit, one.value, one.log_standard_error, one.learnt
        )
        for one in fits[0].constants
    )
    covariance = np.diag([one.log_standard_error**2 for one in constants])
    return Calibration(constants, covariance, {"*": 0.0}, len(constants))


def _rates(results: Sequence[Result], method: str) -> dict[str, list[float]]:
    """Returns a dictionary from the id of each configuration to the rates in operations per second
    of all complete results of a method."""
    found: dict[str, list[float]] = {}
    for one in results:
        if one.method == method and one.complete and RATE in one.metrics and one.value() > 0:
            found.setdefault(one.point_id, []).append(one.value())
    return found


def _noise_sd(results: Sequence[Result]) -> float:
    """Returns the standard deviation of the mean log rate of a configuration. The mean is over the
    configuration's repetitions. The estimate is pooled over all configurations. The result is 0 if
    nothing was repeated."""
    groups = [one for one in _rates(results, "measure").values() if len(one) > 1]
    known = pooled_sd(groups)
    if known is None:
        return 0.0
    return known[0] / math.sqrt(float(np.mean([len(one) for one in groups])))


@lru_cache(maxsize=512)
def _draws(key: str) -> tuple[float, ...]:
    """Returns standard normal random numbers for one constant. The numbers are the same in every
    process."""
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    return tuple(map(float, np.random.default_rng(seed).standard_normal(DRAWS)))
