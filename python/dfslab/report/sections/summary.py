"""Renders the first screen of the page. The first screen has the sentences of the answer, as in the
terminal, a chart of rates, a chart of where the time goes, and key figures."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dfslab.documents.table import Tab, number_text, percent_text, seconds_text
from dfslab.method import BASELINES
from dfslab.models.learn.features import describe
from dfslab.report.answers.first_screen import FirstScreen, Unknown, first_screen
from dfslab.report.answers.operation_units import operations_of, unit_of
from dfslab.report.answers.predicted_answer import FROM_MEMORY, is_cached
from dfslab.report.answers.rates import ConfigurationRate, by_configuration, short_names
from dfslab.report.contract import PageSection
from dfslab.report.page_table import ChartWithNotes, folded, left_out, note, with_code
from dfslab.report.sections import steps, systems, throughput, what_limits
from dfslab.result import Metric
from dfslab.spec import units
from dfslab.studies.checks.noise import noise_of
from dfslab.studies.contract import FinishedRun

TITLE = "Answer"
ORDER = 10
EMPTY = "Nothing was measured or predicted."
MOST_FIGURES = 6
MORE = "Key figures, and what the charts leave out"
LIMIT_UNKNOWN = "Not known, because the measurement is inconclusive."


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the answer, two charts of one operation type at its right, the open questions,
    and collapsed key figures. None if there are no results."""
    if not study.results:
        return None
    found = first_screen(study)
    answer = _answer(found) if found else note("No rate was measured or predicted.")
    operations = _operations(study)
    charts = [_chart(study, operations), _time(study, found, operations)]
    parts = Markup("").join(
        Markup('<div class="{}">{}</div>').format(name, body)
        for name, body in (
            ("judged", answer),
            ("charts", Markup("").join(one.chart for one in charts)),
            ("open", _open(found) if found else Markup("")),
        )
        if body
    )
    more = _figures(study) + Markup("").join(one.notes for one in charts)
    screen = Markup('{}<div class="screen">{}</div>').format(_scope(study), parts)
    return screen + (folded(MORE, more) if more else Markup(""))


def _answer(found: FirstScreen) -> Markup:
    """Returns the HTML of the run's answer. For each part of the answer that is withheld, the HTML
    has the reason."""
    answer = found.answer
    withheld = LIMIT_UNKNOWN if answer.is_withheld else ""
    rows = [
        ("Conclusion", _lines([answer.doubt])),
        ("Fastest", _lines([answer.compared])),
        ("Measured" if found.is_measured else "Predicted", _lines([answer.observed])),
        ("Limit", _lines([answer.limit or withheld, answer.settling])),
        ("Change", _lines(found.changes)),
    ]
    return _list(rows)


def _open(found: FirstScreen) -> Markup:
    """Returns the HTML of what the answer does not cover: the note on the measurement, and the open
    questions with the commands that answer them."""
    rows = [
        ("Note", _lines([found.answer.advice])),
        ("Not known", Markup("").join(map(_unknown, found.unknown))),
    ]
    return _list(rows)


def _list(rows: Sequence[tuple[str, Markup]]) -> Markup:
    """Returns the HTML of a list of (name, text); rows without a text are left out. The result is
    empty if no row has a text."""
    items = Markup("\n").join(
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(name, text)
        for name, text in rows
        if text
    )
    return Markup('<dl class="answer">{}</dl>').format(items) if items else Markup("")


def _lines(sentences: Sequence[str]) -> Markup:
    return Markup("").join(Markup("<p>{}</p>").format(with_code(one)) for one in sentences if one)


def _unknown(one: Unknown) -> Markup:
    text = Markup("{}").format(one.text)
    if one.section:
        text = Markup('{}: <a href="#{}">see which</a>.').format(one.text, one.section)
    if one.command:
        text += Markup(" <code>{}</code>").format(one.command)
    return Markup("<p>{}</p>").format(text)


def _scope(study: FinishedRun) -> Markup:
    points = len({result.point_id for result in study.results})
    workloads = dict.fromkeys(r.point.scenario.workload.name for r in study.results)
    measured = len({r.point_id for r in study.of_method("measure")})
    is_whole = measured == points and study.unfinished is None
    count = "1 configuration" if points == 1 else f"{points} configurations"
    return note(
        f"{count} of {', '.join(workloads)} on {study.file_systems}, "
        f"{'all' if is_whole else measured or 'none'} measured; methods: "
        f"{', '.join(dict.fromkeys(result.method for result in study.results))}."
    )


def _operations(study: FinishedRun) -> str:
    """Returns the operation type that both charts of the first screen show. This is the type of the
    configuration with the most measured steps. If no steps were measured, it is the operation type
    with the most configurations. Returns "" if no rate is known."""
    groups = throughput.by_operations(study)
    row = steps.first_row(study)
    for name, results in groups.items():
        if row is not None and row.point_id in {one.point_id for one in results}:
            return name
    return max(groups, key=lambda one: len({r.point_id for r in groups[one]}), default="")


def _chart(study: FinishedRun, operations: str) -> ChartWithNotes:
    """Returns the first screen's chart of rates. If the run compares file systems, the chart shows
    the rates of the file systems. Otherwise the chart shows the rates of the operation type
    `operations`."""
    if compared := systems.charts(study):
        return ChartWithNotes(compared[0])
    groups = throughput.by_operations(study)
    if not operations:
        return ChartWithNotes()
    others = sorted(one for one in groups if one != operations)
    where = f"The section {throughput.TITLE} draws them."
    reason = "the first screen has a chart of one operation"
    found, _ = throughput.first_chart(operations, groups[operations])
    missing = left_out("other operations", others, reason, where)
    return ChartWithNotes(found.chart, found.notes + missing)


def _time(study: FinishedRun, found: FirstScreen | None, operations: str) -> ChartWithNotes:
    """Returns a chart of how the time of an operation is spent. The chart shows the measured steps
    if there are any.

    Otherwise the chart shows how much each resource contributes to the time of `operations`, as
    predicted by the first model that reports limits. The chart is empty if no model reports limits,
    or if the run withholds its answer.
    """
    if chart := steps.first_chart(study):
        return ChartWithNotes(chart)
    if found is None or found.answer.is_withheld:
        return ChartWithNotes()
    for method in study.methods:
        limited = [one for one in study.of_method(method) if one.limits]
        names = short_names(one.labels for one in limited)
        shown = [
            (one, name)
            for one, name in zip(limited, names, strict=True)
            if operations in ("", str(describe(one.point)["operations"]))
        ]
        if shown:
            results = [one for one, _ in shown]
            titles = [name for _, name in shown]
            return what_limits.dependence(method, results, titles, on_first_screen=True)
    return ChartWithNotes()


def _figures(study: FinishedRun) -> Markup:
    """Returns the HTML of the key figures: the highest rates, the longest 99th percentile of
    latency, and the noise between repetitions."""
    measured = by_configuration(study.of_method("measure"))
    rates = measured or _predicted(study)
    if not rates:
        return Markup("")
    tiles = [*_rates(rates), *_latencies(rates)][:MOST_FIGURES]
    noise = noise_of(study.of_method("measure"))
    if noise is not None:
        text = "standard deviation between repetitions"
        tiles.append(_tile("noise", percent_text(noise), text))
    cells = Markup("\n").join(tiles)
    return Markup('<dl class="figures">{}</dl>\n').format(cells)


def _predicted(study: FinishedRun) -> list[ConfigurationRate]:
    """Returns the rates that were predicted by one method; an empty list if no such method exists.
    The method is the first one that is no baseline and has predicted rates."""
    for method in study.methods:
        if method not in BASELINES and (found := by_configuration(study.of_method(method))):
            return found
    return []


def _rates(rates: Sequence[ConfigurationRate]) -> list[Markup]:
    """Returns boxes with the highest throughput and with the highest rate of each kind of
    operation."""
    names = short_names(one.labels for one in rates)
    tiles = []
    moved = [(one.throughput, one, name) for one, name in zip(rates, names, strict=True)]
    known = [(metric, one, name) for metric, one, name in moved if metric is not None]
    if known:
        metric, one, name = max(known, key=lambda found: found[0].value)
        shown = units.text(metric.value, "B/s", 3)
        tiles.append(_tile("highest throughput", shown, name, _interval(metric, "B/s"), one))
    best: dict[str, tuple[ConfigurationRate, str]] = {}
    for one, name in zip(rates, names, strict=True):
        unit = unit_of(operations_of(one.results[0]))
        if unit not in best or one.rate.value > best[unit][0].rate.value:
            best[unit] = (one, name)
    for unit, (one, name) in best.items():
        shown = f"{number_text(one.rate.value)}/s"
        tiles.append(_tile(f"most {unit}", shown, name, _interval(one.rate, "1/s"), one))
    return tiles


def _latencies(rates: Sequence[ConfigurationRate]) -> list[Markup]:
    names = short_names(one.labels for one in rates)
    known = [
        (one.latency_s_p99, name)
        for one, name in zip(rates, names, strict=True)
        if one.latency_s_p99 is not None
    ]
    if not known:
        return []
    slowest, name = max(known)
    return [_tile("longest 99th percentile of latency", seconds_text(slowest), name)]


def _interval(metric: Metric, unit: str) -> str:
    """Returns the 90 % interval of a metric as text; "" if the metric has no interval."""
    if metric.low is None or metric.high is None:
        return ""
    return f"90 %: {units.text(metric.low, unit, 3)} to {units.text(metric.high, unit, 3)}"


def _tile(
    caption: str, value: str, under: str, interval: str = "", rate: ConfigurationRate | None = None
) -> Markup:
    """Returns the HTML of one key figure: `caption`, `value`, `interval` and the line `under` the
    value. If `rate` was measured and the page cache may have served its operations, the figure is
    marked."""
    cached = rate is not None and is_cached(rate)
    mark = Markup(' <mark class="cache">{}</mark>').format(FROM_MEMORY) if cached else Markup("")
    lines = [Markup('<dd class="under">{}</dd>').format(one) for one in (interval, under) if one]
    return Markup("<div><dt>{}{}</dt><dd>{}</dd>{}</div>").format(
        caption, mark, value, Markup("").join(lines)
    )


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.ANSWER)
