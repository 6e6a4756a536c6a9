"""Where a node of an operation tree stands in a net, and what compiles the nodes around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from dfslab.models.net_amount import Amounts
from dfslab.models.net_build import Amount, Entry, Net
from dfslab.models.net_station import Stations
from dfslab.models.placement import Placement
from dfslab.spec.node import Node, Par


@dataclass(frozen=True)
class Context:
    """Where a node stands.

    `stack`: roles called into, with the instance of each. `scale`: executions that one stands for;
    `calm`: the same without the units gathered by the innermost pipeline, for what overlaps.
    `shifts`: fields that move the choice of instances. `key`: the field that tells branches apart.
    `lane`, `lanes`: which of the equal concurrent pipelines of all clients this is.
    """

    page: str
    stack: tuple[tuple[str, str], ...]
    scale: Amount = 1.0
    calm: Amount = 1.0
    shifts: tuple[str, ...] = ()
    key: str = "k0"
    forks: int = 0
    loops: int = 0
    lane: str = "a.client"
    lanes: int = 1
    called: bool = False
    overlapping: bool = False
    named: bool = False

    @property
    def role(self) -> str:
        return self.stack[-1][0]

    def at(self, role: str, instance: str) -> Context:
        """The same, moved to another instance without a caller to come back to."""
        return replace(self, stack=(*self.stack[:-1], (role, instance)))


class TreeCompiler(Protocol):
    """Compiles the nodes of operation trees into one net."""

    net: Net
    placement: Placement
    amounts: Amounts
    stations: Stations
    clients: int
    most_units: int

    def compiled(self, node: Node, context: Context, then: Entry) -> Entry:
        """The entry of `node`, after which `then` goes on."""

    def unique(self, name: str) -> str:
        """The name, with a number from its second use on."""

    def branch(self, name: str, page: str, ways: list[tuple[str, Entry]]) -> Entry:
        """A place that tokens leave by the way whose guard holds."""

    def instance(self, role: str, context: Context) -> str:
        """The instance of a role that a node meets."""

    def receiver(self, role: str, context: Context) -> str:
        """The instance of a role that a call goes to."""

    def transfer(
        self,
        sender: Context,
        receiver: Context,
        size: Amount,
        between: Amount,
        name: str,
        then: Entry,
        sent: Entry | None = None,
    ) -> Entry:
        """A message from one place to another."""

    def fork(
        self,
        node: Par,
        context: Context,
        then: Entry,
        visit: Callable[[Node, Context, Entry], Entry],
    ) -> Entry:
        """All branches and copies of a `Par` at once."""
