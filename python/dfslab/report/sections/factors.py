"""Renders the section on a designed sweep: effects and importance of its factors, validation of
the models, and the next runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from dfslab.report.contract import PageSection
from dfslab.report.figure import ChartLayout, Curve
from dfslab.report.page_table import folded, note, number, percent, signed, table, wide
from dfslab.report.plot import axis, chart, colour, heading, log_axis, with_interval, words
from dfslab.result import Metric
from dfslab.studies.contract import FinishedRun
from dfslab.studies.designs.lessons import EQUIVALENCE, FactorImportance, Learning

TITLE = "Factors"
ORDER = 55
EMPTY = "The scenario declares no factors, so there is nothing to rank."
MEASURED_AGAINST = ("greybox", "linear", "boosting")


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: importance, validation, Kumar 2018's tables, slopes, and proposed runs.

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
    """HTML of the importance of factors: bars of first-order and total indices, and a table of
    all measures."""
    if found.importance_refused:
        return Markup("").join(map(note, found.importance_notes()))
    ordered = _ordered(found.importance)
    data = [
        _bars("total", [o.factor for o in ordered], [o.total for o in ordered], 0.35),
        _bars("first order", [o.factor for o in ordered], [o.first_order for o in ordered], 1.0),
    ]
    layout: ChartLayout = {
        "title": heading("Share of the variance of log rate that each factor decides"),
        "barmode": "group",
        "height": 120 + 34 * len(ordered),
        "xaxis": axis("index, 90 % interval", rangemode="tozero"),
        "yaxis": axis(""),
    }
    names = list(dict.fromkeys(name for one in found.importance for name in one.measures))
    rows = [
        [
            one.factor,
            wide(one.verdict),
            _range(one.first_order),
            _range(one.total),
            *(_range(one.measures.get(name)) for name in names),
        ]
        for one in reversed(ordered)
    ]
    text = (
        "Indices of the grey-box model over the legal combinations; a factor that is tied to "
        "others by a rule shares its first-order index with them. The other measures look at the "
        "runs alone. VI is the paper's: first-order shares that hide what interactions decide."
    )
    hidden = Markup("").join(map(note, found.importance_notes()))
    head = ["factor", "verdict", "first order", "total", *names]
    return (
        chart(data, layout, "importance of every factor with intervals")
        + note(text)
        + hidden
        + folded("Every measure, with 90 % intervals", table(head, rows, texts=2))
    )


def _bars(name: str, factors: Sequence[str], metrics: Sequence[Metric], opacity: float) -> Curve:
    bars = with_interval(metrics)
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [words(one) for one in factors],
        "x": [metric.value for metric in metrics],
        "error_x": bars,
        "marker": {"color": colour("sequence"), "opacity": opacity},
    }


def _range(metric: Metric | None) -> Any:
    if metric is None or metric.low is None or metric.high is None:
        return "–"
    return Markup("<td>{}<small>{} to {}</small></td>").format(
        f"{metric.value:.2f}", f"{metric.low:.2f}", f"{metric.high:.2f}"
    )


def _regimes(found: Learning) -> Markup:
    rows = []
    for regime in found.regimes:
        best = _ordered(regime.importance)[::-1][:4]
        shown = ", ".join(
            f"{one.factor} {one.total.value:.2f} ({one.total.low:.2f} to {one.total.high:.2f})"
            for one in best
        )
        rows.append([regime.name, wide(shown)])
    return Markup("<h3>What decides in each regime (total index)</h3>{}").format(
        table(["regime", "first four"], rows, texts=2)
    )


def _validation(found: Learning) -> Markup:
    parts = [Markup("<h3>Errors on what was left out</h3>")]
    kinds = list(found.validation.scores)
    methods = list(dict.fromkeys(m for s in found.validation.scores.values() for m in s))
    rows = []
    for method in methods:
        cells = []
        for kind in kinds:
            score = found.validation.scores[kind].get(method)
            cells.append(
                "–"
                if score is None
                else Markup("<td>{}<small>{}</small></td>").format(
                    percent(score.median_abs_error), f"covers {score.coverage_90:.0%}"
                )
            )
        rows.append([method, *cells])
    parts.append(
        note(
            "Median |error| and how often the 90 % interval held. Random rows let runs of one "
            "testbed into both parts and flatter; the other columns leave out whole layouts, "
            "rates and scales."
        )
    )
    parts.append(table(["method", *kinds], rows))
    if found.noise is not None:
        parts.append(
            note(
                f"One run predicted by another of the same configuration errs by "
                f"{percent(found.noise.median_abs_error)} in the median and by "
                f"{percent(found.noise.p90_abs_error)} in one of ten "
                f"({found.noise.configurations} configurations were repeated): nothing learnt from "
                "such runs can be asked for less."
            )
        )
    gaps = ", ".join(
        f"{name} {percent(rows)} instead of {percent(layouts)}"
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
    ends = [min(values) / 2, max(values) * 2]
    data: list[Curve] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": ends,
            "y": ends,
            "name": "predicted = measured",
            "line": {"color": "#888888", "width": 1.2},
        }
    ]
    for method in MEASURED_AGAINST:
        own = [
            row for row in rows if method in row.predictions and row.predictions[method].value > 0
        ]
        if own:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": method,
                    "x": [row.measured.value for row in own],
                    "y": [row.predictions[method].value for row in own],
                    "marker": {"color": colour(method), "size": 7, "opacity": 0.7},
                    "visible": True if method == "greybox" else "legendonly",
                }
            )
    layout: ChartLayout = {
        "title": heading("Measured against predicted, on layouts left out"),
        "height": 460,
        "xaxis": log_axis("measured operations per second", values),
        "yaxis": log_axis("predicted operations per second", values),
    }
    return chart(data, layout, "measured against predicted rates on layouts left out")


def _curve(found: Learning) -> Markup:
    if not found.curve:
        return Markup("")
    names = list(dict.fromkeys(name for step in found.curve for name in step.median_abs_error))
    data: list[Curve] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [step.seconds / 3600 for step in found.curve if name in step.median_abs_error],
            "y": [s.median_abs_error[name] for s in found.curve if name in s.median_abs_error],
            "line": {"color": colour(name)},
        }
        for name in names
    ]
    layout: ChartLayout = {
        "title": heading("Median |error| on testbeds never seen, against hours of measurement"),
        "xaxis": axis("hours measured", rangemode="tozero"),
        "yaxis": axis("median |error|", tickformat=".0%", rangemode="tozero"),
        "height": 320,
    }
    return chart(data, layout, "learning curve: error against hours of measurement")


def _tables(found: Learning) -> Markup:
    """HTML of Kumar 2018's Tables 5 and 6 (regression coefficients), with one column for each
    operation, in MB/s."""
    tables = found.regressions
    if not tables:
        return Markup("")
    names = list(dict.fromkeys(c.name for one in tables for c in one.coefficients))
    rows: list[list[Any]] = [["constant", *(number(one.constant) for one in tables)]]
    for name in names:
        cells = []
        for one in tables:
            own = next((c for c in one.coefficients if c.name == name), None)
            cells.append(
                "–"
                if own is None
                else Markup("<td>{} ± {}<small>{}</small></td>").format(
                    number(own.value),
                    number(own.standard_error),
                    f"{number(own.effect)} over its range",
                )
            )
        rows.append([name, *cells])
    head = ["feature", *(one.operation for one in tables)]
    second: list[list[Any]] = [
        ["adjusted R²", *(f"{one.adjusted_r_squared:.1%}" for one in tables)],
        ["R² on a random quarter", *(f"{one.validation:.1%}" for one in tables)],
        ["negative predictions", *(percent(one.negative_share) for one in tables)],
        ["configurations", *(one.rows for one in tables)],
    ]
    text = (
        "Multiple linear regression of MB/s as in Kumar 2018, Tables 5 and 6, over hardware, "
        "layout and size of the data. The switches of the file system and the block size are the "
        "paper's second model, which only ranks. Coefficient ± standard error, rates and sizes in "
        "millions. Rank by the effect over the range, not by the coefficient."
    )
    return Markup("<h3>The paper's regression</h3>{}{}{}").format(
        note(text), table(head, rows), table(head, second)
    )


def _slopes(found: Learning) -> Markup:
    rows = [[one.operation, one.factor, one.direction, _range(one.slope)] for one in found.slopes]
    text = (
        "Slope of log2 rate for a doubling of the factor (names: for the step), log-linear, each "
        f"operation by itself. {found.counted_directions()} {EQUIVALENCE}"
    )
    body = table(["operation", "factor", "shows", "slope"], rows, texts=3)
    return Markup("<h3>Slopes</h3>{}{}").format(note(text), body)


def _next(found: Learning) -> Markup:
    if not found.proposals:
        return Markup("")
    rows = []
    for one in found.proposals:
        gain = one.sd_after / one.sd_before - 1 if one.sd_before else 0.0
        shown = ", ".join(f"{key} {value}" for key, value in one.labels.items())
        rows.append([wide(shown), f"{one.seconds:.0f}", signed(gain)])
    head = ["run", "seconds", "uncertainty over the legal set"]
    return Markup("<h3>The next runs, by what they tell for each hour</h3>{}").format(
        table(head, rows)
    )


SECTION = PageSection(TITLE, ORDER, EMPTY, render)
