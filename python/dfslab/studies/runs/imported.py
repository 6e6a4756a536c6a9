"""Stores the results of another tool as a run, with notes on the values that contradict a
plausibility rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from dfslab.imports import as_results, tool_report
from dfslab.imports.applications import application_log, kept_counters
from dfslab.imports.described import described, described_rows
from dfslab.imports.tool_report import ToolReport
from dfslab.instruments.tracing import counter_reports
from dfslab.result import Result
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import Finding, judged
from dfslab.studies.runs import store


@dataclass(frozen=True)
class ImportedRun:
    """A run that was made from another tool's file.

    `rows`: one line of text for each result, and one for each measurement that was left out.
    `findings`: one line for each implausible statement in the file. `notes`: one sentence for each
    part of the file that could not be written to the run folder.
    """

    folder: Path
    results: Sequence[Result]
    rows: Sequence[str]
    findings: Sequence[str]
    notes: Sequence[str]

    @property
    def lost(self) -> int:
        """Returns the number of results that are incomplete or invalid."""
        return sum(not one.complete for one in self.results)


def is_known(file: Path) -> bool:
    """Returns whether a file has results of a known tool, or counters of a server or client."""
    return tool_report.is_recognised(file) or counter_reports.report(file) is not None


def import_files(
    files: Sequence[Path], out: Path, form: str = "", on: Scenario | None = None
) -> ImportedRun:
    """Creates a run folder below `out` from files that another tool wrote. Equal measurements of
    several files become repetitions. The first file names the run.

    `form`: name of the file's format; "" to recognise the format from the content. `on`: a scenario
    of the system that was measured; None if the system is unknown. Raises InputError if a file is
    malformed or of no known format, if the files are of different tools, or if no measurement can
    be expressed as a configuration of `on`.
    """
    file = files[0]
    report = tool_report.merged([_report(one, form) for one in files])
    findings = [checked(one) for one in judged(of_report(report))]
    if on is None:
        found = as_results.results(report, file, findings)
        scenario = as_results.scenario_of(report, file)
        rows = as_results.table_rows(found)
    else:
        placed = described(report, file, on, findings)
        found, scenario = placed.results, placed.scenario
        rows = [*described_rows(found), *placed.left_out]
    opened = store.open_run(scenario, out, fresh=True)
    with opened.locked():
        for one in found:
            opened.add(one)
        unusable = _keep_counters(file, opened.folder) if len(files) == 1 else []
        table = opened.write_table()
        notes = [*unusable, *table.notes]
        summary: dict[str, JsonValue] = {
            "imported": ", ".join(one.name for one in files),
            "tool": report.tool,
            "results": len(found),
        }
        opened.finish(summary, table)
    return ImportedRun(opened.folder, found, rows, findings, notes)


def _keep_counters(file: Path, folder: Path) -> list[str]:
    """Copies the I/O counters of an application's log to the run folder, for `dfslab advise`.
    Returns a note with the reason if the log has no usable counters. Does nothing if `file` is not
    such a log."""
    if not application_log.is_log(file):
        return []
    try:
        kept_counters.save(folder, application_log.read(file))
    except InputError as error:
        return [f"no I/O counters were kept for dfslab advise: {error}"]
    return []


def _report(file: Path, form: str) -> ToolReport:
    """Returns the report in a file: results of a benchmark, or counters of a server or client."""
    if not form and file.is_file() and not tool_report.is_recognised(file):
        counted = counter_reports.report(file)
        if counted is not None:
            return counted
    return tool_report.consistent(file, form)


def checked(finding: Finding) -> str:
    """Returns a finding as one line for the notes of a result."""
    return f"check: {finding.rule}: {finding.subject}: {finding.stated}"
