"""Bars (pass criteria) for the figures that benches measure.

The bar of an absolute figure, in ns or spans per second, was set on one machine. Other machines may
be several times as fast or slow. A second bar therefore limits the ratio of the figure to the
figure of a peer in the same run. This bar is valid on every machine. A figure is checked against
both bars, and both results are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """A pass criterion of a measured figure. `limit` is the largest allowed value if `sense` is "at
    most", and the smallest allowed value if `sense` is "at least".
    """

    limit: float
    sense: str = "at most"

    def __post_init__(self) -> None:
        assert self.sense in ("at most", "at least"), self.sense

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:.3g}"

    def kept(self, value: float) -> bool:
        """Returns whether the value meets the bar."""
        return value <= self.limit if self.sense == "at most" else value >= self.limit

    def verdict(self, value: float, interval: tuple[float, float] | None = None) -> str:
        """Returns "kept" if `value` meets the bar, else "missed". ", unsure" is appended when the
        confidence interval `interval` of the value contains the limit.
        """
        word = "kept" if self.kept(value) else "missed"
        unsure = interval is not None and interval[0] < self.limit < interval[1]
        return f"{word}, unsure" if unsure else word


@dataclass(frozen=True)
class Pair:
    """A figure with two bars: one of its absolute value, and one of its ratio to a peer's figure.
    `peer_then` is the peer's figure on the machine on which the absolute bar was set. `absolute`
    and `ratio` are the names of the two figures.
    """

    absolute: str
    ratio: str
    bar: Bar
    unit: str
    peer: str
    peer_then: float

    @property
    def bars(self) -> dict[str, Bar]:
        """Returns two bars by the names of their figures: the bar of the absolute figure, and the
        bar of the ratio.
        """
        beside = Bar(self.bar.limit / self.peer_then, self.bar.sense)
        return {self.absolute: self.bar, self.ratio: beside}

    def lines(
        self,
        figures: Mapping[str, float],
        intervals: Mapping[str, tuple[float, float]] | None = None,
    ) -> list[str]:
        """Returns two lines of text: the absolute figure and the ratio, each with its bar and a
        verdict.
        """
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
    """Returns all bars of several pairs by the names of the bars' figures."""
    return {name: bar for pair in pairs for name, bar in pair.bars.items()}


def judged(bars: Mapping[str, Bar], figures: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Returns JSON data with an entry for every bar, by the name of the bar's figure. The entry has
    the limit, and whether the figure meets the bar."""
    return {
        name: {"bar": bar.limit, "sense": bar.sense, "kept": bar.kept(figures[name])}
        for name, bar in bars.items()
    }
