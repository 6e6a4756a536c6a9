"""The Python interface of the laboratory: `import dfslab` offers all names of this module.

The functions raise `InputError` if the input is wrong and `RunFailed` if a run failed. The text of
each error is one line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dfslab.documents.traces.trace_analysis import TraceAnalysis
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.discovery.directory import Transfers
from dfslab.instruments.discovery.directory import scenario as _of_directory
from dfslab.laboratory import Laboratory
from dfslab.method import MEASURE as _MEASURE
from dfslab.nets import files as _nets
from dfslab.report.answers import trace_answer as _trace_answer
from dfslab.report.answers.changes import closing as _closing
from dfslab.result import Result
from dfslab.result_rows import PredictedScenario, ResultRows
from dfslab.spec.check import check, read_checked
from dfslab.spec.files.ready import scenario_file
from dfslab.spec.input_error import InputError, RunFailed
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies.compare import Comparison
from dfslab.studies.compare import compare as _compare
from dfslab.studies.contract import FinishedRun, silent_progress
from dfslab.studies.decisions.decision_input import evidence_of as _evidence_of
from dfslab.studies.decisions.decision_input import evidence_of_description as _of_description
from dfslab.studies.decisions.measured_place import check_is_described as _check_is_described
from dfslab.studies.decisions.prices import prices_of as _prices_of
from dfslab.studies.decisions.reported.advised import Advised
from dfslab.studies.decisions.reported.whatif_table import WhatIf
from dfslab.studies.decisions.whatif import whatif as _whatif
from dfslab.studies.designs.design_plan import DesignPlan
from dfslab.studies.designs.design_plan import plan as _planned_design
from dfslab.studies.designs.lessons import Learning
from dfslab.studies.plans.planning import Planned
from dfslab.studies.plans.planning import plan as _plan
from dfslab.studies.plans.predicting import predict as _predict
from dfslab.studies.plans.targets import parse_targets as _parse_targets
from dfslab.studies.runs.store import results_of as _results_of
from dfslab.studies.traces.trace_files import profile as _profile

if TYPE_CHECKING:
    from dfslab.documents.net_definition import NetDefinition

__all__ = [
    "InputError",
    "PredictedScenario",
    "Result",
    "Run",
    "RunFailed",
    "Scenario",
    "Transfers",
    "advise",
    "compare",
    "design",
    "explain",
    "learn",
    "load_run",
    "load_trace",
    "measure",
    "net",
    "plan",
    "predict",
    "run",
    "scenario",
    "whatif",
]
ScenarioSource = Scenario | Path | str | Mapping[str, object]
AnyPath = Path | str


@dataclass(frozen=True, repr=False)
class Run(ResultRows):
    """A finished run. `str(run)` gives its main results in one to three sentences."""

    finished: FinishedRun

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.finished.folder

    @property
    def results(self) -> Sequence[Result]:
        """Returns all results of the run: one for each method, configuration and repetition, in the
        order in which the scenario lists its configurations."""
        return self.finished.settled

    @property
    def answer(self) -> list[str]:
        """Returns the answer of the run in sentences: the measured rate, its limit, and the change
        that would increase it. Sentences that the results do not support are left out."""
        return _closing(self.finished)

    def __repr__(self) -> str:
        return f"Run({self.folder.name!r})"


def scenario(source: ScenarioSource) -> Scenario:
    """Checks a scenario and returns it. `source` is a scenario file, the name of a ready scenario,
    or a mapping with the same tables and keys as a scenario file."""
    if isinstance(source, Scenario):
        found = source
    elif isinstance(source, Mapping):
        found = build(Scenario, source)
    elif isinstance(source, str | os.PathLike):
        return read_checked(scenario_file(Path(source)))
    else:
        allowed = "must be a scenario, its file or name, or a mapping with its tables"
        raise InputError("source", str(source), allowed)
    check(found)
    return found


def run(source: ScenarioSource, out: AnyPath = "runs", *, fresh: bool = False) -> Run:
    """Runs every method that a scenario names. Creates a run folder below `out`, which contains the
    results and an HTML page."""
    laboratory = Laboratory()
    return Run(laboratory.run(laboratory.plan(scenario(source)), Path(out), fresh, True))


def measure(
    place: ScenarioSource,
    wanted: Transfers | None = None,
    out: AnyPath = "runs",
    *,
    fresh: bool = False,
) -> Run:
    """Measures a directory or a scenario. Writes the results to a run folder below `out` and
    returns the finished run.

    If `place` is a directory, transfers to and from files in it are measured, as `wanted` describes
    (None: default transfers). Otherwise `place` is a scenario, and each of its configurations is
    measured. `fresh`: start a new run even if an unfinished run of the same scenario could be
    resumed.
    """
    if isinstance(place, str | Path) and Path(place).is_dir():
        chosen = _of_directory(Path(place), wanted or Transfers())
    else:
        chosen = scenario(place).with_methods([_MEASURE])
    laboratory = Laboratory()
    return Run(laboratory.run(laboratory.plan(chosen), Path(out), fresh))


def predict(
    source: ScenarioSource, method: str = "sequence", learnt_from: AnyPath | None = None
) -> PredictedScenario:
    """Predicts every configuration of a scenario by one method. Nothing is measured.

    `learnt_from`: folder of a run. If given, the method is first fitted to the measurements of that
    run.
    """
    chosen = scenario(source).with_methods([method])
    measured = None
    if learnt_from is not None:
        measured = [one for one in _results_of(Path(learnt_from)) if one.method == _MEASURE]
    return PredictedScenario(tuple(_predict(chosen, method, measured, silent_progress)))


def load_run(folder: AnyPath) -> Run:
    """Opens the folder of a finished run."""
    return Run(Laboratory().reopen(Path(folder), _ignored))


def compare(found: Run) -> Comparison:
    """Compares the predictions of a run with its measurements. Returns the errors of the
    predictions and a score for each method."""
    return found.finished.find(Comparison) or _compare(found.results)


def advise(found: Run) -> Advised:
    """Returns, for each configuration of a run, the single change of the hardware that increases
    the performance most. `load_run` opens the folder of a run. To predict a given change of a
    scenario, use `whatif`. Raises RunFailed if the run has no measurements to learn from, and
    InputError if `found` is no opened run."""
    if not isinstance(found, Run):
        text = "must be a run: load_run(FOLDER) opens one; whatif(SCENARIO, CHANGE) needs no run"
        raise InputError("found", str(found), text)
    if (known := found.finished.find(Advised)) is not None:
        return known
    reopened = Laboratory().reopen(found.folder, _ignored, Advised)
    return reopened.find(Advised) or Advised(advice=[])


def whatif(source: Run | ScenarioSource, *changes: str) -> WhatIf:
    """Predicts what changes of a deployment would gain, such as "servers +1" or "copies 2".
    `source` is a scenario or a finished run. The measurements of a run calibrate the model. Each
    change is predicted alone, and several changes are also predicted together. A gain is a factor
    of the rate with a 90 % interval. The answer has sentences (`sentences()`) and a table
    (`table()`)."""
    if isinstance(source, Run):
        _check_is_described(source.folder)
        return _whatif(_evidence_of(source.folder), changes)
    chosen = scenario(source)
    return _whatif(_of_description(chosen, Path(chosen.name)), changes)


def plan(target: str, file_systems: Sequence[str] = (), copies: int | None = None) -> Planned:
    """Returns the cheapest deployments that reach a target, such as "write >= 2 GB/s".

    `file_systems`: names of the file systems to consider; if empty, the usual file systems.
    `copies`: number of copies of the data; None for three, or for the most that these file systems
    can store. Raises InputError with the reason if no deployment reaches the target.
    """
    return _plan(target, _parse_targets(target), file_systems, copies, _prices_of(None))


def design(source: ScenarioSource) -> DesignPlan:
    """Plans the experiments of a scenario with factors (`design.factor`): which configurations to
    run, in which order, and how many seconds that takes. Nothing is run; `run` runs the plan.

    Raises InputError if the scenario names no factor.
    """
    chosen = scenario(source)
    if not chosen.design.factor:
        raise InputError("design.factor", None, "is empty: name factors in [[design.factor]]")
    return _planned_design(chosen)


def learn(found: Run) -> Learning:
    """Returns the conclusions from a finished run of a planned experiment:
    - the share of the variance of the rate that each factor explains
    - the errors of the models that were fitted to the measurements
    - the runs to make next

    Needs the extra `learn`. Raises InputError if the run's scenario names no factor.
    """
    if (known := found.finished.find(Learning)) is not None:
        return known
    if not found.finished.scenario.design.factor:
        raise InputError("design.factor", None, "is empty: the run is no planned experiment")
    # Imported here, because it needs scikit-learn, which the extra `learn` installs.
    from dfslab.studies.designs import learning

    return learning.learn(
        found.finished.scenario, found.finished.of_method(_MEASURE), silent_progress
    )


def explain(profile: TraceProfile) -> list[str]:
    """Returns one to three sentences on a trace. They state which step takes most time, and which
    faster step and which faster hardware would shorten the end-to-end time most. The predicted
    gains have intervals."""
    return _trace_answer.sentences(profile)


def load_trace(*files: AnyPath) -> TraceAnalysis:
    """Reads traces and returns their profile. `files` are files of spans, files of JVM call
    profiles, or a folder of such profiles. The profile lists the steps by calling context, with
    their total times and self times (without nested steps). It also has the predicted savings from
    faster steps and hardware."""
    return TraceAnalysis.of(_profile([Path(one) for one in files]))


def net(file: AnyPath) -> NetDefinition:
    """Reads a Petri net from a file in JSON, PNML or the format of CPN Tools."""
    return _nets.read(Path(file))


def _ignored(text: str) -> None:
    """Discards a note. A Python program can read the notes in the finished run instead."""
