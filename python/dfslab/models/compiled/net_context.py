"""The compilation context of an operation tree's node, and the interface of the tree compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dfslab.models.compiled.net_amount import Amounts
from dfslab.models.compiled.net_station import Stations
from dfslab.models.compiled.token_flow import Amount, EntryArcs, TokenFlow, main
from dfslab.models.tree.placement import Placement
from dfslab.spec.steps.expression import Condition, Expr
from dfslab.spec.steps.node import Node, Par

# A guard, and the entry of the tokens for which it holds.
Way = tuple[Condition, EntryArcs]


@dataclass(frozen=True)
class Context:
    """The compilation context of a node.

    `stack`: (role, instance) of each call around the node. `scale`: executions per token; `calm`:
    executions without the batch factor of the innermost pipeline, for overlapping work. `shifts`:
    fields added to the choice of an instance. `key`: field that distinguishes branches.
    `pipeline_index`, `pipelines`: index and number of equal concurrent pipelines, all clients.
    """

    page: str
    stack: tuple[tuple[str, Expr], ...]
    scale: Amount = 1.0
    calm: Amount = 1.0
    shifts: tuple[Expr, ...] = ()
    key: str = "k0"
    forks: int = 0
    loops: int = 0
    pipeline_index: Expr = main("client")
    pipelines: int = 1
    called: bool = False
    overlapping: bool = False
    named: bool = False

    @property
    def role(self) -> str:
        return self.stack[-1][0]

    def at(self, role: str, instance: Expr) -> Context:
        """This context with the innermost role and instance replaced: a move, not a call."""
        return replace(self, stack=(*self.stack[:-1], (role, instance)))


class TreeCompiler(Protocol):
    """Compiles the nodes of operation trees into one net."""

    flow: TokenFlow
    placement: Placement
    amounts: Amounts
    stations: Stations
    clients: int
    most_units: int

    def compiled(self, node: Node, context: Context, then: EntryArcs) -> EntryArcs:
        """Returns the entry of `node`, which continues with `then`."""

    def unique(self, name: str) -> str:
        """Returns a unique name: `name`, numbered from its second use on."""

    def branch(self, name: str, page: str, ways: Sequence[Way]) -> EntryArcs:
        """A place that tokens leave by the branch whose guard holds; `ways`: (guard, entry)."""

    def instance(self, role: str, context: Context) -> Expr:
        """Returns the instance of a role on which a node runs."""

    def receiver(self, role: str, context: Context) -> Expr:
        """Returns the instance of a role that a call goes to."""

    def transfer(
        self,
        sender: Context,
        receiver: Context,
        size: Amount,
        between: Amount,
        name: str,
        then: EntryArcs,
        sent: EntryArcs | None = None,
    ) -> EntryArcs:
        """Returns the entry of a message between two contexts."""

    def fork(
        self,
        node: Par,
        context: Context,
        then: EntryArcs,
        visit: Callable[[Node, Context, EntryArcs], EntryArcs],
    ) -> EntryArcs:
        """Returns the entry that runs all branches and copies of a `Par` concurrently."""
