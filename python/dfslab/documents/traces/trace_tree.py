"""Walks the call trees of a trace profile without recursion, since trees may be deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TreeNode


def walk(roots: Sequence[TreeNode]) -> Iterator[tuple[CallPath, TreeNode]]:
    """Yields (call path, node) for every node, depth first in the order of the document."""
    waiting = [(CallPath.of(root.name), root) for root in reversed(roots)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        waiting += [(CallPath.of(one.name, path), one) for one in reversed(node.children)]
