"""The parts of a chart, with the names that Plotly's JSON has for them; the page draws them.

Source: the reference of plotly.js. All keys are optional there, and only those in use are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

# Positions or values; None leaves a gap.
Values = Sequence[float | str | None]
Anchor = Literal["left", "right", "top", "bottom"]


class Line(TypedDict, total=False):
    """How a line is drawn; `width` in pixels."""

    color: str
    width: float
    dash: str
    shape: str


class Marker(TypedDict, total=False):
    """How points or bars are drawn, each alike or each by its own value; `size` in pixels."""

    color: str | Sequence[str]
    size: float
    opacity: float
    symbol: str | Sequence[str]
    line: Line


class ErrorBars(TypedDict, total=False):
    """Intervals as distances above (`array`) and below (`arrayminus`) each value."""

    type: str
    symmetric: bool
    thickness: float
    width: float
    array: Sequence[float]
    arrayminus: Sequence[float]
    color: str


class Curve(TypedDict, total=False):
    """One line, set of points or set of bars, with its entry in the legend."""

    type: Literal["scatter", "bar"]
    orientation: Literal["h", "v"]
    mode: str
    name: str
    visible: bool | Literal["legendonly"]
    x: Values
    y: Values
    text: Sequence[str]
    hovertemplate: str
    hoverinfo: str
    line: Line
    marker: Marker
    error_x: ErrorBars
    error_y: ErrorBars
    xaxis: str
    yaxis: str
    legendgroup: str
    showlegend: bool


class AxisTitle(TypedDict, total=False):
    """The title of an axis and its distance in pixels."""

    text: str
    standoff: float


class Minor(TypedDict):
    """Lines between the ticks."""

    showgrid: bool


class AxisOptions(TypedDict, total=False):
    """What an axis may have besides a title and a grid."""

    type: str
    tickformat: str
    ticksuffix: str
    dtick: float | str
    tickvals: Sequence[float]
    ticktext: Sequence[str]
    minor: Minor
    range: Sequence[float]
    rangemode: str
    autorange: str
    automargin: bool
    showgrid: bool
    showticklabels: bool
    matches: str


class Axis(AxisOptions, total=False):
    """One axis."""

    title: AxisTitle
    gridcolor: str
    zerolinecolor: str


class Font(TypedDict, total=False):
    """A font; `size` in pixels."""

    family: str
    size: float
    color: str


class Pad(TypedDict):
    """The space above a title, in pixels."""

    t: float


class Heading(TypedDict):
    """The title of a chart."""

    text: str
    x: float
    xanchor: Anchor
    font: Font
    y: float
    yref: str
    yanchor: Anchor
    pad: Pad


class Margin(TypedDict):
    """The space around the drawing, in pixels: left, right, top, bottom."""

    l: float  # noqa: E741
    r: float
    t: float
    b: float


class Legend(TypedDict, total=False):
    """The place of the legend."""

    orientation: Literal["h", "v"]
    x: float
    xanchor: Anchor
    y: float
    yref: str
    yanchor: Anchor


class Shape(TypedDict, total=False):
    """A line from (x0, y0) to (x1, y1)."""

    type: Literal["line"]
    xref: str
    x0: float
    x1: float
    yref: str
    y0: float
    y1: float
    line: Line


class Annotation(TypedDict, total=False):
    """A text at a place."""

    x: float
    y: float
    text: str
    xref: str
    yref: str
    showarrow: bool
    xanchor: Anchor
    yanchor: Anchor


class Grid(TypedDict):
    """Small charts in rows and columns; gaps as shares of a chart."""

    rows: int
    columns: int
    pattern: str
    xgap: float
    ygap: float


class ChartLayout(TypedDict, total=False):
    """All of a chart but its curves; `height` in pixels."""

    title: Heading
    height: float
    margin: Margin
    font: Font
    paper_bgcolor: str
    plot_bgcolor: str
    legend: Legend
    hovermode: str
    xaxis: Axis
    yaxis: Axis
    grid: Grid
    shapes: Sequence[Shape]
    annotations: Sequence[Annotation]
    barmode: str
    bargap: float
    showlegend: bool
