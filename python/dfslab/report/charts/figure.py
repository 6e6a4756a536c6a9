"""Types of the parts of a chart: axes, series of points, bars, and panels that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Numbers = Sequence[float | None]
Mark = Literal["", "circle", "square", "diamond", "triangle"]
Dash = Literal["solid", "dash", "dot"]
# The shapes of points, in the order in which they are assigned to series.
MARKS: tuple[Mark, ...] = ("circle", "square", "diamond", "triangle")
# The styles of lines, in the order in which they are assigned to series.
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    `title`: the quantity. `unit`: the SI unit of the values, which tick labels show with a prefix
    ("B/s", "1/s", "s", "B"); "%" for fractions; "" for counts and ratios. `log`: whether the axis
    is logarithmic. `ticks`: (value, label) pairs that replace computed ticks. `from_zero`: whether
    a linear axis begins at 0. `limits`: the smallest and the largest value drawn; None: the
    smallest and largest value of the data. `categories`: names of the positions 0, 1, 2, … of an
    axis without numbers.
    """

    title: str = ""
    unit: str = ""
    log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    from_zero: bool = False
    limits: tuple[float, float] | None = None
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Series:
    """Points of one name and colour in a panel, with or without a line through them.

    `x`, `y`: values; None leaves a gap. `colour`: a name of the palette. `line`: style of the line;
    None: no line. `stepped`: whether the line is a staircase. `mark`: shape of the points; "" for
    none. `hollow`: for each point, whether only the outline of the point is drawn. `low`, `high`:
    the interval of each value, drawn as a bar through the point, or with `band` as an area behind
    the line. `across`: whether `low` and `high` are intervals of `x`, not of `y`. `hints`: for each
    point, the text that is shown under the pointer. `faint`: whether the points are small and half
    transparent. `named`: whether the legend has the series.
    """

    name: str
    colour: str
    x: Numbers
    y: Numbers
    line: Dash | None = None
    stepped: bool = False
    mark: Mark = ""
    hollow: Sequence[bool] = ()
    low: Numbers = ()
    high: Numbers = ()
    band: bool = False
    across: bool = False
    hints: Sequence[str] = ()
    faint: bool = False
    named: bool = True


@dataclass(frozen=True)
class Bars:
    """Horizontal bars of one name and colour: one for each category of the vertical axis.

    `values`: lengths; None leaves a bar out. `low`, `high`: the interval of each value. `hints`:
    for each bar, the text that is shown under the pointer. `opacity`: from 0 (invisible) to 1.
    """

    name: str
    colour: str
    values: Numbers
    low: Numbers = ()
    high: Numbers = ()
    hints: Sequence[str] = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class VerticalLine:
    """A dotted vertical line at `x` with a label at its upper end."""

    x: float
    label: str


@dataclass(frozen=True)
class Panel:
    """One small chart with its title. The panels of a figure have common scales of both axes,
    except a panel with a separate axis in `x_axis` or `y_axis`. None means the common axis."""

    title: str
    series: Sequence[Series] = ()
    bars: Sequence[Bars] = ()
    vertical_lines: Sequence[VerticalLine] = ()
    x_axis: Axis | None = None
    y_axis: Axis | None = None
