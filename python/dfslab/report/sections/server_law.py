"""Renders the section on the metadata server: how its response time grows with the number of
clients (Wu 2013, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import (
    Tab,
    Table,
    TableCell,
    absent,
    count,
    heads,
    number_text,
    percent,
    rate,
    seconds,
    seconds_text,
    signed,
    words,
)
from dfslab.report.charts import palette
from dfslab.report.charts.figure import DASHES, Axis, Numbers, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import drawn, folded, heading, note
from dfslab.studies.contract import FinishedRun
from dfslab.studies.server_law import BOUND_S, LAWS, PEAK_S, Burst, Ratio, ResponseCurve, ServerLaw

TITLE = "The metadata server's law"
ORDER = 48
EMPTY = "No metadata operation was measured at four numbers of clients or more."
NOTE = (
    "Mean response of one operation against clients that do nothing else, with 90 % intervals; "
    "filled points were held out. Every law is fitted with relative errors, weighed by AICc with "
    "the variance between runs."
)
RESIDUAL_NOTE = "Residuals: the response time by each law, divided by the measured one, minus 1."
RATIO_NOTE = (
    "The law x ln x of the smallest share and the scores of the processors predict the capacity of "
    "the other shares. The score is the geometric mean of compression and hashing rates, run "
    "inside the same limits before the daemons have work. p_max: the largest peak of "
    f"{PEAK_S:g} s whose mean response stays below {BOUND_S:g} s."
)
BURST_NOTE = (
    "Real peaks at the stated rate. The capacity q is the capacity of the smallest share by its "
    "likeliest law, times the ratio of scores. Responses and the time until the queue is empty "
    "again follow from q, the rate and the length of the peak, by the regime's formula."
)


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the measured response times over the number of clients, the fitted laws with
    their residuals, and the evidence for each law. A law is a formula for the response time.
    Returns None if no server was analysed.

    Two further parts follow if their data were analysed: the ratios of server capacities at
    different processor shares, and the responses to bursts of requests.
    """
    found = study.find(ServerLaw)
    if found is None:
        return None
    parts = [
        note(NOTE),
        _responses(found.curves),
        folded("Residuals of every law", note(RESIDUAL_NOTE) + _residuals(found.curves)),
        drawn(_evidence(found.curves)),
    ]
    if found.ratios:
        parts += [
            heading("Coefficients compared with processor scores"),
            note(RATIO_NOTE),
            drawn(_ratios(found.ratios)),
            note(found.conclusion),
            drawn(_capacity(found)),
        ]
    if found.bursts:
        parts += [heading("Bursts"), note(BURST_NOTE), drawn(_bursts(found.bursts))]
    return Markup("").join(parts)


def _title(curve: ResponseCurve) -> str:
    files = "files each" if curve.files == "each" else "files in all"
    return f"{curve.operation}, {curve.share:g} cores, as many {files}"


def _line(law: str, x: Numbers, y: Numbers) -> Series:
    """Returns the curve of a law, which is a formula for the response time over the number of
    clients. A law has the same colour and style in all panels."""
    place = LAWS.index(law)
    return Series(law, palette.of_place(place), x, y, line=DASHES[place % len(DASHES)])


def _responses(curves: Sequence[ResponseCurve]) -> Markup:
    panels = [
        Panel(
            _title(curve),
            [
                *(
                    _line(fit.law, [n for n, _ in fit.line], [time for _, time in fit.line])
                    for fit in curve.fits
                ),
                _points(curve),
            ],
        )
        for curve in curves
    ]
    return figure(
        panels,
        Axis("clients", log=True),
        Axis("mean response time", "s", log=True),
        "response against clients, measured and by each law",
    )


def _points(curve: ResponseCurve) -> Series:
    return Series(
        "measured",
        palette.MEASURED,
        list(curve.clients),
        [one.value for one in curve.response],
        mark="circle",
        hollow=[not held for held in curve.held_out],
        low=[one.low for one in curve.response],
        high=[one.high for one in curve.response],
        hints=[seconds_text(one.value) for one in curve.response],
    )


def _residuals(curves: Sequence[ResponseCurve]) -> Markup:
    panels = [
        Panel(_title(curve), [_line(fit.law, curve.clients, fit.residuals) for fit in curve.fits])
        for curve in curves
    ]
    return figure(
        panels,
        Axis("clients", log=True),
        Axis("predicted / measured − 1", "%", limits=(-1.0, 1.0)),
        "residuals of each law against clients",
    )


def _evidence(curves: Sequence[ResponseCurve]) -> Table:
    rows = [
        [
            words(_title(curve)),
            words(fit.law),
            words(", ".join(f"{value:.3g}" for value in fit.parameters)),
            TableCell(fit.r2, f"{fit.r2:.4f}"),
            TableCell(fit.aicc, f"{fit.aicc:.1f}"),
            TableCell(fit.weight, f"{fit.weight:.0%}"),
            percent(fit.held_out_q_error),
            count(curve.separated_at) if curve.separated_at else absent(),
        ]
        for curve in curves
        for fit in curve.fits
    ]
    columns = heads(
        "curve",
        "law",
        "parameters (s)",
        "R²",
        "AICc",
        "weight",
        "held-out |error| of q",
        "clients that separate the laws best",
        left=["law", "parameters (s)"],
    )
    return Table("Evidence for each law", columns, rows)


def _ratios(ratios: Sequence[Ratio]) -> Table:
    rows = [
        [
            words(f"{one.share:g}"),
            TableCell(one.k_ms / 1e3, f"{one.k_ms:.4g} ms"),
            TableCell(one.k_ratio, f"{one.k_ratio:.3f}"),
            TableCell(one.score_ratio, f"{one.score_ratio:.3f}"),
            signed(one.k_ratio / one.score_ratio - 1),
            count(one.at_clients),
            rate(one.q_from_score_per_s),
            rate(one.q_measured_per_s),
            signed(one.q_from_score_per_s / one.q_measured_per_s - 1),
            TableCell(one.q_best_per_s, f"{number_text(one.q_best_per_s)}/s ({one.best_law})"),
            signed(one.q_best_per_s / one.q_measured_per_s - 1),
            rate(one.p_max_per_s),
        ]
        for one in ratios
    ]
    columns = heads(
        "cores",
        "k of x ln x",
        "ratio of 1/k",
        "ratio of scores",
        "difference",
        "at clients",
        "q by score",
        "q measured",
        "error",
        "q by score and likeliest law",
        "error",
        "p_max by score",
    )
    return Table("Coefficients compared with processor scores", columns, rows)


def _capacity(found: ServerLaw) -> Table:
    """Returns a table with one row for each law (formula for the response time).

    A row has the weight of the law, and its error in predicting the server's capacity q at each
    processor share. All predictions are based on the curve that was measured at the smallest share.
    """
    rows = [
        [
            words(one.law),
            TableCell(one.weight, f"{one.weight:.0%}"),
            *map(signed, one.errors),
            percent(one.median_abs_error),
        ]
        for one in found.capacity
    ]
    shares = [f"error of q, {one.share:g} of a core" for one in found.ratios]
    columns = heads("law", "weight", *shares, "median |error|")
    return Table("Errors of the predicted capacity", columns, rows)


def _bursts(bursts: Sequence[Burst]) -> Table:
    rows = [
        [
            words(f"{one.share:g}"),
            rate(one.rate_per_s),
            seconds(one.length_s),
            rate(one.capacity_per_s),
            words(one.regime),
            seconds(one.predicted_s),
            seconds(one.measured.value),
            signed(one.predicted_s / one.measured.value - 1),
            seconds(one.predicted_p90_s),
            absent() if one.measured_p90 is None else seconds(one.measured_p90.value),
            seconds(one.predicted_drain_s),
            seconds(one.measured_drain_s),
        ]
        for one in bursts
    ]
    columns = heads(
        "cores",
        "rate",
        "length",
        "q by score",
        "regime",
        "mean response predicted",
        "measured",
        "error",
        "90 % of responses within, predicted",
        "measured",
        "queue drained after, predicted",
        "measured",
    )
    return Table("Bursts", columns, rows)


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.LIMITS)
