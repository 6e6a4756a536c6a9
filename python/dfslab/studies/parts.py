"""Which part of a deployment limits its clients: each processor, disk and link by what it gains.

Read off call profiles whose paths name processes. A client's own lane says how long it waited;
the lanes that it waited for say for what. Along a pipeline a receiver that waits although its
sender has something to send waits for the link between them; a disk's time is shortened until the
next slowest disk of the same pipeline is what is waited for. Sums hold no times of day, so what
overlapped inside a lane is not known: intervals reach from nothing else left to wait for (high) to
all other work of the pipeline being in the way (low).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dfslab.instruments.callprofile import WAITS, Node
from dfslab.studies import gain

FACTOR = 2.0
# A step that is taken more often than this in each call of its lane goes along with the stream.
STREAMED = 2.0


@dataclass
class Work:
    """What a server's lane did for its callers, in nanoseconds; `below` are those it sent to."""

    process: str
    count: int
    disk_ns: int = 0
    streamed_disk_ns: int = 0
    processor_ns: int = 0
    send_ns: int = 0
    receive_ns: int = 0
    bytes: int = 0
    reads: bool = True  # for its caller: no stream comes in
    spread: float = 0.0  # standard error of its mean over the mean
    below: list[Work] = field(default_factory=list)


@dataclass
class Edge:
    """The time for which a link between two processes was waited for.

    `most_ns` also holds what the sender waited for itself: the link's own time is no longer.
    """

    sender: str
    receiver: str
    ns: float
    most_ns: float
    bytes: int
    spread: float = 0.0


@dataclass
class Parts:
    """Sums of what clients did and waited for, from which savings follow."""

    whole_ns: float = 0.0
    waited_ns: float = 0.0  # for lanes beside
    client_ns: dict[str, float] = field(default_factory=dict)
    sleeps_ns: dict[str, float] = field(default_factory=dict)
    calls_ns: dict[str, float] = field(default_factory=dict)  # by server
    served_ns: dict[str, float] = field(default_factory=dict)
    chains: list[list[tuple[Work, float]]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def ranking(
    top: Node, runnable_ns: Mapping[str, int], factor: float = FACTOR
) -> dict[str, Any]:  # fmt: skip
    """The parts by falling saving if each were `factor` times faster, beside other rankings.

    `runnable_ns` is how long each process's threads ran or could have run.
    """
    assert factor > 1
    seen = _collect(top)
    parts = sorted(
        (_row(name, ns, seen) for name, ns in _savings(seen, runnable_ns, factor).items()),
        key=lambda row: (-row["saving"], row["part"]),
    )
    return {
        "factor": factor, "end_to_end_s": seen.whole_ns / 1e9, "parts": parts,
        "by_sum": _shares(_summed(top)), "by_last_finisher": _shares(_last_finishers(top)),
    }  # fmt: skip


def _row(part: str, saved_ns: tuple[float, float, float], seen: Parts) -> dict[str, Any]:
    low, point, high = (ns / seen.whole_ns if seen.whole_ns else 0.0 for ns in saved_ns)
    return {"part": part, "saving": point, "low": low, "high": high,
            "verdict": gain.verdict(low, high)}  # fmt: skip


def _collect(top: Node) -> Parts:
    """What the clients' own lanes did, and the lanes of others that they waited for."""
    seen = Parts()
    for root in gain.operations(top):
        seen.whole_ns += root.total_ns
        own, *others = gain.lanes(root)
        for place in own.places:
            # Behind a second process's name is a part of a call, which the call counts.
            if place.path.count(":") == 1:
                _own_time(place, seen)
        for lane in others:
            first = lane.places[0] if lane.places else None
            if first and ":" in first.node.name and first.path.count(":") == 2:
                _stream(_work(first.node), root.name.partition(":")[0], seen)
    return seen


def _own_time(place: gain.Place, seen: Parts) -> None:
    node = place.node
    servers = [name.partition(":")[0] for name in node.children if ":" in name]
    if node.kind == "sleep":
        _add(seen.sleeps_ns, f"{place.path.partition(':')[0]}: {node.name}", node.self_ns)
    elif node.kind == "blocked" and servers and node.served_ns <= node.self_ns:
        _add(seen.calls_ns, servers[0], node.self_ns)
        _add(seen.served_ns, servers[0], node.served_ns)
    elif node.kind in WAITS:
        seen.waited_ns += node.self_ns
    else:
        _add(seen.client_ns, place.path.partition(":")[0], max(0, node.own_ns))


def _stream(first: Work, client: str, seen: Parts) -> None:
    """Notes a lane that a client waited for: its pipelines, and its edges."""
    seen.chains += _chains(first)
    if first.reads:
        ns = first.send_ns + first.receive_ns
        seen.edges.append(Edge(first.process, client, ns, ns, first.bytes, first.spread))
        return
    waited_ns = first.receive_ns
    seen.edges.append(Edge(client, first.process, waited_ns, waited_ns, first.bytes, first.spread))
    open_works = [first]
    while open_works:
        above = open_works.pop()
        for below in above.below:
            busy_ns = (above.receive_ns + above.streamed_disk_ns) * below.count / above.count
            excess_ns = max(0.0, below.receive_ns - busy_ns)
            seen.edges.append(Edge(
                above.process, below.process, excess_ns, below.receive_ns, below.bytes,
                below.spread,
            ))  # fmt: skip
        open_works += above.below


def _chains(work: Work, part: float = 1.0) -> list[list[tuple[Work, float]]]:
    """Every way down a tree of pipelines: its works, each with the share that went this way."""
    found = []
    left = 1.0
    for below in work.below:
        share = min(left, below.count / work.count)
        left -= share
        found += [[(work, share * part), *rest] for rest in _chains(below)]
    return found + ([[(work, left * part)]] if left > 1e-9 else [])


def _lane(node: Node) -> Iterator[Node]:
    """The steps of a server's own lane, without what others do for it."""
    open_nodes = [node]
    while open_nodes:
        here = open_nodes.pop()
        yield here
        open_nodes += [child for name, child in sorted(here.children.items(), reverse=True)
                       if not child.handed and ":" not in name and child.kind != "detail"
                       ]  # fmt: skip


def _work(node: Node) -> Work:
    work = Work(node.name.partition(":")[0], node.count, spread=gain.relative_error(node))
    for step in _lane(node):
        ns, streamed = max(0, step.self_ns), step.count > STREAMED * node.count
        if step.kind == "disk":
            work.disk_ns += ns
            work.streamed_disk_ns += ns if streamed else 0
        elif step.kind == "send":
            work.send_ns += ns
        elif step.kind == "receive":
            work.receive_ns += ns
            work.reads &= not streamed
        elif step.kind == "service":
            work.processor_ns += ns
        work.bytes = max(work.bytes, step.bytes)
        work.below += [_work(c) for n, c in sorted(step.children.items()) if ":" in n and c.count]
    return work


def _savings(
    seen: Parts, runnable_ns: Mapping[str, int], factor: float
) -> dict[str, tuple[float, float, float]]:
    """(low, point, high) of each part, in nanoseconds of the clients' time."""
    part = 1 - 1 / factor
    streamed: dict[str, list[float]] = {}

    def note(name: str, low: float, point: float, high: float, spread: float) -> None:
        sums = streamed.setdefault(name, [0.0, 0.0, 0.0, 0.0])
        for place, ns in enumerate((low, point, high, (high * spread) ** 2)):
            sums[place] += ns

    for chain in seen.chains:
        disks = [work.disk_ns * share for work, share in chain]
        for number, (work, share) in enumerate(chain):
            other = max((ns for at, ns in enumerate(disks) if at != number), default=0.0)
            cut = disks[number] * part
            left = min(cut, max(0.0, disks[number] - other))
            note(f"{work.process}: disk", left, left, cut, work.spread)
            ran = work.processor_ns * share * part
            note(f"{work.process}: processor", 0.0, ran, ran, work.spread)
    for edge, name in zip(seen.edges, _blamed(seen.edges), strict=True):
        note(f"{name}: link", edge.ns * part / 2, edge.ns * part, edge.ns * part, edge.spread)
    found = {
        name: (
            max(0.0, min(low, seen.waited_ns) - gain.Z90 * squares**0.5),
            min(point, seen.waited_ns),
            min(high + gain.Z90 * squares**0.5, seen.waited_ns),
        )
        for name, (low, point, high, squares) in streamed.items()
    }
    for server, ns in seen.calls_ns.items():
        served = seen.served_ns[server]
        # Threads before and behind the handlers are in no call; that they wanted to run is known.
        ran = min(ns, max(served, runnable_ns.get(server, 0)))
        _more(found, f"{server}: processor", (served * part, ran * part, ns * part))
        _more(found, f"{server}: link", (0.0, (ns - ran) * part, (ns - served) * part))
    for client, ns in seen.client_ns.items():
        _more(found, f"{client}: processor", (0.0, ns * part, ns * part))
    for name, ns in seen.sleeps_ns.items():
        _more(found, name, (ns * part, ns * part, ns * part))
    return found


def _blamed(edges: list[Edge]) -> list[str]:
    """The end of each edge whose link is the slower by its best exchange with anybody."""
    best: dict[str, float] = {}
    for edge in edges:
        for end in (edge.sender, edge.receiver):
            if edge.bytes:
                best[end] = min(best.get(end, float("inf")), edge.most_ns / edge.bytes)
    return [max(sorted((edge.sender, edge.receiver), reverse=True), key=lambda e: best.get(e, 0.0))
            for edge in edges]  # fmt: skip


def _add(sums: dict[str, float], name: str, ns: float) -> None:
    sums[name] = sums.get(name, 0.0) + ns


def _more(
    found: dict[str, tuple[float, float, float]], name: str, ns: tuple[float, float, float]
) -> None:
    before = found.get(name, (0.0, 0.0, 0.0))
    found[name] = (before[0] + ns[0], before[1] + ns[1], before[2] + ns[2])


def _part(path: str, node: Node) -> str:
    """The part that a step's own time goes by, where nobody asks who waited for whom."""
    process = path.rpartition(":")[0].rpartition("/")[2]
    if node.kind == "sleep":
        return f"{process}: {node.name}"
    resource = {"disk": "disk", "service": "processor"}.get(node.kind, "link")
    return f"{process}: {resource}"


def _shares(sums: Mapping[str, float]) -> list[dict[str, Any]]:
    whole = sum(sums.values())
    rows = [{"part": name, "share": ns / whole if whole else 0.0} for name, ns in sums.items()]
    return sorted(rows, key=lambda row: (-row["share"], row["part"]))


def _summed(top: Node) -> dict[str, float]:
    """Summed own time of what operations caused, by part."""
    sums: dict[str, float] = {}
    for root in gain.operations(top):
        for lane in gain.lanes(root):
            for place in lane.places:
                _add(sums, _part(place.path, place.node), max(0, place.node.own_ns))
    return sums


def _last_finishers(top: Node) -> dict[str, float]:
    """Own time along the lanes that end last: where lanes work side by side, in the longest one."""
    sums: dict[str, float] = {}
    for root in gain.operations(top):
        own, *others = gain.lanes(root)
        waits_ns = 0.0
        for place in own.places:
            if place.wait:
                waits_ns += place.node.own_ns
            else:
                _add(sums, _part(place.path, place.node), max(0, place.node.own_ns))
        ends = [lane for lane in others if lane.places and lane.places[0].path.count(":") > 1]
        # The deepest of a pipeline is the last to end, and all above wait for it.
        last = [lane for lane in ends if not any(
            o.name.startswith(f"{lane.name}/") and o.places[0].node.name.count(":") for o in ends
        )]  # fmt: skip
        whole = sum(max(0, p.node.own_ns) for lane in last for p in lane.places)
        for lane in last:
            for place in lane.places:
                ns = max(0, place.node.own_ns) * waits_ns / whole if whole else 0.0
                _add(sums, _part(place.path, place.node), ns)
    return sums
