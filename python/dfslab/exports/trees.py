"""Call trees as exporters walk them, and how much of a trace they write at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dfslab.documents.trace_profile import TreeNode

# Viewers take seconds to open more.
MOST_EVENTS = 100_000
# Nodes of this kind repeat what their callers already show.
DETAIL = "detail"


def walk(roots: Sequence[TreeNode]) -> Iterator[tuple[list[str], TreeNode]]:
    """Every node with the names from its root, in the order of the trees; without recursion."""
    open_nodes = [([root.name], root) for root in reversed(roots)]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path, node
        open_nodes += [([*path, child.name], child) for child in reversed(node.children)]
