"""Tables of prediction errors of earlier campaigns, by kind of point.

The tables compare three predictions:

- the frozen prediction
- the prediction by the present models
- the prediction by the present models for the processor time that other programs left
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dfslab.models.fit.description_error import SMALL_BYTES

from verification.blind.figures import Judged, coverage, median_error, p90_error
from verification.blind.frozen import FrozenPrediction
from verification.blind.record import MOST_CONTENTION
from verification.blind.space import METADATA


@dataclass(frozen=True)
class Repeated:
    """A measured point with three predictions. `before` is the frozen prediction. `after` is the
    prediction by the present models. `beside` is the prediction by the present models for the
    processor time that other programs left to the point (see contention.py)."""

    before: Judged
    after: Judged
    beside: Judged

    @property
    def point(self) -> FrozenPrediction:
        """The frozen prediction, which has the configuration of the point."""
        return self.before.predicted


def moved_class(point: FrozenPrediction) -> str:
    """Returns the size class of a point: "names" for metadata operations, "small" for files of at
    most SMALL_BYTES, and "large" for all other files."""
    if point.kind == METADATA:
        return "names"
    return "small" if point.size_bytes <= SMALL_BYTES else "large"


def contention(one: Repeated) -> str:
    """Returns a text that says whether other programs used more than MOST_CONTENTION of all
    processors while a point was measured. An unknown share counts as more."""
    word = "more than" if one.before.measured.is_contended else "at most"
    return f"others used {word} {MOST_CONTENTION:.0%}"


# One function for each kind of group. The function returns the name of the group of a point.
GROUPS: tuple[Callable[[Repeated], str], ...] = (
    lambda one: one.point.system,
    lambda one: one.point.operation,
    lambda one: moved_class(one.point),
    lambda one: f"{one.point.clients:2} clients",
    lambda one: one.point.cache,
    contention,
)


def text(found: Sequence[Repeated]) -> Iterator[str]:
    """Yields the lines of the tables, one table for each kind of group."""
    yield "frozen -> present -> beside other programs (no blind result: their use was recorded)"
    yield f"{'':28} {'n':>4} {'median |error|':>26} {'p90 |error|':>26} {'inside':>22}"
    yield _line("all", found)
    for group in GROUPS:
        yield ""
        for name in sorted({group(one) for one in found}):
            yield _line(name.strip(), [one for one in found if group(one) == name])


def _line(name: str, found: Sequence[Repeated]) -> str:
    parts = [[one.before for one in found], [one.after for one in found]]
    parts.append([one.beside for one in found])
    cells = [
        " -> ".join(f"{value(part) or 0.0:.1%}" for part in parts)
        for value in (median_error, p90_error, coverage)
    ]
    return f"  {name:26} {len(found):4} {cells[0]:>26} {cells[1]:>26} {cells[2]:>22}"
