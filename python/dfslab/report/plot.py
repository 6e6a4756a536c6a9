"""Builds the charts of the page in one style, as data for Plotly, which draws them in the
browser."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from markupsafe import Markup, escape

from dfslab.report.figure import (
    Annotation,
    Axis,
    AxisOptions,
    ChartLayout,
    Curve,
    ErrorBars,
    Heading,
    Margin,
)
from dfslab.result import Metric

# Placeholder that the page replaces by its text colour, which depends on light or dark mode.
INK = "@ink"
# Each method has one fixed colour. The colours are those of Okabe and Ito, which colour-blind
# readers can distinguish.
COLOURS = {
    "measure": INK,
    "sequence": "#0072B2",
    "petri": "#D55E00",
    "regression": "#009E73",
    "mean": "#999999",
    "ideal": "#CC79A7",
    "trace": "#E69F00",
    "fitted": "#7F3C8D",
}
SPARE = ["#56B4E9", "#B8A000", "#7F3C8D", "#11A579"]
SEQUENCE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F3C8D"]
DASHES = {"regression": "dash", "petri": "dot"}
SYMBOLS = {"sequence": "circle", "petri": "diamond", "regression": "square"}
GRID = "rgba(128,128,128,0.22)"
MOST_COLUMNS = 4

_MARGIN: Margin = {"l": 70, "r": 20, "t": 46, "b": 60}
_LAYOUT: ChartLayout = {
    "margin": _MARGIN,
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "legend": {"orientation": "h", "y": 1, "yref": "container", "yanchor": "top", "x": 0},
    "hovermode": "closest",
}


def colour(method: str) -> str:
    """The colour of a method in all charts; a method without an assigned colour gets one by its
    name."""
    return COLOURS.get(method) or SPARE[sum(map(ord, method)) % len(SPARE)]


def chart(
    data: Sequence[Curve], layout: ChartLayout, label: str, axes: Mapping[str, Axis] | None = None
) -> Markup:
    """HTML of a chart with its data. `label` describes the chart for screen readers.

    `axes`: further axes of a chart with several panels, by Plotly's names ("xaxis2").
    """
    height = layout.get("height", 380)
    whole = {**_LAYOUT, **layout, **(axes or {}), "height": height}
    figure = _plain({"data": list(data), "layout": whole})
    # "<" could close the script element, so it is escaped. JSON reads the escape as the same
    # character.
    text = json.dumps(figure, allow_nan=False).replace("<", "\\u003c")
    return Markup(
        f'<div class="chart" role="img" aria-label="{escape(label)}" '
        f'style="height:{height}px"></div>'
        f'<script type="application/json" class="figure">{text}</script>'
    )


def _plain(value: Any) -> Any:
    """The data with null in place of NaN and infinity, which JSON lacks. Plotly does not draw
    null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def words(text: str) -> str:
    """Text with escaped tags.

    Names, titles and labels must be escaped, because Plotly interprets tags in them.
    """
    return str(escape(text))


def heading(text: str) -> Heading:
    """The title of a chart, aligned left like the page's headings."""
    return {
        "text": f"<b>{words(text)}</b>",
        "x": 0,
        "xanchor": "left",
        "font": {"size": 13},
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"t": 4},
    }


def axis(title: str, **more: Unpack[AxisOptions]) -> Axis:
    """An axis with a light grid and this title."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "automargin": True,
        **more,
    }


def log_axis(title: str, values: Sequence[float]) -> Axis:
    """A logarithmic axis for `values`.

    Ticks are at decades if the values span more than three decades, else also at 2 and 5 times each
    decade.
    """
    found = [value for value in values if math.isfinite(value) and value > 0]
    decades = math.log10(max(found) / min(found)) if found else 0.0
    options: AxisOptions = {"type": "log", "tickformat": "~s", "minor": {"showgrid": False}}
    if decades > 0.5:
        options["dtick"] = 1 if decades > 3 else "D2"
    return axis(title, **options)


def panels(
    groups: Sequence[tuple[str, Sequence[Curve]]], x_axis: Axis, y_axis: Axis, label: str
) -> Markup:
    """HTML of one small chart for each (title, curves). The charts share their axes and one
    legend."""
    columns = min(MOST_COLUMNS, len(groups))
    rows = math.ceil(len(groups) / columns)
    # Space in pixels above the panels. A narrow chart needs more, because its legend wraps into two
    # lines.
    top = 64 if columns > 1 else 84
    titles: list[Annotation] = []
    axes: dict[str, Axis] = {}
    data: list[Curve] = []
    named: set[str] = set()
    for index, (title, curves) in enumerate(groups):
        number = "" if index == 0 else str(index + 1)
        axes[f"xaxis{number}"] = x_axis
        axes[f"yaxis{number}"] = _y_axis(y_axis, index, columns)
        titles.append(_panel_title(title, number))
        for curve in curves:
            name = curve["name"]
            data.append(
                {
                    **curve,
                    "xaxis": f"x{number}",
                    "yaxis": f"y{number}",
                    "legendgroup": name,
                    "showlegend": name not in named,
                }
            )
            named.add(name)
    layout: ChartLayout = {
        "height": top + 60 + 230 * rows,
        "margin": {**_MARGIN, "t": top, "b": 50},
        "annotations": titles,
        "grid": {
            "rows": rows,
            "columns": columns,
            "pattern": "independent",
            "xgap": 0.06,
            "ygap": 0.3,
        },
    }
    return chart(data, layout, label, axes)


def _y_axis(axis: Axis, index: int, columns: int) -> Axis:
    """The vertical axis of panel `index`.

    All panels have the same scale, and only the panels of the first column have labels.
    """
    found = axis.copy()
    if index:
        found["matches"] = "y"
    if index % columns:
        found["title"] = {"text": ""}
        found["showticklabels"] = False
    return found


def _panel_title(title: str, number: str) -> Annotation:
    return {
        "text": f"<b>{words(title)}</b>",
        "showarrow": False,
        "x": 0,
        "y": 1,
        "xref": f"x{number} domain",
        "yref": f"y{number} domain",
        "xanchor": "left",
        "yanchor": "bottom",
    }


def with_interval(metrics: Sequence[Metric]) -> ErrorBars:
    """Error bars from the intervals of metrics. A metric without an interval has no error bar."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "width": 3,
        "array": [(m.high - m.value) if m.high is not None else 0 for m in metrics],
        "arrayminus": [(m.value - m.low) if m.low is not None else 0 for m in metrics],
    }


def time_scale(values: Sequence[float]) -> tuple[float, str]:
    """(factor from seconds to a unit, name of the unit).

    The unit is chosen so that the largest value is at least 1.
    """
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if largest * factor >= 1:
            return factor, unit
    return 1e9, "ns"
