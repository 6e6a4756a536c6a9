"""Stores the results of another tool as a run, with what the lie detector finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.imports import as_results, tool_report
from dfslab.imports.tool_report import ToolReport
from dfslab.instruments.tracing import counter_reports
from dfslab.result import Result
from dfslab.studies.checks.of_tools import of_report
from dfslab.studies.checks.rule import Finding, judged
from dfslab.studies.runs import store


@dataclass(frozen=True)
class ImportedRun:
    """A run that was made of another tool's file. `findings`: what cannot be right in the file, one
    line each. `notes`: what could not be written."""

    folder: Path
    results: Sequence[Result]
    findings: Sequence[str]
    notes: Sequence[str]

    @property
    def lost(self) -> int:
        """Returns the number of results that are incomplete or invalid."""
        return sum(not one.complete for one in self.results)


def is_known(file: Path) -> bool:
    """Returns whether a file holds results of a known tool, or counters of a server or client."""
    return tool_report.is_recognised(file) or counter_reports.report(file) is not None


def import_file(file: Path, out: Path, form: str = "") -> ImportedRun:
    """Makes a run below `out` from a file that another tool wrote.

    `form`: name of the file's format; "" if the file shows it. Raises InputError if the file is
    malformed or of no known format.
    """
    report = _report(file, form)
    findings = [checked(one) for one in judged(of_report(report))]
    found = as_results.results(report, file, findings)
    opened = store.open_run(as_results.scenario_of(report, file), out, fresh=True)
    with opened.locked():
        for one in found:
            opened.add(one)
        notes = opened.finish({"imported": file.name, "tool": report.tool, "results": len(found)})
    return ImportedRun(opened.folder, found, findings, notes)


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
