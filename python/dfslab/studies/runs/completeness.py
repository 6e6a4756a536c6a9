"""Determines whether the measurements of a run are complete. Commands report incomplete
measurements first, and exports mark them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from dfslab import discover
from dfslab.documents.table import Table, heads, labels_text, words
from dfslab.result import Result


def incomplete(results: Iterable[Result]) -> list[Result]:
    """Returns the measured results that failed, were cut short, lost operations or read wrong
    data."""
    return [one for one in results if discover.is_instrument(one.method) and not is_whole(one)]


def is_whole(result: Result) -> bool:
    """Returns whether a result is complete and has no failed operations. Failures that the scenario
    causes on purpose are allowed, because the run measures them."""
    run = result.point.scenario.run
    is_meant = bool(run.fault) or any(layer.fails for layer in run.layer)
    failed = result.load is not None and bool(result.load.errors) and not is_meant
    return result.complete and not failed


def is_unverified(result: Result) -> bool:
    """Returns whether dfslab's load generator made the result without comparing the content of
    files with what was written."""
    is_own = result.load is not None and result.load.generator is not None
    return is_own and result.point.scenario.run.verify == "none"


def rows(results: Iterable[Result]) -> list[JsonValue]:
    """Returns each incomplete result as JSON data: its method, configuration, repetition and
    reasons."""
    return [
        {
            "method": one.method,
            "configuration": dict(one.labels),
            "repetition": one.repetition,
            "notes": list(one.notes),
        }
        for one in incomplete(results)
    ]


def table(results: Iterable[Result]) -> Table | None:
    """Returns a table with a row for each incomplete result; None if all results are complete."""
    found = [
        (
            words(one.method),
            words(labels_text(dict(one.labels))),
            words(str(one.repetition)),
            words("; ".join(one.notes)),
        )
        for one in incomplete(results)
    ]
    columns = heads("method", "configuration", "repetition", "reasons", left=("reasons",))
    return Table("Incomplete results", columns, found) if found else None


def warning(results: Sequence[Result]) -> str:
    """Returns one line with the number of incomplete results and the reason of the first; "" if all
    results are complete."""
    lacking = incomplete(results)
    if not lacking:
        return ""
    measured = sum(1 for one in results if discover.is_instrument(one.method))
    reason = lacking[0].notes[0] if lacking[0].notes else "no reason was recorded"
    return f"incomplete: {len(lacking)} of {measured} measured results; the first: {reason}"
