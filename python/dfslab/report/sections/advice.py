"""What limits, what to change, what that would gain, how sure that is."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import labels_text, table

TITLE = "Advice"
ORDER = 65
EMPTY = "No change of the declared hardware is predicted to gain more than 2 %."


def render(study: ReportInput) -> Markup | None:
    """The best change of every configuration."""
    if not study.advice:
        return None
    rows = [
        [labels_text(dict(one.labels)), one.limit, one.change,
         f"× {one.gain:.2f} ({one.low:.2f} to {one.high:.2f})"]
        for one in study.advice
    ]  # fmt: skip
    note = Markup(
        '<p class="soft">The best single change for each configuration, predicted by the sequence '
        "model; 90 % interval from the uncertainty of its constants.</p>"
    )
    return note + table(["configuration", "limit", "change", "gain"], rows)
