"""What was asked and what came out, in words."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.report.page import ReportInput
from dfslab.report.table import labels_text, number
from dfslab.spec import units
from dfslab.studies.compare import Comparison, Row, Score

TITLE = "Summary"
ORDER = 10
EMPTY = "Nothing was measured or predicted."
BASELINES = ("mean", "ideal")


def render(study: ReportInput) -> Markup | None:
    """A list of sentences."""
    if not study.results:
        return None
    sentences: list[str] = [_asked(study)]
    if study.comparison and study.comparison.rows:
        sentences += [_fastest(study), _noise(study.comparison)]
        sentences += _judgement(study.comparison)
    sentences += _limits(study)
    items = Markup("").join(Markup("<li>{}</li>").format(s) for s in sentences if s)
    return Markup('<ul class="summary">{}</ul>').format(items)


def _asked(study: ReportInput) -> Markup:
    scenario = study.scenario
    points = len({result.point_id for result in study.results})
    workloads = dict.fromkeys(r.point.scenario.workload.name for r in study.results)
    return Markup("<strong>{}</strong> configurations of {} on {}, answered by {}.").format(
        points, ", ".join(workloads), scenario.file_system.name, ", ".join(scenario.run.methods)
    )


def _fastest(study: ReportInput) -> Markup:
    """The best throughput, or the best rate where no bytes move."""
    measured = [r for r in study.of_method("measure") if "throughput_bytes_per_s" in r.metrics]
    if measured:
        best = max(measured, key=lambda r: r.value("throughput_bytes_per_s"))
        shown = units.text(best.value("throughput_bytes_per_s"), "B/s", 3)
        what = "Highest throughput measured"
    else:
        rated = [r for r in study.of_method("measure") if "rate_per_s" in r.metrics]
        best = max(rated, key=lambda r: r.value())
        shown, what = f"{number(best.value())} operations/s", "Highest rate measured"
    return Markup("{}: <strong>{}</strong> at {}.").format(
        what, shown, labels_text(dict(best.labels)) or "the only configuration"
    )


def _noise(comparison: Comparison) -> Markup | str:
    if not comparison.noise:
        return ""
    return Markup(
        "Repeated runs differ by <strong>{:.1%}</strong> (median standard deviation); no "
        "prediction can be expected to be closer."
    ).format(comparison.noise)


def _judgement(comparison: Comparison) -> list[Markup]:
    """Who predicted the held-out configurations best, and whether that beats the baselines."""
    scores = comparison.held_out
    if not scores:
        return [Markup("No configuration was held out, so no prediction was put to the test.")]
    models = {name: score for name, score in scores.items() if name not in BASELINES}
    found = []
    if models:
        best = min(models, key=lambda name: models[name].median_abs_error)
        found.append(_best(best, models[best], scores))
    for name, score in models.items():
        low = score.coverage_90 < 0.75 and score.n >= 4
        if low:
            text = "The intervals of {} are too narrow: they hold {:.0%} of {} held-out points."
            found.append(Markup(text).format(name, score.coverage_90, score.n))
    judged = [row for row in comparison.rows if row.held_out and _model_errors(row)]
    worst = max(judged, key=lambda row: max(map(abs, _model_errors(row))), default=None)
    if worst is not None:
        found.append(Markup("Furthest off among models: {:+.0%} at {}.").format(
            max(_model_errors(worst), key=abs), labels_text(worst.labels)))  # fmt: skip
    return found


def _model_errors(row: Row) -> list[float]:
    return [error for name, error in row.errors.items() if name not in BASELINES]


def _best(name: str, score: Score, scores: dict[str, Score]) -> Markup:
    text = Markup(
        "On {} held-out configurations <strong>{}</strong> predicts best: median error "
        "<strong>{:.1%}</strong>, and its 90 % intervals hold {:.0%} of the measurements"
    ).format(score.n, name, score.median_abs_error, score.coverage_90)
    baseline = scores.get("mean")
    if baseline is None:
        return text + "."
    if score.median_abs_error < baseline.median_abs_error:
        return text + Markup("; the mean of what was seen is off by {:.0%}.").format(
            baseline.median_abs_error
        )
    return text + Markup(
        ". <strong>That is no better than the mean of what was seen</strong> ({:.1%})."
    ).format(baseline.median_abs_error)


def _limits(study: ReportInput) -> list[Markup]:
    """What binds, by the sequence model, and the change that would gain most."""
    counts: dict[str, int] = {}
    for result in study.of_method("sequence"):
        counts[result.binding] = counts.get(result.binding, 0) + 1
    found = []
    if counts:
        parts = sorted(counts.items(), key=lambda pair: -pair[1])
        text = "; ".join(f"{limit} in {count}" for limit, count in parts)
        found.append(Markup("What limits, by the sequence model: {}.").format(text))
    if study.advice:
        best = max(study.advice, key=lambda advice: advice.low)
        found.append(
            Markup("Largest gain that is sure: <strong>{}</strong> at {} gives × {:.2f} "
                   "({:.2f} to {:.2f}).").format(
                best.change, labels_text(dict(best.labels)), best.gain, best.low, best.high)
        )  # fmt: skip
    return found
