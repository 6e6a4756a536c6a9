"""Compiles operation trees into nets: each node becomes places, transitions and a continuation.

A job is a token with these fields: job number `k0`, client, size, `pick` (random choice of
instances), loop counters `n1…`, copy numbers `c1…`, and fork keys `k1…`. The method `compiled(node,
context, then)` adds the places and transitions of a node to the net. It returns the node's entry: a
function that returns the arcs by which tokens reach the node.

If a role has several instances, `pick` selects the instance that an operation uses first. Each
further repetition of a loop, copy of a `par`, or message to a role from the same role uses the next
instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dfslab.models.compiled.net_amount import MOST_UNITS, Amounts
from dfslab.models.compiled.net_context import Context, Way
from dfslab.models.compiled.net_station import MessageTiming, Stations
from dfslab.models.compiled.net_stream import pipeline
from dfslab.models.compiled.token_flow import (
    Amount,
    Arc,
    Changes,
    EntryArcs,
    TokenFlow,
    after,
    expressed,
    main,
    numbered,
    other,
    plus,
    times,
)
from dfslab.models.tree.placement import Placement
from dfslab.nets.inscription import call, equal, every, number, unequal
from dfslab.spec.steps.expression import Condition, Expr, Max
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
    Seq,
    Use,
    Visitor,
    writes_back,
)

SERVICES = ("by_kind", "deterministic", "exponential")


def _delayed(entry: EntryArcs, seconds: Amount) -> EntryArcs:
    """Returns an entry into the same part of the net as `entry`, at which tokens arrive `seconds`
    seconds later."""
    return lambda row, delay: entry(row, plus(delay, seconds))


def _beyond(size: Amount, window: float) -> Amount:
    """Returns the number of bytes of a message of `size` bytes that exceed a window of `window`
    bytes.
    """
    return Max(0, size - window) if isinstance(size, Expr) else max(0.0, size - window)


# The argument that the visitor passes to each node: the node's context, and the entry that follows
# the node.
Standing = tuple[Context, EntryArcs]


class Trees(Visitor[Standing, EntryArcs]):
    """Compiles operation trees into the net `flow`. An entry of `steps` has the operation, the
    step, and the two transitions where the step begins and ends."""

    def __init__(
        self,
        flow: TokenFlow,
        placement: Placement,
        amounts: Amounts,
        environment: dict[str, float],
        *,
        written_back: float = 1.0,
        service: str = "by_kind",
        most_units: int = MOST_UNITS,
        clients: int = 1,
    ) -> None:
        assert service in SERVICES, f"service {service} not in {SERVICES}"
        self.flow, self.placement, self.amounts = flow, placement, amounts
        self.stations = Stations(flow, placement)
        self.environment = environment
        self.clients = clients
        self.most_units = most_units
        self.steps: list[tuple[str, str, str, str]] = []
        self._written_back = written_back
        self._service = service
        self._names: dict[str, int] = {}

    def compiled(self, node: Node, context: Context, then: EntryArcs) -> EntryArcs:
        """Returns the entry of `node`, after which tokens continue with `then`.

        A monitor measures the time of a named node as a step. Named nodes inside another named node
        or inside overlapping work are not monitored.
        """
        timed = node.name and not context.named and not context.overlapping
        if not timed or isinstance(node, Later):
            return self.visit(node, (context, then))
        first, last = (self.unique(f"{context.page}/{node.name} {e}") for e in ("starts", "ends"))
        self.steps.append((context.page, node.name, first, last))
        ended = self.relay(last, context.page, then)
        inside = self.visit(node, (replace(context, named=True), ended))
        return self.relay(first, context.page, inside)

    def unique(self, name: str) -> str:
        """Returns a unique name: `name`, numbered from its second use on."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name} #{self._names[name]}"

    def relay(self, name: str, page: str, then: EntryArcs) -> EntryArcs:
        """Adds a place and a transition called `name`, so that a monitor can measure there. Tokens
        then continue with `then`. Returns the entry of the place."""
        place = self.flow.place(name)
        self.flow.transition(name, page, [place], then({}, 0.0))
        return lambda row, delay: [Arc(place, row, delay)]

    def branch(self, name: str, page: str, ways: Sequence[Way]) -> EntryArcs:
        """Adds a place at which each token takes the branch whose guard holds. Returns the entry of
        the place. `ways` lists the guard and the entry of each branch.
        """
        place = self.flow.place(self.unique(name))
        for at, (guard, then) in enumerate(ways, 1):
            self.flow.transition(f"{place} ({at})", page, [place], then({}, 0.0), guard)
        return lambda row, delay: [Arc(place, row, delay)]

    def instance(self, role: str, context: Context) -> Expr:
        """Returns the number of the instance of `role` that a node with this context uses."""
        total = self.placement.deployment.instances(role)
        if total == 1:
            return number(0)
        for known, instance in reversed(context.stack):
            if known == role:
                return instance
        return sum(context.shifts, main("pick")) % total

    def receiver(self, role: str, context: Context) -> Expr:
        """Returns the number of the instance of `role` that receives a message. If the sender is
        itself an instance of `role`, the receiver is the instance after the sender."""
        if role != context.role:
            return self.instance(role, context)
        total = self.placement.deployment.instances(role)
        return number(0) if total == 1 else (context.stack[-1][1] + 1) % total

    def use(self, node: Use, where: Standing) -> EntryArcs:
        """Adds the service of the node's demand in seconds at a station, and returns its entry. For
        a demand of 0, adds nothing and returns the entry of the following step."""
        context, then = where
        resource, role = node.resource, node.resource.role
        demand = times(self.amounts.of(node.demand_s), context.scale)
        if demand == 0.0:
            return then
        machine = self.stations.node(role, self.instance(role, context))
        if self._is_random(resource.kind, context):
            demand = call("exponential", expressed(demand))
        step = (context.page, node.name)
        return self.stations.serve(resource, machine, demand, step, then)

    def delay(self, node: Delay, where: Standing) -> EntryArcs:
        """Returns the entry that delays a token by the node's seconds before the following step.
        For a delay of 0, returns the entry of the following step itself."""
        context, then = where
        waited = times(self.amounts.of(node.seconds), context.scale)
        if waited == 0.0:
            return then
        return lambda row, delay: then(row, plus(delay, waited))

    def at(self, node: At, where: Standing) -> EntryArcs:
        """Adds the node's body, which an instance of the node's role executes. Returns the entry of
        the body.
        """
        context, then = where
        there = (node.role, self.instance(node.role, context))
        return self.compiled(node.body, replace(context, stack=(*context.stack, there)), then)

    def _is_random(self, kind: str, context: Context) -> bool:
        if self._service != "by_kind":
            return self._service == "exponential"
        return kind == "cpu" and context.called and not context.overlapping

    def hold(self, node: Hold, where: Standing) -> EntryArcs:
        """Adds the acquisition of a thread or lock, the body, and the release. Returns the entry of
        the acquisition.
        """
        context, then = where
        resource, role = node.resource, node.resource.role
        count, instance = max(1, self.amounts.whole(node.servers)), self.instance(role, context)
        context = replace(context, stack=(*context.stack, (role, instance)))
        if resource.kind == "lock":
            return self._hold_lock(node, instance, context, then)
        release = self.stations.release(resource, count, instance)
        body = self.compiled(
            node.body, context, lambda row, delay: [*release(row, delay), *then(row, delay)]
        )
        return self.stations.hold(resource, count, instance, (context.page, node.name), body)

    def _hold_lock(
        self, node: Hold, instance: Expr, context: Context, then: EntryArcs
    ) -> EntryArcs:
        resource = node.resource
        fair = resource.fair is None or bool(self.amounts.whole(resource.fair))
        lock = self.stations.lock(resource.role, fair)
        release = lock.release(resource.mode, instance)
        held = self.compiled(
            node.body, context, lambda row, delay: [*release(row, delay), *then(row, delay)]
        )
        return lock.hold(resource.mode, instance, held)

    def call(self, node: Call, where: Standing) -> EntryArcs:
        """Adds a call: the request, the body at the receiver, and a response unless the call is
        one-way. Returns the entry of the request."""
        context, then = where
        to = (node.role, self.receiver(node.role, context))
        inside = replace(context, stack=(*context.stack, to), called=True)
        if not node.one_way:
            answer = replace(inside, stack=(*inside.stack, context.stack[-1]))
            size = self.amounts.of(node.response_bytes)
            then = self.transfer(inside, answer, size, context.scale, f"{node.name} reply", then)
        body = self.compiled(node.body, inside, then)
        size = self.amounts.of(node.request_bytes)
        return self.transfer(context, inside, size, context.scale, node.name, body)

    def transfer(
        self,
        sender: Context,
        receiver: Context,
        size: Amount,
        between: Amount,
        name: str,
        then: EntryArcs,
        sent: EntryArcs | None = None,
    ) -> EntryArcs:
        """Returns the entry of a part of the net that sends a message of `size` bytes from one
        context to another. The delay includes `between` times the propagation delay.

        Tokens continue with `then` at the receiver. `sent` starts as soon as the sender's adapter
        is free; within a host, it starts immediately.
        """
        roles = (sender.role, receiver.role)
        same = self.placement.same_node(*roles)
        hop = times(self.environment["loopback_latency"], between)

        def inside(row: Changes, delay: Amount) -> list[Arc]:
            on = then(row, plus(delay, hop))
            return [*on, *sent(row, delay)] if sent else on

        if same == 1.0:
            return inside
        nodes = (self.stations.node(*sender.stack[-1]), self.stations.node(*receiver.stack[-1]))
        scaled = times(size, sender.scale)
        message = self.message(roles, scaled, between)
        stall_s = self._stall_s(roles)
        if stall_s and sent is not None:
            # The sender's stage can send the next unit as soon as the window has room for this
            # unit.
            sent = _delayed(sent, times(scaled, stall_s))
        elif stall_s:
            beyond = _beyond(size, self.environment.get("stream_window", math.inf))
            lead = plus(message.lead, times(times(beyond, sender.scale), stall_s))
            message = replace(message, lead=lead)
        step = (sender.page, name)
        outside = self.stations.send(roles, nodes, message, step, then, sent)
        if same == 0.0:
            return outside
        here, there = nodes
        ways = [(equal(here, there), inside), (unequal(here, there), outside)]
        return self.branch(f"{sender.page}/{name} where", sender.page, ways)

    def _stall_s(self, roles: tuple[str, str]) -> float:
        """Returns the seconds that each byte of a stream waits for acknowledgements, in addition to
        its transfer time. The wait is 0 if the window `stream_window` does not slow the stream
        down."""
        window_s = 2 * self._way_s(roles) / self.environment.get("stream_window", math.inf)
        slower = min(self.environment[f"{role}.nic_bandwidth"] for role in roles)
        return max(0.0, window_s - 1 / slower)

    def _way_s(self, roles: tuple[str, str]) -> float:
        """Returns the one-way network latency in seconds between the nodes of two roles."""
        adapters_s = sum(self.environment[f"{role}.nic_latency"] for role in roles)
        return self.environment["network_latency"] + adapters_s

    def message(self, roles: tuple[str, str], size: Amount, between: Amount) -> MessageTiming:
        """Returns the timing of a message of `size` bytes between two roles (sender, receiver)."""
        out, into = (self.environment[f"{role}.nic_bandwidth"] for role in roles)
        latency = self._way_s(roles) + self.environment.get("retransmission", 0.0)
        early = max(0.0, 1.0 / min(out, into) - 1.0 / into)
        lead = plus(times(latency, between), times(size, early))
        return MessageTiming(times(size, 1.0 / out), times(size, 1.0 / into), lead)

    def seq(self, node: Seq, where: Standing) -> EntryArcs:
        """Adds steps, each of which continues with the next step. Returns the entry of the first
        step."""
        context, then = where
        for step in reversed(node.steps):
            then = self.compiled(step, context, then)
        return then

    def par(self, node: Par, where: Standing) -> EntryArcs:
        """Adds concurrent branches into which a token forks. Returns the entry of the fork."""
        context, then = where
        return self.fork(node, context, then, self.compiled)

    def fork(
        self,
        node: Par,
        context: Context,
        then: EntryArcs,
        visit: Callable[[Node, Context, EntryArcs], EntryArcs],
    ) -> EntryArcs:
        """Returns the entry of a part of the net that runs all branches and copies of a `Par`
        concurrently. Tokens continue with `then` when the number of finished branches is the number
        that the node requires.

        If there are no branches, or none is required, nothing is added and `then` is returned. A
        single branch is compiled without a fork.
        """
        copies = self.amounts.whole(node.copies)
        total = copies * len(node.steps)
        needed = total if node.needed is None else min(total, self.amounts.whole(node.needed))
        if total == 0 or needed < 1:
            return then
        inside = replace(context, overlapping=True)
        if total == 1:
            return visit(node.steps[0], inside, then)
        changes = [number(0)] * copies
        if copies > 1:
            level = context.forks + 1
            inside = replace(
                inside,
                forks=level,
                key=f"k{level}",
                pipelines=context.pipelines * copies,
                pipeline_index=context.pipeline_index * copies + main(f"c{level}"),
                shifts=(*context.shifts, main(f"c{level}")),
            )
            changes = [number(copy) for copy in range(copies)]
        joined, waiting = self._join(node, context, total, needed, then)
        branches = [visit(step, inside, joined) for step in node.steps]

        def entry(row: Changes, delay: Amount) -> list[Arc]:
            arcs = [Arc(waiting, after(row, {"left": number(total)}), delay)]
            for branch in branches:
                for copy in changes:
                    split = {
                        f"c{inside.forks}": copy,
                        inside.key: numbered(context.key, copies, copy),
                    }
                    arcs += branch(after(row, split) if copies > 1 else row, delay)
            return arcs

        return entry

    def _join(
        self, node: Par, context: Context, total: int, needed: int, then: EntryArcs
    ) -> tuple[EntryArcs, str]:
        """Adds the places where a job waits until `needed` of its `total` branches have finished.
        Returns the entry for finished branches, and the name of the place where the job waits.
        """
        name = self.unique(f"{context.page}/{node.name or 'branches'}")
        waiting, done = self.flow.place(f"{name} waiting"), self.flow.place(f"{name} done")
        same, left = equal(main(context.key), other(context.key)), main("left")
        rest = Arc(waiting, {"left": left - 1})
        enough = total - needed + 1
        ways: list[tuple[str, Condition, list[Arc]]] = [("more", left > enough, [rest])]
        on = then({}, 0.0)
        if enough == 1:
            ways.append(("all", equal(left, 1), on))
        else:
            ways += [
                ("enough", equal(left, enough), [rest, *on]),
                ("late", (left > 1) & (left < enough), [rest]),
                ("last", equal(left, 1), []),
            ]
        for label, guard, arcs in ways:
            rule = every([same, guard])
            self.flow.transition(f"{name} {label}", context.page, [waiting, done], arcs, rule)
        return (lambda row, delay: [Arc(done, row, delay)]), waiting

    def repeat(self, node: Repeat, where: Standing) -> EntryArcs:
        """Adds a body that is repeated, and returns the entry of the first repetition. For a count
        of 0, adds nothing and returns the entry of the following step."""
        context, then = where
        turns, each = self.amounts.turns(node.count, self.most_units)
        if each == 0.0:
            return then
        scale, calm = times(context.scale, each), times(context.calm, each)
        if turns == 1:
            return self.compiled(node.body, replace(context, scale=scale, calm=calm), then)
        counter = f"n{context.loops + 1}"
        inside = replace(
            context,
            scale=scale,
            calm=calm,
            loops=context.loops + 1,
            shifts=(*context.shifts, main(counter)),
        )
        turned = self.flow.place(self.unique(f"{context.page}/{node.name or 'loop'} turn"))
        body = self.compiled(node.body, inside, lambda row, delay: [Arc(turned, row, delay)])
        following = main(counter) + 1
        for label, guard, arcs in (
            ("again", following < turns, body({counter: following}, 0.0)),
            ("over", following >= turns, then({}, 0.0)),
        ):
            self.flow.transition(f"{turned} {label}", context.page, [turned], arcs, guard)
        return lambda row, delay: body(after(row, {counter: number(0)}), delay)

    def part(self, node: PartialWork, where: Standing) -> EntryArcs:
        """Adds a body whose demands are multiplied by a share, and returns the entry of the body.
        For a share of 0, adds nothing and returns the entry of the following step."""
        context, then = where
        share = self.amounts.of(node.share)
        if share == 0.0:
            return then
        scale, calm = times(context.scale, share), times(context.calm, share)
        return self.compiled(node.body, replace(context, scale=scale, calm=calm), then)

    def choice(self, node: Choice, where: Standing) -> EntryArcs:
        """Adds branches, of which a random draw selects one for each token, or none if the
        probabilities add up to less than 1. Returns the entry of the draw. If only one branch is
        possible, returns the entry of this branch; if no branch is possible, returns the entry of
        the following step."""
        context, then = where
        ways: list[Way] = []
        before: Amount = 0.0
        draw = main("draw")
        for probability, branch in node.branches:
            share = self.amounts.of(probability)
            if share == 0.0:
                continue
            entry = self.compiled(branch, context, then)
            if share == 1.0:
                return entry
            upto = plus(before, share)
            ways.append(((draw >= expressed(before)) & (draw < expressed(upto)), entry))
            before = upto
        if not ways:
            return then
        if isinstance(before, Expr) or not math.isclose(before, 1.0):
            ways.append((draw >= expressed(before), then))
        chosen = self.branch(f"{context.page}/{node.name or 'choice'}", context.page, ways)
        return lambda row, delay: chosen({**row, "draw": call("uniform", 0.0, 1.0)}, delay)

    def either(self, node: Either, where: Standing) -> EntryArcs:
        """Adds two branches, of which a condition selects one for each token. If only a part of the
        data is in the servers' caches, a random draw selects the branch. Returns the entry of the
        choice. If the condition is already known, adds only the selected branch and returns its
        entry."""
        context, then = where
        mixed = self.amounts.by_misses(node)
        if mixed is not None:
            return self.visit(mixed, where)
        holds = self.amounts.holds(node.condition)
        if isinstance(holds, bool):
            chosen = node.then if holds else node.otherwise
            return then if chosen is None else self.compiled(chosen, context, then)
        done = self.compiled(node.then, context, then)
        otherwise = then if node.otherwise is None else self.compiled(node.otherwise, context, then)
        ways = [(holds, done), (~holds, otherwise)]
        return self.branch(f"{context.page}/{node.name or 'choice'}", context.page, ways)

    def pipeline(self, node: Pipeline, where: Standing) -> EntryArcs:
        """Adds the stages that the units of a pipeline pass through. Returns the entry of the
        pipeline."""
        return pipeline(self, node, *where)

    def later(self, node: Later, where: Standing) -> EntryArcs:
        """Adds a body that runs while the operation continues, such as write-back. Returns an entry
        that starts both the body and the following step. A write-back whose data stays in the page
        cache is left out: the entry of the following step is then returned."""
        context, then = where
        share = self._written_back if writes_back(node) else 1.0
        if share == 0.0:
            return then
        inside = replace(
            context,
            scale=times(context.scale, share),
            calm=times(context.calm, share),
            overlapping=True,
        )
        work = self.compiled(node.body, inside, lambda row, delay: [])
        return lambda row, delay: [*then(row, delay), *work(row, delay)]
