"""Describes how a synchronous request waits for the disk of a local directory.

The profile of a machine has two measured times, both linear in the size of a request:
- `_alone_s` is the duration of a request if no other request is in flight. It has a least value.
- `_occupied_s` is the time for which each request occupies the disk while many requests are in
  flight.

Without a profile, a request occupies the disk for the transfer of its bytes, and for the share
`occupied` of the disk's latency.
"""

from __future__ import annotations

from dfslab.filesystems.local.facts import PARAMETERS as P
from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, named, select
from dfslab.spec.steps.heads import SCATTERED, seeks_of_unit, uncached_s
from dfslab.spec.steps.operation import Expression, Node, delay, disk_use, either, seq
from dfslab.spec.systems.parameters import symbol

ROLE = "storage"
SMALL_BYTES = 4096
# Linux reads a file ahead in requests of this size (read_ahead_kb of a block device is 128).
READ_AHEAD_BYTES = 128 << 10
calls = named("calls", ceiling(P.file_size / P.transfer_size))
call_bytes = named("call_bytes", Min(P.transfer_size, P.file_size))


def rate(key: str) -> Expr:
    """Returns the measured rate of the hardware whose symbol is `key`. Returns 1 if the rate was
    not measured, which the value 0 of the symbol shows.

    Formulas are also evaluated with unmeasured rates, although their values are then not used. The
    result 1 prevents a division by 0.
    """
    found: Expr = Max(symbol(key), 1)
    return found


is_measured = symbol(f"{ROLE}.requests") > 0


def _occupied_s(size_bytes: Expression, mode: str) -> Expr:
    """Returns the seconds for which a request of `size_bytes` occupies the disk while many requests
    are in flight.

    The result is 1 / requests + (size_bytes - SMALL_BYTES) / request_rate. The result is never
    below the time to transfer the bytes at the disk's rate. `requests` and `request_rate` are
    measured rates of the disk. If larger requests took no longer than small ones, `request_rate`
    was not determined, and all requests occupy the disk for 1 / requests. `mode` is "read" or
    "write".
    """
    byte_s = select(symbol(f"{ROLE}.request_rate") > 0, 1 / rate(f"{ROLE}.request_rate"), 0)
    small_s = 1 / rate(f"{ROLE}.requests")
    line_s = small_s + (size_bytes - SMALL_BYTES) * byte_s
    return named("occupied_s", Max(line_s, size_bytes / symbol(f"{ROLE}.disk_{mode}_rate")))


def _alone_s(size_bytes: Expression, mode: str) -> Expr:
    """Returns the duration in seconds of a request of `size_bytes` if no other request is in
    flight. The duration is at least that of a request of SMALL_BYTES: a disk with a limit of
    requests per second takes the same time for all small requests."""
    time_s = symbol(f"{ROLE}.request_{mode}_time")
    line_s = time_s + size_bytes / rate(f"{ROLE}.request_{mode}_rate")
    found: Expr = Max(symbol(f"{ROLE}.request_{mode}_least"), line_s)
    return found


def _measured(mode: str, request_bytes: Expression, waits: Expression) -> Node:
    """Returns the step of one call of `call_bytes` on a disk that was measured with many requests
    in flight.

    The disk transfers the bytes in requests of `request_bytes`. Each request occupies the disk for
    the measured time `_occupied_s`. `waits`: how often, on average, the call waits for the whole
    latency of a request; below 1 if the kernel reads ahead.
    """
    busy_s = _occupied_s(request_bytes, mode)
    waiting_s = Max(0, _alone_s(request_bytes, mode) - busy_s)
    transfer_s = call_bytes / symbol(f"{ROLE}.disk_{mode}_rate")
    return seq(
        delay(ROLE, waits * waiting_s),
        disk_use(ROLE, call_bytes, mode, busy_s * call_bytes / request_bytes - transfer_s),
    )


def _assumed(mode: str) -> Node:
    """Returns the step of one call on a disk that was not measured with many requests."""
    access_s = named(
        "access_s",
        select(
            P.direct,
            uncached_s(ROLE, calls),
            seeks_of_unit(Max(1, calls), call_bytes) * symbol(f"{ROLE}.disk_latency"),
        ),
    )
    delayed: Expr = Max(0, 1 - P.occupied) * access_s
    return seq(delay(ROLE, delayed), disk_use(ROLE, call_bytes, mode, P.occupied * access_s))


def waited(mode: str) -> Node:
    """Returns the step of one call that reads `call_bytes` from the disk or writes `call_bytes` to
    the disk. `mode` is "read" or "write".

    A direct call is one request, and so is a call at a random position. Sequential buffered reads
    wait only for the first request of the file, because the kernel reads ahead.
    """
    ahead_bytes = Min(P.file_size, READ_AHEAD_BYTES)
    alone = P.direct | SCATTERED
    request_bytes = named("request_bytes", Max(1, select(alone, call_bytes, Max(1, ahead_bytes))))
    waits = named("requests_waited_for", select(alone, 1, 1 / Max(1, calls)))
    return either(is_measured, _measured(mode, request_bytes, waits), _assumed(mode))
