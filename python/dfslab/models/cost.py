"""The numeric reader of operation trees: unloaded latency, demand per station, time per step.

Latency is the critical path. Work that overlaps (branches, pipeline stages) ends no sooner than the
busiest station can do it. A pipeline of n units takes its first unit through all stages, then
n - 1 times its slowest stage or busiest station (Wu 2013, section 3.2, in the corrected reading).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import sympy

from dfslab.models.placement import Placement, Station
from dfslab.spec.operation import (
    Call,
    Choice,
    Later,
    Node,
    Par,
    Pipeline,
    Repeat,
    Seq,
    Use,
    lands_at,
)

Demands = dict[Station, float]


@dataclass
class Cost:
    """What one execution costs.

    `busy_s` is how long it keeps its pipeline stage from the next unit. `background` is work that
    nobody waits for. `steps` holds the outermost named steps.
    """

    latency_s: float = 0.0
    busy_s: float = 0.0
    demands: Demands = field(default_factory=dict)
    background: Demands = field(default_factory=dict)
    steps: dict[str, Cost] = field(default_factory=dict)

    def times(self, count: float) -> Cost:
        """`count` of these, one after the other."""
        return Cost(
            self.latency_s * count,
            self.busy_s * count,
            {station: d * count for station, d in self.demands.items()},
            {station: d * count for station, d in self.background.items()},
            {name: step.times(count) for name, step in self.steps.items()},
        )

    def absorb(self, other: Cost) -> None:
        """Add the other's work and steps, not its time."""
        for mine, theirs in (
            (self.demands, other.demands),
            (self.background, other.background),
        ):
            for station, demand in theirs.items():
                mine[station] = mine.get(station, 0.0) + demand
        for name, step in other.steps.items():
            self.steps[name] = self.steps[name].then(step) if name in self.steps else step

    def then(self, other: Cost) -> Cost:
        """This, then the other."""
        both = Cost(self.latency_s + other.latency_s, self.busy_s + other.busy_s)
        both.absorb(self)
        both.absorb(other)
        return both


def station_bound_s(demands: Demands) -> float:
    """Least time in which the busiest station can do this work."""
    return max((d / (s.copies * s.servers) for s, d in demands.items()), default=0.0)


@lru_cache(maxsize=4096)
def _compiled(expression: sympy.Expr) -> tuple[tuple[str, ...], Callable[..., float]]:
    names = sorted(expression.free_symbols, key=str)
    return tuple(map(str, names)), sympy.lambdify(names, expression, "math", cse=True)


class Reader:
    """Reads trees of one deployment under one environment (symbol name -> SI value).

    `client` names the role where operations start. `written_back` is the share of background disk
    work that falls into the time that is looked at.
    """

    def __init__(
        self,
        placement: Placement,
        environment: Mapping[str, float],
        client: str = "client",
        written_back: float = 1.0,
    ) -> None:
        self._placement = placement
        self._environment = environment
        self._client = client
        self._written_back = written_back

    def read(self, tree: Node) -> Cost:
        """Cost of one execution of an operation."""
        return self._visit(tree, self._client)

    def value(self, expression: sympy.Expr) -> float:
        """An expression's number here; KeyError names a symbol without one."""
        if expression.is_number:
            return float(expression)
        names, function = _compiled(expression)
        return float(function(*(self._environment[name] for name in names)))

    def _visit(self, node: Node, role: str) -> Cost:
        kinds: dict[type, Callable] = {
            Use: self._use, Call: self._call, Seq: self._seq, Par: self._par,
            Pipeline: self._pipeline, Repeat: self._repeat, Choice: self._choice,
            Later: self._later,
        }  # fmt: skip
        cost = kinds[type(node)](node, role)
        if node.name and not isinstance(node, Later):
            work = dict(cost.demands), dict(cost.background)
            cost.steps = {node.name: Cost(cost.latency_s, cost.busy_s, *work)}
        return cost

    def _use(self, node: Use, role: str) -> Cost:
        if node.body is not None:
            cost = self._visit(node.body, node.resource.role)
            demand = cost.latency_s
        else:
            demand = self.value(node.demand_s)
            cost = Cost(demand, demand)
        servers = node.resource.servers
        count = None if servers is None else max(1, round(self.value(servers)))
        for station, share in self._placement.stations(node.resource, count):
            cost.demands[station] = cost.demands.get(station, 0.0) + demand * share
        return cost

    def _call(self, node: Call, role: str) -> Cost:
        request = self._transfer(role, node.role, self.value(node.request_bytes))
        body = self._visit(node.body, node.role)
        total = request.then(body)
        if node.one_way:
            # Sender, wire and receiver work on different units at the same time.
            total.busy_s = max(request.busy_s, body.busy_s)
            return total
        total = total.then(self._transfer(node.role, role, self.value(node.response_bytes)))
        total.busy_s = total.latency_s
        return total

    def _transfer(self, sender: str, receiver: str, size_bytes: float) -> Cost:
        """One message: propagation, and the adapters at both ends held for its length."""
        same = self._placement.same_node(sender, receiver)
        inside = self._environment["loopback_latency"]
        if same == 1.0:
            return Cost(inside, 0.0)
        rates = [self._environment[f"{role}.nic_bandwidth"] for role in (sender, receiver)]
        wire = size_bytes / min(rates)
        between = (
            self._environment["network_latency"]
            + self._environment[f"{sender}.nic_latency"]
            + self._environment[f"{receiver}.nic_latency"]
        )
        cost = Cost(same * inside + (1 - same) * (between + wire), (1 - same) * wire)
        for role, rate, direction in zip(
            (sender, receiver), rates, ("nic.out", "nic.in"), strict=True
        ):
            for station, share in self._placement.adapters(role, direction):
                held = (1 - same) * share * size_bytes / rate
                cost.demands[station] = cost.demands.get(station, 0.0) + held
        return cost

    def _seq(self, node: Seq, role: str) -> Cost:
        total = Cost()
        for step in node.steps:
            total = total.then(self._visit(step, role))
        return total

    def _par(self, node: Par, role: str) -> Cost:
        copies = self.value(node.copies)
        branches = [self._visit(step, role) for step in node.steps]
        total = Cost()
        for branch in branches:
            total.absorb(branch.times(copies))
        # Equal copies end together, so a quorum of them waits as long as all.
        slowest = max((branch.latency_s for branch in branches), default=0.0)
        total.latency_s = max(slowest, station_bound_s(total.demands))
        busiest = max((branch.busy_s for branch in branches), default=0.0)
        total.busy_s = max(busiest, station_bound_s(total.demands))
        total.steps = {}
        return total

    def _pipeline(self, node: Pipeline, role: str) -> Cost:
        units = self.value(node.units)
        first, slowest = Cost(), 0.0
        for stage in node.stages:
            count, body = 1.0, stage
            if isinstance(stage, Repeat):
                count, body = self.value(stage.count), stage.body
            cost = self._visit(body, role)
            slowest = max(slowest, cost.busy_s)
            first = first.then(cost.times(min(1.0, count)))
            role = lands_at(body, role)
            if count > 1:
                cost = self._visit(body, role)
                slowest = max(slowest, cost.busy_s)
                first = first.then(cost.times(count - 1))
        cadence = max(slowest, station_bound_s(first.demands))
        total = first.times(units)
        total.latency_s = first.latency_s + max(0.0, units - 1) * cadence
        total.busy_s = total.latency_s
        total.steps = {}
        return total

    def _repeat(self, node: Repeat, role: str) -> Cost:
        return self._visit(node.body, role).times(self.value(node.count))

    def _choice(self, node: Choice, role: str) -> Cost:
        total = Cost()
        for probability, branch in node.branches:
            share = self.value(probability)
            if share:
                total = total.then(self._visit(branch, role).times(share))
        return total

    def _later(self, node: Later, role: str) -> Cost:
        body = self._visit(node.body, role)
        cost = Cost()
        cost.absorb(Cost(background=body.times(self._written_back).demands))
        cost.absorb(Cost(background=body.background))
        return cost
