"""Renders the section that states the question and the findings of the run in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from dfslab.documents.table import Name
from dfslab.lazily import lazily
from dfslab.report.contract import PageSection
from dfslab.report.page_table import number, percent
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.compare import BASELINES, ComparedPoint, Comparison, ErrorScore, geometric_mean
from dfslab.studies.contract import FinishedRun
from dfslab.studies.decisions.advised import Advised

if TYPE_CHECKING:
    import scipy
else:
    scipy = lazily("scipy")

TITLE = "Summary"
ORDER = 10
EMPTY = "Nothing was measured or predicted."
CONFIDENCE = 0.9
UNLIKELY = 0.05
RATES = {
    "throughput_bytes_per_s": "Highest throughput measured",
    "rate_per_s": "Most operations a second measured",
}


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: key figures, then sentences. None if there are no results."""
    if not study.results:
        return None
    sentences: list[Markup] = [_scope(study), *_fastest(study)]
    comparison = study.find(Comparison)
    if comparison and comparison.rows:
        sentences += [*_noise(comparison), *_judgement(comparison, study.name)]
    sentences += _limits(study)
    items = Markup("\n").join(Markup("<li>{}</li>").format(s) for s in sentences)
    return _figures(study) + Markup('<ul class="summary">{}</ul>').format(items)


def _figures(study: FinishedRun) -> Markup:
    """HTML of tiles.

    Each tile has a caption, a figure, and the name of the configuration with that figure.
    """
    tiles = []
    for metric, caption in RATES.items():
        if found := _best_measured(study, metric):
            tiles.append((caption, _rate(found[0], metric), found[1]))
    comparison = study.find(Comparison)
    if comparison and (best := _best_model(comparison.held_out)):
        held = comparison.held_out
        tiles.append(
            (
                "Best model on held-out points",
                best,
                f"median error {percent(held[best].median_abs_error)}",
            )
        )
        if "mean" in held:
            tiles.append(
                (
                    "Guessing the mean instead",
                    percent(held["mean"].median_abs_error),
                    "median error on the same points",
                )
            )
    if not tiles:
        return Markup("")
    cells = Markup("\n").join(
        Markup('<div><dt>{}</dt><dd>{}</dd><dd class="under">{}</dd></div>').format(*tile)
        for tile in tiles
    )
    return Markup('<dl class="figures">{}</dl>\n').format(cells)


def _scope(study: FinishedRun) -> Markup:
    points = len({result.point_id for result in study.results})
    workloads = dict.fromkeys(r.point.scenario.workload.name for r in study.results)
    measured = {r.point_id for r in study.of_method("measure")}
    text = Markup("<strong>{}</strong> of {} on {} {} asked about, {} measured; answers by {}.")
    return text.format(
        "1 configuration" if points == 1 else f"{points} configurations",
        ", ".join(workloads),
        study.file_systems,
        "was" if points == 1 else "were",
        "all" if len(measured) == points else len(measured) or "none",
        ", ".join(dict.fromkeys(result.method for result in study.results)),
    )


def _best_measured(study: FinishedRun, metric: str) -> tuple[float, str] | None:
    """(highest mean over repetitions of a metric, name of the configuration that has it); None
    without measurements."""
    groups: dict[str, list[Result]] = {}
    for result in study.of_method("measure"):
        if metric in result.metrics and result.value(metric) > 0:
            groups.setdefault(result.point_id, []).append(result)
    means = {
        key: geometric_mean([r.value(metric) for r in group]).value for key, group in groups.items()
    }
    if not means:
        return None
    best = max(means, key=lambda key: means[key])
    return means[best], study.name(groups[best][0].labels)


def _rate(value: float, metric: str) -> str:
    if metric == "throughput_bytes_per_s":
        return units.text(value, "B/s", 3)
    return f"{number(value)} /s"


def _fastest(study: FinishedRun) -> list[Markup]:
    """Sentences that name the configurations with the best throughput and with the best rate,
    which may differ."""
    found = [
        Markup("{} is fastest in {} (<strong>{}</strong>)").format(best[1], what, best[0])
        for metric, what in (("throughput_bytes_per_s", "bytes"), ("rate_per_s", "operations"))
        if (best := _fastest_one(study, metric))
    ]
    return [Markup("Measured, {}.").format(Markup("; ").join(found))] if found else []


def _fastest_one(study: FinishedRun, metric: str) -> tuple[str, str] | None:
    best = _best_measured(study, metric)
    return None if best is None else (_rate(best[0], metric), best[1])


def _noise(comparison: Comparison) -> list[Markup]:
    """A sentence on how repeatable the measured means are."""
    repetitions = int(np.median([row.repetitions for row in comparison.rows]))
    if not comparison.noise or not math.isfinite(comparison.noise):
        text = "No configuration was repeated, so nothing is known of run-to-run noise."
        return [Markup(text)] if repetitions < 2 else []
    return [
        Markup(
            "Repeated runs of one configuration differ by <strong>{}</strong> (median standard "
            "deviation), so a mean of {} is known to about {}: errors below that cannot be told "
            "from noise."
        ).format(
            percent(comparison.noise),
            repetitions,
            percent(comparison.noise / math.sqrt(repetitions)),
        )
    ]


def _best_model(scores: dict[str, ErrorScore]) -> str | None:
    """The name of the model with the smallest median error; None if there is none.

    Baselines are not considered.
    """
    models = [
        name
        for name, score in scores.items()
        if name not in BASELINES and math.isfinite(score.median_abs_error)
    ]
    return min(models, key=lambda name: scores[name].median_abs_error, default=None)


def _judgement(comparison: Comparison, name: Name) -> list[Markup]:
    """Sentences on the best model for held-out configurations, and on whether it is better than
    the baselines."""
    scores = comparison.held_out
    if not scores:
        return [Markup("No configuration was held out, so no prediction was put to the test.")]
    models = {model: score for model, score in scores.items() if model not in BASELINES}
    found = []
    best = _best_model(scores)
    if best is not None:
        found.append(_best(best, scores))
        found += _no_better(best, models, scores)
    found += [one for model, score in models.items() for one in _coverage(model, score)]
    judged = [row for row in comparison.rows if row.held_out and _model_errors(row)]
    worst = max(judged, key=lambda row: max(map(abs, _model_errors(row).values())), default=None)
    if worst is not None:
        errors = _model_errors(worst)
        method = max(errors, key=lambda model: abs(errors[model]))
        found.append(
            Markup("Furthest off on a held-out point: {} by {:+.0%} at {}.").format(
                method, errors[method], name(worst.labels)
            )
        )
    return found


def _model_errors(row: ComparedPoint) -> dict[str, float]:
    return {
        name: error
        for name, error in row.errors.items()
        if name not in BASELINES and math.isfinite(error)
    }


def _best(name: str, scores: dict[str, ErrorScore]) -> Markup:
    score = scores[name]
    text = Markup(
        "On {} held-out configurations <strong>{}</strong> predicts best: median error "
        "<strong>{}</strong>, and its 90 % intervals hold {:.0%} of the measurements"
    ).format(score.n, name, percent(score.median_abs_error), score.coverage_90)
    beaten = [
        f"{_off(scores[baseline].median_abs_error)} for {meaning}"
        for baseline, meaning in (
            ("mean", "the mean of what was seen"),
            ("ideal", "the ideal bound of the hardware"),
        )
        if baseline in scores and score.median_abs_error < scores[baseline].median_abs_error
    ]
    return text + (f"; beside {' and '.join(beaten)}." if beaten else ".")


def _off(error: float) -> str:
    """A relative error as a percentage, or as a factor if it is too large for a percentage."""
    return percent(error) if error < 10 else f"a factor of {1 + error:,.0f}"


def _no_better(
    best: str, models: dict[str, ErrorScore], scores: dict[str, ErrorScore]
) -> list[Markup]:
    """A sentence that names the models that are no better than a baseline."""
    found = []
    for baseline, meaning in (("mean", "the mean of what was seen"), ("ideal", "the ideal bound")):
        if baseline not in scores:
            continue
        limit = scores[baseline].median_abs_error
        worse = [name for name, score in models.items() if not score.median_abs_error < limit]
        if worse:
            text = Markup("<strong>{} no better than {}</strong> (median error {}).")
            verb = "is" if len(worse) == 1 else "are"
            found.append(text.format(f"{', '.join(worse)} {verb}", meaning, percent(limit)))
    return found


def _coverage(name: str, score: ErrorScore) -> list[Markup]:
    """A sentence if the coverage of a method's intervals differs from 90 % by more than chance."""
    if score.n == 0 or not math.isfinite(score.coverage_90):
        return []
    held = round(score.coverage_90 * score.n)
    text = Markup("The 90 % intervals of {} are too {}: they hold {} of {} held-out points.")
    if scipy.stats.binom.cdf(held, score.n, CONFIDENCE) < UNLIKELY:
        return [text.format(name, "narrow", held, score.n)]
    if scipy.stats.binom.sf(held - 1, score.n, CONFIDENCE) < UNLIKELY:
        return [text.format(name, "wide", held, score.n)]
    return []


def _limits(study: FinishedRun) -> list[Markup]:
    """Sentences on the most frequent bottleneck according to the sequence model, and on the
    change that would gain most."""
    counts: dict[str, int] = {}
    for result in study.of_method("sequence"):
        limit = result.limits[0].name if result.limits else result.binding
        if limit:
            counts[limit] = counts.get(limit, 0) + 1
    found = []
    if counts:
        parts = sorted(counts.items(), key=lambda pair: -pair[1])
        text = "; ".join(f"in {count} configurations {limit}" for limit, count in parts)
        found.append(
            Markup("What limits, by the sequence model: {}.").format(
                text.replace("in 1 configurations", "in 1 configuration")
            )
        )
    advised = study.find(Advised)
    if advised is not None:
        found += [Markup("{}").format(one) for one in advised.advice.sentences()[:2]]
    return found


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
