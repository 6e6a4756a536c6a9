"""Builds the queueing stations of a net. A station has a queue, servers, a start transition, and a
return to the requester.

A station stands for one kind of resource on the nodes of one group. All groups share one queue
place for each kind of resource. A station takes from this place the requests whose `node` belongs
to its group. Every node serves its requests first come first served. A request has two fields for
the station: `demand`, the service time in seconds, and `back`, the number of the part of the net
where the token continues after service.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfslab.documents.net_run import DeclaredStation
from dfslab.models.compiled.net_lock import Lock
from dfslab.models.compiled.token_flow import (
    Amount,
    Arc,
    Changes,
    EntryArcs,
    TokenFlow,
    after,
    expressed,
    main,
    other,
    reread,
)
from dfslab.models.tree.placement import Placement, Station
from dfslab.nets.inscription import equal, number
from dfslab.spec.steps.expression import Expr, select
from dfslab.spec.steps.node import Resource

PAGE = "stations"
OUT, IN = "nic.out", "nic.in"


@dataclass(frozen=True)
class MessageTiming:
    """The times of one message in seconds.

    `held_out` is the time for which the sender's network adapter is busy, and `held_in` the time
    for which the receiver's adapter is busy. The receiver's adapter starts `lead` seconds after the
    sender's adapter, so that both end with the last byte. As in models/tree/reader.py, adapters do
    not store and forward.
    """

    held_out: Amount
    held_in: Amount
    lead: Amount


class Stations:
    """The stations of a deployment in a net. A station is added when a step first uses it."""

    def __init__(self, flow: TokenFlow, placement: Placement) -> None:
        self._flow = flow
        self._placement = placement
        groups = placement.deployment.node
        self._first_node = {
            group.name: sum(before.count for before in groups[:index])
            for index, group in enumerate(groups)
        }
        self._one_node = len(groups) == 1 and groups[0].count == 1
        self._made: dict[Station, str] = {}
        self._locks: dict[str, Lock] = {}
        self._held: set[Station] = set()
        self._sites = 0

    @property
    def made(self) -> dict[Station, str]:
        """For each station that the net contains, the place of its idle servers."""
        return dict(self._made)

    @property
    def serving(self) -> list[DeclaredStation]:
        """Returns the stations that serve each token for the time of its demand. An entry has two
        places of the station: the place of its idle servers, and the place that a token enters
        when its service ends.

        Resources that are held while other work runs are omitted, because no arc states how long
        they are held.
        """
        locks = {lock.station for lock in self._locks.values()}
        return [
            DeclaredStation(idle=idle, served=f"{station} in service")
            for station, idle in self._made.items()
            if station not in self._held and station not in locks
        ]

    def node(self, role: str, instance: Expr) -> Expr:
        """Returns the number of the node that hosts an instance of `role`. Instances are assigned
        to nodes round robin.
        """
        before, parts = 0, []
        for group, _ in self._placement.shares(role):
            index = number(0) if group.count == 1 else (instance - before) % group.count
            if group.count == self._placement.deployment.instances(role):
                index = instance
            first = self._first_node[group.name]
            parts.append((before + group.count * group.roles[role], first + index))
            before = parts[-1][0]
        found = parts[-1][1]
        for bound, index in reversed(parts[:-1]):
            found = select(instance < bound, index, found)
        return found

    def serve(
        self,
        resource: Resource,
        where: Expr,
        demand: Amount,
        step: tuple[str, str],
        then: EntryArcs,
    ) -> EntryArcs:
        """Returns the entry of a part of the net in which a token queues for a server of `resource`
        at node `where`, uses the server for `demand` seconds, and continues with `then`.
        """
        site = self._site()
        stations = [s for s, _ in self._placement.stations(resource, None)]
        for station in stations:
            self._make(station)
            free = Arc(f"{station} servers", {"node": main("node")})
            self._leave(station, site, step, [free, *then({}, 0.0)])
        return self._ask(_queue(stations[0]), where, demand, site)

    def hold(
        self, resource: Resource, servers: int, where: Expr, step: tuple[str, str], body: EntryArcs
    ) -> EntryArcs:
        """Returns the entry of a part of the net in which a token queues for one of the `servers`
        of `resource` at node `where` and runs `body` while it holds the server.
        """
        site = self._site()
        (station,) = [s for s, _ in self._placement.stations(resource, servers)]
        self._make(station)
        self._held.add(station)
        self._leave(station, site, step, body({}, 0.0))
        return self._ask(_queue(station), where, 0.0, site)

    def release(self, resource: Resource, servers: int, where: Expr) -> EntryArcs:
        """Returns the entry of a part of the net that releases a server of `resource` at node
        `where`. The token must have acquired this server before, by the entry that `hold`
        returns."""
        (station,) = [s for s, _ in self._placement.stations(resource, servers)]

        def entry(row: Changes, delay: Amount) -> list[Arc]:
            return [Arc(f"{station} servers", {"node": reread(where, row)}, delay)]

        return entry

    def lock(self, role: str, fair: bool) -> Lock:
        """Returns the shared/exclusive lock of a role. If `fair` is true, the lock is granted in
        FIFO order.
        """
        if role not in self._locks:
            ((station, _),) = self._placement.stations(Resource(role, "lock", "exclusive"), 1)
            self._locks[role] = Lock(self._flow, station, fair)
            self._made[station] = self._locks[role].idle
        return self._locks[role]

    def send(
        self,
        roles: tuple[str, str],
        nodes: tuple[Expr, Expr],
        message: MessageTiming,
        step: tuple[str, str],
        then: EntryArcs,
        sent: EntryArcs | None = None,
    ) -> EntryArcs:
        """Returns the entry of a part of the net that sends a message through two adapters: the
        sender's, then the receiver's.

        Tokens continue with `then` at the receiver. `sent` starts at the sender as soon as its
        adapter is free.
        """
        leaving, arriving = self._site() if sent else 0, self._site()
        ends = (
            ((roles[0], OUT), leaving, "sent", sent),
            ((roles[1], IN), arriving, "received", then),
        )
        for (role, direction), site, name, onward in ends:
            for station, _ in self._placement.adapters(role, direction):
                self._make(station)
                if onward is not None:
                    free = Arc(f"{station} servers", {"node": main("node")})
                    arcs = [free, *onward({}, 0.0)]
                    self._leave(station, site, (step[0], f"{step[1]} {name}"), arcs)

        def entry(row: Changes, delay: Amount) -> list[Arc]:
            changes = {
                "node": nodes[0],
                "demand": expressed(message.held_out),
                "back": number(leaving),
                "node_in": nodes[1],
                "demand_in": expressed(message.held_in),
                "back_in": number(arriving),
                "lead": expressed(message.lead),
            }
            return [Arc(f"{OUT} queue", after(row, changes), delay)]

        return entry

    def _site(self) -> int:
        self._sites += 1
        return self._sites

    def _ask(self, queue: str, where: Expr, demand: Amount, site: int) -> EntryArcs:
        def entry(row: Changes, delay: Amount) -> list[Arc]:
            changes = {"node": where, "demand": expressed(demand), "back": number(site)}
            return [Arc(queue, after(row, changes), delay)]

        return entry

    def _leave(self, station: Station, site: int, step: tuple[str, str], arcs: list[Arc]) -> None:
        page, name = step
        label = f"{name or station.kind} leaves {station} [{site}]"
        served = f"{station} in service"
        self._flow.transition(label, page, [served], arcs, equal(main("back"), site))

    def _make(self, station: Station) -> None:
        """Adds a station's places (queue, idle servers, served) and its start transition."""
        if station in self._made:
            return
        flow, queue = self._flow, self._flow.place(_queue(station))
        first = self._first_node[station.place] if _is_hardware(station) else 0
        nodes = range(first, first + station.copies)
        idle = flow.place(
            f"{station} servers", [{"node": n} for n in nodes for _ in range(station.servers)]
        )
        served = flow.place(f"{station} in service")
        arcs = [Arc(served, {}, main("demand"))]
        if station.kind == OUT:
            arrived = {name: main(f"{name}_in") for name in ("node", "demand", "back")}
            arcs.append(Arc(flow.place(f"{IN} queue"), arrived, main("lead")))
            free = Arc(idle, {"node": main("node")})
            # A token whose return address is 0 ends at this transition, and only the server returns
            # to its station. Such a token is a message for whose transmission the sender does not
            # wait.
            answered = equal(main("back"), 0)
            flow.transition(f"leaves {station} [0]", PAGE, [served], [free], answered)
        alone = self._one_node if _is_hardware(station) else station.copies == 1
        guard = None if alone else equal(main("node"), other("node"))
        flow.transition(f"start {station}", PAGE, [queue, idle], arcs, guard)
        self._made[station] = idle


def _is_hardware(station: Station) -> bool:
    return station.kind not in ("lock", "threads")


def _queue(station: Station) -> str:
    return f"{station.kind if _is_hardware(station) else station} queue"
