"""The single calls of a recorded trace in the words of a description's whole operations.

A description has trees of whole transactions. Their outermost named parts are the calls that a
trace records: what comes before a file's reading is its opening, what comes after its writing is
its closing, and the named steps between are one transfer where the file is as long as that. So
every described file system takes a trace, and no tree is written twice. A call that is no part of
a transaction costs what the described operation nearest to it does (`STAND_INS`).

In these trees `file_size` means, of pread and pwrite, the bytes of the transfer; of fsync, and of a
close after writing (`unforced`), the bytes that were written since the file was last forced; else
the bytes of the file. `followed` says these numbers of every operation of a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dfslab.spec.node import Choice, Either, Later, Node, Seq, walk
from dfslab.spec.operation import choice, either, seq
from dfslab.spec.parameters import symbol

TRANSFERS = ("pread", "pwrite")
WHOLE = ("read", "write", "append", "overwrite")
FORCED = ("fsync", "flush")
UNFORCED = "unforced"
# What a call is taken for that no description has: the first of these that it does have.
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
    """Trees of the calls that the described operations give, by the call's name."""
    found: dict[str, Node] = {}
    for name, others in STAND_INS.items():
        for other in others:
            if other in operations and name not in operations:
                found.setdefault(name, operations[other])
    if "read" in operations:
        before, moved, after = _split(operations["read"], "read")
        found["open"], found["pread"] = seq(*before), moved
        found["close"] = seq(*after)
    written = next((name for name in ("overwrite", "append", "write") if name in operations), None)
    if written is not None:
        _, found["pwrite"], after = _split(operations[written], "write")
        forced = _named(operations[written], FORCED)
        if forced is not None:
            found["fsync"] = forced
        if "close" in found:
            found["close"] = either(symbol(UNFORCED), seq(*after), found["close"])
    return found


def taken_as(operations: Mapping[str, Node], names: Iterable[str]) -> str:
    """Which of the named calls are taken for another operation, in words; "" when none is."""
    stood = [
        f"{name} as {next(other for other in STAND_INS[name] if other in operations)}"
        for name in names
        if name not in operations and name in STAND_INS
    ]
    return f"taken for described operations: {', '.join(stood)}" if stood else ""


def _split(tree: Node, name: str) -> tuple[tuple[Node, ...], Node, tuple[Node, ...]]:
    """An operation's parts before its outermost step of that name, the step, and those after.

    Where no step is called so, the whole operation is the transfer. Of an operation that is done in
    one of several ways, each call may be done in each of them.
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
    """The outermost node of one of these names, work for later aside."""
    kinds = (node for node in walk(tree) if not isinstance(node, Later | Choice | Either))
    return next((node for node in kinds if node.name in names), None)


@dataclass(frozen=True)
class Done:
    """One operation of a trace: who, what, on which file, where and how much."""

    client: int
    kind: str
    owner: int
    file: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class Meaning:
    """What an operation's tree is told: its `file_size`, whether it jumps about in the file, and
    whether there is something `unforced`."""

    size_bytes: int
    scattered: bool = False
    unforced: bool = False


def single(one: Done) -> tuple[Done, ...]:
    """An operation as the single calls that it is made of; a whole file is opened and closed."""
    if one.kind not in WHOLE:
        return (one,)
    moved = replace(one, kind="pread" if one.kind == "read" else "pwrite")
    return replace(one, kind="open"), moved, replace(one, kind="close")


@dataclass
class _File:
    """What a trace has done to a file so far."""

    bytes: int = 0
    dirty_bytes: int = 0
    ends: dict[int, int] = field(default_factory=dict)


def followed(trace: Sequence[Done]) -> Iterator[Meaning]:
    """The meaning of every operation, in order.

    A transfer that does not begin where this client's last one on the file ended is scattered; a
    first one may begin anywhere at the file's head.
    """
    files: dict[tuple[int, int], _File] = {}
    for one in trace:
        seen = files.setdefault((one.owner, one.file), _File())
        if one.kind in (*TRANSFERS, *WHOLE):
            seen.bytes = max(seen.bytes, one.offset_bytes + one.size_bytes)
    for one in trace:
        yield _meaning(one, files[one.owner, one.file])


def _meaning(one: Done, file: _File) -> Meaning:
    if one.kind in TRANSFERS:
        scattered = one.offset_bytes != file.ends.get(one.client, 0)
        file.ends[one.client] = one.offset_bytes + one.size_bytes
        if one.kind == "pwrite":
            file.dirty_bytes += one.size_bytes
        return Meaning(one.size_bytes, scattered)
    if one.kind == "fsync":
        dirty, file.dirty_bytes = file.dirty_bytes, 0
        return Meaning(dirty)
    if one.kind == "close":
        file.ends.pop(one.client, None)
        dirty, file.dirty_bytes = file.dirty_bytes, 0
        return Meaning(dirty or max(1, file.bytes), unforced=dirty > 0)
    if one.kind in ("create", "delete", "truncate"):
        file.dirty_bytes = 0
    return Meaning(one.size_bytes if one.kind in WHOLE else max(1, file.bytes))
