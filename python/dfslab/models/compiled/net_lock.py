"""Models a shared/exclusive lock as a part of a net.

Requests take numbered tickets. A fair lock is granted in the order of the tickets, so a reader
never overtakes a writer. One token holds the lock's state. An exclusive holder takes this token
away, so that the lock's idle place is empty. While there are shared holders, the token has the
number of shared holders.
"""

from __future__ import annotations

from dfslab.models.compiled.token_flow import (
    Amount,
    Arc,
    Changes,
    EntryArcs,
    TokenFlow,
    after,
    main,
    other,
    reread,
)
from dfslab.models.tree.placement import Station
from dfslab.nets.inscription import equal, every, number
from dfslab.spec.steps.expression import Expr

PAGE = "locks"


class Lock:
    """The part of a net that models the locks of one role: one readers-writer lock for each
    instance of the role."""

    def __init__(self, flow: TokenFlow, station: Station, fair: bool) -> None:
        self._flow, self.station, self._fair = flow, station, fair
        self._here = [] if station.copies == 1 else [equal(main("node"), other("node"))]
        # Each lock has a separate ticket field, because a token may hold nested locks.
        self._ticket = f"ticket_{station.place}"
        self._sites = 0
        nodes = [{"node": node, "readers": 0, "next": 0} for node in range(station.copies)]
        self.idle = flow.place(f"{station} servers", nodes)
        self._requests = flow.place(f"{station} requests")
        self._waiting = flow.place(f"{station} queue")
        self._shared = flow.place(f"{station} given back")
        counter = flow.place(f"{station} tickets", [{"node": n["node"], "next": 0} for n in nodes])
        drawn = [
            Arc(self._waiting, {self._ticket: other("next")}),
            Arc(counter, {"node": other("node"), "next": other("next") + 1}),
        ]
        here = every(self._here)
        flow.transition(f"{station} draws", PAGE, [self._requests, counter], drawn, here)
        less = [Arc(self.idle, _state(other("readers") - 1, other("next")))]
        flow.transition(f"{station} shared no more", PAGE, [self._shared, self.idle], less, here)

    def hold(self, mode: str, where: Expr, body: EntryArcs) -> EntryArcs:
        """Returns the entry of a part of the net that acquires a lock, after which tokens continue
        with `body`.

        `where` is the number of the lock's instance. `mode` is "shared" or "exclusive".
        """
        self._sites += 1
        site = self._sites
        rules = [*self._here, equal(main("back"), site)]
        if mode == "exclusive":
            rules.append(equal(other("readers"), 0))
        if self._fair:
            rules.append(equal(main(self._ticket), other("next")))
        arcs = body({}, 0.0)
        if mode == "shared":
            arcs = [Arc(self.idle, _state(other("readers") + 1, other("next") + 1)), *arcs]
        self._flow.transition(
            f"{self.station} {mode} [{site}]", PAGE, [self._waiting, self.idle], arcs, every(rules)
        )

        def entry(row: Changes, delay: Amount) -> list[Arc]:
            return [Arc(self._requests, after(row, {"node": where, "back": number(site)}), delay)]

        return entry

    def release(self, mode: str, where: Expr) -> EntryArcs:
        """Returns the entry of a part of the net that releases the lock of instance `where`."""

        def entry(row: Changes, delay: Amount) -> list[Arc]:
            node = reread(where, row)
            if mode == "shared":
                return [Arc(self._shared, {"node": node}, delay)]
            changes = {
                "node": node,
                "readers": number(0),
                "next": reread(main(self._ticket), row) + 1,
            }
            return [Arc(self.idle, changes, delay)]

        return entry


def _state(readers: Expr, following: Expr) -> Changes:
    return {"node": other("node"), "readers": readers, "next": following}
