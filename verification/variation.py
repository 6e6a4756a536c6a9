"""Halves and doubles each constant that is a choice, and reports how much the headline figures of
the verification change.

A headline figure is the median of the figures that one bar judges, the law selected for the
metadata server, or the ranking of factors. Each variation is computed in a separate process,
because models cache their results.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

import numpy as np
from dfslab.method import RunFailed
from dfslab.models.learnt import LearntModel, TrainingRows, rows_of
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point
from dfslab.studies import expectations
from dfslab.studies.designs import importance, sensitivity, variance
from dfslab.studies.designs.legal import legal
from dfslab.studies.server_law import server_law
from numpy.linalg import LinAlgError
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits

from verification import (
    aiio,
    constants,
    interventions,
    kumar,
    liu,
    nets,
    recordings,
    wu,
    wu_namenode,
)
from verification.figures import ABSOLUTE, HERE, RELATIVE, Figure, bars, shown
from verification.sampling import sampled

VARIATIONS = HERE / "variations.json"
FACTORS = {"half": 0.5, "twice": 2.0}
# Relative change of a headline figure above which the figure counts as depending on the varied
# constant.
MATTERS = 0.10
# The seed that selects one recording of each experiment that has many.
SEED = "constants"
AS_IT_IS = ""
# The exceptions by which a fit reports that a varied constant makes it impossible. Any other
# exception is a defect.
IMPOSSIBLE = (RunFailed, InputError, AssertionError, ValueError, ZeroDivisionError, LinAlgError)

Headline = float | str | None
Headlines = dict[str, Headline]


@dataclass(frozen=True)
class Variation:
    """One headline figure of one experiment, computed with a constant unchanged, halved and
    doubled.

    A value is None if the figure cannot be computed with the varied constant. It is a text if the
    figure is a name, such as that of a law.
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
        """Returns the larger of the two changes of the headline figure, by halving and by doubling
        the constant. It is relative to the unchanged value, and infinite if a name changes or no
        figure remains.

        Changes below the rounding differences of libraries count as 0.
        """
        return max(_change(self.base, one) for one in (self.half, self.twice))

    @property
    def matters(self) -> bool:
        """Returns whether the headline figure changes by more than the share MATTERS."""
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


def _medians(figures: Sequence[Figure]) -> Headlines:
    """Returns a dictionary from the name of each bar to the median of its figures. Figures without
    a value are left out."""
    found: dict[str, list[float]] = {}
    for one in figures:
        if one.value is not None:
            found.setdefault(one.bar, []).append(one.value)
    return {bar: float(median(values)) for bar, values in found.items()}


def _wu() -> Headlines:
    """Returns the headline figures of the experiment of Wu 2013, computed from one recording of
    reads or writes."""
    return _medians(wu.figures(_of_wu()))


def _of_wu() -> str:
    every = [one for name in wu.SCENARIOS for one in recordings.of_scenario(name)]
    (subject,) = sampled(every, 1 / len(every), SEED)
    return subject


def _expectations() -> Headlines:
    """Returns the headline figures of the uncalibrated model's expectations on one recording of
    reads or writes. They are the shares of the expectations that the measurements confirmed."""
    name = next(name for name in wu.SCENARIOS if name in _of_wu())
    results = recordings.runs(name, _of_wu())
    points = list({result.point_id: result.point for result in results}.values())
    counts = expectations.tally(expectations.score(expectations.expectations(points), results))
    found: Headlines = {}
    for kind, count in counts.items():
        reported = count["hit"] + count["miss"]
        found[f"{kind}: statements that came true"] = count["hit"] / reported if reported else None
        found[f"{kind}: statements"] = float(sum(count.values()))
    return found


def _namenode() -> Headlines:
    """Returns the headline figures of all recordings of the metadata server, and the name of the
    law that is selected for each curve of response times."""
    subjects = wu_namenode.subjects()
    laws: Headlines = {}
    for subject in subjects:
        name = next(name for name in wu_namenode.SCENARIOS if subject.startswith(name))
        found = server_law(recordings.runs(name, subject))
        for curve in found.curves if found else ():
            if curve.fits:
                part = f"law of {subject}, {curve.share:g} of a core, files {curve.files}"
                laws[part] = curve.fits[0].law
    return {**_medians([one for each in subjects for one in wu_namenode.figures(each)]), **laws}


def _kumar() -> Headlines:
    """Returns two headline figures of the uncalibrated grey-box model on held-out layouts: its
    median error, and the coverage of its intervals."""
    model, requested, measured = _of_fold("greybox")
    low, high = model.intervals(requested).T
    return {
        "kumar.greybox-error": _median_error(model, requested, measured),
        "kumar.greybox-coverage": float(np.mean((low <= measured) & (measured <= high))),
    }


def _boosting() -> Headlines:
    """Returns the headline figure of the boosting model: its median error on the layouts that are
    also held out for the grey-box model."""
    model, requested, measured = _of_fold("boosting")
    return {"median error of boosting": _median_error(model, requested, measured)}


def _of_fold(name: str) -> tuple[LearntModel, list[Point], np.ndarray]:
    """Returns (model fitted to all but one fold of the layouts, points of the left-out fold, their
    measured rates in bytes per second)."""
    rows = _rows()
    known, requested = next(GroupKFold(kumar.FOLDS).split(rows.rates, groups=rows.layouts))
    part = TrainingRows(
        [rows.points[i] for i in known], rows.rates[known], rows.groups[known], rows.layouts[known]
    )
    model = LearntModel(name).fit_rows(part, None, conformal=name == "greybox")
    return model, [rows.points[i] for i in requested], rows.rates[requested]


def _median_error(model: LearntModel, requested: Sequence[Point], measured: np.ndarray) -> float:
    return float(np.median(np.abs(model.predict(requested) / measured - 1)))


def _rows() -> TrainingRows:
    """Returns all runs of the designed study as training rows."""
    (subject,) = recordings.of_scenario(kumar.STUDY)
    return rows_of(recordings.runs(kumar.STUDY, subject))


def _program() -> Headlines:
    """Returns the headline figures of the recordings of a program to which no model was fitted."""
    return _medians(
        [one for each in recordings.of_scenario(kumar.PROGRAM) for one in kumar.figures(each)]
    )


def _liu() -> Headlines:
    """Returns the headline figures of all rounds in which a part of HDFS was slowed down."""
    return _medians([one for each in liu.subjects() for one in liu.figures(each)])


def _aiio() -> Headlines:
    """Returns the headline figures of advice from Darshan logs, and the largest ratio of a
    predicted and a measured saving, in either direction, among the changes that were named."""
    ratios = [one.ratio for one in aiio.pairs() if one.is_named]
    worst = {"largest ratio of predicted and measured saving": max(ratios, default=None)}
    return _medians(aiio.figures(aiio.SUBJECT)) | worst


def _interventions() -> Headlines:
    """Returns the headline figures of changes that were carried out."""
    return _medians(interventions.figures(interventions.RECORDING))


def _nets() -> Headlines:
    """Returns the headline figures of all recordings that Petri nets simulate."""
    return _medians([one for each in nets.subjects() for one in nets.figures(each)])


def _importance() -> Headlines:
    """Returns headline figures of the grey-box model's sensitivity indices over the legal
    combinations of factors: the names of the first factors in the ranking, the index of the first
    one, the mean width of the intervals, and the number of factors that matter."""
    scenario, rows = recordings.scenario(kumar.STUDY), _rows()
    allowed, seed = legal(scenario), scenario.run.seed
    names = [factor.name for factor in allowed.factors]
    drawn = variance.sample(allowed, importance.BASE_ROWS, importance.PAIR_ROWS, seed)
    grey = LearntModel("greybox").fit_rows(rows, None, conformal=False)
    answers = importance.refitted(scenario, allowed, rows, grey, drawn.rows)
    found = variance.indices(drawn, answers, names, seed).factors
    ranked = sorted(found, key=lambda one: -one.total.value)
    verdicts = [sensitivity.verdict(one, None) for one in ranked]
    widths = [(one.total.high or 0.0) - (one.total.low or 0.0) for one in ranked]
    return {
        "factor ranked first": ranked[0].factor,
        "factors ranked first to third": ", ".join(one.factor for one in ranked[:3]),
        "total index of the first factor": ranked[0].total.value,
        "mean width of the total indices": float(np.mean(widths)),
        "factors that matter": float(verdicts.count("matters")),
    }


EXPERIMENTS: dict[str, Callable[[], Headlines]] = {
    "wu": _wu,
    "expectations": _expectations,
    "namenode": _namenode,
    "kumar": _kumar,
    "program": _program,
    "liu": _liu,
    "nets": _nets,
    "aiio": _aiio,
    "interventions": _interventions,
    "boosting": _boosting,
    "importance": _importance,
}


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
    """Computes the headline figures of the tasks (constant, experiment) in `wanted` with the
    constant unchanged, halved and doubled, each in a new process."""
    bases = [(AS_IT_IS, experiment, 1.0) for experiment in dict.fromkeys(e for _, e in wanted)]
    varied = [(*task, factor) for task in wanted for factor in FACTORS.values()]
    limit = partial(threadpool_limits, 1)
    context = multiprocessing.get_context("forkserver")
    with context.Pool(workers, limit, maxtasksperchild=1) as pool:
        answers = pool.map(_headlines, [*bases, *varied], chunksize=1)
    found = dict(zip([*bases, *varied], answers, strict=True))
    rows = []
    for constant, experiment in wanted:
        base = found[AS_IT_IS, experiment, 1.0]
        half, twice = (found[constant, experiment, factor] for factor in FACTORS.values())
        rows += [
            Variation(constant, experiment, name, value, half.get(name), twice.get(name))
            for name, value in base.items()
        ]
    return rows


def _headlines(task: tuple[str, str, float]) -> Headlines:
    """Returns the headline figures of an experiment after multiplying one constant by a factor, or
    with all constants unchanged if `constant` is AS_IT_IS. The dictionary is empty if the figures
    cannot be computed with the varied constant."""
    constant, experiment, factor = task
    if constant == AS_IT_IS:
        return _rounded(EXPERIMENTS[experiment]())
    constants.vary(constant, factor)
    try:
        return _rounded(EXPERIMENTS[experiment]())
    except IMPOSSIBLE:
        return {}


def _rounded(found: Headlines) -> Headlines:
    return {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in found.items()
    }


def committed() -> list[Variation]:
    """Returns the variations of constants of the last complete verification, from the committed
    table."""
    return [Variation(**one) for one in json.loads(VARIATIONS.read_text(encoding="utf-8"))]


def save(rows: Sequence[Variation]) -> None:
    """Writes the committed table of variations, one variation per line."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in rows)
    VARIATIONS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def differences(found: Sequence[Variation], before: Sequence[Variation]) -> list[str]:
    """Returns one line of text for each variation of `found` that differs from the committed
    variations `before` or is not one of them."""
    known = {one.key: one for one in before}
    wrong = []
    for one in found:
        old = known.get(one.key)
        if old is None or not one.agrees(old):
            was = f"committed: {old.base}, {old.half}, {old.twice}" if old else "not committed"
            wrong.append(f"{' / '.join(one.key)}: {one.base}, {one.half}, {one.twice}; {was}")
    return wrong


def section(rows: Sequence[Variation]) -> str:
    """Returns the page's section on constants. For each constant and experiment it shows the
    headline figure that changes most."""
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
        shown_values = [_cell(one.headline, value) for value in (one.base, one.half, one.twice)]
        cells = [one.headline, *shown_values] if one.change else ["none moves", "", "", ""]
        lines.append(f"| {name} | {experiment} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(headline: str, value: Headline) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    bar = bars().get(headline)
    return shown(value, bar.unit) if bar else f"{value:.3g}"
