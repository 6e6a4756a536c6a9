"""Scales of charts: the range of an axis, its ticks, and the position of a value in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dfslab.report.charts.figure import Axis
from dfslab.spec import units

# Approximate largest number of intervals between ticks. More tick labels would overlap in a panel.
MOST_TICKS = 5
# Possible distances between the ticks of a linear scale, as multiples of a power of ten.
STEPS = (1.0, 2.0, 5.0, 10.0)
# Space between the data and each end of an axis, as a share of the axis's length.
MARGIN = 0.04
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Scale:
    """The mapping from values to pixels along one axis.

    `low`, `high`: the values at the ends of the axis. `start`, `end`: the positions of these ends
    in pixels. `log`: whether the mapping is logarithmic. `ticks`: (value, label) pairs, ascending.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: Sequence[tuple[float, str]]

    def place(self, value: float) -> float:
        """Returns the position of a value in pixels. Values beyond an end are placed at that
        end."""
        low, high = self.low, self.high
        if self.log:
            low, high = math.log(low), math.log(high)
            value = math.log(value) if value > 0 else low
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def scale(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """Returns the scale of an axis that shows `values` between the pixels `start` and `end`."""
    if axis.categories:
        count = len(axis.categories)
        ticks = tuple((float(place), name) for place, name in enumerate(axis.categories))
        return Scale(-0.5, count - 0.5, start, end, False, ticks)
    known = [one for one in values if one is not None and math.isfinite(one)]
    if axis.log:
        known = [one for one in known if one > 0]
    low, high = axis.limits or _ends(axis, known)
    found = axis.ticks or ticks_of(axis, low, high)
    inside = tuple((value, text) for value, text in found if low <= value <= high)
    return Scale(low, high, start, end, axis.log, inside)


def _ends(axis: Axis, known: Sequence[float]) -> tuple[float, float]:
    """Returns (lower end, upper end) of an axis, with some space around the values `known`. Without
    values, the ends are 1 and 10 on a logarithmic axis, otherwise 0 and 1."""
    if not known:
        return (1.0, 10.0) if axis.log else (0.0, 1.0)
    low, high = min(known), max(known)
    if axis.log:
        room = max((high / low) ** MARGIN, 1.12)
        return low / room, high * room
    if axis.from_zero:
        low = min(low, 0.0)
        return low, (high * (1 + MARGIN) if high > low else 1.0)
    room = (high - low) * MARGIN or abs(high) * 0.1 or 1.0
    return low - room, high + room


def ticks_of(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
    """Returns a pair (value, label) for each tick between `low` and `high`. The ticks of a
    logarithmic axis are powers of two for bytes, and mostly powers of ten otherwise. A linear axis
    has ticks at even distances."""
    if axis.unit == "B" and axis.log:
        values = _powers_of_two(low, high)
    elif axis.log:
        values = _decades(low, high)
    else:
        values = _even(low, high)
    return [(value, label(value, axis.unit)) for value in values]


def _even(low: float, high: float) -> list[float]:
    """Returns evenly spaced tick values between `low` and `high`. The distance between two ticks is
    1, 2 or 5 times a power of ten."""
    rough = (high - low) / MOST_TICKS
    if not rough > 0:
        return [low]
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(one * decade for one in STEPS if one * decade >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Adding 0.0 turns -0.0 into 0.0.
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Returns the tick values of a logarithmic axis from `low` to `high`. The values are powers of
    ten. On an axis of many decades, some powers of ten are left out.

    On an axis of less than two decades, 2 and 5 times powers of ten are ticks as well. On an axis
    of less than half a decade, the ticks are evenly spaced.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    spans = math.log10(high / low)
    if spans < 0.5:
        return _even(low, high)
    every = max(1, math.ceil((last - first) / (MOST_TICKS + 1)))
    within = (1.0, 2.0, 5.0) if spans < 2 else (1.0,)
    found = [float(f"{one}e{power}") for power in range(first, last + 1, every) for one in within]
    return [one for one in found if low <= one <= high]


def _powers_of_two(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    every = max(1, math.ceil((last - first) / MOST_TICKS))
    return [2.0**power for power in range(first, last + 1, every)]


def label(value: float, unit: str) -> str:
    """Returns the text of a tick: the value with its unit and a prefix, or as a percentage."""
    if unit == "%":
        return f"{value * 100:.6g} %"
    if value == 0:
        return "0"
    if unit and unit != "1/s":
        return units.text(value, unit, 3).replace(" us", " µs")
    of = "/s" if unit else ""
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            return f"{value / factor:.3g}{prefix}{of}"
    return f"{value:.3g}{of}"
