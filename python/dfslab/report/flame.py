"""Flame graphs on the page: call trees as nested bars by time, self time, waits, bytes or calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

MOST_NODES = 20_000
MEASURES = {
    "time": "time",
    "self": "self time, callers below",
    "work": "work",
    "wait": "waits",
    "bytes": "bytes",
    "calls": "calls",
}
AGAIN = " (failed, made again)"
NOTE = (
    "Width is the chosen measure, a step above the steps inside it; by self time each step stands "
    "once, above those who called it. A click looks closer. Blue works, amber waits."
)


def flatten(
    roots: Sequence[Mapping[str, Any]], changes: Mapping[str, float] | None = None
) -> list[dict[str, Any]]:
    """The nodes, parents first, with (calls, self time in ns, bytes)."""
    found: list[dict[str, Any]] = []
    open_nodes = [(root, -1, root["name"]) for root in reversed(roots)]
    while open_nodes and len(found) < MOST_NODES:
        node, above, path = open_nodes.pop()
        own_ns = node.get("self_ns", round(node["self_s"] * 1e9))
        row: dict[str, Any] = {
            "name": (node["name"] or "(unnamed)") + (AGAIN if node.get("again") else ""),
            "above": above,
            "kind": node.get("kind", "service"),
            "sums": [node["count"], own_ns, node["bytes"]],
        }
        if node.get("of"):
            row["of"] = node["of"]
        if changes and path in changes:
            row["change"] = changes[path]
        below = [(child, len(found), f"{path}/{child['name']}") for child in node["children"]]
        open_nodes += reversed(below)
        found.append(row)
    return found


def facets(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every process with sums of its own calls."""
    return sorted({name for node in nodes for name in node.get("of", {})})


def flame(
    roots: Sequence[Mapping[str, Any]], label: str, changes: Mapping[str, float] | None = None
) -> Markup:
    """The HTML of the bars' container, the controls above it, and the data."""
    nodes = flatten(roots, changes)
    text = json.dumps({"nodes": nodes, "changed": bool(changes)}, allow_nan=False)
    options = Markup("").join(
        Markup('<option value="{}">{}</option>').format(*pair) for pair in MEASURES.items()
    )
    processes = Markup("").join(
        Markup('<option value="{0}">{0}</option>').format(name) for name in facets(nodes)
    )
    return Markup(
        '<div class="flame" role="group" aria-label="{}"><form onsubmit="return false">'
        '<label>by <select name="by">{}</select></label>'
        '<label>process <select name="facet"><option value="">all</option>{}</select></label>'
        '<label>find <input name="word" type="search" placeholder="a step"></label>'
        '<button name="reset" type="button" disabled>whole tree</button><output></output>'
        '</form><div class="rows"></div></div>'
        '<script type="application/json" class="flame">{}</script>'
    ).format(label, options, processes, Markup(text.replace("<", "\\u003c")))
