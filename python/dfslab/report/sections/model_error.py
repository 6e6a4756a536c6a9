"""Renders the section on the prediction errors of all methods and baselines: on held-out,
cross-validated and fitted configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup

from dfslab.documents.answers import RegressionFit
from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    count,
    heads,
    number_text,
    percent,
    percent_text,
    signed,
    words,
)
from dfslab.method import BASELINES
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Bars, Panel, VerticalLine
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, drawn, folded, heading, note
from dfslab.studies.compare import Comparison, ErrorScore
from dfslab.studies.contract import FinishedRun
from dfslab.studies.crossval import CrossValidated

TITLE = "Model errors"
ORDER = 60
EMPTY = "No model was judged."
COLUMNS = heads(
    "method", "configurations", "median |error|", "90 % |error|", "signed median", "90 % coverage"
)
TEXTS = {"mean": "mean (baseline)", "ideal": "ideal (bound)", "serial": "serial (baseline)"}
SHADES = (1.0, 0.6, 0.3)
ScoresBySet = Mapping[str, Mapping[str, ErrorScore]]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the scores of the methods, the calibrated constants, and the coefficients of
    the regression.

    Returns None if no method was compared.
    """
    comparison, validated = study.find(Comparison), study.find(CrossValidated)
    left_out = {} if validated is None else validated.scores
    if comparison is None or not (comparison.held_out or comparison.fitted):
        return None
    sets = {
        "Held-out configurations": comparison.held_out,
        "Cross-validation over whole configurations": left_out,
        "Configurations the models were fitted on": comparison.fitted,
    }
    parts = [_chart(sets, comparison.noise)]
    parts += [_scores(title, scores) for title, scores in sets.items()]
    parts += [_constants(study), _regression(study)]
    return Markup("").join(parts)


def _ordered(scores: Mapping[str, ErrorScore]) -> list[str]:
    """Returns the names of methods in display order: first the models, then the baselines. Models
    and baselines are each ordered by accuracy, the most accurate first."""
    return sorted(scores, key=lambda m: (m in BASELINES, scores[m].median_abs_error))


def _chart(sets: ScoresBySet, noise: float) -> Markup:
    """Returns the HTML of a chart of the median errors as bars. `noise` is the relative noise
    between repetitions, which is drawn as a vertical line. `noise` is 0 or not finite if the noise
    is unknown.

    The method "ideal" is left out. This method gives an upper bound of the rate, not a prediction,
    and its bar would be much longer than the other bars.
    """
    methods = [
        m
        for m in dict.fromkeys(name for s in sets.values() for name in _ordered(s))
        if m != "ideal"
    ]
    bars = [
        Bars(
            title,
            palette.SEQUENCE[0],
            [scores[m].median_abs_error if m in scores else None for m in methods],
            hints=[
                f"{m}: {percent_text(scores[m].median_abs_error)}" if m in scores else ""
                for m in methods
            ],
            opacity=shade,
        )
        for shade, (title, scores) in zip(SHADES, sets.items(), strict=True)
        if scores
    ]
    if not methods:
        return Markup("")
    known = noise and math.isfinite(noise)
    vertical_lines = [VerticalLine(noise, "noise between repetitions")] if known else []
    return figure(
        [Panel("", bars=bars, vertical_lines=vertical_lines)],
        Axis("median |error|", "%", from_zero=True),
        Axis(categories=[TEXTS.get(method, method) for method in methods]),
        "median error of every method on each set of configurations",
        "Median |error| of every method",
    )


def _scores(title: str, scores: Mapping[str, ErrorScore]) -> Markup:
    if not scores:
        return heading(title) + Markup('<p class="empty">None.</p>')
    rows = [
        [
            words(TEXTS.get(name, name)),
            count(scores[name].n),
            percent(scores[name].median_abs_error),
            percent(scores[name].p90_abs_error),
            signed(scores[name].median_signed_error),
            TableCell(scores[name].coverage_90, f"{scores[name].coverage_90:.0%}"),
        ]
        for name in _ordered(scores)
    ]
    return contents(Table(title, COLUMNS, rows))


def _constants(study: FinishedRun) -> Markup:
    """Returns the HTML of a table of the calibrated constants of the file system's description. The
    table also shows how well the data determined each constant. The result is empty if nothing was
    calibrated."""
    found = next((r.fit for r in study.of_method("sequence") if r.fit and r.fit.constants), None)
    if found is None:
        return Markup("")
    rows = [
        [
            words(c.key),
            words(c.meaning),
            TableCell(c.value, f"{c.value:.3g}"),
            words(c.unit),
            _spread(c.log_standard_error),
            percent(c.learnt, is_bar=True),
        ]
        for c in found.constants
    ]
    columns = heads(
        "constant",
        "meaning",
        "value",
        "unit",
        "standard error",
        "learnt from data",
        wrapped=["meaning"],
    )
    text = "A constant that no measurement determines keeps the value that the description assumes."
    title = "Calibrated constants of the description"
    return heading(title) + note(text) + drawn(Table(title, columns, rows))


def _spread(log_standard_error: float) -> TableCell:
    """Returns the cell of exp(log_standard_error), the factor by which a constant may be too small
    or too large."""
    factor = math.exp(log_standard_error)
    return TableCell(factor, f"× ÷ {factor:.2f}")


def _regression(study: FinishedRun) -> Markup:
    """Returns the HTML of the fitted regression: its coefficients, the quantities that affect the
    rate, and the excluded quantities. Empty if no regression was fitted."""
    found = next((r.regression for r in study.of_method("regression") if r.regression), None)
    if found is None:
        return Markup("")
    rows = [
        [
            words(name),
            TableCell(c.value, f"{c.value:.4g}"),
            TableCell(c.standard_error, f"{c.standard_error:.2g}"),
        ]
        for name, c in found.coefficients.items()
    ]
    fit = note(
        f"R² {number_text(found.r_squared)}, adjusted R² "
        f"{number_text(found.adjusted_r_squared)}, on the fitted configurations; quantities "
        "in powers of two."
    )
    columns = heads("column", "coefficient", "standard error")
    coefficients = Table("Coefficients", columns, rows, folded=f"All {len(rows)} coefficients")
    return heading("Regression of log rate") + fit + _importance(found) + contents(coefficients)


def _importance(fit: RegressionFit) -> Markup:
    """Returns the HTML of a table and a list. The table shows how much each quantity affects the
    rate in the fitted configurations. The list has the quantities that the regression excludes,
    with the reasons."""
    rows = [
        [
            words(name),
            TableCell(one.first_order, f"{one.first_order:.2f}"),
            percent(one.share, is_bar=True),
        ]
        for name, one in fit.importance.items()
    ]
    dropped = [f"{', '.join(names)} ({reason})" for reason, names in fit.dropped.items() if names]
    left_out = folded("What the regression leaves out", note("; ".join(dropped)))
    table = Table("Importance", heads("quantity", "first-order index", "share"), rows)
    return (drawn(table) if rows else Markup("")) + (left_out if dropped else "")


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.MODELS)
