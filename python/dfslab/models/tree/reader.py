"""Evaluates operation trees numerically: the latency without waits, the demand at each station, and
the time of each step.

Latency is the critical path. Overlapping work (branches, pipeline stages) takes at least the time
that the busiest station needs for it. In a pipeline of n units, the first unit passes all stages.
Each of the other n - 1 units adds the time of the slowest stage or busiest station (Wu 2013,
section 3.2, in the corrected reading).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dfslab.models.tree.costs import (
    Cost,
    is_any,
    largest,
    longest_wait_s,
    share_of,
    smallest,
    station_bound_s,
)
from dfslab.models.tree.placement import Placement, Station
from dfslab.spec.environment import group_of, is_of_group, of_group
from dfslab.spec.steps.expression import Expr, Symbolic, readable, symbolic_amount
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
    lands_at,
    writes_back,
)
from dfslab.spec.steps.numeric import function
from dfslab.spec.steps.step_path import StepPath

# The station of the processors that all nodes share if the deployment has `shared_cores`.
MACHINE = "machine"

# The symbol with the share of read bytes that is not in the servers' page caches.
COLD = "cold"
# The symbols that act on every message between two nodes.
OF_PATHS = {"network_latency", "stream_window", "retransmission"}


class Varies(Exception):
    """Raised when several sets of constants are evaluated together, but a number of repetitions,
    units or copies differs between the sets.
    """


@lru_cache(maxsize=8192)
def _compiled(
    expression: Symbolic, library: str
) -> tuple[tuple[str, ...], Callable[..., Any] | None, float]:
    """Compiles an expression. Returns (names of its symbols, function of their values, 0). For an
    expression without symbols, returns ((), None, value of the expression)."""
    if isinstance(expression, Expr):
        names, found = function(expression, library == "numpy")
        return (names, found, 0.0) if names else ((), None, float(found()))
    # The expression is one of SymPy, which a description may use in place of an `Expr`.
    if expression.is_number:
        return (), None, float(symbolic_amount(expression))
    symbols = sorted(expression.free_symbols, key=str)
    import sympy

    compiled = sympy.lambdify(symbols, expression, library, cse=True)
    return tuple(map(str, symbols)), compiled, 0.0


class TreeReader(Visitor[str, Cost]):
    """Evaluates the trees of one deployment. `environment` has the values of symbols by name, in SI
    units. If the values are arrays of shape (sets of constants,), every cost has this shape.

    `client` is the role where operations start. `written_back` is the share of deferred disk writes
    that are completed during the run. `operations` is the number of operations of all clients in
    the run, over which the burst credit of token buckets is spread. `symbols` collects the names of
    the symbols that were used.
    """

    def __init__(
        self,
        placement: Placement,
        environment: Mapping[str, float],
        client: str = "client",
        written_back: float = 1.0,
        operations: float = math.inf,
    ) -> None:
        self._placement = placement
        self._environment = environment
        self._client = client
        self._written_back = written_back
        self._operations = operations
        self._concurrency = 1.0
        self._known: dict[tuple[Symbolic, str], float] = {}
        self._messages: dict[tuple[str, str, float], Cost] = {}
        self._unequal = {group_of(key) for key in filter(is_of_group, environment)}
        self._ahead_s: dict[Station, float] = {}
        self.symbols: set[str] = set()

    def read(self, tree: Node) -> Cost:
        """Returns the cost of one execution of an operation."""
        cost = self._held_up(self.visit(tree, self._client))
        for work in (cost.demands, cost.background):
            for station in filter(self._is_limit, work):
                each_s = work[station] / station.copies
                ahead_s = self._ahead_of(station) / self._operations
                work[station] = work[station] * share_of(largest((0.0, each_s - ahead_s)), each_s)
        return cost

    def _held_up(self, cost: Cost) -> Cost:
        """Raises the latency of `cost` to the shortest time that its token buckets allow. Each
        bucket starts with full credit.
        """
        for station, seconds in cost.limited.items():
            cost.latency_s = largest((cost.latency_s, seconds - self._ahead_s[station]))
            cost.busy_s = largest((cost.busy_s, cost.latency_s))
        return cost

    def value(self, expression: Symbolic, group: str = "") -> float:
        """Returns an expression's value. With `group`, hardware symbols have the values of that
        node group. Raises KeyError for a symbol without a value.
        """
        group = group if group in self._unequal else ""
        if (expression, group) in self._known:
            return self._known[expression, group]
        names, function, number = _compiled(expression, "math")
        if function is not None:
            values = [self._number(name, group) for name in names]
            if any(isinstance(value, np.ndarray) for value in values):
                function = _compiled(expression, "numpy")[1]
                assert function is not None
                number = function(*values)
            else:
                number = float(function(*values))
        self._known[expression, group] = number
        return number

    def _number(self, name: str, group: str) -> float:
        self.symbols.add(name)
        own = of_group(name, group)
        return self._environment[own if own in self._environment else name]

    def count(self, expression: Symbolic) -> float:
        """Returns the value of a count. Raises Varies if the count differs between the sets of
        constants.
        """
        number = self.value(expression)
        if isinstance(number, np.ndarray):
            if np.any(number != number[0]):
                raise Varies(readable(expression))
            return float(number[0])
        return number

    def holds(self, condition: Expr) -> bool:
        """Returns whether a condition holds. Raises Varies if the truth value differs between the
        sets of constants.
        """
        return bool(self.count(condition))

    def visit(self, node: Node, where: str) -> Cost:
        """Returns the cost of a node that begins at the role `where`. A node with a name is a step,
        and its cost has the time of this step."""
        cost = node.accept(self, where)
        if node.name and is_any(cost.latency_s):
            cost = self._held_up(cost)
        if node.name and not isinstance(node, Later):
            work = dict(cost.demands), dict(cost.background)
            own = StepPath.of(node.name)
            inside = {
                own.inner(path.names[0]): step
                for path, step in cost.steps.items()
                if path.is_outermost and is_any(step.latency_s)
            }
            cost.steps = {own: Cost(cost.latency_s, cost.busy_s, *work), **inside}
        return cost

    def use(self, node: Use, where: str) -> Cost:
        """Returns the cost of a demand at a role's resource, divided among the node groups that
        host the role.
        """
        role, kind = node.resource.role, node.resource.kind
        stations = self._placement.stations(node.resource, None)
        charged = [
            (station, share, self.value(node.demand_s, station.place))
            for station, share in stations
        ]
        # The instance is random, so latency is the mean over groups, weighted by their share of the
        # instances.
        mean = sum(share * demand for _, share, demand in charged)
        ahead_s = self._environment.get(f"{role}.disk_burst", 0.0) if kind == "disk" else 0.0
        cost = Cost() if ahead_s else Cost(mean, mean)
        cores = self._placement.deployment.shared_cores
        if kind == "cpu" and cores:
            charged = [(Station(MACHINE, "cpu", 1, cores), 1.0, cost.latency_s)]
        for station, share, demand in charged:
            self._charge(cost, role, station, demand, share, ahead_s)
        return cost

    def hold(self, node: Hold, where: str) -> Cost:
        """Returns the body's cost, plus a demand at the lock or the pool of threads. This demand is
        the latency of the body, because the lock or thread is held for this time."""
        role, servers = node.resource.role, max(1, round(self.count(node.servers)))
        cost = self.visit(node.body, role)
        seconds = cost.latency_s
        for station, share in self._placement.stations(node.resource, servers):
            self._charge(cost, role, station, seconds, share)
            if node.resource.kind == "lock":
                cost.visits[station] = cost.visits.get(station, 0.0) + 1.0
        return cost

    def delay(self, node: Delay, where: str) -> Cost:
        """Returns the cost of a wait in seconds that occupies no resource."""
        seconds = self.value(node.seconds)
        return Cost(seconds, seconds)

    def at(self, node: At, where: str) -> Cost:
        """Returns the cost of a body that the node's role executes."""
        return self.visit(node.body, node.role)

    def _charge(
        self,
        cost: Cost,
        role: str,
        station: Station,
        demand: float,
        share: float,
        ahead_s: float = 0.0,
    ) -> None:
        """Adds a demand in seconds at a station to `cost`. The station is used with the probability
        `share`, so `cost.demands` gets `demand` * `share`. At a token bucket, `ahead_s` is the
        burst credit in seconds, and `cost.limited` gets the whole demand. At any other station,
        `ahead_s` is 0, and `cost.whole` gets the whole demand. `cost.burst` then gets `demand` *
        `share`, or the whole demand at a station of the client."""
        alone = role == self._client
        met = station._replace(copies=1) if alone else station
        cost.demands[station] = cost.demands.get(station, 0.0) + demand * share
        if ahead_s:
            self._ahead_s[met] = ahead_s
            cost.limited[met] = cost.limited.get(met, 0.0) + demand
            return
        cost.burst[met] = cost.burst.get(met, 0.0) + demand * (1.0 if alone else share)
        cost.whole[met] = cost.whole.get(met, 0.0) + demand

    def call(self, node: Call, where: str) -> Cost:
        """Returns the cost of a call: the request, the body at the receiver, and a response unless
        the call is one-way."""
        request = self._transfer(where, node.role, self.value(node.request_bytes))
        body = self.visit(node.body, node.role)
        total = request.then(body)
        if node.one_way:
            # Sender, wire and receiver of a one-way message work on different units at the same
            # time. The slowest of the three determines how long a unit occupies the pipeline stage.
            total.busy_s = largest((request.busy_s, body.busy_s))
            return total
        total = total.then(self._transfer(node.role, where, self.value(node.response_bytes)))
        total.busy_s = total.latency_s
        return total

    def _transfer(self, sender: str, receiver: str, size_bytes: float) -> Cost:
        """Returns the cost of one message. The cost is cached, so callers must not modify it."""
        if isinstance(size_bytes, np.ndarray):
            return self._message(sender, receiver, size_bytes)
        key = sender, receiver, size_bytes
        if key not in self._messages:
            self._messages[key] = self._message(*key)
        return self._messages[key]

    def _message(self, sender: str, receiver: str, size_bytes: float) -> Cost:
        """Returns the cost of a message: propagation, and the adapters at both ends, which are busy
        while its bytes pass.
        """
        same = self._placement.same_node(sender, receiver)
        inside = self._environment["loopback_latency"]
        self.symbols |= OF_PATHS if same < 1.0 else set()
        self.symbols |= {"loopback_latency"} if same else set()
        if same == 1.0:
            return Cost(inside, 0.0)
        rates = [self._environment[f"{role}.nic_bandwidth"] for role in (sender, receiver)]
        wire = size_bytes / smallest(rates)
        between = (
            self._environment["network_latency"]
            + self._environment[f"{sender}.nic_latency"]
            + self._environment[f"{receiver}.nic_latency"]
        )
        ahead_s = [self._environment.get(f"{role}.nic_burst", 0.0) for role in (sender, receiver)]
        held = 0.0 if all(ahead_s) else wire
        # A stream waits for acknowledgements if its window is smaller than the bandwidth-delay
        # product of the path.
        window = self._environment.get("stream_window", math.inf)
        stall_s = largest((0.0, 2 * between / window - 1 / smallest(rates)))
        between = between + self._environment.get("retransmission", 0.0)
        alone_s = between + held + largest((0.0, size_bytes - window)) * stall_s
        cost = Cost(
            same * inside + (1 - same) * alone_s, (1 - same) * (held + size_bytes * stall_s)
        )
        ends = (sender, receiver), rates, ("nic.out", "nic.in"), ahead_s
        for role, rate, direction, ahead in zip(*ends, strict=True):
            for station, share in self._placement.adapters(role, direction):
                seconds = (1 - same) * size_bytes / rate
                credit_s = ahead if all(ahead_s) else 0.0
                self._charge(cost, role, station, seconds, share, credit_s)
        return cost

    def seq(self, node: Seq, where: str) -> Cost:
        """Returns the cost of steps one after another: latencies and demands in seconds add up."""
        total = Cost()
        for step in node.steps:
            cost = self.visit(step, where)
            total.latency_s = total.latency_s + cost.latency_s
            total.busy_s = total.busy_s + cost.busy_s
            total.absorb(cost)
        return total

    def _is_limit(self, station: Station) -> bool:
        return station in self._ahead_s or station._replace(copies=1) in self._ahead_s

    def _ahead_of(self, station: Station) -> float:
        """Returns the burst credit of a token bucket in seconds. For a bucket of the clients, the
        credit is stored under the station with `copies` 1."""
        return self._ahead_s.get(station) or self._ahead_s[station._replace(copies=1)]

    def _is_clients(self, station: Station) -> bool:
        """Returns whether a token bucket belongs to the client, not to a server on the same
        node.
        """
        groups = self._placement.shares(self._client)
        return station.copies == 1 and any(group.name == station.place for group, _ in groups)

    def par(self, node: Par, where: str) -> Cost:
        """Returns the cost of parallel branches; zero without copies. The latency of the cost is
        the largest of these times: for each branch, the branch's latency plus its wait for the
        other branches; for each station, the time that the station needs for the work of all
        branches."""
        copies = self.count(node.copies)
        if not copies:
            return Cost()
        around, self._concurrency = self._concurrency, self._concurrency * max(1.0, copies)
        branches = [self.visit(step, where) for step in node.steps]
        self._concurrency = around
        total = Cost()
        for branch in branches:
            total.absorb(branch.times(copies))
        # The demand at a client's token bucket is the data of all copies. The demand at a server's
        # bucket is the data of one copy only.
        for station in total.limited:
            if not self._is_clients(station):
                total.limited[station] = largest(b.limited.get(station, 0.0) for b in branches)
        # All copies count, even if the node waits for only some of them, because equal copies end
        # at the same time.
        bound_s = station_bound_s({s: d for s, d in total.demands.items() if not self._is_limit(s)})
        total.latency_s = total.busy_s = bound_s
        for branch in branches:
            wait_s = longest_wait_s(total.burst, branch, branches)
            total.latency_s = largest((total.latency_s, branch.latency_s + wait_s))
            # If `busy_s` is below the latency, the branch's message is still in transit when the
            # unit leaves the stage. The wait of this branch does not delay the pipeline's next
            # unit.
            ends = branch.busy_s >= branch.latency_s
            total.busy_s = largest((total.busy_s, branch.busy_s + wait_s * ends))
        total.steps = {}
        return total

    def pipeline(self, node: Pipeline, where: str) -> Cost:
        """Returns the cost of a pipeline: the first unit passes all stages, then each further unit
        takes the time of the slowest stage.
        """
        units, role = self.count(node.units), where
        first, slowest = Cost(), 0.0
        for stage in node.stages:
            count, body = 1.0, stage
            if isinstance(stage, Repeat):
                count, body = self.count(stage.count), stage.body
            cost = self.visit(body, role)
            slowest = largest((slowest, cost.busy_s))
            first = first.then(cost.times(min(1.0, count)))
            role = lands_at(body, role)
            if count > 1:
                cost = self.visit(body, role)
                slowest = largest((slowest, cost.busy_s))
                first = first.then(cost.times(count - 1))
        total = first.times(units)
        total.burst, total.whole = first.burst, first.whole
        first = self._held_up(first)
        rest_s = max(0.0, units - 1) * slowest
        for station, burst_s in first.burst.items():
            # The first unit visits the station several times, with other work in between. During
            # this time, the station's other servers are free for the next units.
            unit_s = self._concurrency * burst_s / (station.copies * station.servers)
            rest_s = largest((rest_s, units * unit_s - largest((unit_s, burst_s))))
        total.latency_s = first.latency_s + rest_s
        total.steps = {}
        return self._held_up(replace(total, busy_s=total.latency_s))

    def repeat(self, node: Repeat, where: str) -> Cost:
        """Returns the cost of a repeated body: the cost of one repetition times their number. If
        concurrent copies of the body queue, a repetition takes at least as long as the busiest
        station needs for all copies. Raises Varies if the number of repetitions then differs
        between the sets of constants."""
        count = self.value(node.count)
        turn = self.visit(node.body, where)
        total = turn.times(count)
        if node.reselect:
            total.limited = {station: self._dealt(station, turn, count) for station in turn.limited}
        if self._concurrency > 1 and self.count(node.count) > 1:
            cadence = largest((turn.latency_s, self._concurrency * station_bound_s(turn.burst)))
            total.latency_s = turn.latency_s + (count - 1) * cadence
            total.burst, total.whole = turn.burst, turn.whole
        return self._held_up(total)

    def _dealt(self, station: Station, turn: Cost, count: float) -> Any:
        """Returns the demand of `count` repetitions of a body at one token bucket of `station`, in
        seconds. `turn` is the cost of one repetition. A client's bucket gets the whole demand.
        Servers' buckets get equal shares, because each repetition selects a server again. A share
        is at least the demand of one repetition."""
        if self._is_clients(station):
            return count * turn.limited[station]
        return largest((turn.limited[station], count * turn.demands[station] / station.copies))

    def part(self, node: PartialWork, where: str) -> Cost:
        """Returns the cost of a body, times the share of its work that is done."""
        return self._held_up(self.visit(node.body, where).times(self.value(node.share)))

    def choice(self, node: Choice, where: str) -> Cost:
        """Returns the expected cost of a random choice: each branch counts by its probability."""
        total = Cost()
        for probability, branch in node.branches:
            share = self.count(probability)
            if share:
                total = total.then(self.visit(branch, where).times(share))
        return total

    def either(self, node: Either, where: str) -> Cost:
        """Returns the cost of the branch that the condition selects; zero if this branch does not
        exist. If only a part of the data is in a cache, returns the expected cost over both
        branches."""
        mixed = self.by_misses(node)
        if mixed is not None:
            return self.visit(mixed, where)
        chosen = node.then if self.holds(node.condition) else node.otherwise
        return Cost() if chosen is None else self.visit(chosen, where)

    def by_misses(self, node: Either) -> Choice | None:
        """Converts a node with a condition to a random choice between its branches. The symbol
        `cold` is the probability that a read misses the servers' page caches.

        Returns None if a miss does not change whether the condition holds, or if `cold` is 0, 1 or
        an array.
        """
        missed = self._environment.get(COLD, 0.0)
        if isinstance(missed, np.ndarray) or not 0.0 < missed < 1.0:
            return None
        if COLD not in map(str, node.condition.free_symbols):
            return None
        on_miss, on_hit = (self._holds_if(node.condition, value) for value in (1.0, 0.0))
        if on_miss == on_hit:
            return None
        share = missed if on_miss else 1.0 - missed
        branches = [(Expr("number", share), node.then)]
        if node.otherwise is not None:
            branches.append((Expr("number", 1.0 - share), node.otherwise))
        return Choice(node.name, tuple(branches))

    def _holds_if(self, condition: Expr, cold: float) -> bool:
        """Returns whether a condition holds when the symbol `cold` has the value `cold`."""
        names, function, number = _compiled(condition, "math")
        if function is None:
            return bool(number)
        values = [cold if name == COLD else self._number(name, "") for name in names]
        return bool(function(*values))

    def later(self, node: Later, where: str) -> Cost:
        """Returns the cost of asynchronous work: its demand becomes background demand, and its
        latency is 0.
        """
        body = self.visit(node.body, where)
        share = self._written_back if writes_back(node) else 1.0
        done = body.times(share)
        cost = Cost(visits=done.visits)
        cost.absorb(Cost(background=done.demands))
        cost.absorb(Cost(background=body.background))
        return cost
