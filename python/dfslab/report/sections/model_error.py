"""How far off every method is, beside the baselines: held out, cross-validated, fitted."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import number, table, wide
from dfslab.result import Result
from dfslab.studies.compare import Score

TITLE = "Model errors"
ORDER = 60
EMPTY = "No model was judged."
HEAD = ["method", "configurations", "median |error|", "90 % |error|", "signed median",
        "90 % coverage"]  # fmt: skip


def render(study: ReportInput) -> Markup | None:
    """Scores, calibrated constants and regression coefficients."""
    comparison = study.comparison
    if comparison is None or not (comparison.held_out or comparison.fitted):
        return None
    parts = [
        _scores("Held-out configurations", comparison.held_out),
        _scores("Cross-validation over whole configurations", study.crossval or {}),
        _scores("Configurations the models were fitted on", comparison.fitted),
        _constants(study),
        _coefficients(study),
    ]
    return Markup("").join(parts)


def _scores(title: str, scores: dict[str, Score]) -> Markup:
    if not scores:
        return Markup('<h3>{}</h3><p class="empty">None.</p>').format(title)
    rows = [
        [name, s.n, f"{s.median_abs_error:.1%}", f"{s.p90_abs_error:.1%}",
         f"{s.median_signed_error:+.1%}", f"{s.coverage_90:.0%}"]
        for name, s in scores.items()
    ]  # fmt: skip
    return Markup("<h3>{}</h3>{}").format(title, table(HEAD, rows))


def _constants(study: ReportInput) -> Markup:
    """The calibrated constants of the description, and what the data told of each."""
    found = next((r for r in study.of_method("sequence") if r.detail.get("constants")), None)
    if found is None:
        return Markup("")
    rows = [
        [c["key"], wide(c["meaning"]), f"{c['value']:.3g}", c["unit"],
         f"× ÷ {2.718281828 ** c['log_standard_error']:.2f}", f"{c['learnt']:.0%}"]
        for c in found.detail["constants"]
    ]  # fmt: skip
    head = ["constant", "meaning", "value", "unit", "standard error", "learnt from data"]
    return Markup("<h3>Calibrated constants of the description</h3>{}").format(table(head, rows))


def _coefficients(study: ReportInput) -> Markup:
    found = next((r for r in study.of_method("regression") if "coefficients" in r.detail), None)
    if found is None:
        return Markup("")
    rows = [
        [name, f"{c['value']:.4g}", f"{c['standard_error']:.2g}"]
        for name, c in found.detail["coefficients"].items()
    ]
    text = Markup(
        "<h3>Regression of log rate</h3><p class=soft>R² {}, adjusted R² {}, on the fitted "
        "configurations; quantities in powers of two.</p>"
    ).format(number(found.detail["r_squared"]), number(found.detail["adjusted_r_squared"]))
    return text + table(["column", "coefficient", "standard error"], rows) + _importance(found)


def _importance(result: Result) -> Markup:
    """Which quantities move the rate over the fitted configurations, and what was left out."""
    rows = [
        [name, f"{one['first_order']:.2f}", f"{one['share']:.0%}"]
        for name, one in result.detail.get("importance", {}).items()
    ]
    dropped = [
        f"{', '.join(names)} ({reason})"
        for reason, names in result.detail.get("dropped", {}).items()
        if names
    ]
    left_out = Markup("<p class=soft>Left out: {}.</p>").format("; ".join(dropped))
    return Markup("").join((
        table(["quantity", "first-order index", "share"], rows) if rows else "",
        left_out if dropped else "",
    ))  # fmt: skip
