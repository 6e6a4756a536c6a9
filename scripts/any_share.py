"""Checks types by mypy, and that the share of expressions typed `Any` has not risen.

`python scripts/any_share.py` runs mypy once for both checks, on the package and on `verification`.
The script prints the share of each folder of the package. The script exits with 1 if mypy finds
errors, or if the share of the whole package is above `percent_max` in the table `[tool.any-share]`
of pyproject.toml. This limit may be lowered, but not raised.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
REPORT = "any-exprs.txt"
PACKAGE = "dfslab"
# The share is compared with its limit after rounding to this number of decimals of a per cent.
DIGITS = 2


@dataclass(frozen=True)
class Share:
    """Counts of the expressions of a module or of a package folder: those that are typed `Any`, and
    all. `room` is the name of the module or folder."""

    room: str
    anys: int
    expressions: int

    @property
    def percent(self) -> float:
        """The share of expressions typed `Any`, in per cent."""
        return 100 * self.anys / self.expressions if self.expressions else 0.0


def rows(report: str) -> Iterator[Share]:
    """Yields the counts of each module of the package from mypy's report. The report's lines have a
    module name, the number of expressions typed `Any`, the number of all expressions, and a
    percentage.
    """
    for line in report.splitlines():
        words = line.split()
        if len(words) == 4 and words[0].partition(".")[0] == PACKAGE:
            yield Share(words[0], int(words[1]), int(words[2]))


def by_room(modules: Iterator[Share]) -> list[Share]:
    """Returns the counts of each folder of the package, summed over its modules, with the largest
    share of expressions typed `Any` first. `modules` has the counts of single modules. Raises
    ValueError if there are no modules.
    """
    counts: dict[str, tuple[int, int]] = {}
    for one in modules:
        parts = one.room.split(".")
        room = parts[1] if len(parts) > 2 else PACKAGE
        anys, expressions = counts.get(room, (0, 0))
        counts[room] = (anys + one.anys, expressions + one.expressions)
    if not counts:
        raise ValueError("the report names no module")
    return sorted((Share(room, *both) for room, both in counts.items()), key=_by_percent)


def _by_percent(share: Share) -> float:
    return -share.percent


def verdict(rooms: list[Share], percent_max: float) -> tuple[bool, str]:
    """Returns whether the share of expressions typed `Any` in all folders is at most `percent_max`,
    and a sentence with the share and the limit.
    """
    whole = Share("all", sum(one.anys for one in rooms), sum(one.expressions for one in rooms))
    percent = round(whole.percent, DIGITS)
    text = f"{percent} % of {whole.expressions} expressions are typed Any"
    if percent > percent_max:
        return False, f"{text}: at most {percent_max} % are allowed (pyproject.toml)"
    lower = f"; percent_max may be lowered to {percent}" if percent < percent_max else ""
    return True, f"{text} (at most {percent_max} %){lower}"


def limit(pyproject: Path) -> float:
    """Returns the largest allowed share of expressions typed `Any` in per cent, as pyproject.toml
    sets it.
    """
    return float(
        tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["any-share"]["percent_max"]
    )


def main() -> int:
    """Runs mypy. Returns 0 if mypy finds no error and the share of expressions typed `Any` is
    within the limit, else 1.
    """
    with tempfile.TemporaryDirectory() as made:
        words = [sys.executable, "-m", "mypy", "--any-exprs-report", made]
        checked = subprocess.run(words, cwd=HOME, check=False)
        report = Path(made) / REPORT
        if checked.returncode or not report.exists():
            return checked.returncode or 1
        rooms = by_room(rows(report.read_text(encoding="utf-8")))
    for one in rooms:
        print(f"{one.room:<14}{one.percent:6.2f} %  {one.anys:5} of {one.expressions}")
    is_within, text = verdict(rooms, limit(HOME / "pyproject.toml"))
    print(text)
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
