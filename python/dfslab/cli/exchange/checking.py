"""The command `dfslab check`. It checks measured numbers against plausibility rules and reports the
noise floor of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.live.printing import Printing, printing_of
from dfslab.cli.shared import AsJson, Out, emit, with_laboratory
from dfslab.documents.evidence import Evidence, Hardware
from dfslab.documents.table import Table
from dfslab.imports import tool_report
from dfslab.method import MEASURE
from dfslab.result import Result
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario, read
from dfslab.studies.checks import figures, noise
from dfslab.studies.checks.noise import NoiseFloor
from dfslab.studies.checks.of_results import hardware, of_results
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import judged, rules
from dfslab.studies.plausibility import finding_table, summary
from dfslab.studies.runs import store
from dfslab.studies.runs.records import result_file
from dfslab.studies.runs.records.record import DamagedResult

app = typer.Typer()
SCENARIO = "scenario.toml"


@app.command("check")
def check(
    context: typer.Context,
    what: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A run's folder, a result, a file of another tool, or a file of figures (TOML).",
        ),
    ],
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="SCENARIO", help="The deployment that FILE was measured on."),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option("--pairs", min=0, help="Number of A/A pairs to measure of a run or scenario."),
    ] = 0,
    out: Out = Path("runs"),
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="FILE's format, if it shows none.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Judge figures by rules: what cannot be right, why, and what would settle it.

    For runs also the noise floor and the smallest difference that they can show. Exits with 1 if a
    rule finds a contradiction.
    """
    printing = printing_of(context, as_json)
    deployment = hardware(read(on), is_known=True) if on is not None else None
    if pairs:
        results = _paired(what, pairs, out, printing)
        _answer(of_results(results), noise.of_pairs(results), printing)
    elif what.is_dir():
        results = store.results_of(what)
        _answer(of_results(results), noise.of_repetitions(results), printing)
    else:
        _answer(_evidence(what, deployment, form), [], printing)


def _evidence(path: Path, deployment: Hardware | None, form: str) -> list[Evidence]:
    """Returns the evidence in a file: measured numbers, and the known conditions under which they
    were measured. Raises InputError if the file is damaged or in no known format."""
    if path.suffix == figures.SUFFIX:
        return list(figures.read(path).figure)
    if _is_result(path):
        try:
            return of_results([result_file.read(path)])
        except DamagedResult as error:
            raise InputError("FILE", str(path), str(error)) from error
    report = tool_report.read(path, form)
    found = of_report(report, deployment)
    # A rule explains a contradiction better than the reader of the file, which only states that
    # there is a contradiction.
    if report.contradictions and all(one.is_doubt for one in judged(found)):
        raise InputError("FILE", str(path), report.contradictions[0])
    return found


def _is_result(path: Path) -> bool:
    """Returns whether a file has the name and location of a result file in a run's folder."""
    return path.suffix == result_file.SUFFIX and (path.parent.parent / SCENARIO).is_file()


def _paired(what: Path, pairs: int, out: Path, printing: Printing) -> list[Result]:
    """Measures `pairs` A/A pairs of a scenario. A pair is two runs of the same configuration.
    Returns the results of all runs. `what` is the scenario file or the folder of a run. Raises
    InputError if `what` is neither."""
    file = what / SCENARIO if what.is_dir() else what
    if file.suffix != figures.SUFFIX:
        raise InputError("--pairs", pairs, "needs a run's folder or a scenario (TOML)")
    chosen = twice(read(file), pairs)
    done = with_laboratory(printing, lambda lab: lab.run(lab.plan(chosen), out, fresh=True))
    return done.of_method(MEASURE)


def twice(scenario: Scenario, pairs: int) -> Scenario:
    """Returns a scenario for measuring `pairs` A/A pairs. The scenario has two repetitions for each
    pair and no models. Additional repetitions for a target precision are switched off."""
    measured = scenario.with_methods([MEASURE])
    return measured.with_overrides({"run.repetitions": 2 * pairs, "run.precision": 0.0})


def _answer(evidence: list[Evidence], found: list[NoiseFloor], printing: Printing) -> None:
    """Prints the rules that the evidence breaks, and the noise floor. Exits with code 1 if a rule
    finds a contradiction."""
    findings = judged(evidence)
    document = {
        "figures": len(evidence),
        "rules": len(rules()),
        "findings": [one.model_dump(mode="json") for one in findings],
        "noise": [one.model_dump(mode="json") for one in found],
    }
    tables: list[Table] = [finding_table(findings)] if findings else []
    tables += [noise.noise_table(found)] if found else []
    emit(printing, document, summary(len(evidence), len(rules()), findings), *tables)
    if any(not one.is_doubt for one in findings):
        raise typer.Exit(1)
