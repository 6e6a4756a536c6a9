"""Documents about a Petri net: its sizes, its state space, the means of a simulation, and the
states of its token game, in which a user fires transitions one by one.
"""

from __future__ import annotations

from dfslab.documents.document import Document
from dfslab.documents.net_definition import Cell

# A token's values in the order of its fields. None stands for a real that is not a number.
TokenRow = list[Cell | None]
# For each place, by name, the rows of its tokens. Places without tokens are omitted.
TokenRows = dict[str, list[TokenRow]]


class Scan(Document):
    """An input arc for which the engine must examine every waiting token, and the reason."""

    arc: int
    page: str
    place: str
    reason: str
    transition: str
    variable: str


class NetSizes(Document):
    """The sizes of a net, such as its numbers of places, transitions and arcs. `row_bytes` is the
    memory of one token in bytes. `tokens` is the number of initial tokens. `joined_transitions` is
    the number of transitions whose guard requires equal fields of the tokens from several input
    arcs."""

    inhibitor_arcs: int
    input_arcs: int
    joined_transitions: int
    name: str
    output_arcs: int
    places: int
    row_bytes: int
    scans: list[Scan]
    tokens: int
    transitions: int


class SccNode(Document):
    """A strongly connected component of a state space: a largest set of markings each of which can
    be reached from every other one.

    `firings` is the number of arcs between its markings. A `terminal` component is never left. A
    `trivial` one is a single marking without an arc to itself. The markings of a `home` component
    can be reached from every marking. `first_marking` is its first marking in a breadth-first
    search from the initial marking.
    """

    markings: int
    firings: int
    terminal: bool
    trivial: bool
    home: bool
    first_marking: TokenRows


class SccArc(Document):
    """The firings that lead from one component of a state space to another: their number, and the
    names of the transitions. `source` and `target` are indices of components."""

    source: int
    target: int
    firings: int
    transitions: list[str]


class SccGraph(Document):
    """The graph of the strongly connected components of a state space. Component 0 contains the
    initial marking."""

    nodes: list[SccNode]
    arcs: list[SccArc]


class StateSpace(Document):
    """The reachable markings of a net without time, and the properties that follow from them.

    `bounds` has for each place the smallest and largest number of tokens. `paths_to_most` has for
    each place the transitions of a shortest path to its largest number of tokens. `dead_markings`
    is the number of markings in which no transition can fire. A dead transition can never fire; a
    live transition can fire again from every marking. Home markings can be reached from every
    marking. Some properties can be derived only from a complete state space. They are None if the
    limit of markings was reached. `scc_graph` is also None if there are more than 2,000 components.
    """

    arcs: int
    bounds: dict[str, tuple[int, int]]
    complete: bool
    components: int | None = None
    dead_markings: int | None = None
    dead_markings_shown: list[TokenRows] | None = None
    dead_paths_shown: list[list[str]] | None = None
    dead_transitions: list[str] | None = None
    home_markings: int | None = None
    live_transitions: list[str] | None = None
    markings: int
    net: str
    paths_to_most: dict[str, list[str]]
    scc_graph: SccGraph | None = None


class MeanValue(Document):
    """The mean of a quantity over the replications of a simulation, and the half-width of its 90 %
    confidence interval (None for a single replication)."""

    mean: float
    half_width: float | None


class SimulatedPlace(Document):
    """The number of tokens of a place in a simulation: its mean over time, and the largest number
    in any replication. The mean is None if no simulated time passed."""

    tokens: MeanValue | None
    most: int


class SimulatedTransition(Document):
    """How often a transition fired in a simulation: per replication, and per second of simulated
    time (None if no simulated time passed)."""

    firings: MeanValue
    rate_per_s: MeanValue | None


class MonitoredValue(Document):
    """What a monitor of the net's file measured in a simulation: the number of observations per
    replication, their sum and mean, and the least and largest value in any replication.

    `kind` is the kind of monitor in the words of CPN Tools. If `is_timed` is true, the mean is a
    mean over time, and there is no sum. Figures are None if nothing was observed.
    """

    kind: str
    is_timed: bool
    count: MeanValue
    sum: MeanValue | None
    mean: MeanValue | None
    least: float | None
    most: float | None


class NetSimulation(Document):
    """The means of a simulation of a Petri net over its replications, for each place, each
    transition and each monitor of the net's file by name.

    `end_time_s` is the simulated time at the end of a replication. `ends` maps each reason for an
    end, such as "end_time", "dead" (nothing can fire any more) or "breakpoint NAME", to the number
    of replications that ended for it. `refused_monitors` has the reason for each monitor of the
    file that did not run.
    """

    net: str
    replications: int
    end_time_s: MeanValue
    ends: dict[str, int]
    places: dict[str, SimulatedPlace]
    transitions: dict[str, SimulatedTransition]
    monitors: dict[str, MonitoredValue] = {}
    refused_monitors: dict[str, str] = {}


class Binding(Document):
    """An enabled transition with one possible binding: for each of its variables, the token that
    the variable would be bound to.
    """

    binding: dict[str, TokenRow]
    page: str
    transition: str


class ComingToken(Document):
    """A token in transit, which becomes available in `place` at the simulated time `time_s`, in
    seconds."""

    place: str
    time_s: float
    token: TokenRow


class GameState(Document):
    """A state of the token game: simulated time, marking, tokens in transit, and enabled
    bindings."""

    coming: list[ComingToken]
    enabled: list[Binding]
    marking: TokenRows
    steps: int
    time_s: float
