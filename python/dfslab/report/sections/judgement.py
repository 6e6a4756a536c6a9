"""Renders the section that judges the models in sentences: the noise of the measurements, the best
model, the baselines, and the coverage of intervals."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from dfslab.documents.table import Name, Tab, percent_text
from dfslab.method import BASELINES, CONFIDENCE
from dfslab.report.answers.verdict import best_model
from dfslab.report.contract import PageSection
from dfslab.studies.compare import ComparedPoint, Comparison, ErrorScore
from dfslab.studies.contract import FinishedRun

TITLE = "How good the models are"
ORDER = 34
EMPTY = "No model was compared with a measurement."
# Intervals are called too narrow or too wide if the number of measured values inside the intervals
# has at most this probability for correct intervals.
UNLIKELY = 0.05


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a list of sentences. None if nothing was both measured and predicted."""
    comparison = study.find(Comparison)
    if comparison is None or not comparison.rows:
        return None
    sentences = [*_noise(comparison), *_judgement(comparison, study.name)]
    items = Markup("\n").join(Markup("<li>{}</li>").format(one) for one in sentences)
    return Markup('<ul class="summary">{}</ul>').format(items)


def _noise(comparison: Comparison) -> list[Markup]:
    """Returns a sentence on the noise: how much repeated measurements of one configuration differ.
    If no configuration was repeated, the sentence reports that. The list is empty if configurations
    were repeated but the noise is unknown."""
    repetitions = int(np.median([row.repetitions for row in comparison.rows]))
    if not comparison.noise or not math.isfinite(comparison.noise):
        text = "No configuration was repeated, so the run-to-run noise is not known."
        return [Markup(text)] if repetitions < 2 else []
    return [
        Markup(
            "Repeated runs of one configuration differ by <strong>{}</strong> (standard "
            "deviation), so a mean of {} is uncertain by about {}: smaller errors cannot be "
            "distinguished from noise."
        ).format(
            percent_text(comparison.noise),
            repetitions,
            percent_text(comparison.noise / math.sqrt(repetitions)),
        )
    ]


def _judgement(comparison: Comparison, name: Name) -> list[Markup]:
    """Returns sentences on the best model for held-out configurations, and on whether it is better
    than the baselines. If nothing was held out, returns a single sentence that reports this."""
    scores = comparison.held_out
    if not scores:
        return [Markup("No configuration was held out, so no prediction was put to the test.")]
    models = {model: score for model, score in scores.items() if model not in BASELINES}
    found = []
    best = best_model(scores)
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
            Markup("Largest error on a held-out configuration: {} by {:+.0%} at {}.").format(
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
        "<strong>{}</strong>, and its 90 % intervals contain {:.0%} of the measurements"
    ).format(score.n, name, percent_text(score.median_abs_error), score.coverage_90)
    beaten = [
        f"{_off(scores[baseline].median_abs_error)} for {meaning}"
        for baseline, meaning in (
            ("mean", "the mean of the measurements"),
            ("ideal", "the ideal bound of the hardware"),
        )
        if baseline in scores and score.median_abs_error < scores[baseline].median_abs_error
    ]
    return text + (f"; compared with {' and '.join(beaten)}." if beaten else ".")


def _off(error: float) -> str:
    """Returns a relative error as a percentage, or as a factor if it is 10 (1000 %) or more."""
    return percent_text(error) if error < 10 else f"a factor of {1 + error:,.0f}"


def _no_better(
    best: str, models: dict[str, ErrorScore], scores: dict[str, ErrorScore]
) -> list[Markup]:
    """Returns sentences that name the models that are no better than a baseline, at most one for
    each baseline."""
    found = []
    for baseline, meaning in (
        ("mean", "the mean of the measurements"),
        ("ideal", "the ideal bound"),
    ):
        if baseline not in scores:
            continue
        limit = scores[baseline].median_abs_error
        worse = [name for name, score in models.items() if not score.median_abs_error < limit]
        if worse:
            text = Markup("<strong>{} no better than {}</strong> (median error {}).")
            verb = "is" if len(worse) == 1 else "are"
            found.append(text.format(f"{', '.join(worse)} {verb}", meaning, percent_text(limit)))
    return found


def _coverage(name: str, score: ErrorScore) -> list[Markup]:
    """Returns a sentence if the coverage of a method's 90 % intervals differs from 90 % by more
    than chance."""
    if score.n == 0 or not math.isfinite(score.coverage_90):
        return []
    held = round(score.coverage_90 * score.n)
    text = Markup("The 90 % intervals of {} are too {}: they contain {} of {} held-out points.")
    import scipy

    if scipy.stats.binom.cdf(held, score.n, CONFIDENCE) < UNLIKELY:
        return [text.format(name, "narrow", held, score.n)]
    if scipy.stats.binom.sf(held - 1, score.n, CONFIDENCE) < UNLIKELY:
        return [text.format(name, "wide", held, score.n)]
    return []


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.MODELS)
