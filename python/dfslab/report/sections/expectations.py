"""What the description expected before the run, and what came of it: Wu 2013, section 4.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import folded, note, number, table
from dfslab.studies.expectations import MISS, OUTCOMES, Verdict, tally

TITLE = "Expectations"
ORDER = 46
EMPTY = "Nothing was expected that the measured steps could refute."
MOST_ROWS = 400
NOTE = (
    "Stated by the description before anything was measured: which step dominates, which grows or "
    "stays flat with the size, the count and the deployment. A hit went the stated way by more "
    "than the noise of the repetitions, a miss the other way; flat is a hit up to a factor of 1.5, "
    "a miss beyond that and the noise."
)
KINDS = {
    "dominates": "which step takes longest",
    "size": "from one size to another",
    "count": "from one count to another",
    "deployment": "from one deployment to another",
}


def render(study: ReportInput) -> Markup | None:
    """How many came true, every miss, and all of them."""
    if not study.verdicts:
        return None
    counts = tally(study.verdicts)
    rows = [
        [
            KINDS.get(kind, kind),
            *(counts[kind][outcome] for outcome in OUTCOMES),
            f"{counts[kind][OUTCOMES[0]] / sum(counts[kind].values()):.0%}",
        ]
        for kind in counts
    ]
    names = _names(study)
    parts = [note(NOTE), table(["expectation", *OUTCOMES, "hits"], rows)]
    missed = [one for one in study.verdicts if one.outcome == MISS]
    if missed:
        parts.append(_folded("misses", missed, names))
    parts.append(_folded("expectations", study.verdicts, names))
    return Markup("").join(parts)


def _names(study: ReportInput) -> Callable[[str], str]:
    labels = {result.point_id: result.labels for result in study.results}
    return lambda point_id: study.name(labels.get(point_id, {}))


def _folded(what: str, verdicts: Sequence[Verdict], name: Callable[[str], str]) -> Markup:
    rows = [_row(one, name) for one in verdicts[:MOST_ROWS]]
    head = [
        "operation",
        "step",
        "where",
        "beside",
        "stated",
        "expected ratio",
        "measured ratio",
        "noise",
        "outcome",
    ]
    told = (
        f"All {len(verdicts)} {what}"
        if len(verdicts) <= MOST_ROWS
        else (f"The first {MOST_ROWS} of {len(verdicts)} {what}")
    )
    return folded(told, table(head, rows, texts=5))


def _row(one: Verdict, name: Callable[[str], str]) -> list[str]:
    stated = one.statement
    other = stated.other_step if stated.kind == "dominates" else name(stated.other_id)
    return [
        stated.operation,
        stated.step,
        name(stated.point_id),
        other,
        stated.claim,
        number(stated.expected),
        number(one.measured),
        f"× ÷ {one.noise:.2f}",
        one.outcome,
    ]
