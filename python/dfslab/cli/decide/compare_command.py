"""The command `dfslab compare`: compares a run's measurements with its predictions, or two runs
with each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfslab.cli.decide.advice_commands import lines
from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import (
    AllowIncomplete,
    AsJson,
    Force,
    RunFolder,
    emit,
    emit_run,
    judged,
    named_output,
    note,
    note_unfinished,
    with_laboratory,
)
from dfslab.spec.files.outputs import Output
from dfslab.spec.input_error import InputError
from dfslab.studies.decisions.comparing.fail_rules import parse_rules

if TYPE_CHECKING:
    from dfslab.spec.scenario import Scenario

app = typer.Typer()


@app.command()
def compare(
    context: typer.Context,
    run_folder: RunFolder,
    other: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Another run: what has changed.")
    ] = None,
    fail_if: Annotated[
        str, typer.Option(metavar="RULE", help='Exit with 1 if found: "p99 > +5 %, rate < -3 %".')
    ] = "",
    allow_incomplete: AllowIncomplete = False,
    page: Annotated[
        Path | None, typer.Option("--page", help="A new file: two runs as a page with charts.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measured against predicted, with errors, for a finished run; or two runs.

    Two runs are compared configuration by configuration: changes with intervals, corrected for the
    number of comparisons.
    """
    printing = printing_of(context, as_json)
    if other is None:
        if fail_if:
            raise InputError("--fail-if", fail_if, "needs two runs to compare")
        if page is not None:
            raise InputError("--page", str(page), "needs two runs; a run has its own report.html")
        from dfslab.laboratory import Laboratory

        done = Laboratory().reopen(run_folder, note)
        with judged(done.results, allow_incomplete):
            emit_run(printing, done, False, folder=run_folder)
        return
    output = named_output(page, force, as_json, "--page").check() if page is not None else None
    _two_runs(run_folder, other, fail_if, output, allow_incomplete, printing)


def _two_runs(
    before: Path,
    after: Path,
    fail_if: str,
    output: Output | None,
    allow_incomplete: bool,
    printing: Printing,
) -> None:
    """Compares two runs, and writes the page to `output` if it is not None. Exits with code 1 if a
    rule of --fail-if holds, or if results are incomplete and `allow_incomplete` is false."""
    from dfslab.studies.decisions.comparing.paired_runs import compare_folders
    from dfslab.studies.runs import store

    found = compare_folders(before, after, (str(before), str(after)), parse_rules(fail_if))
    note_unfinished(before, after)
    if output is not None:
        from dfslab.report import comparison_page

        output.write(comparison_page.render(found))
    with judged([*store.results_of(before), *store.results_of(after)], allow_incomplete):
        if output is None or not output.is_standard:
            emit(printing, found.document(), *lines(found.sentences()), found.table())
    if found.failed:
        raise typer.Exit(1)


def run_against(
    first: Scenario,
    second: Scenario,
    out: Path,
    fresh: bool,
    allow_incomplete: bool,
    printing: Printing,
) -> None:
    """Measures two scenarios alternately, and prints the differences between their results.
    `fresh`: start new runs instead of resuming unfinished runs. Exits with code 1 if results are
    incomplete and `allow_incomplete` is false."""
    from dfslab.studies.decisions.comparing.paired_runs import (
        check_comparable,
        compare_runs,
        foreseen,
    )

    check_comparable(first, second)
    note(foreseen(first))
    before, after = with_laboratory(
        printing, lambda lab: lab.run_against((lab.plan(first), lab.plan(second)), out, fresh)
    )
    with judged([*before.results, *after.results], allow_incomplete):
        names = (str(before.folder), str(after.folder))
        found = compare_runs(before.results, after.results, names)
        pages = (f"page: {one.page}" for one in (before, after))
        emit(printing, found.document(), *lines(found.sentences()), found.table(), *pages)
