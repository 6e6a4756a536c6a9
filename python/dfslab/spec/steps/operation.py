"""The functions of the step language. A description uses them to write operations as trees of
steps.

Demands, counts, sizes and conditions are expressions over parameters (spec/systems/parameters.py).
The node types and the visitors of trees are in spec/steps/node.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dfslab.spec.members.member_error import MemberValueError, unlisted
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
    PartialWork,
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
    "PartialWork",
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
    "part",
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
    """Returns the step that uses a processor of `role`. `seconds` is the time that the step would
    take on a 2.5 GHz processor."""
    speed = symbol(f"{role}.frequency") / REFERENCE_FREQUENCY_HZ
    return Use(name, Resource(role, "cpu"), _expression(seconds) / speed)


def disk_read(role: str, size_bytes: Expression, name: str = "", seeks: Expression = 1) -> Use:
    """Returns the step that reads `size_bytes` from the disk of `role`. The step takes the time of
    the transfer plus the disk's latency times `seeks`, the number of head positionings.

    `seeks` may be below 1. For example, a stream may be read in many units although the head is
    positioned only once. Each unit then has a fraction of this positioning (spec/steps/heads.py).
    """
    return disk_use(role, size_bytes, "read", seeks * symbol(f"{role}.disk_latency"), name)


def disk_write(role: str, size_bytes: Expression, name: str = "", seeks: Expression = 1) -> Use:
    """Returns the step that writes `size_bytes` to the disk of `role`. The step takes the time of
    the transfer plus the disk's latency times `seeks`, the number of head positionings."""
    return disk_use(role, size_bytes, "write", seeks * symbol(f"{role}.disk_latency"), name)


def disk_use(
    role: str, size_bytes: Expression, mode: str, access_s: Expression, name: str = ""
) -> Use:
    """Returns the step that occupies the disk of `role` for `access_s` seconds and for the transfer
    of `size_bytes`. `mode` is "read" or "write"."""
    transfer = _expression(size_bytes) / symbol(f"{role}.disk_{mode}_rate")
    return Use(name, Resource(role, "disk", mode), _expression(access_s) + transfer)


def delay(role: str, seconds: Expression, name: str = "") -> Delay:
    """Returns the step that waits `seconds` at `role` without occupying a resource, as a sleep or a
    timer does."""
    return Delay(name, role, _expression(seconds))


def hold_thread(
    role: str, servers: Expression, body: Node, name: str = "", places: Expression | None = None
) -> Hold:
    """Returns the step that holds one of the `servers` threads of `role` while `body` runs.
    `places` is the size of the queue for threads (None: unbounded)."""
    waiting = None if places is None else _expression(places)
    return Hold(name, Resource(role, "threads", places=waiting), _expression(servers), body)


def hold_lock(role: str, mode: str, body: Node, name: str = "", fair: Expression = 1) -> Hold:
    """Returns the step that holds the lock of `role` in `mode` "shared" or "exclusive" while `body`
    runs. `fair` is 1 for a lock that is granted in FIFO order, else 0."""
    if mode not in (modes := ("shared", "exclusive")):
        raise MemberValueError(f"lock of {role}: mode {unlisted(mode, modes)}")
    return Hold(name, Resource(role, "lock", mode, fair=_expression(fair)), ONE, body)


def call(
    role: str,
    name: str,
    *body: Node,
    request_bytes: Expression = 256,
    response_bytes: Expression = 256,
) -> Call:
    """Returns the step that sends a request to `role`, which runs `body`, and waits for the
    response."""
    return Call(name, role, seq(*body), _expression(request_bytes), _expression(response_bytes))


def send(role: str, name: str, *body: Node, size_bytes: Expression) -> Call:
    """Returns the step that sends a one-way message of `size_bytes` to `role`, which runs `body`.
    There is no reply."""
    return Call(name, role, seq(*body), _expression(size_bytes), ZERO, one_way=True)


def reply(role: str, *, size_bytes: Expression, name: str = "") -> Call:
    """Returns the step that sends a response or acknowledgement of `size_bytes` to `role`, which
    sends nothing back."""
    return Call(name, role, seq(), _expression(size_bytes), ZERO, one_way=True, answers=True)


def at(role: str, *body: Node) -> At:
    """Returns the step that runs `body` at `role` instead of the current role, without a
    message."""
    return At("", role, seq(*body))


def seq(*steps: Node, name: str = "") -> Seq:
    """Returns the step that runs other steps one after another."""
    return Seq(name, steps)


def par(*steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """Returns the step that runs other steps in parallel, `copies` times each, until all are
    done."""
    return Par(name, steps, _expression(copies))


def quorum(needed: Expression, *steps: Node, copies: Expression = 1, name: str = "") -> Par:
    """Returns the step that runs other steps in parallel, `copies` times each, until `needed` of
    these runs are done."""
    return Par(name, steps, _expression(copies), _expression(needed))


def pipeline(units: Expression, *stages: Node, name: str = "") -> Pipeline:
    """Returns the step that passes `units` equal units of data through stages. The stages overlap,
    and each stage serves one unit at a time."""
    return Pipeline(name, _expression(units), stages)


def repeat(count: Expression, *body: Node, name: str = "", reselect: bool = False) -> Repeat:
    """Returns the step that runs `body` `count` times in sequence. With `reselect`, each repetition
    chooses new instances of the roles (other servers)."""
    return Repeat(name, _expression(count), seq(*body), reselect)


def part(share: Expression, *body: Node, name: str = "") -> PartialWork:
    """Returns the step that does the share `share` (0 to 1) of the work of `body`. For example,
    work may begin in one step and end in a later step. Each of these steps then has a `part` of the
    same body, and the shares add up to 1."""
    return PartialWork(name, _expression(share), seq(*body))


def choice(*branches: tuple[Expression, Node], name: str = "") -> Choice:
    """Returns the step that runs one of the branches, each by its probability. With the remaining
    probability, it runs nothing."""
    return Choice(name, tuple((_expression(p), node) for p, node in branches))


def when(holds: Expr, *body: Node, name: str = "") -> Either:
    """Returns the step that runs `body` where the condition or switch `holds` is true, else
    nothing."""
    return Either(name, condition(holds), body[0] if len(body) == 1 else seq(*body))


def either(holds: Expr, then: Node, otherwise: Node, name: str = "") -> Either:
    """Returns the step that runs `then` where the condition or switch `holds` is true, else
    `otherwise`."""
    return Either(name, condition(holds), then, otherwise)


def striped(
    size_bytes: Expr, unit_bytes: Expr, places: Expression, on_one: Callable[[Expr], Node]
) -> Either:
    """Returns the step that works on `size_bytes` of data that is striped over servers. If the data
    is larger than `unit_bytes`, each of `places` servers has an equal part of it, and the servers
    work in parallel. Otherwise all data is on one server.

    `on_one(size)` returns the step for a part of `size` bytes on one server. `places` must not
    depend on the size, because a Petri net has a fixed number of branches, one for each server.
    """
    spread = par(on_one(size_bytes / places), copies=places)
    return either(size_bytes > unit_bytes, spread, on_one(size_bytes))


def later(*body: Node, name: str = "") -> Later:
    """Returns the step that runs `body` asynchronously, after the operation has returned."""
    return Later(name, seq(*body))
