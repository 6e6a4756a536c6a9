"""What limits, what to change, what that would gain, how sure that is."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import note, table, wide
from dfslab.studies.compare import sort_key

TITLE = "Advice"
ORDER = 65
EMPTY = "No change of the declared hardware is predicted to gain more than 2 %."
NOTE = (
    "The best single change for each configuration, predicted by the sequence model; 90 % interval "
    "from the uncertainty of its constants."
)


def render(study: ReportInput) -> Markup | None:
    """The best change of every configuration."""
    if not study.advice:
        return None
    rows = [
        [
            study.name(one.labels),
            wide(one.limit),
            wide(one.change),
            f"× {one.gain:.2f} ({one.low:.2f} to {one.high:.2f})",
        ]
        for one in sorted(study.advice, key=lambda one: sort_key(one.labels))
    ]
    return note(NOTE) + table(["configuration", "limit", "change", "gain"], rows, texts=3)
