"""Collects the content of the first screen of a run's HTML page: the answer, the changes of the
configuration that would gain most, and the open questions. A question comes with the command that
would answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.method import MEASURE
from dfslab.report.answers.changes import (
    changes,
    gains_hint_of,
    has_advice,
    is_computed,
    withholding,
)
from dfslab.report.answers.predicted_answer import NOT_COMPUTED, RunAnswer
from dfslab.report.answers.rates import ConfigurationRate, by_configuration
from dfslab.report.answers.verdict import verdict
from dfslab.spec.scenario import Scenario
from dfslab.spec.systems.choice import LOCAL
from dfslab.studies.checks.noise import TOO_NOISY, noise_of
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.doubts import nothing_held_out, repeating_command
from dfslab.studies.plausibility import Checked
from dfslab.studies.runs.completeness import is_unverified
from dfslab.studies.runs.rerunning import FOLDER, rerun_command

# The command that adds repetitions to a run of another tool.
IMPORT_AGAIN = "dfslab import FILE FILE"


@dataclass(frozen=True)
class Unknown:
    """A question that the run leaves open.

    `text`: what is not known. `command`: the command whose result would answer the question; "" if
    there is none. `section`: name of the section of the page that has details; "" if there is none.
    """

    text: str
    command: str = ""
    section: str = ""


@dataclass(frozen=True)
class FirstScreen:
    """The first screen of a run's HTML page: the answer of the run in the same sentences as in the
    terminal, the changes of the configuration that would gain most, and the open questions
    (`unknown`). `is_measured`: whether the answer is about measured rates; otherwise it is about
    predicted rates."""

    answer: RunAnswer
    is_measured: bool
    changes: list[str]
    unknown: list[Unknown]


def first_screen(run: FinishedRun) -> FirstScreen | None:
    """Returns the first screen of a run; None if the run has no rates."""
    answer = verdict(run)
    if answer is None:
        return None
    measured = by_configuration(run.of_method(MEASURE))
    return FirstScreen(answer, bool(measured), changes(run, answer), _unknown(run, measured))


def _unknown(run: FinishedRun, measured: Sequence[ConfigurationRate]) -> list[Unknown]:
    return [
        *_of_noise(run, measured),
        *_of_content(run),
        *_of_models(run),
        *_of_changes(run),
        *_of_checks(run),
    ]


def _of_noise(run: FinishedRun, measured: Sequence[ConfigurationRate]) -> list[Unknown]:
    """Returns the questions that are open because measurements are missing, too few or too
    noisy."""
    if not measured:
        return [
            Unknown(
                "Nothing was measured, so the error of the prediction is not known.",
                measuring_command(run.scenario),
            )
        ]
    noise = noise_of(run.of_method(MEASURE))
    is_imported = any(one.results[0].is_imported for one in measured)
    again = IMPORT_AGAIN if is_imported else repeating_command(run.scenario)
    if noise is None:
        return [Unknown("Nothing was repeated, so the noise between runs is not known.", again)]
    if noise > TOO_NOISY:
        text = f"Repeats differ by {noise:.0%}; differences below that are not visible."
        return [Unknown(text, again)]
    return []


def measuring_command(scenario: Scenario) -> str:
    """Returns the command that measures the scenario of a run without measurements. The command has
    a placeholder, MOUNT or URI, if the scenario does not state where the file system is."""
    command = rerun_command([MEASURE])
    choice = scenario.file_system
    if choice.access.is_stated or choice.name == LOCAL:
        return command
    has_address = "uri" in discover.file_system(choice.name).access_keys
    return f"{command} --set file_system.access.{'uri=URI' if has_address else 'directory=MOUNT'}"


def _of_content(run: FinishedRun) -> list[Unknown]:
    """Returns one open question if the content of files was not compared, else an empty list."""
    if not any(map(is_unverified, run.of_method(MEASURE))):
        return []
    text = "Whether data was right is not known: the content of files was not compared."
    return [Unknown(text, f"{rerun_command(run.scenario.run.methods)} --set run.verify=sample")]


def _of_models(run: FinishedRun) -> list[Unknown]:
    comparison = run.find(Comparison)
    if comparison is None or comparison.held_out or not run.methods or not comparison.rows:
        return []
    text = "No configuration was held out, so the error of the models is not known."
    settling = nothing_held_out(run.of_method(MEASURE)).settling
    return [Unknown(text, "" if settling is None or run.is_of_table else settling.command)]


def _of_changes(run: FinishedRun) -> list[Unknown]:
    """Returns one open question: how much would changes of the configuration gain? Its command
    computes these gains, or settles why they would be withheld.

    Returns an empty list if the run already has the gains. The list is also empty for results from
    a table, because the command needs a run's folder.
    """
    if is_computed(run) or run.is_of_table:
        return []
    if not has_advice(run):
        return [Unknown(gains_hint_of(run))]
    doubt = withholding(run)
    if doubt is not None:
        settling = "" if doubt.settling is None else doubt.settling.command
        return [Unknown(f"{NOT_COMPUTED}: {doubt.reason}.", settling)]
    return [Unknown(f"{NOT_COMPUTED}.", f"dfslab advise {FOLDER}")]


def _of_checks(run: FinishedRun) -> list[Unknown]:
    checked = run.find(Checked)
    if checked is None or not checked.findings:
        return []
    rules, figures = len({one.rule for one in checked.findings}), len(checked.findings)
    doubts = "1 rule doubts" if rules == 1 else f"{rules} rules doubt"
    what = "1 figure" if figures == 1 else f"{figures} figures"
    return [Unknown(f"{doubts} {what} of this run", section=Checked.study)]
