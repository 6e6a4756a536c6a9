"""Types and files of the verification: figures computed from recordings, the bars (pass criteria)
that judge them, and the committed table of figures."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
BARS, FIGURES = HERE / "bars.toml", HERE / "figures.json"
# Largest relative and absolute difference between two computations of the same figure. Library
# versions differ in rounding. Rounding changes medians by far less than these tolerances.
RELATIVE, ABSOLUTE = 0.02, 0.005

Verdict = Literal["hit", "MISS", "few"]


@dataclass(frozen=True)
class Bar:
    """A pass criterion for figures. A figure meets it if its value is at least `least` and at most
    `most`, and if it is computed from at least `points_min` data points.

    - `set`: the time of the commit that added the bar.
    - `unit`: the unit in which values are printed.
    - `source`: the origin of the limits.
    - `awaits`: the scenario whose recording the bar needs, if this recording does not exist yet;
      otherwise "".
    """

    id: str
    judges: str
    unit: Literal["%", "ratio"]
    set: datetime
    source: str
    least: float | None = None
    most: float | None = None
    points_min: int = 1
    awaits: str = ""

    def admits(self, value: float) -> bool:
        """Returns whether the value meets this bar."""
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )

    @property
    def allowed(self) -> str:
        """Returns the range of values that meet this bar, as text."""
        least, most = (
            None if limit is None else shown(limit, self.unit) for limit in (self.least, self.most)
        )
        if least and most:
            return f"{least} to {most}"
        return f"at least {least}" if least else f"at most {most}"


@dataclass(frozen=True)
class Figure:
    """A number that is computed from one recording. The number is judged by the bar (pass
    criterion) named `bar`. The number belongs to the part `part` of the recording, such as a step
    or a factor. `points` is the number of data points from which it is computed.

    The value is None if no data point is above the noise floor.
    """

    experiment: str
    recording: str
    bar: str
    part: str
    value: float | None
    points: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Returns the fields that identify a figure: experiment, recording, bar and part."""
        return self.experiment, self.recording, self.bar, self.part

    @property
    def verdict(self) -> Verdict:
        """Returns "hit" if the figure meets its bar, and "MISS" if it does not. Returns "few" if it
        has no value, or fewer data points than the bar requires."""
        bar = bars()[self.bar]
        if self.value is None or self.points < bar.points_min:
            return "few"
        return "hit" if bar.admits(self.value) else "MISS"

    def agrees(self, other: Figure) -> bool:
        """Returns whether two computations gave the same figure. Both must have the same number of
        data points. The two values must be equal except for rounding, or both None."""
        if self.value is None or other.value is None:
            return self.value == other.value and self.points == other.points
        near = math.isclose(self.value, other.value, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        return near and self.points == other.points


def shown(value: float, unit: str) -> str:
    """Returns a value as the page of figures prints it, with its unit."""
    return f"{100 * value:.1f} %" if unit == "%" else f"{value:.2f}"


@cache
def bars() -> dict[str, Bar]:
    """Returns a dictionary from the id of each bar of bars.toml to the bar."""
    with BARS.open("rb") as stream:
        found = [Bar(**one) for one in tomllib.load(stream)["bar"]]
    assert len({one.id for one in found}) == len(found), "two bars of one name"
    return {one.id: one for one in found}


def committed() -> list[Figure]:
    """Returns the figures of the last complete verification, from the committed table."""
    return [Figure(**one) for one in json.loads(FIGURES.read_text(encoding="utf-8"))]


def save(figures: Iterable[Figure]) -> None:
    """Writes the committed table of figures, with which later runs are compared. Each figure is one
    line.
    """
    rows = [json.dumps({**asdict(one), "value": _rounded(one.value)}) for one in figures]
    FIGURES.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def differences(found: Iterable[Figure], before: Iterable[Figure]) -> list[str]:
    """Returns one line of text for each figure of `found` that is new or changed. A figure is new
    if the committed figures `before` do not have it. A figure is changed if its value or its number
    of data points differs."""
    known = {one.key: one for one in before}
    wrong = []
    for one in found:
        old = known.get(one.key)
        if old is None:
            wrong.append(f"{' / '.join(one.key)}: not in the committed figures")
        elif not one.agrees(old):
            wrong.append(
                f"{' / '.join(one.key)}: {one.value} of {one.points} points; "
                f"committed: {old.value} of {old.points}"
            )
    return wrong


def lost(found: Iterable[Figure], before: Iterable[Figure]) -> list[str]:
    """Returns one line of text for each figure that no longer meets its bar (pass criterion). Such
    a figure meets the bar in the committed figures `before` but misses it in `found`."""
    known = {one.key: one for one in before}
    return [
        f"{' / '.join(one.key)}: {one.value}, and the bar is {bars()[one.bar].allowed}"
        for one in found
        if one.key in known and known[one.key].verdict == "hit" and one.verdict != "hit"
    ]


def missing(
    found: Iterable[Figure], before: Iterable[Figure], wanted: Iterable[tuple[str, str]]
) -> list[str]:
    """Returns one line of text for each figure that is in the committed figures `before` but not in
    `found`. Only figures of the tasks `wanted` are considered. A task is a pair (experiment,
    recording)."""
    known, requested = {one.key for one in found}, set(wanted)
    return [
        f"{' / '.join(one.key)}: in the committed figures, and not computed"
        for one in before
        if (one.experiment, one.recording) in requested and one.key not in known
    ]


def moment(text: str) -> datetime:
    """Returns the time that a recording's provenance states in ISO format, converted to UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
