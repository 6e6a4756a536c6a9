"""Copies a recorded sequence of operations, so that more clients replay it than were recorded.

Each copy of the sequence has separate clients, and all copies start at the same time. Nguyen and
Apon 2012 replay traces of one, four and eight clients in this way (Figures 16 to 21).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dfslab.spec.input_error import InputError
from dfslab.spec.streams.vocabulary import Given, GivenArrival, OperationName, Stream

# How the copies of a trace use files:
# - "none": the trace is not copied.
# - "private": each copy has separate files.
# - "shared": all copies use the same file, unless an operation of OF_OWNERS changes it. If such an
#   operation changes a file, each copy of the trace has a separate copy of the file.
CopyFiles = Literal["none", "private", "shared"]
# Operations that change a file's name, size or attributes. Only the client that owns the file may
# execute them (`leaves_names` in core/workload/operation.rs).
OF_OWNERS: frozenset[OperationName] = frozenset(
    ("create", "write", "append", "rename", "delete", "mkdir", "rmdir", "truncate", "set_xattr")
)
# Largest total number of operations of all copies. Each operation takes about 1 kB of memory.
MOST_OPERATIONS = 1_000_000


def repeated(stream: Stream, clients: int, copies: CopyFiles) -> Stream:
    """Returns a stream in which `clients` clients replay copies of the operations of `stream`.

    Each copy has as many clients as `stream`. Each operation is followed by its copies, so the
    order of operations remains that of the trace. If `stream` has scheduled starts, all copies of
    an operation have the same start. If `copies` is "none", or if `stream` has at least `clients`
    clients, `stream` is returned unchanged.

    Raises InputError if `clients` is no multiple of the clients of `stream`, or if the copies have
    more than MOST_OPERATIONS operations.
    """
    own = 1 + max(one.client for one in stream.given)
    count, left = divmod(clients, own)
    if copies == "none" or clients <= own:
        return stream
    if left:
        allowed = f"a multiple of the trace's {own} clients, because each copy of it needs {own}"
        raise InputError("workload.clients", clients, allowed)
    if (operations := count * len(stream.given)) > MOST_OPERATIONS:
        allowed = (
            f"{count} copies have {operations:,} operations; at most {MOST_OPERATIONS:,}: use "
            "fewer clients or a shorter trace"
        )
        raise InputError("workload.copies", copies, allowed)
    changed = _changed(stream.given) if copies == "shared" else None
    given = [
        _of_copy(one, number * own, changed) for one in stream.given for number in range(count)
    ]
    found = stream.model_copy(update={"given": given})
    if isinstance(stream.arrival, GivenArrival):
        times = GivenArrival(given=list(stream.arrival.given) * count)
        return found.model_copy(update={"arrival": times})
    return found


def _owner(one: Given) -> int:
    return one.client if one.owner is None else one.owner


def _changed(given: Sequence[Given]) -> frozenset[tuple[int, int]]:
    """Returns the files, as (owner, number), that an operation of OF_OWNERS in the sequence
    changes."""
    return frozenset((_owner(one), one.file) for one in given if one.operation in OF_OWNERS)


def _of_copy(one: Given, offset: int, changed: frozenset[tuple[int, int]] | None) -> Given:
    """Returns the operation `one` for the copy of the trace whose first client has the number
    `offset`.

    The number of the client is increased by `offset`. If `changed` is None or contains the file of
    the operation, the copy has a separate file. Otherwise, the copy uses the file of the first
    copy.
    """
    owner = _owner(one)
    is_private = changed is None or (owner, one.file) in changed
    return one.model_copy(
        update={"client": one.client + offset, "owner": owner + offset * is_private}
    )
