"""Bars that figures are to keep: as they were set, and beside a peer of the same run.

A bar in ns or in spans a second was set on one machine, and machines differ by a factor. Its ratio
to what a peer took there is the same bar on every machine. Both are told, and a miss of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """The most or the least that a figure may be."""

    limit: float
    sense: str = "at most"

    def __post_init__(self) -> None:
        assert self.sense in ("at most", "at least"), self.sense

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:.3g}"

    def kept(self, value: float) -> bool:
        """Whether a figure is on the right side."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit

    def verdict(self, value: float, interval: tuple[float, float] | None = None) -> str:
        """Kept or missed; unsure where the figure's interval has the bar inside it."""
        word = "kept" if self.kept(value) else "missed"
        unsure = interval is not None and interval[0] < self.limit < interval[1]
        return f"{word}, unsure" if unsure else word


@dataclass(frozen=True)
class Pair:
    """A figure with an absolute bar, and its ratio to a peer, which took `peer_then` where the bar
    was set; both figures by their names."""

    absolute: str
    ratio: str
    bar: Bar
    unit: str
    peer: str
    peer_then: float

    @property
    def bars(self) -> dict[str, Bar]:
        """Both bars by the names of their figures."""
        beside = Bar(self.bar.limit / self.peer_then, self.bar.sense)
        return {self.absolute: self.bar, self.ratio: beside}

    def told(
        self,
        figures: Mapping[str, float],
        intervals: Mapping[str, tuple[float, float]] | None = None,
    ) -> list[str]:
        """Two lines: the absolute figure and the ratio, each with its bar and a verdict."""
        known = intervals or {}
        value, times = figures[self.absolute], figures[self.ratio]
        bar, beside = self.bars.values()
        kept = bar.verdict(value, known.get(self.absolute))
        kept_beside = beside.verdict(times, known.get(self.ratio))
        then = f"{self.peer_then:g} {self.unit}"
        return [
            f"{self.absolute}: {value:.3g} {self.unit}, bar {bar}: {kept}",
            f"{self.ratio}: {times:.3g} times {self.peer} of this run, bar {beside} ({self.peer} "
            f"{then} where {self.bar.limit:g} was set): {kept_beside}",
        ]


def of_pairs(pairs: Iterable[Pair]) -> dict[str, Bar]:
    """All bars of some pairs, by the names of their figures."""
    return {name: bar for pair in pairs for name, bar in pair.bars.items()}


def judged(bars: Mapping[str, Bar], figures: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Every bar with whether it is kept, for the JSON object of a bench."""
    return {
        name: {"bar": bar.limit, "sense": bar.sense, "kept": bar.kept(figures[name])}
        for name, bar in bars.items()
    }
