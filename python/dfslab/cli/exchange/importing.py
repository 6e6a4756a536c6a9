"""The command `dfslab import`: converts results of another tool to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfslab.cli.shared import AsJson, Out, emit
from dfslab.imports import as_results, tool_report
from dfslab.imports.described import described, described_rows
from dfslab.imports.tool_report import ToolReport
from dfslab.instruments.tracing import counter_reports
from dfslab.method import RunFailed
from dfslab.spec.scenario import read
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import Finding, judged
from dfslab.studies.runs import store

app = typer.Typer()


@app.command("import")
def import_results(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What another tool wrote.")],
    out: Out = Path("runs"),
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Its format, if FILE does not show it.")
    ] = "",
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="SCENARIO", help="The system that FILE was measured on."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take in the results of another tool (fio, IOR, mdtest, IO500, …) as a run.

    The run can be compared, reported and exported like our own. What the tool did not report stays
    unknown. With --on, models can be fitted to the run. `dfslab list` names the formats.
    Example: dfslab import fio.json
    """
    report = _report(file, form)
    findings = judged(of_report(report))
    noted, left_out = [checked(one) for one in findings], list[str]()
    if on is None:
        found, scenario = as_results.results(report, file, noted), None
        rows = as_results.table_rows(found)
    else:
        placed = described(report, file, read(on), noted)
        found, scenario, left_out = placed.results, placed.scenario, placed.left_out
        rows = described_rows(found)
    opened = store.open_run(scenario or as_results.scenario_of(report, file), out, fresh=True)
    with opened.locked():
        for one in found:
            opened.add(one)
        notes = opened.finish({"imported": file.name, "tool": report.tool, "results": len(found)})
    rows = [*rows, *left_out, *noted]
    documents = [one.model_dump(mode="json") for one in found]
    emit(as_json, documents, *rows, *notes, f"{len(found)} results in {opened.folder}")
    lost = sum(not one.complete for one in found)
    if lost:
        raise RunFailed(f"{file}: {lost} of {len(found)} results are incomplete or invalid")


def _report(file: Path, form: str) -> ToolReport:
    """Returns the report in a file: results of a benchmark, or counters of a server or client."""
    if not form and file.is_file() and not tool_report.is_recognised(file):
        counted = counter_reports.report(file)
        if counted is not None:
            return counted
    return tool_report.read(file, form)


def checked(finding: Finding) -> str:
    """Returns a finding as one line for the notes of a result."""
    return f"check: {finding.rule}: {finding.subject}: {finding.stated}"
