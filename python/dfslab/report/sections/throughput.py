"""Renders the section that plots rates against the varied keys. Measurements are points,
predictions are lines with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dfslab.documents.metrics import RATE, THROUGHPUT
from dfslab.documents.table import Tab, Value, labels_text, naming, number_text
from dfslab.method import BASELINES
from dfslab.models.learn.features import describe
from dfslab.report.answers.predicted_answer import is_from_memory
from dfslab.report.answers.rates import by_configuration, short_names
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Dash, Panel, Series
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import ChartWithNotes, left_out, note
from dfslab.result import Metric, Result
from dfslab.spec import units
from dfslab.spec.streams.stream import has_stream
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs.means import geometric_mean

TITLE = "Throughput"
ORDER = 20
EMPTY = "No configuration with a load that dfslab describes has a measured or predicted rate."
ALONG = {"file_size": "file size", "clients": "clients", "transfer_size": "transfer size"}
# Operations that are one transfer each. Their configurations differ by the transfer size, not by
# the size of the file.
TRANSFERS = frozenset({"pread", "pwrite"})
# Largest number of panels in a chart. The value is a choice: about six rows on a wide screen. If
# there would be more panels, all configurations with the same number of clients share one panel.
MOST_PANELS = 24
# Largest number of panels in the chart of the first screen. The value is a choice: the chart is at
# the right of the answer, where a second panel would be too small to read.
MOST_FIRST_PANELS = 1
# Largest relative difference between the predictions of two models that have one line in common.
# The value is a choice: the difference is about the width of a line.
SAME = 0.02
STYLES: Mapping[str, Dash] = {"petri": "dash", "regression": "dot"}
MEASURED = (
    "Large points are means over the repetitions of a configuration, filled where it was held out; "
    "small points are the repetitions."
)
PREDICTED = "Lines are predictions, in the area of their 90 % intervals."
FROM_MEMORY = (
    "Page cache: the scenario did not keep this machine's memory from answering "
    "(workload.cache = warm)."
)
# The quantities of each configuration in SI units, by the configuration's identifier.
Described = Mapping[str, Mapping[str, float | str]]


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: one chart for each operation type (see `chart`). Charts with a single panel
    come last, side by side. None if no configuration has a rate."""
    groups = by_operations(study)
    if not groups:
        return None
    wide: list[Markup] = []
    narrow: list[Markup] = []
    for name, group in sorted(groups.items()):
        drawn, count = chart(name, group)
        (narrow if count == 1 else wide).append(drawn)
    side_by_side = Markup('<div class="charts">{}</div>').format(Markup("").join(narrow))
    charts = Markup("").join(wide) + (side_by_side if narrow else "")
    return note(_explained(study)) + charts + _without_rate(study, groups)


def _without_rate(study: FinishedRun, groups: Mapping[str, Sequence[Result]]) -> Markup:
    """Returns the HTML of a sentence on the configurations without a chart."""
    drawn = {one.point_id for group in groups.values() for one in group}
    labels = {one.point_id: one.labels for one in study.settled if one.point_id not in drawn}
    names = [study.name(one) for one in labels.values()]
    return left_out("configurations", names, "no method has a rate above 0 for them")


def _explained(study: FinishedRun) -> str:
    """Returns the text that explains the points and lines of the charts, and states whether the
    page cache may have served the data."""
    measured = by_configuration(study.of_method("measure"))
    texts = [MEASURED] if measured else []
    texts += [PREDICTED] if study.methods else []
    texts += [FROM_MEMORY] if any(map(is_from_memory, measured)) else []
    return " ".join(texts)


def by_operations(study: FinishedRun) -> dict[str, list[Result]]:
    """Returns the results with a rate above 0, by the operation types of their workload. Three
    kinds of results are left out: results of traces, of baselines, and of external programs, whose
    operations dfslab does not generate."""
    groups: dict[str, list[Result]] = {}
    for result in study.settled:
        is_load = result.method not in ("trace", *BASELINES) and has_stream(result.point.scenario)
        if is_load and _positive(result, RATE):
            groups.setdefault(str(describe(result.point)["operations"]), []).append(result)
    return groups


def _positive(result: Result, metric: str) -> bool:
    return metric in result.metrics and result.value(metric) > 0


@dataclass(frozen=True)
class _PanelResults:
    """The results that one panel of a chart shows, and the title of this panel."""

    title: str
    results: Sequence[Result]


def chart(operations: str, results: Sequence[Result]) -> tuple[Markup, int]:
    """Returns (HTML of the chart of one operation type, number of its panels). A panel has
    configurations that differ only in the quantity on the horizontal axis."""
    found, panels = _chart(operations, results)
    return found.chart + found.notes, panels


def first_chart(operations: str, results: Sequence[Result]) -> tuple[ChartWithNotes, int]:
    """Returns (chart of one operation type for the first screen, number of its panels). The chart
    shows only the configurations with the most clients, in at most MOST_FIRST_PANELS panels."""
    return _chart(operations, results, is_first=True)


def _chart(
    operations: str, results: Sequence[Result], is_first: bool = False
) -> tuple[ChartWithNotes, int]:
    results, names = _agreeing(results)
    described = {result.point_id: _described(result) for result in results}
    along = _axis_of(list(described.values()))
    has_bytes = all(_positive(r, THROUGHPUT) for r in results)
    metric = THROUGHPUT if has_bytes else RATE
    if len({one.get(along) for one in described.values()}) == 1 < len(described):
        return ChartWithNotes(_rows(operations, results, metric, names)), 1
    parts = _parts(results, described, along, is_first)
    panels = []
    for part in parts:
        series = [
            one
            for method in dict.fromkeys(result.method for result in part.results)
            for one in _series(
                [r for r in part.results if r.method == method],
                described,
                along,
                metric,
                names[method],
            )
        ]
        # Measurements are drawn last, so that they lie above the predictions.
        series.sort(key=lambda one: one.colour == palette.MEASURED)
        panels.append(Panel(part.title, series))
    axis = _rate_axis(metric)
    what = axis.title
    missing = _not_drawn(results, parts, described, along)
    drawn = figure(
        panels,
        _along_axis([one for part in parts for one in part.results], described, along),
        axis,
        f"{what} of {operations} against {ALONG[along]}",
        operations,
    )
    return ChartWithNotes(drawn, missing), len(panels)


def _not_drawn(
    results: Sequence[Result], parts: Sequence[_PanelResults], described: Described, along: str
) -> Markup:
    """Returns the HTML of sentences on the configurations that `parts` do not show. Such a
    configuration is not drawn because its panel is left out, or because another prediction of the
    same method is drawn at its position."""
    labels = {one.point_id: one.labels for one in results}
    drawn = {one.point_id for part in parts for one in part.results}
    missing = [labels_text(own) for point, own in labels.items() if point not in drawn]
    covered: dict[str, None] = {}
    for part in parts:
        first: dict[tuple[str, object], str] = {}
        for one in part.results:
            key = one.method, described[one.point_id].get(along)
            if one.method != "measure" and first.setdefault(key, one.point_id) != one.point_id:
                covered[labels_text(one.labels)] = None
    return left_out(
        "configurations",
        missing,
        "the first screen has one panel",
        f"The section {TITLE} draws them.",
    ) + left_out(
        "predicted configurations",
        list(covered),
        f"a chart has at most {MOST_PANELS} panels, and others are at the same places",
    )


def _described(result: Result) -> dict[str, float | str]:
    """Returns the quantities of a configuration in SI units. The file size is left out for an
    operation that is one transfer, because `describe` then states the bytes of the transfer as file
    size."""
    found = describe(result.point)
    if TRANSFERS.issuperset(str(found["operations"]).split("+")):
        found.pop("file_size", None)
    return found


def _parts(
    results: Sequence[Result], described: Described, along: str, is_first: bool
) -> list[_PanelResults]:
    """Returns the parts of a chart, each of which becomes a panel. There is one part for each
    number of clients and each combination of the other varied keys.

    The number of clients does not divide the chart if it is on the horizontal axis. The other keys
    do not divide the chart if there would be more than MOST_PANELS parts. If `is_first` is true,
    only configurations with the most clients have parts, and there are at most MOST_FIRST_PANELS
    parts.
    """
    clients = sorted({float(described[one.point_id]["clients"]) for one in results})
    counts: Sequence[float | None] = [None] if along == "clients" else list(clients)
    others = _other_keys(results, described, along)
    groups = {str(labels): labels for labels in (_only(one, others) for one in results)}
    if is_first and along != "clients":
        counts = [clients[-1]]
    if len(counts) * len(groups) > MOST_PANELS:
        others, groups = (), {str({}): {}}
    name = naming(groups.values())
    parts = []
    for key, labels in groups.items():
        for count in counts:
            chosen = [
                one
                for one in results
                if str(_only(one, others)) == key
                and count in (None, described[one.point_id]["clients"])
            ]
            words = [name(labels)] if labels else []
            words += [] if count is None else [_clients(count)]
            if chosen:
                parts.append(_PanelResults(", ".join(words), chosen))
    return parts[:MOST_FIRST_PANELS] if is_first else parts


def _other_keys(results: Sequence[Result], described: Described, along: str) -> tuple[str, ...]:
    """Returns the varied keys that distinguish configurations in one panel at one position: their
    values differ although the number of clients and the position on the horizontal axis are
    equal."""
    places: dict[tuple[object, object], list[Mapping[str, Value]]] = {}
    for one in results:
        found = described[one.point_id]
        places.setdefault((found["clients"], found.get(along)), []).append(one.labels)
    keys = dict.fromkeys(key for one in results for key in one.labels)
    return tuple(
        key
        for key in keys
        if any(len({str(labels.get(key)) for labels in group}) > 1 for group in places.values())
    )


def _only(result: Result, keys: Sequence[str]) -> dict[str, Value]:
    """Returns the labels of a result that are among `keys`."""
    return {key: result.labels[key] for key in keys if key in result.labels}


def _rate_axis(metric: str) -> Axis:
    if metric == THROUGHPUT:
        return Axis("throughput", "B/s", log=True)
    return Axis("operations per second", "1/s", log=True)


def _rows(
    operations: str, results: Sequence[Result], metric: str, names: Mapping[str, str]
) -> Markup:
    """Returns the HTML of a chart with one row for each configuration. This chart is used if
    neither sizes nor the number of clients were varied."""
    labels = {one.point_id: one.labels for one in results}
    rows = {point: float(row) for row, point in enumerate(labels)}
    series = []
    for method in dict.fromkeys(one.method for one in results):
        own = [one for one in results if one.method == method]
        found = [one.metrics[metric] for one in own]
        measured = method == "measure"
        series.append(
            Series(
                "measured" if measured else f"{names[method]}, 90 % interval",
                palette.of_method(method),
                [one.value for one in found],
                [rows[one.point_id] for one in own],
                mark="circle" if measured else "diamond",
                low=[one.low for one in found],
                high=[one.high for one in found],
                across=True,
                hints=[_hint(method, one, metric, {}) for one in found],
            )
        )
    axis = _rate_axis(metric)
    categories = Axis(categories=short_names(labels.values()))
    return figure(
        [Panel("", series)], axis, categories, f"{axis.title} of {operations}", operations
    )


def _clients(count: float) -> str:
    return "1 client" if count == 1 else f"{count:.0f} clients"


def _axis_of(described: Sequence[Mapping[str, float | str]]) -> str:
    """Returns the key that becomes the horizontal axis of the panels. The key is the file size, the
    number of clients or the transfer size, whichever has the most values.

    If the axis is a size, each number of clients gets a separate panel. For a size, the values are
    therefore counted separately for each number of clients, and the largest count is used.
    """

    def values(key: str) -> int:
        if key == "clients":
            return len({one[key] for one in described})
        panels: dict[float | str, set[float | str | None]] = {}
        for one in described:
            panels.setdefault(one["clients"], set()).add(one.get(key))
        return max(map(len, panels.values()))

    return max(ALONG, key=values)


def _along_axis(results: Sequence[Result], described: Described, along: str) -> Axis:
    """Returns a horizontal axis with a tick for each configuration, at its value of `along`.

    If the scenario varies the value, the tick's label is the value as the scenario states it.
    Otherwise the label is the value with its unit.
    """
    written: dict[float, str] = {}
    for result in results:
        place = float(described[result.point_id].get(along, 1.0))
        label = result.labels.get(f"workload.{along}")
        default = number_text(place) if along == "clients" else units.text(place, "B", 3)
        written[place] = str(default if label is None else label)
    return Axis(ALONG[along], log=True, ticks=sorted(written.items()))


def _agreeing(results: Sequence[Result]) -> tuple[list[Result], dict[str, str]]:
    """Drops each method whose predictions equal those of an earlier method (see `_equal`).

    Returns a pair. The first element has the results of the remaining methods. The second element
    has, for each remaining method, its name in the legend. This name also lists the dropped methods
    with equal predictions.
    """
    rates: dict[str, dict[str, float]] = {}
    for one in results:
        if one.method != "measure":
            rates.setdefault(one.method, {})[one.point_id] = one.value(RATE)
    groups: dict[str, list[str]] = {"measure": ["measure"]}
    for method, own in rates.items():
        same = next((one for one in groups if _equal(rates.get(one, {}), own)), method)
        groups.setdefault(same, []).append(method)
    kept = [one for one in results if one.method in groups]
    return kept, {method: ", ".join(names) for method, names in groups.items()}


def _equal(rates: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Returns whether the predictions of two methods are equal. They are equal if both methods
    predict the same configurations, and their predictions for each configuration differ by at most
    the fraction SAME. `rates` and `others` have the predicted rates by configuration."""
    return rates.keys() == others.keys() and all(
        abs(math.log(rates[key] / others[key])) <= SAME for key in rates
    )


def _series(
    results: Sequence[Result], described: Described, along: str, metric: str, name: str
) -> list[Series]:
    """Returns the series of one method. A model is a line with its interval. Measurements are
    points: means and repetitions.

    `along`: varied key on the horizontal axis. `metric`: THROUGHPUT or RATE. `name`: name of the
    method in the legend.
    """
    points: dict[tuple[float, str], list[Result]] = {}
    measured = results[0].method == "measure"
    for result in results:
        place = float(described[result.point_id].get(along, 1.0))
        points.setdefault((place, str(result.labels) if measured else ""), []).append(result)
    groups = [points[key] for key in sorted(points)]
    places = [place for place, _ in sorted(points)]
    if measured:
        return _measured(groups, places, metric)
    return [_predicted(groups, places, metric, name)]


def _predicted(
    groups: Sequence[Sequence[Result]], places: Sequence[float], metric: str, name: str
) -> Series:
    method = groups[0][0].method
    found = [group[0].metrics[metric] for group in groups]
    return Series(
        f"{name}, 90 % interval",
        palette.of_method(method),
        places,
        [one.value for one in found],
        line=STYLES.get(method, "solid"),
        mark="" if len(places) > 1 else "diamond",
        low=[one.low for one in found],
        high=[one.high for one in found],
        band=True,
        hints=[_hint(method, one, metric, {}) for one in found],
    )


def _measured(
    groups: Sequence[Sequence[Result]], places: Sequence[float], metric: str
) -> list[Series]:
    """Returns the repetitions as small points, and the mean of each configuration as a large point.

    A configuration that ran once has no small point. Its large point has the interval of the run if
    the run states an interval.
    """
    crowded = len(places) > len(set(places))
    means = [geometric_mean([r.value(metric) for r in group]) for group in groups]
    alone = [group[0].metrics[metric] if len(group) == 1 else None for group in groups]
    single = [
        (place, one.value)
        for place, group in zip(places, groups, strict=True)
        if len(group) > 1
        for one in (result.metrics[metric] for result in group)
    ]
    large = Series(
        "measured",
        palette.MEASURED,
        places,
        [one.value for one in means],
        mark="circle",
        hollow=[not any(r.point.held_out for r in group) for group in groups],
        low=[one.low if one else None for one in alone],
        high=[one.high if one else None for one in alone],
        hints=[
            _hint("measured", one, metric, group[0].labels if crowded else {})
            for one, group in zip(means, groups, strict=True)
        ],
    )
    if not single:
        return [large]
    xs, ys = zip(*single, strict=True)
    small = Series("repetitions", palette.MEASURED, xs, ys, mark="circle", faint=True)
    return [small, large]


def _hint(method: str, one: Metric, metric: str, labels: Mapping[str, Value]) -> str:
    """Returns the text that appears if the pointer is over a point: the value with its interval.

    `labels`: the configuration, if several configurations share a position.
    """
    unit = "B/s" if metric == THROUGHPUT else "1/s"
    of = f", {labels_text(labels)}" if labels else ""
    text = f"{method}{of} {_text(one.value, unit)}"
    if one.low is None or one.high is None:
        return text
    return f"{text} ({_text(one.low, unit)} to {_text(one.high, unit)})"


def _text(value: float, unit: str) -> str:
    return units.text(value, unit, 3) if math.isfinite(value) else "–"


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.THROUGHPUT, is_general=True)
