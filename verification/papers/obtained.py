"""The result that dfslab obtains for a statement of a paper. The result has a text and a verdict.
The result is taken from the committed figures of the recordings, or computed by a function (a
probe)."""

from __future__ import annotations

import importlib
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from verification.figures import Figure, bars, committed, shown
from verification.papers.rows import Row, RowError

Verdict = Literal["hit", "miss", "not judged"]
SEPARATOR = " / "
# If a bar (pass criterion) judges at most this number of figures, the text lists them one by one.
# For more figures, the text is a summary.
LISTED_MAX = 4


@dataclass(frozen=True)
class Obtained:
    """The result that dfslab obtains for one statement of a paper: a text with figures, and the
    verdict.

    The verdict is "not judged" if nothing can be compared with the paper. The reason is then in the
    text, or in the entry `why` of the statement's row.
    """

    text: str
    verdict: Verdict


def judged(holds: bool, text: str) -> Obtained:
    """Returns a result with this text and a verdict: "hit" if the paper's statement holds
    (`holds`), otherwise "miss"."""
    return Obtained(text, "hit" if holds else "miss")


def not_judged(text: str) -> Obtained:
    """Returns a result with this text and the verdict "not judged", because nothing can be compared
    with the paper."""
    return Obtained(text, "not judged")


def verdict_of(confirmed: int, contradicted: int, undecided: int) -> Verdict:
    """Returns the verdict on a statement with several parts. The arguments are the numbers of parts
    that the data confirm, contradict, and leave undecided.

    - "miss": at least one part is contradicted.
    - "hit": no part is contradicted, and at least half of the parts are confirmed.
    - "not judged": all other cases.
    """
    if contradicted:
        return "miss"
    return "hit" if confirmed and confirmed >= undecided else "not judged"


Probe = Callable[[], Obtained]


def obtained(row: Row) -> Obtained:
    """Returns the result for a row, which is one statement of a paper. The first case that applies
    decides:

    1. The row names a function `probe`: the result of this function.
    2. The row names bars (pass criteria) of scenarios, and none of them is recorded yet: the
       result of the row's function `earlier` for an older recording, or "not judged" without it.
    3. Otherwise: the figures that the row names, judged by their bars.
    """
    if row.probe:
        return probe_of(row)()
    waiting = _awaited(row)
    if waiting and row.earlier:
        found = function_of(row, "earlier", row.earlier)()
        return Obtained(f"an earlier recording: {found.text}; {waiting.text}", found.verdict)
    return waiting or of_figures(figures_of(row))


def _awaited(row: Row) -> Obtained | None:
    """Returns the result of a row whose bars (pass criteria) were set for scenarios that have not
    been recorded yet. Returns None for every other row."""
    named = [bars().get(name.partition(SEPARATOR)[0]) for name in row.figures]
    waiting = [bar for bar in named if bar is not None and bar.awaits]
    if len(waiting) < len(named):
        return None
    texts = [f"{bar.id}: {bar.allowed}" for bar in waiting]
    scenarios = ", ".join(dict.fromkeys(f"scenarios/{bar.awaits}.toml" for bar in waiting))
    return not_judged(f"no recording of {scenarios} yet; the bar is set, {'; '.join(texts)}")


def probe_of(row: Row) -> Probe:
    """Returns the function that a row's `probe` names. Raises RowError if there is none."""
    return function_of(row, "probe", row.probe)


def function_of(row: Row, key: str, text: str) -> Probe:
    """Returns the function that `text`, the value of a row's `key`, names as "module:function".
    Raises RowError if there is none."""
    module, _, name = text.partition(":")
    try:
        found: Probe = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError, ValueError):
        raise RowError(f"row {row.id}: {key} = {text}: must be module:function") from None
    return found


def figures_of(row: Row) -> list[Figure]:
    """Returns the committed figures that a row names. Raises RowError if one of its names has no
    figure."""
    known = committed()
    found: list[Figure] = []
    for name in row.figures:
        wanted = name.split(SEPARATOR, 2)
        of_name = [
            one for one in known if [one.bar, one.recording, one.part][: len(wanted)] == wanted
        ]
        if not of_name:
            allowed = "must be BAR, BAR / RECORDING or BAR / RECORDING / PART of figures.json"
            raise RowError(f"row {row.id}: figures = {name}: {allowed}")
        found += [one for one in of_name if one not in found]
    return found


def of_figures(figures: Sequence[Figure]) -> Obtained:
    """Returns the figures as one text, with a common verdict.

    - "miss": at least one figure with enough data points misses its bar.
    - "hit": no such figure misses its bar, and at least half of the figures have enough data
      points.
    - "not judged": all other cases.
    """
    texts = [_of_bar(bar, [one for one in figures if one.bar == bar]) for bar in _bars_of(figures)]
    counts = Counter(one.verdict for one in figures)
    verdict = verdict_of(counts["hit"], counts["MISS"], counts["few"])
    return Obtained("; ".join(texts), verdict)


def _bars_of(figures: Sequence[Figure]) -> list[str]:
    return list(dict.fromkeys(one.bar for one in figures))


def _of_bar(name: str, figures: Sequence[Figure]) -> str:
    """Returns a text with the figures of one bar (pass criterion), the limits of the bar, and the
    number of figures that meet it. If no figure has enough data points, the text is "too few data
    points"."""
    bar = bars()[name]
    with_points = [one for one in figures if one.verdict != "few"]
    values = [one.value for one in with_points if one.value is not None]
    if not values:
        return f"{name}: too few data points"
    if len(values) <= LISTED_MAX:
        listed = ", ".join(shown(value, bar.unit) for value in values)
    else:
        middle, least, most = statistics.median(values), min(values), max(values)
        listed = f"median {shown(middle, bar.unit)}, {shown(least, bar.unit)} to "
        listed += shown(most, bar.unit)
    met = sum(one.verdict == "hit" for one in with_points)
    return f"{name}: {listed}; {met} of {len(with_points)} {bar.allowed}"
