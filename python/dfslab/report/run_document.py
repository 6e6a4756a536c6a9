"""Assembles the output of a run from all studies: a JSON document for programs, and tables for the
terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from dfslab.documents.table import Paragraph, Table
from dfslab.report.answers import changes, narrow
from dfslab.report.answers.result_notes import result_notes
from dfslab.report.answers.result_tables import result_table, result_tables
from dfslab.report.answers.verdict import verdict
from dfslab.result import Result
from dfslab.studies.bottlenecks import Programs
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs import completeness


def of(run: FinishedRun) -> dict[str, JsonValue]:
    """Returns the JSON document of `dfslab run`: the location of the run, notes, and the documents
    of all studies. If the run is inconclusive, `doubt` states why. If the run is unfinished,
    `unfinished` states how much is measured. In the commands of sentences, the word RUN stands for
    the run's folder, because the document is stored there and the folder can be moved."""
    notes: list[JsonValue] = list(run.findings.notes)
    found: dict[str, JsonValue] = {
        "scenario": run.scenario.name,
        "folder": str(run.folder),
        "page": str(run.page) if run.page.exists() else None,
        "notes": notes,
    }
    if run.unfinished is not None:
        found["unfinished"] = run.unfinished.model_dump(mode="json")
    if run.processor_time is not None:
        found["processor_time"] = run.processor_time.model_dump(exclude_none=True)
    if sentences := changes.closing(run):
        found["answer"] = list(sentences)
    if (answer := verdict(run)) is not None and answer.doubt:
        found["doubt"] = answer.doubt
    if lacking := completeness.rows(run.results):
        found["incomplete"] = lacking
    if not _has_summary(run):
        found["results"] = [result.model_dump(mode="json") for result in run.results]
    for one in run.findings.found.values():
        found |= one.document(run)
    return found


def _has_summary(run: FinishedRun) -> bool:
    return any(one.stands_for_results for one in run.findings.found.values())


def tables(run: FinishedRun, wide: bool = False) -> list[Table | str | Paragraph]:
    """Returns the tables and texts that `dfslab run` prints: the results, the tables of the
    studies, and the summary in sentences. The table of results is left out if a study's tables
    replace it.

    If `wide` is true, all methods and every repetition are shown instead of one line for each
    configuration.
    """
    shown: list[Table | str | Paragraph] = []
    if not _has_summary(run):
        # If a program was traced, the tables of `Programs` already summarise its traces. In this
        # case, the table of results has only measured results, and is omitted if nothing was
        # measured.
        traced = run.find(Programs) is not None
        results = run.of_method("measure") if traced else run.settled
        if results or not traced:
            found = [result_table(results)] if wide else result_tables(results)
            shown += _without_notes(found, results)
    for one in run.findings.found.values():
        if one.is_printed_by_run:
            shown += narrow.tables_of(one, run) if not wide else one.tables(run)
    return [*shown, *map(Paragraph, run.findings.notes), *map(Paragraph, changes.closing(run))]


def _without_notes(tables: Sequence[Table], results: Sequence[Result]) -> list[Table]:
    """Returns the tables without the notes of the results. These notes are notes of the run, which
    are printed once after all tables."""
    known = {*result_notes(results)}
    for name in dict.fromkeys(one.method for one in results):
        known.update(result_notes(one for one in results if one.method == name))
    return [replace(one, notes=[n for n in one.notes if n not in known]) for one in tables]


def every_table(run: FinishedRun) -> list[Table]:
    """Returns the tables of all studies, including the tables that `dfslab run` does not print. If
    some results are incomplete, a table of the incomplete results comes first."""
    lacking = completeness.table(run.results)
    return [*([lacking] if lacking else []), *_of_studies(run)]


def _of_studies(run: FinishedRun) -> list[Table]:
    return [table for one in run.findings.found.values() for table in one.tables(run)]
