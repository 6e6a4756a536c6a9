"""The names and values of headline figures, and their computation from the figures of a recording.
Headline figures are the few figures that show how much an experiment depends on a constant."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from verification.figures import Bar, Figure, bars, shown

# A headline figure is a number, a name (such as the name of a law), or None if it has no value.
Headline = float | str | None
Headlines = dict[str, Headline]
# Separator in the name of a headline figure. The separator is between the id of the figure's bar
# and the part of the recording.
PART = ": "
# The parts of most bars are different quantities, and each part has a separate headline figure. The
# bars in COMBINED are the exception: the single headline figure of such a bar is the median over
# all parts of a recording. The parts of a bar can be combined for one of three reasons:
# - They are the same quantity for several steps or workloads.
# - They are the error or the coverage of one model for rates and for response times.
# - They are shares of confirmed statements.
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
    the median of the figures of one bar and one part over all recordings. For a bar in COMBINED,
    the median is also over all parts. Figures without a value are left out."""
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
    """Returns the text of a headline figure's value for the page. The value has the unit of its
    bar. If the name of the headline figure states the unit, the text is a number with three
    digits."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    bar = bar_of(headline)
    return shown(value, bar.unit) if bar else f"{value:.3g}"
