"""The names and values of headline figures (the few figures that show how much an experiment
depends on a constant), and their computation from the figures of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from verification.figures import Bar, Figure, bars, shown

# A headline figure is a number, a name (such as the name of a law), or None if it has no value.
Headline = float | str | None
Headlines = dict[str, Headline]
# Separator in the name of a headline figure, between the id of its bar and the part of the
# recording.
PART = ": "
# Bars that have a single headline figure, the median over all parts of a recording. Their parts can
# be combined for one of three reasons: they are the same quantity for several steps or workloads;
# they are the error or the coverage of one model for rates and for response times; or they are
# shares of confirmed statements. The parts of every other bar are different quantities, and each
# part has a separate headline figure.
COMBINED = {
    "wu.function-error-all": "median of the steps",
    "wu.function-error": "median of the steps",
    "wu.function-ratio": "median of the steps",
    "wu.sequence-error": "median of rates and response times",
    "wu.sequence-coverage": "median of rates and response times",
    "wu.expectations": "median of changes of size and of deployment",
    "nets.worst": "median of the workloads",
}


def of_figures(figures: Sequence[Figure]) -> Headlines:
    """Returns a dictionary from the name of each headline figure to its value. A headline figure is
    the median, over all recordings, of the figures of one bar and one part. For a bar in COMBINED,
    the median is over all parts, too. Figures without a value are left out."""
    found: dict[str, list[float]] = {}
    for one in figures:
        if one.value is not None:
            part = COMBINED.get(one.bar, one.part)
            found.setdefault(f"{one.bar}{PART}{part}" if part else one.bar, []).append(one.value)
    return {name: float(median(values)) for name, values in found.items()}


def bar_of(headline: str) -> Bar | None:
    """Returns the bar that judges the figures of a headline figure, or None if no bar does."""
    return bars().get(headline.partition(PART)[0])


def text_of(headline: str, value: Headline) -> str:
    """Returns the value of a headline figure as the page shows it: with the unit of its bar, or as
    a number with three digits if the name of the headline figure states the unit."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    bar = bar_of(headline)
    return shown(value, bar.unit) if bar else f"{value:.3g}"
