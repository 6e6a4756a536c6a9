"""The limits of a configuration as text, for sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfslab.documents.answers import Limit

NOTHING = "the clients wait for replies while no processor, disk, link or thread is busy"
MORE_HELP, MORE_DO_NOT = "more clients help", "more clients do not help"
CPU_HELP = "more clients or faster processors help, more processors do not"
# If the first limit has a smaller share, the text names the second limit, too. This is a choice.
HALF = 0.5


def text_of(limits: Sequence[Limit]) -> str:
    """Returns the limits as text: the limit with the largest share and, if this share is below
    HALF, the next limit. After the first limit, the text states whether the resource is saturated
    or the configuration is latency-bound, and whether more clients help. Without limits, the text
    states that operations wait without occupying a resource."""
    if not limits:
        return NOTHING
    found = _words(limits[0]) + _bound(limits[0])
    if limits[0].share < HALF and len(limits) > 1:
        found += f"; then {_words(limits[1])}"
    return found


def _bound(limit: Limit) -> str:
    busy = "" if limit.busy is None else f"{_percent(limit.busy)} busy"
    if limit.bound == "saturated":
        return f", saturated ({busy})"
    if limit.bound == "latency":
        step = f" in step {limit.step}" if limit.step else ""
        help_ = CPU_HELP if limit.name.endswith(".cpu") else MORE_HELP
        return f", latency-bound{step}{f' ({busy})' if busy else ''}: {help_}"
    return f" ({busy}; {MORE_DO_NOT})" if busy else ""


def _words(limit: Limit) -> str:
    share = f"{_percent(limit.share)} of the time"
    if limit.round_trips:
        return f"{limit.name}: {_trips(limit.round_trips)}, {share}"
    meaning = f" ({limit.meaning})" if limit.meaning else ""
    return f"{limit.name}{meaning}: {share}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _trips(trips: Mapping[str, float]) -> str:
    """Returns a text with the number of round trips of each operation. If there is only one
    operation, the text does not name it."""
    if len(trips) == 1:
        (count,) = trips.values()
        return f"about {count:.0f} round trips"
    first, *others = trips
    found = [f"about {trips[first]:.0f} round trips a {first}"]
    return ", ".join([*found, *(f"{trips[name]:.0f} a {name}" for name in others)])
