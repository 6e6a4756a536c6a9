"""The functions of the step language, by which a description writes operations as trees of steps.

Demands, counts, sizes and conditions are expressions over parameters (spec/systems/parameters.py).
The node types and the visitors of trees are in spec/steps/node.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dfslab.spec.steps.expression import ONE, ZERO, Expr, condition, symbol
from dfslab.spec.steps.expression import expression as _expression
from dfslab.spec.steps.node import (
    At,
    Call,
    Choice,
    Delay,
    Either,
    Hold,
    Later,
    Node,
    Par,
    Pipeline,
    Repeat,
    Resource,
    Seq,
    Use,
    step_names,
    walk,
)

__all__ = [
    "At",
    "Call",
    "Choice",
    "Delay",
    "Either",
    "Expression",
    "Hold",
    "Later",
    "Node",
    "Par",
    "Pipeline",
    "Repeat",
    "Resource",
    "Seq",
    "Use",
    "at",
    "call",
    "choice",
    "cpu",
    "delay",
    "disk_read",
    "disk_write",
    "either",
    "hold_lock",
    "hold_thread",
    "later",
    "par",
    "pipeline",
    "quorum",
    "repeat",
    "reply",
    "send",
    "seq",
    "step_names",
    "striped",
    "walk",
    "when",
]

Expression: TypeAlias = Expr | int | float
REFERENCE_FREQUENCY_HZ = 2_500_000_000


def cpu(role: str, seconds: Expression, name: str = "") -> Use:
    """Uses a processor of `role` for `seconds`, a time measured on a 2.5 GHz processor."""
    speed = symbol(f"{role}.frequency") / REFERENCE_FREQUENCY_HZ
    return Use(name, Resource(role, "cpu"), _expression(seconds) / speed)


def disk_read(role: str, size_bytes: Expression, name: str = "", seeks: Expression = 1) -> Use:
    """Reads `size_bytes` from the disk of `role`: transfer time, and the disk's latency for each of
    `seeks` positionings.

    A unit of a stream has `seeks` < 1: its share of the stream's positionings
    (spec/steps/heads.py).
    """
    return disk_use(role, size_bytes, "read", seeks * symbol(f"{role}.disk_latency"), name)


def disk_write(role: str, size_bytes: Expression, name: str = "", seeks: Expression = 1) -> Use:
    """Writes `size_bytes` to the disk of `role`: transfer time, and the disk's latency for each of
    `seeks` positionings.
    """
    return disk_use(role, size_bytes, "write", seeks * symbol(f"{role}.disk_latency"), name)


def disk_use(
    role: str, size_bytes: Expression, mode: str, access_s: Expression, name: str = ""
) -> Use:
    """Occupies a disk for `access_s` seconds and the transfer of `size_bytes`; `mode`: "read" or
    "write"."""
    transfer = _expression(size_bytes) / symbol(f"{role}.disk_{mode}_rate")
    return Use(name, Resource(role, "disk", mode), _expression(access_s) + transfer)


def delay(role: str, seconds: Expression, name: str = "") -> Delay:
    """Waits `seconds` at `role` without occupying a resource, as for a sleep or a timer."""
    return Delay(name, role, _expression(seconds))


def hold_thread(
    role: str, servers: Expression, body: Node, name: str = "", places: Expression | None = None
) -> Hold:
    """Holds one of the `servers` threads of `role` while `body` runs. `places` is the size of the
    queue for threads (None: unbounded).
    """
    waiting = None if places is None else _expression(places)
    return Hold(name, Resource(role, "threads", places=waiting), _expression(servers), body)


def hold_lock(role: str, mode: str, body: Node, name: str = "", fair: Expression = 1) -> Hold:
    """Holds the lock of `role` in `mode` "shared" or "exclusive" while `body` runs. `fair` is 1 for
    a lock that is granted in FIFO order, else 0.
    """
    assert mode in ("shared", "exclusive"), f"a lock is held shared or exclusive, not {mode}"
    return Hold(name, Resource(role, "lock", mode, fair=_expression(fair)), ONE, body)


def call(
    role: str,
    name: str,
    *body: Node,
    request_bytes: Expression = 256,
    response_bytes: Expression = 256,
) -> Call:
    """Sends a request to `role`, which runs `body`, and waits for the response."""
    return Call(name, role, seq(*body), _expression(request_bytes), _expression(response_bytes))


def send(role: str, name: str, *body: Node, size_bytes: Expression) -> Call:
    """Sends a one-way message of `size_bytes` to `role`, which runs `body`. There is no reply."""
    return Call(name, role, seq(*body), _expression(size_bytes), ZERO, one_way=True)


def reply(role: str, *, size_bytes: Expression, name: str = "") -> Call:
    """Sends a response or acknowledgement of `size_bytes` to `role`. It needs no reply."""
    return Call(name, role, seq(), _expression(size_bytes), ZERO, one_way=True, answers=True)


def at(role: str, *body: Node) -> At:
    """Runs `body` at `role` instead of the current role, without a message."""
    return At("", role, seq(*body))


def seq(*steps: Node, name: str = "") -> Seq:
    """Runs steps one after another."""
    return Seq(name, steps)


def par(*steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """Runs steps in parallel, `copies` times each, until all are done."""
    return Par(name, steps, _expression(copies))


def quorum(needed: Expression, *steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """Runs steps in parallel, `copies` times each, until `needed` of them are done."""
    return Par(name, steps, _expression(copies), _expression(needed))


def pipeline(units: Expression, *stages: Node, name: str = "") -> Pipeline:
    """Passes `units` equal units through stages that overlap; each stage serves one unit at a
    time.
    """
    return Pipeline(name, _expression(units), stages)


def repeat(count: Expression, *body: Node, name: str = "", reselect: bool = False) -> Repeat:
    """Runs `body` `count` times in sequence. With `reselect`, each repetition chooses new instances
    of the roles (other servers).
    """
    return Repeat(name, _expression(count), seq(*body), reselect)


def choice(*branches: tuple[Expression, Node], name: str = "") -> Choice:
    """Runs one of the branches by its probability, or nothing with the remaining probability."""
    return Choice(name, tuple((_expression(p), node) for p, node in branches))


def when(holds: Expr, *body: Node, name: str = "") -> Either:
    """Runs `body` where the condition or switch `holds` is true, else nothing."""
    return Either(name, condition(holds), body[0] if len(body) == 1 else seq(*body))


def either(holds: Expr, then: Node, otherwise: Node, name: str = "") -> Either:
    """Runs `then` where the condition or switch `holds` is true, else `otherwise`."""
    return Either(name, condition(holds), then, otherwise)


def striped(
    size_bytes: Expr, unit_bytes: Expr, places: Expression, on_one: Callable[[Expr], Node]
) -> Either:
    """Stripes data over `places` servers in parallel, with equal parts. Data of at most one unit
    takes `on_one` alone.

    `on_one(size)` is the step for the part on one server. `places` must not depend on the size,
    because a net has that many branches.
    """
    spread = par(on_one(size_bytes / places), copies=places)
    return either(size_bytes > unit_bytes, spread, on_one(size_bytes))


def later(*body: Node, name: str = "") -> Later:
    """Runs `body` asynchronously, after the operation has returned."""
    return Later(name, seq(*body))
