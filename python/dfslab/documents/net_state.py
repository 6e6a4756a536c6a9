"""What the engine answers about a net; generated from core/net/state_schema.json."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from dfslab.documents.document import Document
from dfslab.documents.net_definition import Cell

# A token's values in the order of its fields. Null stands for a real that is not a number.
TokenRow = TypeAliasType("TokenRow", "list[Cell | None]")


class Binding(Document):
    """A transition, and one of the bindings with which it is enabled."""

    # For each variable of the transition, the token that the variable would be bound to.
    binding: dict[str, TokenRow]
    page: str
    transition: str


class ComingToken(Document):
    """A token in transit."""

    place: str
    # The simulated time at which the token becomes available in the place.
    time_s: float
    token: TokenRow


# For each place, by name, the rows of its tokens. Places without tokens are omitted.
TokenRows = TypeAliasType("TokenRows", "dict[str, list[TokenRow]]")


class GameState(Document):
    """A state of the token game: simulated time, marking, tokens in transit, and enabled
    bindings."""

    coming: list[ComingToken]
    enabled: list[Binding]
    marking: TokenRows
    steps: int
    time_s: float


class Scan(Document):
    """An input arc for which the engine must examine every waiting token, and the reason."""

    # Number of the arc among the input arcs of the transition, from 1.
    arc: int
    page: str
    place: str
    reason: str
    transition: str
    # The variable that the arc binds.
    variable: str


class NetSizes(Document):
    """The sizes of a net, such as its numbers of places, transitions and arcs."""

    inhibitor_arcs: int
    input_arcs: int
    # The number of transitions whose guard requires equal fields of the tokens from several input
    # arcs.
    joined_transitions: int
    name: str
    output_arcs: int
    places: int
    # The memory of one token in bytes.
    row_bytes: int
    scans: list[Scan]
    # The number of initial tokens.
    tokens: int
    transitions: int


class SccArc(Document):
    """The firings that lead from one component of a state space to another."""

    firings: int
    # Index of the component that is left.
    source: int
    # Index of the component that is entered.
    target: int
    # The names of the transitions that fire.
    transitions: list[str]


class SccNode(Document):
    """A strongly connected component of a state space: a maximal set of markings in which each
    marking can be reached from every other marking.
    """

    # The number of arcs between the markings of the component.
    firings: int
    # The first marking of the component in a breadth-first search from the initial marking.
    first_marking: TokenRows
    # Whether the markings of the component can be reached from every marking.
    home: bool
    markings: int
    # Whether no firing leads out of the component.
    terminal: bool
    # Whether the component is a single marking without an arc to itself.
    trivial: bool


class SccGraph(Document):
    """The graph of the strongly connected components of a state space. Component 0 contains the
    initial marking.
    """

    arcs: list[SccArc]
    nodes: list[SccNode]


# A limit of the exploration of a state space.
StoppedAt = Literal[
    # The largest number of markings.
    "markings",
    # The largest size of all stored markings together.
    "memory",
]


class StateSpace(Document):
    """The reachable markings of a net without time, and the properties that follow from them.
    Properties that only a complete state space shows are left out if a limit was reached.
    """

    arcs: int
    # For each place the smallest and the largest number of tokens.
    bounds: dict[str, tuple[int, int]]
    # Whether every reachable marking was explored.
    complete: bool
    # The number of strongly connected components.
    components: int | None = None
    # The number of markings in which no transition can fire.
    dead_markings: int | None = None
    dead_markings_shown: list[TokenRows] | None = None
    # For each dead marking that is shown, the transitions of a shortest path to it.
    dead_paths_shown: list[list[str]] | None = None
    # The transitions that can never fire.
    dead_transitions: list[str] | None = None
    # The number of markings that can be reached from every marking.
    home_markings: int | None = None
    # The transitions that can fire again from every marking.
    live_transitions: list[str] | None = None
    markings: int
    net: str
    # For each place the transitions of a shortest path to its largest number of tokens.
    paths_to_most: dict[str, list[str]]
    # The graph of the strongly connected components. Left out if the state space is incomplete or
    # has more than 2,000 components.
    scc_graph: SccGraph | None = None
    # The limit that ended the exploration. Left out if the state space is complete.
    stopped_at: StoppedAt | None = None


# An answer of the engine about a net that is not run.
NetAnswer = TypeAliasType("NetAnswer", "NetSizes | StateSpace | GameState")
