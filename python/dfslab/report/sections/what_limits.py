"""Renders the section on what limits the configurations. The section states the limits that each
model names, and a conclusion from the growth of the measured rates with the number of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from dfslab.documents.table import DASH, Tab, Table, TableCell, heads, percent_text, words
from dfslab.report.answers.growth import scaling
from dfslab.report.answers.rates import by_configuration, limit_name, short_names
from dfslab.report.answers.verdict import verdict
from dfslab.report.charts import palette
from dfslab.report.charts.figure import Axis, Bars, Panel
from dfslab.report.charts.svg import figure
from dfslab.report.contract import PageSection
from dfslab.report.page_table import ChartWithNotes, contents, folded, left_out, note
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun

TITLE = "Limits by configuration"
ORDER = 13
EMPTY = "No method named what limits, and the number of clients was not varied."
FIRST_LIMITS = "The table above has their first limits."
MOST_NAMES, MOST_PANELS, MOST_BARS = 4, 6, 6
SHARE = (
    "Share: by how many per cent the time of an operation would change if the limit took one per "
    "cent more time."
)
SHOWN = "What the time of an operation depends on, by {method}"
UNSUPPORTED = "What the models say, which the measurements do not support"
WITHHELD = "The answer above withholds these limits, because the measurements do not support them."


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: a sentence on growth with clients, and a chart and a table of each model that
    names limits. Models that name the same limits have one table. If the answer withholds what
    limits, the tables are collapsed. Returns None if there is neither a sentence nor such a
    model."""
    answer = verdict(study)
    growth = scaling(by_configuration(study.of_method("measure")))
    # The sentence on growth is shown only if the answer on the first screen has it. The answer
    # omits it if the growth is smaller than the noise.
    if answer is not None and not any(growth in one for one in answer.sentences):
        growth = ""
    models = {name: _limited(study.of_method(name)) for name in study.methods}
    named = {name: found for name, found in models.items() if found}
    if not named and not growth:
        return None
    tables = _models(named)
    if named and answer is not None and answer.is_withheld:
        tables = folded(UNSUPPORTED, note(WITHHELD) + tables)
    return (Markup("<p>{}</p>").format(growth) if growth else Markup("")) + tables


def _limited(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if one.limits or one.bottleneck]


def _models(models: Mapping[str, Sequence[Result]]) -> Markup:
    """Returns the HTML of a table and a chart for each model. Models whose tables are equal have
    one table, and the chart of the first of them. `models` has the results of each model that names
    limits."""
    agreeing: dict[str, list[str]] = {}
    for name, found in models.items():
        agreeing.setdefault(str(_rows(found)), []).append(name)
    return Markup("").join(_model(names, models[names[0]]) for names in agreeing.values())


def _model(methods: Sequence[str], found: Sequence[Result]) -> Markup:
    """Returns the HTML of the table of models with equal limits and the chart of the first model.
    `found` has the results of the first model."""
    columns = heads("limit", "configurations", "share", "which", wrapped=["limit", "which"])
    table = Table(f"By {' and '.join(methods)}", columns, _rows(found), notes=[SHARE])
    charts = dependence(methods[0], found, short_names(one.labels for one in found))
    return contents(table) + charts.chart + charts.notes


def _rows(found: Sequence[Result]) -> list[list[TableCell]]:
    """Returns one row of the table for each limit, the most frequent limit first."""
    names = short_names(one.labels for one in found)
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        groups.setdefault(limit_name(one), []).append(place)
    return [
        [
            words(limit),
            words(f"{len(places)} of {len(found)}"),
            words(_shares(found, places)),
            words(_named(names, places)),
        ]
        for limit, places in sorted(groups.items(), key=lambda one: -len(one[1]))
    ]


def _shares(found: Sequence[Result], places: Sequence[int]) -> str:
    """Returns the share of time of the first limit as text, for the configurations with the indices
    `places`. The text has the smallest and the largest share. The text is one percentage if both
    shares are equal, or a dash if no share is known."""
    known = [found[place].limits[0].share for place in places if found[place].limits]
    if not known:
        return DASH
    low, high = min(known), max(known)
    return f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"


def _named(names: Sequence[str], places: Sequence[int]) -> str:
    shown = "; ".join(names[place] for place in places[:MOST_NAMES])
    more = len(places) - MOST_NAMES
    return shown + (f"; and {more} more" if more > 0 else "")


def dependence(
    method: str, found: Sequence[Result], names: Sequence[str], on_first_screen: bool = False
) -> ChartWithNotes:
    """Returns a chart of how much each resource contributes to the time of an operation. There is
    one panel for each of at most MOST_PANELS configurations, which are evenly selected. On the
    first screen, there is one panel only.

    Configurations with a single limit are left out. The chart is empty if no configuration has
    several limits.
    """
    known = [place for place, one in enumerate(found) if len(one.limits) > 1]
    if not known:
        return ChartWithNotes()
    most = 1 if on_first_screen else MOST_PANELS
    step = max(1, -(-len(known) // most))
    panels = []
    chosen = known[::step]
    others = [names[place] for place in known if place not in chosen]
    reason = "the first screen has one panel" if on_first_screen else f"at most {most} are drawn"
    where = f"The section {TITLE} has more of them." if on_first_screen else FIRST_LIMITS
    missing = left_out("configurations", others, reason, where)
    for place in chosen:
        limits = found[place].limits[:MOST_BARS]
        bars = Bars(
            "",
            palette.of_method(method),
            [one.share for one in limits],
            hints=[f"{one.name}: {percent_text(one.share)}. {one.meaning}" for one in limits],
        )
        categories = Axis(categories=[one.name for one in limits])
        panels.append(Panel(names[place], bars=[bars], y_axis=categories))
    title = SHOWN.format(method=method)
    drawn = figure(panels, Axis("share", "%", from_zero=True), Axis(), title, title)
    return ChartWithNotes(drawn, missing)


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.LIMITS, is_general=True)
