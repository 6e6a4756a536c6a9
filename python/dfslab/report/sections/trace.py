"""Call trees of the traced runs: merged, ranked by self time."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import chart
from dfslab.report.table import seconds, table
from dfslab.spec import units

TITLE = "Trace"
ORDER = 70
EMPTY = "Nothing was traced."
MOST_ROWS = 25


def render(study: ReportInput) -> Markup | None:
    """How far the trees were merged, the trees, and the ranking."""
    profile = study.trace
    if not profile or not profile.get("roots"):
        return None
    lost = {kind: count for kind, count in (profile.get("losses") or {}).items() if count}
    text = Markup(
        "<p>{:,} spans in {:,} call trees, merged into <strong>{}</strong> shapes. {}</p>"
    ).format(
        profile["spans"], profile["trees"], profile["shapes"],
        f"Repaired or dropped: {lost}." if lost else "Nothing was lost.",
    )  # fmt: skip
    rows = [
        [row["path"], f"{row['count']:,}", seconds(row["self_s"]), f"{row['share']:.1%}",
         seconds(row["total_s"] / max(1, row["count"])),
         units.text(row["bytes"], "B") if row["bytes"] else ""]
        for row in profile["ranking"][:MOST_ROWS]
    ]  # fmt: skip
    head = ["step", "count", "self time", "share", "mean", "bytes"]
    return text + _icicle(profile["roots"]) + table(head, rows)


def _icicle(roots: list[dict[str, Any]]) -> Markup:
    ids, labels, parents, values = ["all"], ["all traced operations"], [""], [0.0]

    def add(node: dict[str, Any], parent: str) -> None:
        name = f"{parent}/{len(ids)}"  # names repeat in a tree; numbers do not
        ids.append(name)
        labels.append(f"{node['name']} ×{node['count']}")
        parents.append(parent)
        values.append(node["self_s"])
        for child in node["children"]:
            add(child, name)

    for root in roots:
        add(root, "all")
    data = [{
        "type": "icicle", "ids": ids, "labels": labels, "parents": parents, "values": values,
        "branchvalues": "remainder", "tiling": {"orientation": "v"},
        "hovertemplate": "%{label}<br>self %{value:.4g} s<extra></extra>",
    }]  # fmt: skip
    layout = {"height": 320, "margin": {"l": 0, "r": 0, "t": 10, "b": 10}}
    return chart(data, layout, "call trees by time")
