"""Models TCP slow start: how long the sender of a message on a new connection is stalled. The time
is counted in round trips.

The formula is from Kurose and Ross, "Computer Networking", section 3.7 (delay modelling). The
initial window is that of RFC 6928. The window doubles in each round trip. While it is smaller than
the bandwidth-delay product, the sender sends one window in each round trip and then waits for the
remainder of the round trip.
"""

from __future__ import annotations

from dfslab.spec.steps.expression import Expr, Max, Min, ceiling, expression, log, named
from dfslab.spec.steps.operation import Expression, Node, repeat, reply, send
from dfslab.spec.systems.parameters import symbol

_WINDOW = symbol("initial_window")


def _doublings(ratio: Expr) -> Expr:
    """Returns the number of doublings until a window has grown by the factor `ratio`, which must be
    at least 1."""
    count: Expr = ceiling(log(ratio) / log(2))
    return count


def windows_in_flight(rate: Expression) -> Expr:
    """Returns the bandwidth-delay product of a link of `rate` bytes/s, as a number of initial
    windows: 2 * network_latency * rate / initial_window, but at least 1."""
    held: Expr = Max(1, 2 * symbol("network_latency") * rate / _WINDOW)
    return named("windows_in_flight", held)


def stalled_round_trips(size_bytes: Expression, rate: Expression, of: str) -> Expr:
    """Returns the time that the sender of a message on a new connection is stalled, counted in
    round trips. The message has `size_bytes`. The time to send it, at `rate` bytes/s, is not
    included. `of` is the name of the message, such as "block", in the legends of diagrams.

    Kurose and Ross, section 3.7: the time is P - (2^P - 1) (W / R) / RTT. W is the initial window
    in bytes, R is the rate in bytes/s, and RTT is the round-trip time in seconds. P is the smaller
    of two counts: the number of windows that the message fills before its last window, and the
    number of windows that are smaller than the bandwidth-delay product.
    """
    windows_held = windows_in_flight(rate)
    filled = named(f"filled_windows_of_{of}", _doublings(1 + expression(size_bytes) / _WINDOW) - 1)
    stalls = named(f"stalls_of_{of}", Max(0, Min(filled, _doublings(windows_held))))
    remaining: Expr = stalls - (2**stalls - 1) / windows_held
    return named(f"stalled_round_trips_of_{of}", remaining)


def round_trips(
    count: Expression, role: str, name: str, size_bytes: Expression = 0, home: str = "client"
) -> Node:
    """Returns the step that makes `count` round trips between `home` and `role`, one after another.
    Each way has a message of `size_bytes`. `role` does no work for the messages."""
    back = reply(home, size_bytes=size_bytes)
    return repeat(count, send(role, name, back, size_bytes=size_bytes))
