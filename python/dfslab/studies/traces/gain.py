"""End-to-end saving if a step of traced JVMs were faster, with an interval.

A thread's nested calls add up to its elapsed time. So a faster step in the operation's own thread
shortens the operation by the time saved. Work in other threads or processes shortens it only
through the waits of the requesting thread, and only while the busiest of these logical threads is
the one waited for (a pipeline is bounded by its slowest stage).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dfslab.instruments.tracing.callprofile import WAITS, Node

FACTOR = 2.0
MOST_STEPS = 200
# An interval is inconclusive if wider than this share of its upper end, and of the total time.
WIDE = 0.6
NOTABLE = 0.02
Z90 = 1.645
# Relative standard deviation between runs that all calls of a run share: 5 % between fault-free
# rounds of ten seconds (docs/liu.md); the median between repetitions in verification/data is 2 to
# 20 %.
RUNS_DIFFER = 0.05
# Least number of calls for a standard error: with fewer, the slow first call dominates.
LEAST_CALLS = 5


@dataclass
class Place:
    """A step of a logical thread."""

    path: str
    node: Node

    @property
    def above(self) -> str:
        """The path of the parent step."""
        return self.path.rpartition("/")[0]

    @property
    def wait(self) -> bool:
        """Whether the step's self time is waiting; during a remote call it is transport time."""
        return self.node.kind in WAITS and not self.node.served_ns

    @property
    def sleeps(self) -> bool:
        """Whether the step is a sleep, which can be shortened without delaying other work."""
        return self.node.kind == "sleep"


@dataclass
class LogicalThread:
    """A logical thread: the sequential calls of one thread of control for an operation."""

    name: str
    places: list[Place] = field(default_factory=list)

    @property
    def busy_ns(self) -> int:
        """Work of the thread without its waits."""
        return sum(max(0, p.node.own_ns) for p in self.places if not p.wait)


def savings(top: Node, factor: float = FACTOR) -> dict[str, Any]:
    """Steps sorted by saving, with their share of summed self time."""
    assert factor > 1
    roots = operations(top)
    whole_ns = sum(root.total_ns for root in roots)
    steps: list[dict[str, Any]] = []
    for root in roots:
        steps += _operation(root, 1 - 1 / factor, whole_ns)
    summed_ns = sum(step["own_ns"] for step in steps)
    for step in steps:
        step["summed_share"] = step["own_ns"] / summed_ns if summed_ns else 0.0
    steps.sort(key=lambda step: (-step["saving"], -step["high"], step["step"]))
    return {
        "factor": factor,
        "end_to_end_s": whole_ns / 1e9,
        "trees": sum(r.count for r in roots),
        "operations": sorted(root.name for root in roots),
        "steps": steps[:MOST_STEPS],
    }


def operations(top: Node) -> list[Node]:
    """The outermost calls of clients, which are the services that serve no other service.

    A wait at the root of a thread is no operation: the thread waits for another operation.
    """
    serving = {name.partition(":")[0] for path, name in _names(top) if "/" in path}
    return [
        root
        for name, root in sorted(top.children.items())
        if name.partition(":")[0] not in serving and root.kind not in WAITS
    ]


def _names(top: Node) -> Iterator[tuple[str, str]]:
    """(path, service and name) of every first step in a process."""
    open_nodes = [("", top)]
    while open_nodes:
        path, node = open_nodes.pop()
        for name, child in node.children.items():
            below = f"{path}/{name}" if path else name
            if ":" in name:
                yield below, name
            open_nodes.append((below, child))


def threads(root: Node) -> list[LogicalThread]:
    """An operation's own logical thread first, then those that run in parallel."""
    found = [LogicalThread(root.name)]
    open_nodes = [(found[0], Place(root.name, root))]
    while open_nodes:
        thread, place = open_nodes.pop()
        if place.node.count and place.node.kind != "detail":
            thread.places.append(place)
        node = place.node
        in_turn = node.kind == "blocked" and node.served_ns <= node.self_ns
        for name, child in sorted(node.children.items(), reverse=True):
            path = f"{place.path}/{name}"
            below = Place(path, child)
            concurrent = child.handed or (":" in name and not in_turn)
            if concurrent:
                found.append(LogicalThread(path))
            open_nodes.append((found[-1] if concurrent else thread, below))
    return found


def _operation(root: Node, part: float, whole_ns: int) -> list[dict[str, Any]]:
    """Savings by steps of one operation; `part`: share by which a step's time is reduced."""
    own, *others = threads(root)
    waits_ns = sum(p.node.own_ns for p in own.places if p.wait and not p.sleeps)
    busy = sorted((thread.busy_ns for thread in others), reverse=True)
    # Waits of the requesting thread that the busiest parallel thread explains.
    explained_ns = min(waits_ns, busy[0]) if busy else 0
    # Paths of parent steps within which the operation waited notably for other threads.
    notable_ns = waits_ns * NOTABLE
    phases = {
        p.above
        for p in own.places
        if p.wait and not p.sleeps and explained_ns and p.node.own_ns > notable_ns
    }
    steps = []
    for place in own.places:
        cut_ns = max(0, place.node.own_ns) * part
        low_ns, point_ns, high_ns = cut_ns, cut_ns, cut_ns
        if place.wait and not place.sleeps:
            free = 1 - explained_ns / waits_ns if waits_ns else 1.0
            point_ns = cut_ns * free
            low_ns = max(0.0, min(point_ns, cut_ns - sum(busy) * part))
        elif any(f"{place.path}/".startswith(f"{phase}/") for phase in phases):
            # The saved time may be spent waiting for other threads instead.
            low_ns, point_ns = max(0.0, cut_ns - explained_ns), max(0.0, cut_ns - explained_ns)
        steps.append(_step(place, root, (low_ns, point_ns, high_ns), whole_ns))
    for thread in others:
        rest = max((other.busy_ns for other in others if other is not thread), default=0)
        for place in thread.places:
            cut_ns = 0.0 if place.wait else max(0, place.node.own_ns) * part
            left = max(rest, thread.busy_ns - cut_ns)
            point_ns = max(0.0, explained_ns - min(waits_ns, left))
            high_ns = min(cut_ns, waits_ns)
            steps.append(_step(place, root, (0.0, min(point_ns, high_ns), high_ns), whole_ns))
    return steps


def _step(
    place: Place, root: Node, saved_ns: tuple[float, float, float], whole_ns: int
) -> dict[str, Any]:
    """A row of the ranking; the interval includes variance between calls and between runs."""
    node = place.node
    low, point, high = (ns / whole_ns if whole_ns else 0.0 for ns in saved_ns)
    calls = relative_error(node) if node.count >= LEAST_CALLS else 0.0
    spread = Z90 * math.hypot(calls, RUNS_DIFFER)
    low, high = max(0.0, low * (1 - spread)), min(1.0, high * (1 + spread))
    return {
        "step": place.path,
        "operation": root.name,
        "kind": node.kind or "service",
        "wait": place.wait,
        "count": node.count,
        "own_ns": max(0, node.own_ns),
        "work_s": 0.0 if place.wait else node.own_ns / 1e9,
        "waited_s": node.own_ns / 1e9 if place.wait else 0.0,
        "saving": point,
        "low": low,
        "high": high,
        "verdict": verdict(low, high),
    }


def verdict(low: float, high: float) -> str:
    """The verdict on an interval of savings: "faster", "no gain", or "cannot tell"."""
    if high < NOTABLE / 2:
        return "no gain"
    if high - low > WIDE * high and high - low > NOTABLE:
        return "cannot tell"
    return "faster" if low > 0 else "no gain"


def relative_error(node: Node) -> float:
    """Relative standard error of the mean duration."""
    if node.count < 2 or node.total_ns <= 0:
        return 0.0
    return node.deviation_ns() / math.sqrt(node.count) / (node.total_ns / node.count)
