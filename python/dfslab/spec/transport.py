"""What TCP makes of a message on a new connection: round trips in which the sender stands still.

Kurose and Ross, "Computer Networking", section 3.7 (delay modelling), with the initial window of
RFC 6928: a connection may send a window, then as much again for each acknowledgement. Until its
window covers what the way holds (rate times round trip), it waits for the rest of each round trip.
"""

from __future__ import annotations

from dfslab.spec.expression import Expr, Max, Min, ceiling, expression, log
from dfslab.spec.operation import Expression, Node, repeat, reply, send
from dfslab.spec.parameters import symbol

_WINDOW = symbol("initial_window")


def _doublings(ratio: Expr) -> Expr:
    """How often a window doubles until it has grown by `ratio`, at least 1."""
    return ceiling(log(ratio) / log(2))


def stalled_round_trips(size_bytes: Expression, rate: Expression) -> Expr:
    """Round trips that `size_bytes` on a new connection wait beside being sent at `rate`.

    The P of the book's (P RTT - (2^P - 1) W / R), over RTT: the smaller of the windows that the
    message fills before its last, and those that are less than the way holds.
    """
    windows_held = Max(1, 2 * symbol("network_latency") * rate / _WINDOW)
    filled = _doublings(1 + expression(size_bytes) / _WINDOW) - 1
    stalls = Max(0, Min(filled, _doublings(windows_held)))
    return stalls - (2**stalls - 1) / windows_held


def round_trips(
    count: Expression, role: str, name: str, size_bytes: Expression = 0, home: str = "client"
) -> Node:
    """`count` messages from `home` to `role` and back, one after the other; nobody works."""
    back = reply(home, size_bytes=size_bytes)
    return repeat(count, send(role, name, back, size_bytes=size_bytes))
