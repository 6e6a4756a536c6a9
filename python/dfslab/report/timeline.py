"""Whole calls as time lines: a row for each span, its bar where it lay in the call's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dfslab.report.table import folded, note, seconds

NOTE = (
    "The slowest whole call of each kind, from left to right as time passed; amber waits, a red "
    "edge failed. What other processes did for it is under their own calls of the same cause."
)
WAITS = ("queue", "lock", "blocked", "send", "receive", "sleep")
DEEPEST = 12


def timelines(calls: Sequence[Mapping[str, Any]]) -> Markup:
    """A time line of each call, the slowest opened; nothing where there is none."""
    if not calls:
        return Markup("")
    drawn = [folded(_title(call), _timeline(call), opened=not number)
             for number, call in enumerate(calls)]  # fmt: skip
    return Markup("<h3>Whole calls</h3>") + note(NOTE) + Markup("").join(drawn)


def _title(call: Mapping[str, Any]) -> str:
    about = call["spans"][0]["about"]
    under = f", under {call['cause']}" if call["cause"] else ""
    return (f"{call['service']}: {call['name']}{f' {about}' if about else ''}, "
            f"{seconds(call['took_ns'] / 1e9)}{under}")  # fmt: skip


def _timeline(call: Mapping[str, Any]) -> Markup:
    whole_ns = max(1, call["took_ns"])
    rows = Markup("\n").join(_row(span, whole_ns) for span in call["spans"])
    more = note(f"{call['left_out']:,} more spans.") if call["left_out"] else Markup("")
    return Markup('<div class="timeline" role="table">{}</div>').format(rows) + more


def _row(span: Mapping[str, Any], whole_ns: int) -> Markup:
    left = min(1.0, max(0.0, span["start_ns"] / whole_ns))
    width = min(1.0 - left, span["took_ns"] / whole_ns)
    kind = "wait" if span["kind"] in WAITS else "work"
    told = f"{span['name']} ({span['kind']}) {span['about']}".strip()
    return Markup(
        '<div role="row" title="{}"><span style="padding-left:{}em">{}</span><i>'
        '<b class="{}{}" style="left:{}%;width:{}%"></b></i><small>{}</small></div>'
    ).format(
        told, f"{min(DEEPEST, span['depth']) * 0.8:g}", span["name"], kind,
        " failed" if span["error"] else "", f"{left * 100:.3f}", f"{width * 100:.3f}",
        seconds(span["took_ns"] / 1e9),
    )  # fmt: skip
