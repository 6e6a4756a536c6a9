"""Computes how often a disk moves its head for a file, and how long a request waits for the disk.

A file that is accessed sequentially is one extent of a disk. The head is positioned once; after
that, the disk reads ahead or gathers writes. With random access, the head is positioned for every
call. If no cache answers a request (direct I/O), the request waits for the disk's electronics even
if the head does not move.
"""

from __future__ import annotations

from dfslab.spec.steps.expression import Expr, Max, Min, select
from dfslab.spec.steps.operation import Expression
from dfslab.spec.systems.parameters import symbol

SCATTERED, TRANSFER_BYTES = symbol("scattered"), symbol("transfer_size")
# Upper limit, in seconds, of the time that a disk request takes without any movement of the head:
# the time for the command, for the bus and, in flash disks, for the reading of the cells. The sum
# of these times is 0.02 to 0.2 ms, in hard disks as in flash disks.
ELECTRONICS_S = 2e-4
# Number of head positionings of a synchronous write: one for the data, and one for the attributes
# if they are synchronised too.
FORCED_SEEKS = 1 + symbol("forced_attributes")


def seeks_of(size_bytes: Expression, unit_bytes: Expression | None = None) -> Expr:
    """Returns the number of head positionings of one disk for `size_bytes` of a file. Sequential
    access needs one positioning. Scattered (random) access needs one positioning for each
    contiguous transfer.

    `unit_bytes`: largest number of bytes of the file that are contiguous on the disk, such as a
    stripe; None if the whole file is contiguous.
    """
    call_bytes = TRANSFER_BYTES if unit_bytes is None else Min(TRANSFER_BYTES, unit_bytes)
    return select(SCATTERED, Max(1, size_bytes / call_bytes), 1)


def seeks_of_unit(
    units: Expression, unit_bytes: Expression, stripe_bytes: Expression | None = None
) -> Expr:
    """Returns the mean number of head positionings for one unit of a stream. The stream has `units`
    units of `unit_bytes` each. `stripe_bytes`: largest number of bytes that are contiguous on the
    disk; None if the whole stream is contiguous."""
    found: Expr = seeks_of(units * unit_bytes, stripe_bytes) / units
    return found


def uncached_s(role: str, calls: Expr) -> Expr:
    """Returns the mean time in seconds that a request waits at the disk of `role` if no cache
    answers it. The request is one of `calls` requests for a file. With scattered (random) access,
    the head moves for every request, otherwise once for all requests. A request for which the head
    does not move waits at most ELECTRONICS_S."""
    latency_s = symbol(f"{role}.disk_latency")
    moved = select(SCATTERED, 1, 1 / Max(1, calls))
    found: Expr = moved * latency_s + (1 - moved) * Min(latency_s, ELECTRONICS_S)
    return found
