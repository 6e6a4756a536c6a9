"""Predicts the saving if one part of a deployment (a processor, disk or link) were faster.

The input is call profiles whose paths name processes. A client's logical thread shows how long it
waited. The threads for which it waited show the cause. If a receiver in a pipeline waits while its
sender has data, it waits for the link between them. A faster disk helps only until the next slowest
disk of the same pipeline is the bottleneck.

Profiles have sums without timestamps, so it is unknown which work of a thread overlaps. The sums
therefore give only bounds of the saving, `least` and `most`. `most` also includes the client waits
that no pipeline explains. The verdict depends on these bounds. `low` and `high` are a 90 %
prediction interval of the saving in other runs. Its width covers the variance between calls, which
is measured, and the variation between runs, which is assumed to be `gain.RUNS_DIFFER` because one
trace cannot show it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import PartGain, PartRanking, PartShare
from dfslab.instruments.tracing.callprofile import WAITS, MergedStep, walk
from dfslab.quantiles import CONFIDENCE_SDS
from dfslab.studies.traces import gain
from dfslab.studies.traces.processors import Processor

FACTOR = 2.0
# A step is part of a data stream if it is executed more than STREAMED times for each call of its
# thread.
STREAMED = 2.0
# The time between two processes is ascribed to a part whose name ends with one of these suffixes:
# LINK if the processes ran on several hosts, LOOPBACK if they ran on one host.
LINK, LOOPBACK = ": link", ": loopback"


@dataclass
class ThreadWork:
    """The work that a server's logical thread does for its callers. `below`: the work of the
    servers to which this server forwards data."""

    process: str
    count: int
    disk_ns: int = 0
    streamed_disk_ns: int = 0
    processor_ns: int = 0
    send_ns: int = 0
    receive_ns: int = 0
    bytes: int = 0
    reads: bool = True  # callers only read, so no data flows into the server
    spread: float = 0.0  # relative standard error of the mean duration of a call
    below: list[ThreadWork] = field(default_factory=list)


@dataclass
class Edge:
    """The time for which a process waited for the link from another process (`ns`).

    `most_ns`: upper bound of this time, which includes the sender's own waits. `overlapped_ns`:
    other work of the receiver during which data may have been transferred. `beyond`: processes to
    which the receiver forwards the same data.
    """

    sender: str
    receiver: str
    ns: float
    most_ns: float
    bytes: int
    overlapped_ns: float = 0.0
    beyond: tuple[str, ...] = ()


@dataclass
class ServerWaits:
    """How long clients waited for one server: in their own thread (`ns`), or in parallel threads
    (`concurrent_ns`).

    `calm_ns`: the waits if every call took the median time, but at most `ns`. Network latency is
    equal for all calls, so it does not cause waits beyond `calm_ns`. `served_ns`: server work.
    """

    ns: float = 0.0
    served_ns: float = 0.0
    calm_ns: float = 0.0
    concurrent_ns: float = 0.0
    squares: float = 0.0  # squared standard error of `ns`

    def add(self, node: MergedStep) -> None:
        """Adds the calls at one call path of a client's thread to the waits for the server."""
        self.ns += node.self_ns
        self.served_ns += node.served_ns
        self.calm_ns += min(node.self_ns, node.count * node.quantile_ns(0.5))
        self.squares += (gain.relative_error(node) * node.self_ns) ** 2


@dataclass
class Parts:
    """Sums of the clients' work and waits, from which the saving by each part (processor, disk or
    link) is computed."""

    whole_ns: float = 0.0
    waited_ns: float = 0.0  # waits for parallel logical threads
    client_ns: dict[str, float] = field(default_factory=dict)
    sleeps_ns: dict[str, float] = field(default_factory=dict)
    calls: dict[str, ServerWaits] = field(default_factory=dict)  # by server
    # (number of calls, relative standard deviation of their duration) of each data stream
    streams: list[tuple[int, float]] = field(default_factory=list)
    chains: list[list[tuple[ThreadWork, float]]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def ranking(
    top: MergedStep, ran: Mapping[str, Processor], factor: float = FACTOR, one_host: bool = False
) -> PartRanking:
    """Returns the parts (processors, disks and links), sorted by the time that would be saved if a
    part were `factor` times faster. The result also has two rankings by self time, for comparison.

    `ran`: thread times of each process. `one_host`: all processes ran on one host, so there is no
    link. The time between processes is then the time in which the kernel wakes them and copies
    their data. This part is called "loopback".
    """
    assert factor > 1
    observed = _collect(top)
    busy = _utilisation(top, ran)
    found = [
        _gain(name, ns, observed, busy.get(name), one_host)
        for name, ns in _savings(observed, ran, factor).items()
    ]
    return PartRanking(
        factor=factor,
        end_to_end_s=observed.whole_ns / 1e9,
        parts=sorted(found, key=lambda one: (-one.saving, one.part)),
        by_sum=_shares(_summed(top), one_host),
        by_last_finisher=_shares(_last_finishers(top), one_host),
    )


def _shown(part: str, one_host: bool) -> str:
    """Returns the name of a part as shown in a ranking. A link is shown as "loopback" if all
    processes ran on one host."""
    return part.removesuffix(LINK) + LOOPBACK if one_host and part.endswith(LINK) else part


def _gain(
    part: str,
    saved_ns: tuple[float, float, float],
    observed: Parts,
    utilisation: float | None,
    one_host: bool,
) -> PartGain:
    whole_ns = observed.whole_ns or 1.0
    least, point, most = (ns / whole_ns for ns in saved_ns)
    # The widening is at most the upper bound of the saving, because the variance may come from
    # other parts.
    half = min(most, _among_runs_ns(part, saved_ns[1], observed) / whole_ns)
    return PartGain(
        part=_shown(part, one_host),
        saving=point,
        least=least,
        most=most,
        low=max(0.0, least - half),
        high=min(1.0, most + half),
        verdict=gain.verdict(least, most),
        utilisation=utilisation,
    )


def _collect(top: MergedStep) -> Parts:
    """Returns the sums over the clients' logical threads and the threads for which they waited."""
    observed = Parts()
    for root in gain.operations(top):
        observed.whole_ns += root.total_ns
        own, *others = gain.threads(root)
        for step in own.steps:
            # A remote call's time includes its steps in the server, whose paths have two processes.
            if step.path.processes == 1:
                _own_time(step, observed)
        for thread in others:
            for step in thread.steps:
                if step.path.processes == 1 and (server := _server_of(step.node)):
                    observed.calls.setdefault(
                        server, ServerWaits()
                    ).concurrent_ns += step.node.self_ns
            first = thread.steps[0] if thread.steps else None
            if first and first.path.process is not None and first.path.processes == 2:
                _stream(_work(first.node), root.call.process or root.name, observed)
    return observed


def _server_of(node: MergedStep) -> str:
    """Returns the server for whose response a step waited; "" if the step is no remote call."""
    processes = [child.call.process for child in node.children.values()]
    servers = [process for process in processes if process is not None]
    called = node.kind == "blocked" and servers and node.served_ns <= node.self_ns
    return servers[0] if called else ""


def _own_time(step: gain.ThreadStep, observed: Parts) -> None:
    node, client = step.node, step.path.within or step.path.names[0]
    if node.kind == "sleep":
        _add(observed.sleeps_ns, f"{client}: {node.name}", node.self_ns)
    elif server := _server_of(node):
        observed.calls.setdefault(server, ServerWaits()).add(node)
    elif node.kind in WAITS:
        observed.waited_ns += node.self_ns
    else:
        _add(observed.client_ns, client, max(0, node.own_ns))


def _stream(first: ThreadWork, client: str, observed: Parts) -> None:
    """Adds a server's thread to the pipelines (`chains`), streams and links (`edges`) in
    `observed`."""
    observed.chains += pipelines(first)
    observed.streams.append((first.count, first.spread * math.sqrt(first.count)))
    if first.reads:
        ns = first.send_ns + first.receive_ns
        overlapped_ns = first.streamed_disk_ns + first.processor_ns
        observed.edges.append(Edge(first.process, client, ns, ns, first.bytes, overlapped_ns))
        return
    beyond = tuple(sorted({work.process for work in _all_below(first)}))
    overlapped_ns = first.streamed_disk_ns + first.processor_ns + first.send_ns
    waited_ns = first.receive_ns
    observed.edges.append(
        Edge(client, first.process, waited_ns, waited_ns, first.bytes, overlapped_ns, beyond)
    )
    open_works = [first]
    while open_works:
        above = open_works.pop()
        for below in above.below:
            busy_ns = (above.receive_ns + above.streamed_disk_ns) * below.count / above.count
            excess_ns = max(0.0, below.receive_ns - busy_ns)
            observed.edges.append(
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


def _all_below(work: ThreadWork) -> Iterator[ThreadWork]:
    for below in work.below:
        yield below
        yield from _all_below(below)


def pipelines(work: ThreadWork) -> list[list[tuple[ThreadWork, float]]]:
    """Returns all paths that data takes from server to server in the tree below the thread `work`.
    A path is a list of pairs, one for each server: the server's work, and the fraction of the
    server's calls whose data takes this path to its end. The fractions of a server add up to 1."""
    found = []
    left = 1.0
    for below in work.below:
        share = min(left, below.count / work.count)
        left -= share
        found += [[(work, share * rest[0][1]), *rest] for rest in pipelines(below)]
    return found + ([[(work, left)]] if left > 1e-9 else [])


def _thread_steps(node: MergedStep) -> Iterator[MergedStep]:
    """Yields the steps of a server's thread. The work of other threads or processes is left out."""
    open_nodes = [node]
    while open_nodes:
        here = open_nodes.pop()
        yield here
        open_nodes += [
            child
            for _, child in sorted(here.children.items(), reverse=True)
            if not child.handed and child.call.process is None and child.kind != "detail"
        ]


def _work(node: MergedStep) -> ThreadWork:
    work = ThreadWork(node.call.process or node.name, node.count, spread=gain.relative_error(node))
    for step in _thread_steps(node):
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
        below = [child for _, child in sorted(step.children.items())]
        work.below += [_work(one) for one in below if one.call.process is not None and one.count]
    return work


def _savings(
    observed: Parts, ran: Mapping[str, Processor], factor: float
) -> dict[str, tuple[float, float, float]]:
    """Returns the (least, expected, most) saving for each part if the part were `factor` times
    faster. Savings are in nanoseconds of client time."""
    part = 1 - 1 / factor
    found: dict[str, tuple[float, float, float]] = {}
    for name, saved_ns in _of_streams(observed, part):
        _more(found, name, saved_ns)
    # It is unknown which part caused the unexplained waits. They therefore raise the `most` of
    # every part or, if they are negative, lower the `least` of every part.
    more_ns = _unexplained_ns(observed)
    found = {
        name: (
            max(0.0, min(low, observed.waited_ns) + min(0.0, more_ns)),
            min(point, observed.waited_ns),
            min(high + max(0.0, more_ns) * part, observed.waited_ns) if high else 0.0,
        )
        for name, (low, point, high) in found.items()
    }
    for server, calls in observed.calls.items():
        # The runnable time of threads that handle no requests is known, but not its share within
        # calls. It is estimated as if the time were spread evenly over the process's lifetime.
        one = ran.get(server, Processor())
        least = max(calls.served_ns, min(one.wanted_ns, calls.ns - calls.calm_ns))
        evenly = calls.ns * min(1.0, one.wanted_ns / one.lived_ns) if one.lived_ns else 0.0
        usual = max(least, evenly)
        concurrent_part_ns = calls.concurrent_ns * usual / calls.ns if calls.ns else 0.0
        saved_ns = (least, usual + concurrent_part_ns, calls.ns + calls.concurrent_ns)
        _more(found, f"{server}: processor", _times(saved_ns, part))
        rest = calls.ns - usual, calls.ns - least
        _more(found, f"{server}: link", (0.0, rest[0] * part, rest[1] * part))
    for client, ns in observed.client_ns.items():
        # A faster processor saves at most the time for which the client's threads needed a
        # processor. It is unknown how much of this time is within the client's own calls, so half
        # of it is expected.
        one = ran.get(client, Processor())
        most = min(ns, one.wanted_ns) if one.wanted_ns else ns
        _more(found, f"{client}: processor", (0.0, most * part / 2, most * part))
    for name, ns in observed.sleeps_ns.items():
        _more(found, name, (ns * part, ns * part, ns * part))
    return found


def _of_streams(observed: Parts, part: float) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yields (part, (least, expected, most) saving in ns) for each disk, processor and link of each
    pipeline.

    `part`: share by which the time of the disk, processor or link is reduced.
    """
    for chain in observed.chains:
        disks = [work.disk_ns * share for work, share in chain]
        for number, (work, share) in enumerate(chain):
            other = max((ns for at, ns in enumerate(disks) if at != number), default=0.0)
            cut = disks[number] * part
            left = min(cut, max(0.0, disks[number] - other))
            yield f"{work.process}: disk", (left, left, cut)
            ran = work.processor_ns * share * part
            yield f"{work.process}: processor", (0.0, ran, ran)
    best = _best(observed.edges)
    for edge in observed.edges:
        ends = sorted((edge.sender, edge.receiver), reverse=True)
        blamed = max(ends, key=lambda end: best.get(end, 0.0))
        # If this link (`blamed`) is faster, the pipeline's next slowest link may be the bottleneck.
        others = {*ends, *edge.beyond} - {blamed} or {blamed}
        next_ns = edge.bytes * max(best.get(end, 0.0) for end in others)
        point = edge.ns * part
        low = max(0.0, min(point, edge.ns - next_ns))
        yield f"{blamed}: link", (low, point, min(edge.ns, point + edge.overlapped_ns * part))


def _best(edges: list[Edge]) -> dict[str, float]:
    """Returns for each process an upper bound of its link time in ns per byte, taken from the
    process's fastest exchange."""
    best: dict[str, float] = {}
    for edge in edges:
        for end in (edge.sender, edge.receiver):
            if edge.bytes:
                best[end] = min(best.get(end, float("inf")), edge.most_ns / edge.bytes)
    return best


def _unexplained_ns(observed: Parts) -> float:
    """Returns the client waits that neither pipelines nor parallel calls explain, in ns. The value
    is negative if the pipelines and calls took longer than the waits."""
    taken = sum(
        max(work.disk_ns * share for work, share in chain)
        + sum(work.processor_ns * share for work, share in chain)
        for chain in observed.chains
    )
    taken += sum(edge.ns for edge in observed.edges)
    concurrent_ns = sum(calls.concurrent_ns for calls in observed.calls.values())
    return observed.waited_ns - taken - concurrent_ns


def _among_runs_ns(name: str, point_ns: float, observed: Parts) -> float:
    """Returns the half-width in ns of a 90 % interval of the client time in other runs in which the
    part `name` is faster and saves `point_ns`. The relative spread of the streams is the median
    over their kinds, because the saving removes the spread of kinds with slow streams.
    """
    count = sum(count for count, _ in observed.streams)
    spreads = [spread for count, spread in observed.streams if count > 1]
    streamed_ns = max(0.0, observed.waited_ns - point_ns)
    squares = (gain.RUNS_DIFFER * (observed.whole_ns - point_ns)) ** 2
    squares += (statistics.median(spreads) * streamed_ns) ** 2 / count if spreads else 0.0
    for server, calls in observed.calls.items():
        gone = point_ns / calls.ns if name == f"{server}: processor" and calls.ns else 0.0
        squares += calls.squares * max(0.0, 1 - gone) ** 2
    return CONFIDENCE_SDS * math.sqrt(squares)


def _utilisation(top: MergedStep, ran: Mapping[str, Processor]) -> dict[str, float]:
    """Utilisation of each processor and disk over the lifetime of its process. Links have no
    utilisation.

    A utilisation above 1 means that several threads ran on several processors or waited for one
    disk.
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


def _part(path: CallPath, node: MergedStep) -> str:
    """Returns the processor, disk or link to which a step's self time is attributed, regardless of
    happens-before order."""
    process = path.within or ""
    if node.kind == "sleep":
        return f"{process}: {node.name}"
    resource = {"disk": "disk", "service": "processor"}.get(node.kind, "link")
    return f"{process}: {resource}"


def _shares(sums: Mapping[str, float], one_host: bool) -> list[PartShare]:
    whole = sum(sums.values())
    rows = [
        PartShare(part=_shown(name, one_host), share=ns / whole if whole else 0.0)
        for name, ns in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row.share, row.part))


def _summed(top: MergedStep) -> dict[str, float]:
    sums: dict[str, float] = {}
    for root in gain.operations(top):
        for thread in gain.threads(root):
            for step in thread.steps:
                _add(sums, _part(step.path, step.node), max(0, step.node.own_ns))
    return sums


def _last_finishers(top: MergedStep) -> dict[str, float]:
    """Returns for each part its self time in ns on the critical path of the operations. This path
    follows the threads that finish last."""
    sums: dict[str, float] = {}
    for root in gain.operations(top):
        own, *others = gain.threads(root)
        waits_ns = 0.0
        for step in own.steps:
            if step.wait:
                waits_ns += step.node.own_ns
            else:
                _add(sums, _part(step.path, step.node), max(0, step.node.own_ns))
        ends = [thread for thread in others if thread.steps and thread.steps[0].path.processes > 1]
        # In a pipeline, the most downstream process finishes last. The upstream processes wait for
        # its answer before they finish.
        last = [
            thread
            for thread in ends
            if not any(
                one.path.is_below(thread.path) and one.steps[0].path.process is not None
                for one in ends
            )
        ]
        whole = sum(max(0, one.node.own_ns) for thread in last for one in thread.steps)
        for thread in last:
            for step in thread.steps:
                ns = max(0, step.node.own_ns) * waits_ns / whole if whole else 0.0
                _add(sums, _part(step.path, step.node), ns)
    return sums
