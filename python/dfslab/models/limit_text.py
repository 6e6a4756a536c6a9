"""The limits of a configuration as text, for sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfslab.documents.answers import Limit

NOTHING = "the clients wait for replies while no processor, disk, link or thread is busy"
# If the share of the first limit is below HALF, the text names the second limit as well. The value
# is a choice, not a measurement.
HALF = 0.5


def text_of(limits: Sequence[Limit]) -> str:
    """Returns a text on the limit with the largest share. If this share is below HALF, the text
    names the next limit as well.

    The text says whether the resource of the first limit is saturated, or whether the configuration
    is latency-bound. The text does not say what more clients would gain, because that gain needs an
    interval: see `clients_gain` in studies/decisions/recommend.py. Without limits, the text names
    waiting that occupies no resource.
    """
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
        return f", latency-bound{step}{f' ({busy})' if busy else ''}"
    return f" ({busy})" if busy else ""


def _words(limit: Limit) -> str:
    share = f"{_percent(limit.share)} of the time"
    if limit.round_trips:
        return f"{limit.name}: {_trips(limit.round_trips)}, {share}"
    meaning = f" ({limit.meaning})" if limit.meaning else ""
    return f"{limit.name}{meaning}: {share}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _trips(trips: Mapping[str, float]) -> str:
    """Returns a text with the number of round trips of each operation. The name of a single
    operation is left out."""
    if len(trips) == 1:
        (count,) = trips.values()
        return f"about {count:.0f} round trips"
    first, *others = trips
    found = [f"about {trips[first]:.0f} round trips a {first}"]
    return ", ".join([*found, *(f"{trips[name]:.0f} a {name}" for name in others)])
