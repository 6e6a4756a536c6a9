"""The means of a simulation of a Petri net over its replications."""

from __future__ import annotations

from dfslab.documents.document import Document


class MeanValue(Document):
    """The mean of a quantity over the replications of a simulation, with the half-width of the 90 %
    confidence interval of the mean. The half-width is None for a single replication."""

    mean: float
    half_width: float | None


class SimulatedPlace(Document):
    """The number of tokens of a place in a simulation.

    `tokens` is the mean number of available tokens over time, `most` the largest number of
    available tokens in any replication. `waiting` is the mean number of tokens over time that wait
    for their time stamp. Means are None if no simulated time passed. `waiting` is also None if the
    number of all tokens cannot be computed, as for places of reset arcs.
    """

    tokens: MeanValue | None
    waiting: MeanValue | None = None
    most: int


class SimulatedTransition(Document):
    """How often a transition fired in a simulation: the firings per replication, and the firings
    per second of simulated time. The firings per second are None if no simulated time passed."""

    firings: MeanValue
    rate_per_s: MeanValue | None


class MonitoredValue(Document):
    """The values that a monitor declared in the net's file observed in a simulation.

    The number of observations is per replication. The smallest and the largest value are those of
    all replications. `kind` is the name of the kind of monitor in CPN Tools. If `is_timed` is true,
    the mean is a mean over time, and there is no sum. Figures are None if nothing was observed.
    """

    kind: str
    is_timed: bool
    count: MeanValue
    sum: MeanValue | None
    mean: MeanValue | None
    least: float | None
    most: float | None


class ReachedPrecision(Document):
    """How precisely the means of a simulation are known.

    `requested` is the requested relative half-width of the 90 % intervals. `is_reached`: whether
    every compared interval is at most that wide. `widest` is the name of the mean with the widest
    interval, and `relative` its half-width divided by the mean (None if only one replication has
    the mean). `most_replications` is the largest number of replications that was allowed.
    """

    requested: float
    is_reached: bool
    widest: str
    relative: float | None
    most_replications: int


class NetSimulation(Document):
    """The results of a simulation of a Petri net, as means over its replications. There are results
    for each place, each transition and each monitor of the net's file by name.

    `end_time_s` is the simulated time at the end of a replication. `ends` has the number of
    replications for each reason to end, such as "end_time", "dead" (nothing can fire any more) or
    "breakpoint NAME". `ended_at_s` has the earliest and the latest simulated time of each of these
    ends. `unobserved` is the number of replications that ended before the warm-up did; all means
    are those of the other replications. `refused_monitors` has the reason for each monitor of the
    file that did not run. `precision` is None if no precision was requested.

    The monitors of the file count available and waiting tokens.
    """

    net: str
    replications: int
    end_time_s: MeanValue
    ends: dict[str, int]
    ended_at_s: dict[str, tuple[float, float]] = {}
    unobserved: int = 0
    precision: ReachedPrecision | None = None
    places: dict[str, SimulatedPlace]
    transitions: dict[str, SimulatedTransition]
    monitors: dict[str, MonitoredValue] = {}
    refused_monitors: dict[str, str] = {}
