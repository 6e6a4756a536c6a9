"""Compares figures that a tool printed with figures that follow from other figures in the same
file.

A tool prints rounded figures. The last printed digit is therefore the tolerance of a comparison,
in addition to a relative tolerance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dfslab.imports.tool_report import ROUNDING as ROUNDING
from dfslab.imports.tool_report import number

# Two figures that a tool measured at different points of its code contradict each other if their
# relative difference is larger than this value.
APART = 0.1
_DECIMALS = re.compile(r"\d*\.?(\d*)(?:[eE]([+-]?\d+))?")


@dataclass(frozen=True)
class Printed:
    """A printed figure: its key, its value, and the largest error of the value by rounding."""

    key: str
    value: float
    error: float = 0.0

    @property
    def low(self) -> float:
        """Returns the smallest value that is printed like this figure; at least 0."""
        return max(0.0, self.value - self.error)

    @property
    def high(self) -> float:
        """Returns the largest value that is printed like this figure."""
        return self.value + self.error

    def __mul__(self, other: Printed) -> Printed:
        return _between("", self.low * other.low, self.high * other.high)

    def __truediv__(self, other: Printed) -> Printed:
        largest = self.high / other.low if other.low else math.inf
        return _between("", self.low / other.high if other.high else 0.0, largest)

    def scaled(self, factor: float) -> Printed:
        """Returns the figure in another unit."""
        return Printed(self.key, self.value * factor, self.error * factor)


def printed(key: str, text: object) -> Printed:
    """Returns the figure that a tool printed as `text`: a text, or a JSON number. The error of the
    figure is one unit of the last digit, because tools round or truncate. Raises ValueError if
    `text` is no number from 0 on."""
    value = number(text, key)
    found = _DECIMALS.fullmatch(str(text).strip())
    digits, power = (found[1], int(found[2] or 0)) if found else ("", 0)
    return Printed(key, value, 10.0 ** (power - len(digits)))


def optional(values: Mapping[str, object], key: str) -> Printed | None:
    """Returns the figure at `key`; None if the key is missing or has no value."""
    return printed(key, values[key]) if values.get(key) not in (None, "") else None


def total(figures: Sequence[Printed]) -> Printed:
    """Returns the sum of figures."""
    return Printed("", sum(one.value for one in figures), sum(one.error for one in figures))


def unequal(
    stated: Printed, computed: Printed, how: str, tolerance: float = ROUNDING
) -> Iterator[str]:
    """Yields the contradiction if the figure `stated` is not equal to the figure `computed`. `how`:
    the figures from which it was computed, in words."""
    yield from below(stated, computed, how, tolerance)
    yield from above(stated, computed, how, tolerance)


def below(
    stated: Printed, computed: Printed, how: str, tolerance: float = ROUNDING
) -> Iterator[str]:
    """Yields the contradiction if the figure `stated` is below the figure `computed`, which is its
    lower bound."""
    if stated.high < computed.low * (1 - tolerance):
        yield f"{stated.key} = {stated.value:.6g}: contradicts {how}, {computed.value:.6g}"


def above(
    stated: Printed, computed: Printed, how: str, tolerance: float = ROUNDING
) -> Iterator[str]:
    """Yields the contradiction if the figure `stated` is above the figure `computed`, which is its
    upper bound."""
    if stated.low > computed.high * (1 + tolerance):
        yield f"{stated.key} = {stated.value:.6g}: contradicts {how}, {computed.value:.6g}"


def falling(figures: Sequence[Printed | None], tolerance: float = ROUNDING) -> Iterator[str]:
    """Yields the contradiction for each figure that is below the previous figure. Missing figures
    (None) are left out."""
    known = [one for one in figures if one is not None]
    for low, high in zip(known, known[1:], strict=False):
        if low.low > high.high * (1 + tolerance):
            at_most = f"must be at most {high.key} = {high.value:.6g}"
            yield f"{low.key} = {low.value:.6g}: {at_most}"


def _between(key: str, low: float, high: float) -> Printed:
    if math.isinf(high):
        return Printed(key, low, math.inf)
    return Printed(key, (low + high) / 2, (high - low) / 2)
