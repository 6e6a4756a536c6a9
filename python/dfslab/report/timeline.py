"""Draws exemplar traces as timelines. An exemplar trace is a complete root call that was stored as
an example. Each call in it is a row, with a bar at the call's time within the root call."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import seconds_text
from dfslab.documents.traces.trace_profile import Timeline, TimelineCall
from dfslab.report.page_table import folded, heading, note

TITLE = "Slowest calls in time"
NOTE = (
    "The slowest exemplar trace of each kind. Time runs from left to right. Amber calls wait; a "
    "red edge marks a call that failed. The work of other JVMs for a call is in their timelines."
)
DEEPEST = 12


def timelines(calls: Sequence[Timeline]) -> Markup:
    """Returns the HTML of one timeline for each root call.

    The timeline of the slowest root call is expanded. The result is empty if there are no calls.
    """
    if not calls:
        return Markup("")
    drawn = [
        folded(_title(call), _timeline(call), opened=not number)
        for number, call in enumerate(calls)
    ]
    return heading(TITLE) + note(NOTE) + Markup("").join(drawn)


def _title(whole: Timeline) -> str:
    top = whole.calls[0]
    about = f" {top.about}" if top.about else ""
    cause = str(whole.cause or "")
    under = f", under {cause}" if cause else ""
    trace = f", trace {whole.trace_id}" if whole.trace_id else ""
    where = f"{top.place}: " if top.place else ""
    return f"{where}{_name(whole)}{about}, {seconds_text(whole.duration_s)}{under}{trace}"


def _name(call: Timeline | TimelineCall) -> str:
    return call.name or "(unnamed)"


def _timeline(whole: Timeline) -> Markup:
    whole_s = whole.duration_s or 1e-9
    rows = Markup("\n").join(_row(call, whole_s) for call in whole.calls)
    more = note(f"{whole.left_out:,} more calls.") if whole.left_out else Markup("")
    return (
        Markup('<div class="timeline" role="table" aria-label="{}" tabindex="0">{}</div>').format(
            _title(whole), rows
        )
        + more
    )


def _row(call: TimelineCall, whole_s: float) -> Markup:
    left = min(1.0, max(0.0, call.start_s / whole_s))
    width = min(1.0 - left, call.duration_s / whole_s)
    label = " ".join(word for word in (_name(call), call.place, call.about) if word)
    return Markup(
        '<div role="row" title="{}"><span role="rowheader" style="padding-left:{}em">{}</span>'
        '<i role="cell">'
        '<b class="{}{}" style="left:{}%;width:{}%"></b></i><small role="cell">{}</small></div>'
    ).format(
        label,
        f"{min(DEEPEST, call.depth) * 0.8:g}",
        _name(call),
        "wait" if call.wait else "work",
        " failed" if call.error else "",
        f"{left * 100:.3f}",
        f"{width * 100:.3f}",
        seconds_text(call.duration_s),
    )
