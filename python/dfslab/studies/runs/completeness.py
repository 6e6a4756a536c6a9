"""Whether the measurements of a run are complete: what a command says first, and exports keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from dfslab import discover
from dfslab.documents.table import Table, heads, labels_text, words
from dfslab.result import Result


def incomplete(results: Iterable[Result]) -> list[Result]:
    """The measured results that failed, were cut short, lost operations or hold wrong data."""
    return [one for one in results if discover.is_instrument(one.method) and not is_whole(one)]


def is_whole(result: Result) -> bool:
    """Whether a result is complete and no operation failed, except where the scenario makes
    operations fail: those failures are what it measures."""
    run = result.point.scenario.run
    is_meant = bool(run.fault) or any(layer.fails for layer in run.layer)
    failed = result.load is not None and bool(result.load.errors) and not is_meant
    return result.complete and not failed


def rows(results: Iterable[Result]) -> list[JsonValue]:
    """Each incomplete result as plain data: its method, configuration, repetition and reasons."""
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
    """Each incomplete result as a row; None where all are complete."""
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
    """One line that says how many measured results are incomplete, and why the first is; "" if all
    are complete."""
    lacking = incomplete(results)
    if not lacking:
        return ""
    measured = sum(1 for one in results if discover.is_instrument(one.method))
    reason = lacking[0].notes[0] if lacking[0].notes else "no reason was recorded"
    return f"incomplete: {len(lacking)} of {measured} measured results; the first: {reason}"
