"""Finds operations that move a file's bytes on a disk but send these bytes in no message.

A message has 256 bytes in each direction unless the description gives its sizes (`call` in
spec/steps/operation.py). If a description never gives these sizes, a prediction from the
description has almost no time on the network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dfslab.spec.steps.expression import Expr
from dfslab.spec.steps.node import Call, Node, Use


def moved_without_message(tree: Node, roles: Collection[str]) -> bool:
    """Returns whether the operation `tree` uses a disk of one of the `roles` for a time that
    depends on the file's size, although no message of the operation depends on this size."""
    return any(_on_disk(tree, roles)) and not any(_sent(tree))


def _on_disk(node: Node, roles: Collection[str], repeated: bool = False) -> Iterator[bool]:
    """Yields for each use of a disk of one of the `roles` in `node`, including `node` itself,
    whether its time depends on the file's size.

    `repeated`: whether the number of executions of `node` depends on the file's size.
    """
    depends = repeated or _depends(node.expressions())
    if isinstance(node, Use) and node.resource.kind == "disk" and node.resource.role in roles:
        yield depends
    for child in node.children():
        yield from _on_disk(child, roles, depends)


def _sent(node: Node, repeated: bool = False) -> Iterator[bool]:
    """Yields for each message in `node`, including `node` itself, whether its bytes depend on the
    file's size.

    `repeated`: whether the number of executions of `node` depends on the file's size, as in a
    pipeline of packets of equal size.
    """
    depends = _depends(node.expressions())
    if isinstance(node, Call):
        yield repeated or depends
    within = repeated or (depends and not isinstance(node, Call))
    for child in node.children():
        yield from _sent(child, within)


def _depends(amounts: Collection[Expr]) -> bool:
    """Returns whether one of the `amounts` has the size of the file among its symbols."""
    return any("file_size" in map(str, amount.free_symbols) for amount in amounts)
