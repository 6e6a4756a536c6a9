"""Renders the section on a designed sweep: effects and importance of its factors, validation of the
models, and the next runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    absent,
    count,
    heads,
    number,
    number_text,
    percent,
    percent_text,
    signed,
    words,
)
from dfslab.report.charts import palette
from dfslab.report.charts.figure import MARKS, Axis, Bars, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, drawn, folded, heading, note
from dfslab.result import Metric
from dfslab.studies.contract import FinishedRun
from dfslab.studies.designs.lessons import EQUIVALENCE, FactorImportance, Learning, PaperCoefficient

TITLE = "Factors"
ORDER = 55
EMPTY = "The scenario declares no factors, so there is nothing to rank."
MEASURED_AGAINST = ("greybox", "linear", "boosting")


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the importance of the factors, the validation of the models, Kumar 2018's
    tables of coefficients, the slopes of the rate over each factor, and proposed runs.

    None if the run has no design.
    """
    found = study.find(Learning)
    if found is None:
        return None
    return Markup("").join(
        [
            _bill(found),
            _importance(found),
            _regimes(found),
            _validation(found),
            _parity(found),
            _curve(found),
            _tables(found),
            _slopes(found),
            _next(found),
        ]
    )


def _bill(found: Learning) -> Markup:
    return note(
        f"{found.runs} runs of {found.configurations} configurations on {found.testbeds} testbeds; "
        f"{found.legal:,} of {found.box:,} combinations are legal. Measuring took "
        f"{found.measured_s / 60:.0f} min (planned {found.predicted_s / 60:.0f} min)."
    )


def _ordered(importance: Sequence[FactorImportance]) -> list[FactorImportance]:
    return sorted(importance, key=lambda one: one.total.value)


def _importance(found: Learning) -> Markup:
    """Returns the HTML of the importance of factors. The HTML has a bar chart and a table of all
    measures of importance. If no importance was computed, the HTML states why.

    The chart has the first-order and the total sensitivity indices, which are shares of the
    variance of the logarithm of the rate.
    """
    if found.importance_refused:
        return Markup("").join(map(note, found.importance_notes()))
    ordered = _ordered(found.importance)
    top_down = ordered[::-1]
    chart = figure(
        [
            Panel(
                "",
                bars=[
                    _bars("total", [one.total for one in top_down], 0.35),
                    _bars("first order", [one.first_order for one in top_down], 1.0),
                ],
            )
        ],
        Axis("index, 90 % interval", from_zero=True),
        Axis(categories=[one.factor for one in top_down]),
        "importance of every factor with intervals",
        "Share of the variance of log rate that each factor decides",
    )
    names = list(dict.fromkeys(name for one in found.importance for name in one.measures))
    rows = [
        [
            words(one.factor),
            words(one.verdict),
            _range(one.first_order),
            _range(one.total),
            *(_range(one.measures.get(name)) for name in names),
        ]
        for one in reversed(ordered)
    ]
    text = (
        "Indices of the grey-box model over the legal combinations; a factor that is tied to "
        "others by a rule shares its first-order index with them. The other measures use the runs "
        "and no model. VI is the paper's measure: first-order shares, which leave interactions out."
    )
    notes = Markup("").join(map(note, found.importance_notes()))
    columns = heads("factor", "verdict", "first order", "total", *names, wrapped=["verdict"])
    table = Table("Importance of the factors", columns, rows)
    every = folded("Every measure, with 90 % intervals", drawn(table))
    return chart + note(text) + notes + every


def _bars(name: str, metrics: Sequence[Metric], opacity: float) -> Bars:
    return Bars(
        name,
        palette.of_method("sequence"),
        [metric.value for metric in metrics],
        [metric.low for metric in metrics],
        [metric.high for metric in metrics],
        [f"{name} {metric.value:.2f}" for metric in metrics],
        opacity,
    )


def _range(metric: Metric | None) -> TableCell:
    if metric is None or metric.low is None or metric.high is None:
        return absent()
    interval = f"{metric.low:.2f} to {metric.high:.2f}"
    return TableCell(metric.value, f"{metric.value:.2f}", interval, metric.low, metric.high)


def _regimes(found: Learning) -> Markup:
    rows = []
    for regime in found.regimes:
        best = _ordered(regime.importance)[::-1][:4]
        shown = ", ".join(
            f"{one.factor} {one.total.value:.2f} ({one.total.low:.2f} to {one.total.high:.2f})"
            for one in best
        )
        rows.append([words(regime.name), words(shown)])
    columns = heads("regime", "first four", wrapped=["first four"])
    return contents(Table("What decides in each regime (total index)", columns, rows))


def _validation(found: Learning) -> Markup:
    parts = [heading("Errors on runs that were left out")]
    kinds = list(found.validation.scores)
    methods = list(dict.fromkeys(m for s in found.validation.scores.values() for m in s))
    rows = []
    for method in methods:
        cells = []
        for kind in kinds:
            score = found.validation.scores[kind].get(method)
            cells.append(
                absent()
                if score is None
                else replace(
                    percent(score.median_abs_error), note=f"covers {score.coverage_90:.0%}"
                )
            )
        rows.append([words(method), *cells])
    parts.append(
        note(
            "Median |error|, and the share of measurements inside their 90 % interval. In random "
            "rows, runs of one testbed are both fitted on and left out, so errors are too small; "
            "the other columns leave out whole layouts, rates and scales."
        )
    )
    parts.append(drawn(Table("Errors on runs that were left out", heads("method", *kinds), rows)))
    if found.noise is not None:
        parts.append(
            note(
                f"One run predicted by another of the same configuration errs by "
                f"{percent_text(found.noise.median_abs_error)} in the median and by "
                f"{percent_text(found.noise.p90_abs_error)} in one of ten "
                f"({found.noise.configurations} configurations were repeated): no model "
                "learnt from these runs can have a smaller error."
            )
        )
    gaps = ", ".join(
        f"{name} {percent_text(rows)} instead of {percent_text(layouts)}"
        for name, (rows, layouts) in found.validation.leakage.items()
    )
    parts.append(note(f"The leakage gap: on random rows {gaps}."))
    rates = ", ".join(f"{name} {share:.0%}" for name, share in found.impossible.items())
    parts.append(
        note(
            f"Impossible predictions (negative, or above the line rate) on the legal set: {rates}."
        )
    )
    return Markup("").join(parts)


def _parity(found: Learning) -> Markup:
    rows = found.validation.rows.get("layout", [])
    values = [row.measured.value for row in rows]
    if not values:
        return Markup("")
    ends = (min(values) / 2, max(values) * 2)
    panels = []
    for place, method in enumerate(MEASURED_AGAINST):
        own = [
            row for row in rows if method in row.predictions and row.predictions[method].value > 0
        ]
        if own:
            equal = Series("predicted = measured", palette.REFERENCE, ends, ends, line="solid")
            points = Series(
                method,
                palette.of_place(place),
                [row.measured.value for row in own],
                [row.predictions[method].value for row in own],
                mark=MARKS[place],
            )
            panels.append(Panel(method, [equal, points]))
    return figure(
        panels,
        Axis("measured operations per second", "1/s", log=True, limits=ends),
        Axis("predicted operations per second", "1/s", log=True, limits=ends),
        "measured against predicted rates on layouts left out",
        "Measured against predicted, on layouts left out",
    )


def _curve(found: Learning) -> Markup:
    if not found.curve:
        return Markup("")
    names = list(dict.fromkeys(name for step in found.curve for name in step.median_abs_error))
    series = [
        Series(
            name,
            palette.of_place(place),
            [step.seconds / 3600 for step in found.curve if name in step.median_abs_error],
            [s.median_abs_error[name] for s in found.curve if name in s.median_abs_error],
            line="solid",
            mark=MARKS[place % len(MARKS)],
        )
        for place, name in enumerate(names)
    ]
    return figure(
        [Panel("", series)],
        Axis("hours measured", from_zero=True),
        Axis("median |error|", "%", from_zero=True),
        "learning curve: error against hours of measurement",
        "Median |error| on testbeds that no model was fitted on, against hours of measurement",
    )


def _tables(found: Learning) -> Markup:
    """Returns the HTML of Kumar 2018's Tables 5 and 6 (regression coefficients), with one column
    for each operation, in MB/s; empty if no regression was fitted."""
    tables = found.regressions
    if not tables:
        return Markup("")
    names = list(dict.fromkeys(c.name for one in tables for c in one.coefficients))
    rows = [[words("constant"), *(number(one.constant) for one in tables)]]
    for name in names:
        cells = []
        for one in tables:
            own = next((c for c in one.coefficients if c.name == name), None)
            cells.append(absent() if own is None else _coefficient(own))
        rows.append([words(name), *cells])
    columns = heads("feature", *(one.operation for one in tables))
    quality = [
        [words("adjusted R²"), *(percent(one.adjusted_r_squared) for one in tables)],
        [words("R² on a random quarter"), *(percent(one.validation) for one in tables)],
        [words("negative predictions"), *(percent(one.negative_share) for one in tables)],
        [words("configurations"), *(count(one.rows) for one in tables)],
    ]
    text = (
        "Multiple linear regression of MB/s as in Kumar 2018, Tables 5 and 6, over hardware, "
        "layout and size of the data. The switches of the file system and the block size are the "
        "paper's second model, which only ranks. Coefficient ± standard error, rates and sizes in "
        "millions. Rank by the effect over the range, not by the coefficient."
    )
    return Markup("").join(
        [
            heading("The paper's regression"),
            note(text),
            drawn(Table("Coefficients", columns, rows)),
            drawn(Table("Quality of the regression", columns, quality)),
        ]
    )


def _coefficient(own: PaperCoefficient) -> TableCell:
    text = f"{number_text(own.value)} ± {number_text(own.standard_error)}"
    return TableCell(own.value, text, f"{number_text(own.effect)} over its range")


def _slopes(found: Learning) -> Markup:
    rows = [
        [words(one.operation), words(one.factor), words(one.direction), _range(one.slope)]
        for one in found.slopes
    ]
    text = (
        "Slope of log2 rate for a doubling of the factor (names: for the step), log-linear, each "
        f"operation by itself. {found.counted_directions()} {EQUIVALENCE}"
    )
    columns = heads("operation", "factor", "shows", "slope", left=["factor", "shows"])
    return heading("Slopes") + note(text) + drawn(Table("Slopes", columns, rows))


def _next(found: Learning) -> Markup:
    if not found.proposals:
        return Markup("")
    rows = []
    for one in found.proposals:
        gain = one.sd_after / one.sd_before - 1 if one.sd_before else 0.0
        shown = ", ".join(f"{key} {value}" for key, value in one.labels.items())
        time = TableCell(one.seconds, f"{one.seconds:.0f}")
        rows.append([words(shown), time, signed(gain)])
    columns = heads("run", "seconds", "uncertainty over the legal set", wrapped=["run"])
    title = "The next runs, by the uncertainty that each hour removes"
    return contents(Table(title, columns, rows))


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.LIMITS)
