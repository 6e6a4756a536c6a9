"""The option `--verify` of `dfslab advise`: carries advised changes out on the real file system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dfslab.cli.live.printing import Printing
from dfslab.cli.shared import note, with_progress
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    from dfslab.spec.scenario import Scenario
    from dfslab.studies.decisions.decision_input import DecisionInput
    from dfslab.studies.decisions.reported.advice_table import Recommended
    from dfslab.studies.trials.carried_out import VerifiedAdvice


def verified(
    evidence: DecisionInput,
    advice: Recommended,
    most: int,
    rounds: int,
    limit_s: float,
    records: Path,
    yes: bool,
    printing: Printing,
    may: Sequence[str] = (),
) -> VerifiedAdvice:
    """Carries out the `most` safest changes that `advice` recommends, and measures each of them in
    `rounds` pairs of runs (one run before and one after the change). If these runs write to a
    directory or an address of the user, first asks the user for permission, unless `yes` is true.
    `limit_s`: largest time in seconds for all runs. `may`: permissions for changes that put data at
    risk; without them, such changes are left out. Returns the predicted and the measured
    gains."""
    from dfslab.studies.decisions.risks import check_permissions
    from dfslab.studies.trials.intervention_record import check_records
    from dfslab.studies.trials.verifying import carry_out, check_rounds, plan_of

    check_rounds(rounds)
    check_permissions(may)
    plan = plan_of(evidence, advice, most, rounds, limit_s, may)
    if plan.groups:
        ask(place_of(plan.groups[0][0].start), yes, printing.as_json)
    check_records(records)
    note(plan.announcement())
    found: VerifiedAdvice = with_progress(
        printing, lambda report: carry_out(plan, records, report, note)
    )
    return found


def place_of(scenario: Scenario) -> str:
    """Returns the place of the user that a scenario measures. This is its address (`uri`), or else
    an existing directory. Returns "" if the scenario runs on a testbed or in a temporary folder."""
    access = scenario.file_system.access
    return "" if access.testbed else access.uri or access.directory


def ask(place: str, yes: bool, as_json: bool) -> None:
    """Asks the user for permission to measure in `place`, an existing directory or an address of
    the user. Does not ask if `place` is "" or if `yes` is true (the option `--yes`).

    Raises InputError if nobody can answer because the output is JSON or no terminal. Raises
    typer.Abort if the answer is no.
    """
    if not place or yes:
        return
    from dfslab.report import terminal

    if as_json or not terminal.console(as_json).is_terminal:
        allowed = f"is needed, because measuring in {place} writes files there and removes them"
        raise InputError("--yes", False, allowed)
    what = f"This writes files in a new folder in {place}, and removes them. Go on?"
    typer.confirm(what, abort=True, err=True)
