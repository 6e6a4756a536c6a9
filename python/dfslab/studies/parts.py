"""Which part of a deployment limits its clients: each processor, disk and link by what it gains.

Read off call profiles whose paths name processes. A client's own lane says how long it waited;
the lanes that it waited for say for what. Along a pipeline a receiver that waits although its
sender has something to send waits for the link between them; a disk's time is shortened until the
next slowest disk of the same pipeline is what is waited for.

Sums hold no times of day, so what overlapped inside a lane is not known: `least` and `most` are
what sums allow, with what the clients waited and no pipeline explains; the verdict goes by them.
`low` and `high` should hold what nine of ten other runs show. They are wider by how far runs
differ: calls of one kind as seen, and by `gain.RUNS_DIFFER` what all calls of a run have in common,
which is not in its trace.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dfslab.instruments.callprofile import WAITS, File, Node, walk
from dfslab.studies import gain

FACTOR = 2.0
# A step that is taken more often than this in each call of its lane goes along with the stream.
STREAMED = 2.0


@dataclass
class Processor:
    """How long the threads of a process, or of all of one role, ran, could have run, and lived."""

    ran_ns: int = 0
    starved_ns: int = 0
    lived_ns: int = 0

    @property
    def wanted_ns(self) -> int:
        """The time that they ran or could have run."""
        return self.ran_ns + self.starved_ns


def processors(files: Iterable[File]) -> dict[str, Processor]:
    """Of every process as paths name it: a role, or one process of several."""
    found: dict[str, Processor] = {}
    for file in files:
        one = found.setdefault(file.service, Processor())
        one.ran_ns += file.processor_ns
        one.starved_ns += file.starved_ns
        one.lived_ns += max(0, file.written_unix_ns - file.started_unix_ns)
    return found


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
    `hidden_ns` is what the receiver did between its waits, when data may have come in as well;
    `beyond` are those to whom the same data goes on.
    """

    sender: str
    receiver: str
    ns: float
    most_ns: float
    bytes: int
    hidden_ns: float = 0.0
    beyond: tuple[str, ...] = ()


@dataclass
class Calls:
    """What clients waited for one server's answers, in their own lanes and in others beside.

    `calm_ns` is as many of the median call: what lies beyond is no latency of a network, which all
    calls have alike.
    """

    ns: float = 0.0
    served_ns: float = 0.0
    calm_ns: float = 0.0
    beside_ns: float = 0.0
    squares: float = 0.0  # of the sum's standard error

    def add(self, node: Node) -> None:
        """The calls of one place in a client's own lane."""
        self.ns += node.self_ns
        self.served_ns += node.served_ns
        self.calm_ns += min(node.self_ns, node.count * node.quantile_ns(0.5))
        self.squares += (gain.relative_error(node) * node.self_ns) ** 2


@dataclass
class Parts:
    """Sums of what clients did and waited for, from which savings follow."""

    whole_ns: float = 0.0
    waited_ns: float = 0.0  # for lanes beside
    client_ns: dict[str, float] = field(default_factory=dict)
    sleeps_ns: dict[str, float] = field(default_factory=dict)
    calls: dict[str, Calls] = field(default_factory=dict)  # by server
    streams: list[tuple[int, float]] = field(default_factory=list)  # count, deviation over mean
    chains: list[list[tuple[Work, float]]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def ranking(top: Node, ran: Mapping[str, Processor], factor: float = FACTOR) -> dict[str, Any]:
    """The parts by falling saving if each were `factor` times faster, beside other rankings."""
    assert factor > 1
    seen = _collect(top)
    busy = _utilisation(top, ran)
    parts = sorted(
        (
            {**_row(name, ns, seen), "utilisation": busy.get(name)}
            for name, ns in _savings(seen, ran, factor).items()
        ),
        key=lambda row: (-row["saving"], row["part"]),
    )
    return {
        "factor": factor,
        "end_to_end_s": seen.whole_ns / 1e9,
        "parts": parts,
        "by_sum": _shares(_summed(top)),
        "by_last_finisher": _shares(_last_finishers(top)),
    }


def _row(part: str, saved_ns: tuple[float, float, float], seen: Parts) -> dict[str, Any]:
    whole_ns = seen.whole_ns or 1.0
    least, point, most = (ns / whole_ns for ns in saved_ns)
    # What other parts do differs with and without the gain: that puts no more than it in doubt.
    half = min(most, _among_runs_ns(part, saved_ns[1], seen) / whole_ns)
    return {
        "part": part,
        "saving": point,
        "least": least,
        "most": most,
        "low": max(0.0, least - half),
        "high": min(1.0, most + half),
        "verdict": gain.verdict(least, most),
    }


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
            for place in lane.places:
                if place.path.count(":") == 1 and (server := _asked(place.node)):
                    seen.calls.setdefault(server, Calls()).beside_ns += place.node.self_ns
            first = lane.places[0] if lane.places else None
            if first and ":" in first.node.name and first.path.count(":") == 2:
                _stream(_work(first.node), root.name.partition(":")[0], seen)
    return seen


def _asked(node: Node) -> str:
    """The server whose answers a step waited for; empty where it is no call."""
    servers = [name.partition(":")[0] for name in node.children if ":" in name]
    called = node.kind == "blocked" and servers and node.served_ns <= node.self_ns
    return servers[0] if called else ""


def _own_time(place: gain.Place, seen: Parts) -> None:
    node = place.node
    if node.kind == "sleep":
        _add(seen.sleeps_ns, f"{place.path.partition(':')[0]}: {node.name}", node.self_ns)
    elif server := _asked(node):
        seen.calls.setdefault(server, Calls()).add(node)
    elif node.kind in WAITS:
        seen.waited_ns += node.self_ns
    else:
        _add(seen.client_ns, place.path.partition(":")[0], max(0, node.own_ns))


def _stream(first: Work, client: str, seen: Parts) -> None:
    """Notes a lane that a client waited for: its pipelines, and its edges."""
    seen.chains += _chains(first)
    seen.streams.append((first.count, first.spread * math.sqrt(first.count)))
    if first.reads:
        ns = first.send_ns + first.receive_ns
        hidden_ns = first.streamed_disk_ns + first.processor_ns
        seen.edges.append(Edge(first.process, client, ns, ns, first.bytes, hidden_ns))
        return
    beyond = tuple(sorted({work.process for work in _all_below(first)}))
    hidden_ns = first.streamed_disk_ns + first.processor_ns + first.send_ns
    waited_ns = first.receive_ns
    seen.edges.append(
        Edge(client, first.process, waited_ns, waited_ns, first.bytes, hidden_ns, beyond)
    )
    open_works = [first]
    while open_works:
        above = open_works.pop()
        for below in above.below:
            busy_ns = (above.receive_ns + above.streamed_disk_ns) * below.count / above.count
            excess_ns = max(0.0, below.receive_ns - busy_ns)
            seen.edges.append(
                Edge(
                    above.process,
                    below.process,
                    excess_ns,
                    below.receive_ns,
                    below.bytes,
                    busy_ns + below.streamed_disk_ns + below.processor_ns,
                )
            )
        open_works += above.below


def _all_below(work: Work) -> Iterator[Work]:
    for below in work.below:
        yield below
        yield from _all_below(below)


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
        open_nodes += [
            child
            for name, child in sorted(here.children.items(), reverse=True)
            if not child.handed and ":" not in name and child.kind != "detail"
        ]


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
    seen: Parts, ran: Mapping[str, Processor], factor: float
) -> dict[str, tuple[float, float, float]]:
    """(low, point, high) of each part, in nanoseconds of the clients' time."""
    part = 1 - 1 / factor
    found: dict[str, tuple[float, float, float]] = {}
    for name, saved_ns in _of_streams(seen, part):
        _more(found, name, saved_ns)
    # Waits that no pipeline explains may be for any part of one; what is explained twice, not.
    more_ns = _unexplained_ns(seen)
    found = {
        name: (
            max(0.0, min(low, seen.waited_ns) + min(0.0, more_ns)),
            min(point, seen.waited_ns),
            min(high + max(0.0, more_ns) * part, seen.waited_ns) if high else 0.0,
        )
        for name, (low, point, high) in found.items()
    }
    for server, calls in seen.calls.items():
        # Threads before and behind the handlers are in no call. That they wanted to run is known,
        # and so is how much of that falls into the calls if it is spread evenly.
        one = ran.get(server, Processor())
        least = max(calls.served_ns, min(one.wanted_ns, calls.ns - calls.calm_ns))
        evenly = calls.ns * min(1.0, one.wanted_ns / one.lived_ns) if one.lived_ns else 0.0
        usual = max(least, evenly)
        beside = calls.beside_ns * usual / calls.ns if calls.ns else 0.0
        saved_ns = (least, usual + beside, calls.ns + calls.beside_ns)
        _more(found, f"{server}: processor", _times(saved_ns, part))
        rest = calls.ns - usual, calls.ns - least
        _more(found, f"{server}: link", (0.0, rest[0] * part, rest[1] * part))
    for client, ns in seen.client_ns.items():
        _more(found, f"{client}: processor", (0.0, ns * part, ns * part))
    for name, ns in seen.sleeps_ns.items():
        _more(found, name, (ns * part, ns * part, ns * part))
    return found


def _of_streams(seen: Parts, part: float) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """What each place of each pipeline would save of the waits for it."""
    for chain in seen.chains:
        disks = [work.disk_ns * share for work, share in chain]
        for number, (work, share) in enumerate(chain):
            other = max((ns for at, ns in enumerate(disks) if at != number), default=0.0)
            cut = disks[number] * part
            left = min(cut, max(0.0, disks[number] - other))
            yield f"{work.process}: disk", (left, left, cut)
            ran = work.processor_ns * share * part
            yield f"{work.process}: processor", (0.0, ran, ran)
    best = _best(seen.edges)
    for edge in seen.edges:
        ends = sorted((edge.sender, edge.receiver), reverse=True)
        blamed = max(ends, key=lambda end: best.get(end, 0.0))
        # Then the next slowest link of the pipeline may be what is waited for.
        others = {*ends, *edge.beyond} - {blamed} or {blamed}
        next_ns = edge.bytes * max(best.get(end, 0.0) for end in others)
        point = edge.ns * part
        low = max(0.0, min(point, edge.ns - next_ns))
        yield f"{blamed}: link", (low, point, min(edge.ns, point + edge.hidden_ns * part))


def _best(edges: list[Edge]) -> dict[str, float]:
    """Each process's link by its best exchange with anybody, in nanoseconds a byte at most."""
    best: dict[str, float] = {}
    for edge in edges:
        for end in (edge.sender, edge.receiver):
            if edge.bytes:
                best[end] = min(best.get(end, float("inf")), edge.most_ns / edge.bytes)
    return best


def _unexplained_ns(seen: Parts) -> float:
    """What clients waited beyond what pipelines and calls beside took; less than zero if less."""
    taken = sum(
        max(work.disk_ns * share for work, share in chain)
        + sum(work.processor_ns * share for work, share in chain)
        for chain in seen.chains
    )
    taken += sum(edge.ns for edge in seen.edges)
    return seen.waited_ns - taken - sum(calls.beside_ns for calls in seen.calls.values())


def _among_runs_ns(name: str, point_ns: float, seen: Parts) -> float:
    """Half of the 90 % interval of what is left after a gain, from run to run.

    Streams differ as the typical kind of them does: in a kind of which some were slow and some not,
    most of the difference is the slowness itself, which is gone then.
    """
    count = sum(count for count, _ in seen.streams)
    spreads = [spread for count, spread in seen.streams if count > 1]
    streamed_ns = max(0.0, seen.waited_ns - point_ns)
    squares = (gain.RUNS_DIFFER * (seen.whole_ns - point_ns)) ** 2
    squares += (statistics.median(spreads) * streamed_ns) ** 2 / count if spreads else 0.0
    for server, calls in seen.calls.items():
        gone = point_ns / calls.ns if name == f"{server}: processor" and calls.ns else 0.0
        squares += calls.squares * max(0.0, 1 - gone) ** 2
    return gain.Z90 * math.sqrt(squares)


def _utilisation(top: Node, ran: Mapping[str, Processor]) -> dict[str, float]:
    """The share of its life that a part was busy, whoever it worked for; of links nothing is known.

    More than 1 is several threads at once: on several processors, or waiting for one disk.
    """
    busy_ns = {f"{name}: processor": float(one.ran_ns) for name, one in ran.items()}
    for path, node in walk(top):
        if node.kind == "disk":
            _add(busy_ns, _part(path, node), max(0, node.self_ns))
    found = {}
    for part, ns in busy_ns.items():
        lived_ns = ran.get(part.rpartition(": ")[0], Processor()).lived_ns
        if lived_ns:
            found[part] = ns / lived_ns
    return found


def _add(sums: dict[str, float], name: str, ns: float) -> None:
    sums[name] = sums.get(name, 0.0) + ns


def _times(ns: tuple[float, float, float], part: float) -> tuple[float, float, float]:
    return ns[0] * part, ns[1] * part, ns[2] * part


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
        last = [
            lane
            for lane in ends
            if not any(
                o.name.startswith(f"{lane.name}/") and o.places[0].node.name.count(":")
                for o in ends
            )
        ]
        whole = sum(max(0, p.node.own_ns) for lane in last for p in lane.places)
        for lane in last:
            for place in lane.places:
                ns = max(0, place.node.own_ns) * waits_ns / whole if whole else 0.0
                _add(sums, _part(place.path, place.node), ns)
    return sums
