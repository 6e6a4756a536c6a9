"""A shared/exclusive lock as a net: tickets for the order, one token for its state.

An exclusive holder takes the state token, so the lock's idle place is empty. Shared holders are
counted in the token. A fair lock is granted in FIFO order, so a reader never overtakes a writer.
"""

from __future__ import annotations

from dfslab.models.compiled.net_build import Amount, Arc, Entry, Net, Row, after, substituted
from dfslab.models.tree.placement import Station

PAGE = "locks"


class Lock:
    """The lock of one role (one on each of its instances) in a net."""

    def __init__(self, net: Net, station: Station, fair: bool) -> None:
        self._net, self.station, self._fair = net, station, fair
        self._here = "" if station.copies == 1 else "a.node == b.node"
        # One ticket field per lock, because a token may hold nested locks.
        self._ticket = f"ticket_{station.place}"
        self._sites = 0
        nodes = [{"node": node, "readers": 0, "next": 0} for node in range(station.copies)]
        self.idle = net.place(f"{station} servers", nodes)
        self._requests = net.place(f"{station} asked")
        self._waiting = net.place(f"{station} queue")
        self._shared = net.place(f"{station} given back")
        counter = net.place(f"{station} tickets", [{"node": n["node"], "next": 0} for n in nodes])
        drawn = [
            Arc(self._waiting, {self._ticket: "b.next"}),
            Arc(counter, {"node": "b.node", "next": "b.next + 1"}),
        ]
        net.transition(f"{station} draws", PAGE, [self._requests, counter], drawn, self._here)
        less = [Arc(self.idle, _state("b.readers - 1", "b.next"))]
        net.transition(
            f"{station} shared no more", PAGE, [self._shared, self.idle], less, self._here
        )

    def hold(self, mode: str, where: str, body: Entry) -> Entry:
        """Acquire the lock of instance `where`, then continue with `body`."""
        self._sites += 1
        site = self._sites
        rules = [
            self._here,
            f"a.back == {site}",
            "b.readers == 0" if mode == "exclusive" else "",
            f"a.{self._ticket} == b.next" if self._fair else "",
        ]
        arcs = body({}, 0.0)
        if mode == "shared":
            arcs = [Arc(self.idle, _state("b.readers + 1", "b.next + 1")), *arcs]
        self._net.transition(
            f"{self.station} {mode} [{site}]",
            PAGE,
            [self._waiting, self.idle],
            arcs,
            " && ".join(rule for rule in rules if rule),
        )

        def entry(row: Row, delay: Amount) -> list[Arc]:
            return [Arc(self._requests, after(row, {"node": where, "back": str(site)}), delay)]

        return entry

    def release(self, mode: str, where: str) -> Entry:
        """Release the lock that `hold` acquired."""

        def entry(row: Row, delay: Amount) -> list[Arc]:
            node = substituted(where, row)
            if mode == "shared":
                return [Arc(self._shared, {"node": node}, delay)]
            following = f"{substituted(f'a.{self._ticket}', row)} + 1"
            return [Arc(self.idle, {"node": node, "readers": "0", "next": following}, delay)]

        return entry


def _state(readers: str, following: str) -> Row:
    return {"node": "b.node", "readers": readers, "next": following}
