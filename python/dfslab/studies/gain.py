"""What each step of traced JVMs would gain end to end if it were faster, with an interval.

Sums of a thread's nested calls add up to its elapsed time, so a faster step on the way of an
operation shortens it by what it no longer takes. Work that was handed to other threads or streamed
to other processes shortens it only through the waits of the thread that asked, and only as far as
the busiest of those lanes is what it waited for (the bound of a pipeline by its slowest stage).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dfslab.instruments.callprofile import WAITS, Node

FACTOR = 2.0
MOST_STEPS = 200
# An interval wider than this share of its upper end, and than this share of all time, cannot tell.
WIDE = 0.6
NOTABLE = 0.02
Z90 = 1.645
# Standard deviation of one run's time over its mean, for what all of its calls have in common: 5 %
# between healthy rounds of ten seconds (docs/liu.md), a median of 2 to 20 % between repetitions
# of what verification/data holds.
RUNS_DIFFER = 0.05
# Of fewer calls nobody knows how far they differ: a first one is slow each time.
LEAST_CALLS = 5


@dataclass
class Place:
    """A step on a lane."""

    path: str
    node: Node

    @property
    def above(self) -> str:
        """The path of the step that it is part of."""
        return self.path.rpartition("/")[0]

    @property
    def wait(self) -> bool:
        """Whether its own time is waiting; where a process served meanwhile, it is transport."""
        return self.node.kind in WAITS and not self.node.served_ns

    @property
    def sleeps(self) -> bool:
        """Whether nothing but time ends it, so that whatever is cut off is won."""
        return self.node.kind == "sleep"


@dataclass
class Lane:
    """What one thread of control does for an operation, one call after the other."""

    name: str
    places: list[Place] = field(default_factory=list)

    @property
    def busy_ns(self) -> int:
        """Its work, without its waits."""
        return sum(max(0, p.node.own_ns) for p in self.places if not p.wait)


def savings(top: Node, factor: float = FACTOR) -> dict[str, Any]:
    """The steps by falling gain, beside their share of summed time."""
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
    """The outermost calls of services that serve nobody: those of clients.

    A wait at the root of a thread is none: somebody else's operation is what it waits for.
    """
    serving = {name.partition(":")[0] for path, name in _names(top) if "/" in path}
    return [
        root
        for name, root in sorted(top.children.items())
        if name.partition(":")[0] not in serving and root.kind not in WAITS
    ]


def _names(top: Node) -> Iterator[tuple[str, str]]:
    """Every first step of a process: its path, and its name with the service."""
    open_nodes = [("", top)]
    while open_nodes:
        path, node = open_nodes.pop()
        for name, child in node.children.items():
            below = f"{path}/{name}" if path else name
            if ":" in name:
                yield below, name
            open_nodes.append((below, child))


def lanes(root: Node) -> list[Lane]:
    """An operation's own lane first, then those that work beside it."""
    found = [Lane(root.name)]
    open_nodes = [(found[0], Place(root.name, root))]
    while open_nodes:
        lane, place = open_nodes.pop()
        if place.node.count and place.node.kind != "detail":
            lane.places.append(place)
        node = place.node
        in_turn = node.kind == "blocked" and node.served_ns <= node.self_ns
        for name, child in sorted(node.children.items(), reverse=True):
            path = f"{place.path}/{name}"
            below = Place(path, child)
            beside = child.handed or (":" in name and not in_turn)
            if beside:
                found.append(Lane(path))
            open_nodes.append((found[-1] if beside else lane, below))
    return found


def _operation(root: Node, part: float, whole_ns: int) -> list[dict[str, Any]]:
    """The steps of one operation; `part` is the share of its time a step no longer takes."""
    own, *others = lanes(root)
    waits_ns = sum(p.node.own_ns for p in own.places if p.wait and not p.sleeps)
    busy = sorted((lane.busy_ns for lane in others), reverse=True)
    # The waits of the lane that asked are at most those for the busiest of the others.
    explained_ns = min(waits_ns, busy[0]) if busy else 0
    # Steps around which, in the same step above, the operation waited for the others.
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
            # What the faster step leaves may be waited for instead.
            low_ns, point_ns = max(0.0, cut_ns - explained_ns), max(0.0, cut_ns - explained_ns)
        steps.append(_step(place, root, (low_ns, point_ns, high_ns), whole_ns))
    for lane in others:
        rest = max((other.busy_ns for other in others if other is not lane), default=0)
        for place in lane.places:
            cut_ns = 0.0 if place.wait else max(0, place.node.own_ns) * part
            left = max(rest, lane.busy_ns - cut_ns)
            point_ns = max(0.0, explained_ns - min(waits_ns, left))
            high_ns = min(cut_ns, waits_ns)
            steps.append(_step(place, root, (0.0, min(point_ns, high_ns), high_ns), whole_ns))
    return steps


def _step(
    place: Place, root: Node, saved_ns: tuple[float, float, float], whole_ns: int
) -> dict[str, Any]:
    """A row of the ranking; the interval also holds how far calls differ, and runs."""
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
    """What an interval of savings says: "faster", "no gain", or "cannot tell"."""
    if high < NOTABLE / 2:
        return "no gain"
    if high - low > WIDE * high and high - low > NOTABLE:
        return "cannot tell"
    return "faster" if low > 0 else "no gain"


def relative_error(node: Node) -> float:
    """Standard error of the mean duration over the mean."""
    if node.count < 2 or node.total_ns <= 0:
        return 0.0
    return node.deviation_ns() / math.sqrt(node.count) / (node.total_ns / node.count)
