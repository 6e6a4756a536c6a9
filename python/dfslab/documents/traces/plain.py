"""Converts a trace profile to plain data for JSON. The conversion uses loops instead of recursion,
because the trees of a profile may be deeper than Python's recursion limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dfslab.documents.traces.trace_profile import TraceProfile, TreeNode


def plain(profile: TraceProfile) -> dict[str, Any]:
    """Returns the profile's fields as JSON data. Fields that were never set are omitted."""
    table = profile.model_dump(mode="json", exclude_unset=True, exclude={"roots"})
    return {**table, "roots": plain_trees(profile.roots)}


def plain_trees(roots: Sequence[TreeNode]) -> list[dict[str, Any]]:
    """Returns call trees as JSON data. The trees are converted without recursion, because Python
    limits the depth of recursion."""
    found: list[dict[str, Any]] = []
    open_nodes = [(node, found) for node in reversed(roots)]
    while open_nodes:
        node, siblings = open_nodes.pop()
        children: list[dict[str, Any]] = []
        table = node.model_dump(mode="json", exclude_unset=True, exclude={"children"})
        siblings.append({**table, "children": children})
        open_nodes += [(child, children) for child in reversed(node.children)]
    return found
