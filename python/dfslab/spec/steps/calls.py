"""Derives the operation trees of single calls from the trees of a file system's whole operations.
With the trees of calls, a trace of single calls can be replayed on every file system that has a
description.

A description has trees of whole operations, such as the reading of a file. The tree of a read is
split at its outermost step "read". The steps before it are the call open, the step itself is the
call pread, and the steps after it are the call close. The tree of a write is split at its step
"write", which is the call pwrite. The steps after it are the close of a file with unsynced data. A
call that is not part of a whole operation gets the tree of a similar described operation
(`STAND_INS`).

The value of the symbol `file_size` depends on the call:
- pread and pwrite: the bytes of the transfer
- fsync, and close after writing (`unforced`): the bytes written since the last fsync
- other calls: the bytes of the file

`followed` computes these values for each operation of a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dfslab.spec.steps.node import Choice, Either, Later, Node, Seq, walk
from dfslab.spec.steps.operation import choice, either, seq
from dfslab.spec.systems.parameters import symbol

TRANSFERS = ("pread", "pwrite")
WHOLE = ("read", "write", "append", "overwrite")
FORCED = ("fsync", "flush")
UNFORCED = "unforced"
# For each call, operations with similar trees. If the description lacks the call, the call gets the
# tree of the first of these operations that the description has.
STAND_INS = {
    "overwrite": ("append", "write"),
    "exists": ("stat",),
    "get_xattr": ("stat",),
    "lock": ("stat",),
    "mkdir": ("create",),
    "rmdir": ("delete",),
    "truncate": ("create",),
    "chmod": ("create",),
    "set_xattr": ("create",),
}


def derived(operations: Mapping[str, Node]) -> dict[str, Node]:
    """Returns the trees of calls, by the name of the call. All calls of a trace are included whose
    trees can be derived from the described operations."""
    found: dict[str, Node] = {}
    for name, others in STAND_INS.items():
        for other in others:
            if other in operations and name not in operations:
                found.setdefault(name, operations[other])
    if "read" in operations:
        before, moved, after = _split(operations["read"], "read")
        found["open"], found["pread"] = seq(*before), moved
        found["close"] = seq(*after)
    # Most transfers of a trace write new bytes, whose pages an overwritten file has already.
    written = next((name for name in ("append", "overwrite", "write") if name in operations), None)
    if written is not None:
        _, found["pwrite"], after = _split(operations[written], "write")
        forced = _named(operations[written], FORCED)
        if forced is not None:
            found["fsync"] = forced
        if "close" in found:
            found["close"] = either(symbol(UNFORCED), seq(*after), found["close"])
    return found


def taken_as(operations: Mapping[str, Node], names: Iterable[str]) -> str:
    """Returns a text for the user about calls whose trees are those of a similar operation
    (STAND_INS). The text lists each such call of `names` as "call as operation". The text is "" if
    there is no such call."""
    stood = [
        f"{name} as {next(other for other in STAND_INS[name] if other in operations)}"
        for name in names
        if name not in operations and name in STAND_INS
    ]
    return f"taken for described operations: {', '.join(stood)}" if stood else ""


def _split(tree: Node, name: str) -> tuple[tuple[Node, ...], Node, tuple[Node, ...]]:
    """Splits an operation at its outermost step called `name`. Returns (nodes before this step, the
    step, nodes after it). Without such a step, returns ((), the whole operation, ()).

    If the operation is an unnamed `Choice` or `Either`, each branch is split. Each of the three
    results is then a `Choice` or `Either` with the probabilities or the condition of the operation.
    """
    if isinstance(tree, Choice) and not tree.name:
        ways = [(share, _split(branch, name)) for share, branch in tree.branches]
        before = choice(*((share, seq(*way[0])) for share, way in ways))
        moved = choice(*((share, way[1]) for share, way in ways))
        return (before,), moved, (choice(*((share, seq(*way[2])) for share, way in ways)),)
    if isinstance(tree, Either) and not tree.name and tree.otherwise is not None:
        then, other = _split(tree.then, name), _split(tree.otherwise, name)
        holds = tree.condition
        return (
            (either(holds, seq(*then[0]), seq(*other[0])),),
            either(holds, then[1], other[1]),
            (either(holds, seq(*then[2]), seq(*other[2])),),
        )
    parts = tree.steps if isinstance(tree, Seq) and not tree.name else (tree,)
    for at, part in enumerate(parts):
        step = _named(part, (name,))
        if step is not None:
            return parts[:at], step, parts[at + 1 :]
    return (), tree, ()


def _named(tree: Node, names: Sequence[str]) -> Node | None:
    """Returns the first node of `tree` with one of the `names`. Parents come before their children.
    Returns None if there is no such node. A `Later`, `Choice` or `Either` is never returned, but
    the nodes inside it are searched."""
    kinds = (node for node in walk(tree) if not isinstance(node, Later | Choice | Either))
    return next((node for node in kinds if node.name in names), None)


@dataclass(frozen=True)
class ExecutedOperation:
    """One executed operation of a trace. `client`: the client that executes it. `kind`: operation
    type. `owner` and `file`: the client that owns the file, and the number of the file. The offset
    and the size are in bytes."""

    client: int
    kind: str
    owner: int
    file: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class ClassifiedCall:
    """Values of three symbols for the operation tree of one call. `size_bytes` is the value of
    `file_size` in bytes. `scattered` is whether the access is scattered, and `unforced` is whether
    the written data is not yet synced."""

    size_bytes: int
    scattered: bool = False
    unforced: bool = False


def single(one: ExecutedOperation) -> tuple[ExecutedOperation, ...]:
    """Returns the single calls of an operation. An operation on a whole file becomes open, transfer
    and close.
    """
    if one.kind not in WHOLE:
        return (one,)
    moved = replace(one, kind="pread" if one.kind == "read" else "pwrite")
    return replace(one, kind="open"), moved, replace(one, kind="close")


@dataclass
class _File:
    """The state of one file at a point of a trace. The state has the size of the file, the bytes
    that are not yet synced, and the end of each client's previous transfer."""

    bytes: int = 0
    dirty_bytes: int = 0
    ends: dict[int, int] = field(default_factory=dict)


def followed(trace: Sequence[ExecutedOperation]) -> Iterator[ClassifiedCall]:
    """Yields the `ClassifiedCall` of every operation of a trace, in order.

    A transfer is not scattered if it begins where the same client's previous transfer on the file
    ended. The first transfer after opening is not scattered if its offset is 0. Every other
    transfer is scattered.
    """
    files: dict[tuple[int, int], _File] = {}
    for one in trace:
        observed = files.setdefault((one.owner, one.file), _File())
        if one.kind in (*TRANSFERS, *WHOLE):
            observed.bytes = max(observed.bytes, one.offset_bytes + one.size_bytes)
    for one in trace:
        yield _classified(one, files[one.owner, one.file])


def _classified(one: ExecutedOperation, file: _File) -> ClassifiedCall:
    if one.kind in TRANSFERS:
        scattered = one.offset_bytes != file.ends.get(one.client, 0)
        file.ends[one.client] = one.offset_bytes + one.size_bytes
        if one.kind == "pwrite":
            file.dirty_bytes += one.size_bytes
        return ClassifiedCall(one.size_bytes, scattered)
    if one.kind == "fsync":
        dirty, file.dirty_bytes = file.dirty_bytes, 0
        return ClassifiedCall(dirty)
    if one.kind == "close":
        file.ends.pop(one.client, None)
        dirty, file.dirty_bytes = file.dirty_bytes, 0
        return ClassifiedCall(dirty or max(1, file.bytes), unforced=dirty > 0)
    if one.kind in ("create", "delete", "truncate"):
        file.dirty_bytes = 0
    return ClassifiedCall(one.size_bytes if one.kind in WHOLE else max(1, file.bytes))
