"""Call trees of the traced runs: merged, ranked by self time."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.plot import SEQUENCE, chart, words
from dfslab.report.table import note, seconds, share, table
from dfslab.spec import units

TITLE = "Trace"
ORDER = 70
EMPTY = "Nothing was traced."
MOST_ROWS = 25
ALL_SHADE = "#6b7280"
NOTE = (
    "Width is time, an operation above its steps; a click looks closer. The table ranks steps by "
    "the time they spend themselves, their own steps not counted."
)


def render(study: ReportInput) -> Markup | None:
    """How far the trees were merged, the trees, and the ranking."""
    profile = study.trace
    if not profile or not profile.get("roots"):
        return None
    ranking = profile.get("ranking") or []
    rows = [
        [row["path"], f"{row['count']:,}", seconds(row["self_s"]), share(row["share"]),
         seconds(row["total_s"] / max(1, row["count"])),
         units.text(row["bytes"], "B") if row["bytes"] else ""]
        for row in ranking[:MOST_ROWS]
    ]  # fmt: skip
    head = ["step", "count", "self time", "share", "mean", "bytes"]
    rest = len(ranking) - len(rows)
    more = note(f"{rest} more steps spend less time than these.") if rest > 0 else Markup("")
    return (
        Markup("<p>{}</p>").format(_compression(profile))
        + note(NOTE) + _icicle(profile["roots"]) + table(head, rows) + more
    )  # fmt: skip


def _compression(profile: dict[str, Any]) -> Markup:
    """How many spans and trees there were, what is left of them, what was lost on the way."""
    text = Markup("{:,} spans in {:,} call trees, merged into <strong>{}</strong>").format(
        profile["spans"], profile["trees"],
        "1 shape" if profile["shapes"] == 1 else f"{profile['shapes']:,} shapes",
    )  # fmt: skip
    after = (profile.get("reduction") or {}).get("spans_after")
    if after and profile["spans"]:
        removed = 1 - after / profile["spans"]
        text += Markup(" of {:,} steps: {:.2%} of the spans say nothing new").format(after, removed)
    lost = [
        f"{count:,} {kind.replace('_', ' ')}"
        for kind, count in (profile.get("losses") or {}).items()
        if count
    ]
    return text + (f". Repaired or dropped: {', '.join(lost)}." if lost else ". Nothing was lost.")


def _icicle(roots: list[dict[str, Any]]) -> Markup:
    """Operations side by side, their steps below; the area of a node is its time and its steps'."""
    ids, labels, parents, values = ["all"], ["all operations"], [""], [0.0]
    shades, hover = [ALL_SHADE], [words(f"all: {seconds(sum(r['total_s'] for r in roots))}")]

    def add(node: dict[str, Any], parent: str, shade: str) -> int:
        name = f"{parent}/{len(ids)}"  # names repeat in a tree; numbers do not
        ids.append(name)
        labels.append(words(node["name"]))
        parents.append(parent)
        values.append(node["self_s"])
        shades.append(shade)
        hover.append(words(f"{node['name']}: {node['count']:,} times, {seconds(node['total_s'])} "
                           f"in all, {seconds(node['self_s'])} itself"))  # fmt: skip
        depths = [add(child, name, shade) for child in node["children"]]
        return 1 + max(depths, default=0)

    depth = 1 + max(
        add(root, "all", SEQUENCE[number % len(SEQUENCE)]) for number, root in enumerate(roots)
    )
    data = [{
        "type": "icicle", "ids": ids, "labels": labels, "parents": parents, "values": values,
        "branchvalues": "remainder", "tiling": {"orientation": "v", "pad": 1},
        "pathbar": {"visible": False},
        "marker": {"colors": shades, "line": {"width": 1}}, "text": hover,
        "textinfo": "label+percent root", "hovertemplate": "%{text}<extra></extra>",
        "textfont": {"color": "#ffffff"},
    }]  # fmt: skip
    layout = {"height": 20 + 56 * min(depth, 8), "margin": {"l": 0, "r": 0, "t": 0, "b": 10}}
    return chart(data, layout, "call trees by time")
