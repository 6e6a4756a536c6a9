"""The context in which a node of an operation tree is compiled into a net, and the interface of the
compiler.
"""

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

# One branch of a choice: its guard and its entry. The guard is a condition on a token. The entry is
# for tokens that satisfy the guard: a function that returns the arcs into a part of the net
# (token_flow.EntryArcs).
Way = tuple[Condition, EntryArcs]


@dataclass(frozen=True)
class Context:
    """The context in which a node of an operation tree is compiled.

    - `stack`: role and instance of each call around the node.
    - `scale`: number of executions of the node for each token.
    - `calm`: `scale` without the batch factor of the innermost pipeline; used for overlapping work.
    - `shifts`: token fields, such as loop counters, that are added to the random number that
      selects an instance.
    - `key`: the token field that distinguishes the branches of a fork.
    - `pipelines`: number of equal pipelines that each client runs concurrently. `pipeline_index`
      numbers the pipelines of all clients.
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
        """The role that executes the current node."""
        return self.stack[-1][0]

    def at(self, role: str, instance: Expr) -> Context:
        """Returns the context of a node that another role executes without a call. In `stack`, the
        last pair (role, instance) is replaced, so no pair is added."""
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
        """Returns the entry of that part of the net which runs `node`. Tokens that leave the node
        continue with `then`.
        """

    def unique(self, name: str) -> str:
        """Returns a unique name: `name`, numbered from its second use on."""

    def branch(self, name: str, page: str, ways: Sequence[Way]) -> EntryArcs:
        """Adds a place to the net, and returns its entry. Each token at the place takes the branch
        whose guard it satisfies. `ways` lists (guard, entry) of each branch.
        """

    def instance(self, role: str, context: Context) -> Expr:
        """Returns the number of the instance of `role` (0 for the first) on which a node with this
        context runs.
        """

    def receiver(self, role: str, context: Context) -> Expr:
        """Returns the number of the instance of `role` that a call from this context goes to."""

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
        """Returns the entry of a part of the net that sends a message of `size` bytes from the
        context `sender` to `receiver`.

        The message is delayed by `between` times the propagation delay of the network. After the
        message, tokens continue with `then` at the receiver. If `sent` is given, the sender
        continues with `sent`.
        """

    def fork(
        self,
        node: Par,
        context: Context,
        then: EntryArcs,
        visit: Callable[[Node, Context, EntryArcs], EntryArcs],
    ) -> EntryArcs:
        """Returns the entry of the part of the net that runs all branches and copies of `node`
        concurrently. `visit` compiles one branch.

        Tokens continue with `then` when as many branches have ended as `node` requires.
        """
