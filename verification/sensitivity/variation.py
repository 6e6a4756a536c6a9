"""Halves and doubles each constant that is a choice, and reports how much the headline figures of
the verification change.

A headline figure is, for example, the median of the figures that one bar judges, the law selected
for the metadata server, or the number of faults that are named. Each variation is computed in a
separate process, in which the constant is varied before anything reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from verification.figures import ABSOLUTE, HERE, RELATIVE
from verification.headlines.headline import Headline, Headlines, text_of
from verification.sensitivity import constants, varied

VARIATIONS = HERE / "variations.json"
FACTORS = {"half": 0.5, "twice": 2.0}
# Relative change of a headline figure above which the figure counts as depending on the varied
# constant.
MATTERS = 0.10
AS_IT_IS = ""


@dataclass(frozen=True)
class Variation:
    """One headline figure of one experiment with three values: with a constant unchanged, halved
    and doubled.

    A value is None if the figure cannot be computed with the varied constant. A value is a text if
    the figure is a name, such as the name of a law.
    """

    constant: str
    experiment: str
    headline: str
    base: Headline
    half: Headline
    twice: Headline

    @property
    def key(self) -> tuple[str, str, str]:
        """Returns the fields that identify a variation: constant, experiment and headline
        figure."""
        return self.constant, self.experiment, self.headline

    @property
    def change(self) -> float:
        """Returns the relative change of the headline figure when the constant is varied. This is
        the larger of the changes by halving and by doubling. The change is infinite if the figure
        is a name that changes, or if the figure has no value any more.

        Changes that are smaller than the rounding differences between versions of libraries count
        as 0.
        """
        return max(_change(self.base, one) for one in (self.half, self.twice))

    @property
    def matters(self) -> bool:
        """Returns whether the headline figure changes by more than the fraction MATTERS of its
        value."""
        return self.change > MATTERS

    def agrees(self, other: Variation) -> bool:
        """Returns whether two computations gave the same variation: each of the three values is
        equal except for rounding."""
        pairs = zip(self._values, other._values, strict=True)
        return all(_change(one, two) <= RELATIVE for one, two in pairs)

    @property
    def _values(self) -> tuple[Headline, ...]:
        return self.base, self.half, self.twice


def _change(base: Headline, other: Headline) -> float:
    if not isinstance(base, float) or not isinstance(other, float):
        return 0.0 if base == other else float("inf")
    if abs(other - base) <= ABSOLUTE:
        return 0.0
    return abs(other - base) / abs(base) if base else float("inf")


def tasks() -> list[tuple[str, str]]:
    """Returns (constant, experiment) for every constant that may change the headline figures of the
    experiment."""
    return [
        (name, experiment)
        for name, row in constants.by_name().items()
        if row.kind == "choice"
        for experiment in row.reaches
    ]


def compute(wanted: Sequence[tuple[str, str]], workers: int) -> list[Variation]:
    """Computes the headline figures of the tasks (constant, experiment) in `wanted`. The figures
    are computed three times, each in a new process: with the constant unchanged, halved and
    doubled."""
    bases = [(AS_IT_IS, experiment, 1.0) for experiment in dict.fromkeys(e for _, e in wanted)]
    varied_tasks = [(*task, factor) for task in wanted for factor in FACTORS.values()]
    every = [*bases, *varied_tasks]
    with ThreadPoolExecutor(workers) as pool:
        answers = pool.map(lambda one: varied.in_a_process(one[1], one[0], one[2]), every)
        found = dict(zip(every, answers, strict=True))
    rows = []
    for constant, experiment in wanted:
        base = found[AS_IT_IS, experiment, 1.0]
        half, twice = (found[constant, experiment, factor] for factor in FACTORS.values())
        rows += [
            Variation(constant, experiment, name, value, half.get(name), twice.get(name))
            for name, value in base.items()
        ]
    return rows


def committed() -> list[Variation]:
    """Returns the variations of constants of the last complete verification, from the committed
    table."""
    return [Variation(**one) for one in json.loads(VARIATIONS.read_text(encoding="utf-8"))]


def absent() -> list[tuple[str, str]]:
    """Returns the tasks (constant, experiment) that have no row in the committed table."""
    known = {(one.constant, one.experiment) for one in committed()}
    return [task for task in tasks() if task not in known]


def stale(workers: int) -> list[tuple[str, str]]:
    """Returns the tasks (constant, experiment) whose rows in the committed table are absent or out
    of date. Rows are out of date if they were computed with former models.

    To find these rows, each experiment's headline figures are computed with all constants
    unchanged. If one of them differs from the committed value, all rows of the experiment are out
    of date.
    """
    experiments = list(dict.fromkeys(experiment for _, experiment in tasks()))
    with ThreadPoolExecutor(workers) as pool:
        bases = pool.map(lambda one: varied.in_a_process(one, AS_IT_IS, 1.0), experiments)
        found = dict(zip(experiments, bases, strict=True))
    return stale_of(found, committed())


def stale_of(found: dict[str, Headlines], before: Sequence[Variation]) -> list[tuple[str, str]]:
    """Returns the tasks (constant, experiment) whose rows in `before` are absent or out of date.
    `found` has the headline figures of each experiment with all constants unchanged. A row is out
    of date if its value for the unchanged constant differs from these figures."""
    rows: dict[tuple[str, str], dict[str, Headline]] = {}
    for one in before:
        rows.setdefault((one.constant, one.experiment), {})[one.headline] = one.base
    return [task for task in tasks() if not _equal(rows.get(task, {}), found[task[1]])]


def _equal(one: Headlines, other: Headlines) -> bool:
    return one.keys() == other.keys() and all(
        _change(value, other[name]) <= RELATIVE for name, value in one.items()
    )


def save(rows: Sequence[Variation]) -> None:
    """Writes the committed table of variations, one variation per line."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in rows)
    VARIATIONS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def differences(found: Sequence[Variation], before: Sequence[Variation]) -> list[str]:
    """Returns one line of text for each variation of `found` that is new or changed. A variation is
    new if the committed variations `before` do not have it. A variation is changed if it differs
    from the committed variation."""
    known = {one.key: one for one in before}
    wrong = []
    for one in found:
        old = known.get(one.key)
        if old is None or not one.agrees(old):
            was = f"committed: {old.base}, {old.half}, {old.twice}" if old else "not committed"
            wrong.append(f"{' / '.join(one.key)}: {one.base}, {one.half}, {one.twice}; {was}")
    return wrong


def section(rows: Sequence[Variation]) -> str:
    """Returns the page's section on constants. For each constant and experiment, the section shows
    the headline figure that changes most."""
    most: dict[tuple[str, str], Variation] = {}
    for one in rows:
        place = one.constant, one.experiment
        if place not in most or one.change > most[place].change:
            most[place] = one
    varied = {constant for constant, _ in most}
    matter = {constant for (constant, _), one in most.items() if one.matters}
    lines = [
        "## Constants that are choices\n",
        f"Halved and doubled: {len(matter)} of {len(varied)} move a headline by more than "
        f"{MATTERS:.0%} (**bold**). A row is the headline that a constant moves most. "
        "[constants.toml](constants.toml) has the origin of every constant.\n",
        "| constant | experiment | headline | as it is | halved | doubled |",
        "|---|---|---|---|---|---|",
    ]
    for (constant, experiment), one in most.items():
        name = f"**{constant}**" if one.matters else constant
        shown_values = [text_of(one.headline, value) for value in (one.base, one.half, one.twice)]
        cells = [one.headline, *shown_values] if one.change else ["none moves", "", "", ""]
        lines.append(f"| {name} | {experiment} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
