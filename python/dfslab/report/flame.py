"""Draws flame graphs on the page. A flame graph shows the nodes of call trees as nested bars. The
width of a bar shows one quantity, which the reader selects: the total time, the self time, the
waits, the bytes or the number of calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NotRequired, TypedDict

from markupsafe import Markup

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TreeNode
from dfslab.documents.traces.trace_tree import walk

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
    "The width of a bar is the chosen measure. A step is above the steps that it calls; by self "
    "time each step is drawn once, above its callers. A click on a bar zooms in. Blue steps work, "
    "amber steps wait."
)


class Bar(TypedDict):
    """A node of a call tree, with the keys that the page's script reads.

    - `above`: index of the node's parent, -1 for a root.
    - `kind`: "blocked" if most of the calls are waits, else "service".
    - `sums`: [number of calls, self time in ns, bytes].
    - `of`: a tuple for each process or host, by its name. The first three elements are the part of
      `sums` that belongs to this process or host.
    - `change`: relative change of the node's mean duration between the two compared groups of
      calls. Without a comparison, this key is missing.
    """

    name: str
    above: int
    kind: str
    sums: list[int]
    of: NotRequired[dict[str, tuple[int, int, int, int, float | None]]]
    change: NotRequired[float]


def flatten(
    roots: Sequence[TreeNode], changes: Mapping[CallPath, float] | None = None
) -> list[Bar]:
    """Returns the nodes of call trees as a flat list, in which a parent precedes its children. The
    list has at most MOST_NODES nodes.

    `changes`: relative change of the mean duration of each call path, for colours.
    """
    found: list[Bar] = []
    # For each path, the index of the bar that was added last. `walk` visits each node before its
    # children. The bar at this index is therefore the parent of the next bars below the path.
    places: dict[CallPath | None, int] = {}
    for path, node in walk(roots):
        if len(found) == MOST_NODES:
            break
        bar = Bar(
            name=(node.name or "(unnamed)") + (AGAIN if node.again else ""),
            above=places.get(path.parent, -1),
            kind=node.kind,
            sums=[node.count, node.self_ns, node.bytes],
        )
        if node.of:
            bar["of"] = node.of
        if changes and path in changes:
            bar["change"] = changes[path]
        places[path] = len(found)
        found.append(bar)
    return found


def facets(nodes: Iterable[Bar]) -> list[str]:
    """Returns the sorted names of all processes or hosts that occur in the key `of` of at least one
    node."""
    return sorted({name for node in nodes for name in node.get("of", {})})


def flame(
    roots: Sequence[TreeNode], label: str, changes: Mapping[CallPath, float] | None = None
) -> Markup:
    """Returns the HTML of a flame graph: the controls, the container in which the script draws the
    bars, and the data.

    `changes`: relative change of the mean duration of each call path, for colours.
    """
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
