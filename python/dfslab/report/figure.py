"""Types of the parts of a Plotly chart, with the key names of Plotly's JSON.

Source: the reference of plotly.js. Plotly has more keys; these types declare those in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

# Positions or values on an axis. A value of None leaves a gap in a line.
Values = Sequence[float | str | None]
Anchor = Literal["left", "right", "top", "bottom"]


class Line(TypedDict, total=False):
    """The style of a line; `width` in pixels."""

    color: str
    width: float
    dash: str
    shape: str


class Marker(TypedDict, total=False):
    """The style of points or bars.

    Each entry is one value for all points, or one value for each; `size` in pixels.
    """

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
    """One curve of a chart: a line, a set of points or a set of bars, with its legend entry."""

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
    """The title of an axis and its distance from the axis in pixels."""

    text: str
    standoff: float


class Minor(TypedDict):
    """Style of grid lines between the ticks."""

    showgrid: bool


class AxisOptions(TypedDict, total=False):
    """Options of an axis other than its title and grid."""

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
    """One axis of a chart."""

    title: AxisTitle
    gridcolor: str
    zerolinecolor: str


class Font(TypedDict, total=False):
    """A font of a chart; `size` in pixels."""

    family: str
    size: float
    color: str


class Pad(TypedDict):
    """The space above a title, in pixels."""

    t: float


class Heading(TypedDict):
    """The title of a chart and its position."""

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
    """The position and orientation of the legend."""

    orientation: Literal["h", "v"]
    x: float
    xanchor: Anchor
    y: float
    yref: str
    yanchor: Anchor


class Shape(TypedDict, total=False):
    """A straight line from (x0, y0) to (x1, y1), drawn over the chart."""

    type: Literal["line"]
    xref: str
    x0: float
    x1: float
    yref: str
    y0: float
    y1: float
    line: Line


class Annotation(TypedDict, total=False):
    """A text at a position in the chart."""

    x: float
    y: float
    text: str
    xref: str
    yref: str
    showarrow: bool
    xanchor: Anchor
    yanchor: Anchor


class Grid(TypedDict):
    """The arrangement of small charts in rows and columns.

    The gaps between charts are shares of a chart's size.
    """

    rows: int
    columns: int
    pattern: str
    xgap: float
    ygap: float


class ChartLayout(TypedDict, total=False):
    """Everything in a chart except its curves; `height` in pixels."""

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
