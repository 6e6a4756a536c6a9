"""Draws charts as SVG with HTML legends. Colours are CSS variables, so that the same chart serves
light and dark pages."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from dfslab.report.charts.figure import Axis, Panel, Series
from dfslab.report.charts.marks import drawn_bars, drawn_series, swatch
from dfslab.report.charts.scale import Scale, scale

# Width and height in pixels of one panel among several (SMALL) and of a single panel (ALONE). A
# category of a bar chart has BAR_ROW pixels for each bar, and at least BAR_LEAST pixels.
SMALL, ALONE = (340, 220), (430, 280)
BAR_ROW, BAR_LEAST = 15, 30
# Width of a character of tick labels, largest width of the labels of categories, and height of a
# line of a label, in pixels. Longer labels are wrapped.
CHARACTER, WIDEST_LABEL, LINE = 6.0, 180, 13
# Number of different heights at which the labels of successive vertical lines are drawn, so that
# the labels of near lines do not overlap.
LABEL_HEIGHTS = 3
# Space in pixels around the drawing area. BARE_TOP replaces TOP if the vertical axis has
# categories, because such an axis has no title above it.
TOP, BARE_TOP, RIGHT, BOTTOM = 22, 4, 14, 36


@dataclass(frozen=True)
class Frame:
    """The drawing area of one panel: its size in pixels and the scales of its axes."""

    width: float
    height: float
    x: Scale
    y: Scale


def figure(
    panels: Sequence[Panel], x_axis: Axis, y_axis: Axis, label: str, title: str = ""
) -> Markup:
    """Returns the HTML of a chart with one panel for each entry of `panels`.

    The panels share the scales of both axes. `label` describes the chart for screen readers;
    `title` is shown above it. The result is empty if there are no panels.
    """
    if not panels:
        return Markup("")
    size = ALONE if len(panels) == 1 else SMALL
    shared_x = _with_limits(x_axis, (one for panel in panels for one in _values(panel, True)))
    shared_y = _with_limits(y_axis, (one for panel in panels for one in _values(panel, False)))
    drawn = Markup("").join(
        _panel(one, one.x_axis or shared_x, one.y_axis or shared_y, size, label) for one in panels
    )
    caption = Markup("<figcaption>{}</figcaption>").format(title) if title else Markup("")
    return Markup(
        '<figure class="chart" aria-label="{}">{}{}<div class="panels{}">{}</div></figure>'
    ).format(label, caption, _legend(panels), " alone" if len(panels) == 1 else "", drawn)


def _values(panel: Panel, of_x: bool) -> Iterator[float | None]:
    """Yields the values of a panel along its horizontal axis (`of_x`) or its vertical axis,
    including the ends of intervals."""
    for one in panel.series:
        yield from one.x if of_x else one.y
        if one.across == of_x:
            yield from one.low
            yield from one.high
    for bars in panel.bars if of_x else ():
        yield from (*bars.values, *bars.low, *bars.high)


def _with_limits(axis: Axis, values: Iterable[float | None]) -> Axis:
    """Returns the axis with limits that are computed from the values. An axis that already has
    limits or categories is returned unchanged."""
    if axis.limits or axis.categories:
        return axis
    found = scale(axis, values, 0, 1)
    return replace(axis, limits=(found.low, found.high))


def _panel(panel: Panel, x_axis: Axis, y_axis: Axis, size: tuple[int, int], label: str) -> Markup:
    width, height = size
    # Rows of categories begin at the top of the plot, so the labels of lines are above the plot.
    labels = sum(bool(one.label) for one in panel.vertical_lines) if y_axis.categories else 0
    bare_top = BARE_TOP + LINE * min(LABEL_HEIGHTS, labels)
    if y_axis.categories:
        most_lines = max(len(_lines(text)) for text in y_axis.categories)
        row = max(BAR_LEAST, BAR_ROW * len(panel.bars) + 12, LINE * most_lines + 6)
        height = bare_top + BOTTOM + row * len(y_axis.categories)
    ys = list(_values(panel, False))
    ends = (bare_top, height - BOTTOM) if y_axis.categories else (height - BOTTOM, TOP)
    y = scale(y_axis, ys, *ends)
    widest = max((len(line) for _, text in y.ticks for line in _lines(text)), default=0)
    left = widest * CHARACTER + 12
    frame = Frame(width, height, scale(x_axis, _values(panel, True), left, width - RIGHT), y)
    parts = [_x_grid(frame, x_axis.title), _y_grid(frame, y_axis)]
    parts += [drawn_bars(panel.bars, frame.x, frame.y)]
    parts += [drawn_series(one, frame.x, frame.y) for one in panel.series]
    parts += [_vertical_lines(panel, frame, -4 if y_axis.categories else LINE - 2)]
    title = Markup("<p>{}</p>").format(panel.title) if panel.title else Markup("")
    return Markup(
        '<div class="panel">{}<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg></div>'
    ).format(
        title,
        width,
        height,
        f"{label}: {panel.title}" if panel.title else label,
        Markup("").join(parts),
    )


def _x_grid(frame: Frame, title: str) -> Markup:
    """Returns the grid lines and labels of the horizontal axis. A label that would overlap the
    preceding label is left out."""
    top, bottom = sorted((frame.y.start, frame.y.end))
    parts: list[str] = []
    reached = -math.inf
    for value, text in frame.x.ticks:
        place = frame.x.place(value)
        parts.append(f'<path class="grid" d="M{place:.1f} {top:.1f}V{bottom:.1f}"/>')
        half = len(text) * CHARACTER / 2
        # A label at the right edge is moved to the left, so that it is not cut.
        centre = min(place, frame.width - half - 1)
        if centre - half > reached + 4:
            reached = centre + half
            parts.append(_text(centre, bottom + 14, text, "middle"))
    middle = (frame.x.start + frame.x.end) / 2
    if title:
        parts.append(_text(middle, bottom + 30, title, "middle", "title"))
    return Markup("".join(parts))


def _y_grid(frame: Frame, axis: Axis) -> Markup:
    parts: list[str] = []
    if axis.title:
        parts.append(_text(2, TOP - 9, axis.title, "start", "title"))
    for value, text in frame.y.ticks:
        place = frame.y.place(value)
        if not axis.categories:
            parts.append(
                f'<path class="grid" d="M{frame.x.start:.1f} {place:.1f}H{frame.x.end:.1f}"/>'
            )
        parts.append(_wrapped(frame.x.start - 6, place + 4, _lines(text)))
    return Markup("".join(parts))


def _lines(text: str) -> list[str]:
    """Returns the lines of a label, each of which is at most WIDEST_LABEL pixels wide."""
    return textwrap.wrap(text, int(WIDEST_LABEL / CHARACTER)) or [""]


def _wrapped(x: float, y: float, lines: Sequence[str]) -> str:
    """Returns the SVG of a label that ends at `x` and is centred at `y`."""
    if len(lines) == 1:
        return _text(x, y, lines[0], "end")
    first = y - LINE * (len(lines) - 1) / 2
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{first + LINE * place:.1f}">{escape(line)}</tspan>'
        for place, line in enumerate(lines)
    )
    return f'<text class="tick" text-anchor="end">{spans}</text>'


def _vertical_lines(panel: Panel, frame: Frame, first: int) -> Markup:
    """Returns the lines with their labels. `first`: distance in pixels from the upper end of the
    plot to the first label, downwards; a negative distance is above the plot. Further labels are
    below the first label, or above it if the distance is negative."""
    step = LINE if first > 0 else -LINE
    top, bottom = sorted((frame.y.start, frame.y.end))
    parts: list[str] = []
    for turn, line in enumerate(panel.vertical_lines):
        place = frame.x.place(line.x)
        parts.append(f'<path class="rule" d="M{place:.1f} {top:.1f}V{bottom:.1f}"/>')
        left = place > (frame.x.start + frame.x.end) / 2
        shift, anchor = (-4, "end") if left else (4, "start")
        y = top + first + step * (turn % LABEL_HEIGHTS)
        parts.append(_text(place + shift, y, line.label, anchor))
    return Markup("".join(parts))


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _legend(panels: Sequence[Panel]) -> Markup:
    """Returns an HTML list of the names of all series and bars, each once, with a sample of their
    style."""
    samples: dict[str, Markup] = {}
    for panel in panels:
        for bars in panel.bars:
            samples.setdefault(bars.name, swatch(bars))
        for one in panel.series:
            if one.named:
                samples.setdefault(one.name, swatch(_sample(one)))
    samples.pop("", None)
    if not samples:
        return Markup("")
    items = Markup("").join(
        Markup("<li>{}{}</li>").format(sample, name) for name, sample in samples.items()
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def _sample(series: Series) -> Series:
    """Returns a series that has the style of the given series, but not its data."""
    return replace(series, x=(), y=(), low=(), high=(), hints=(), hollow=series.hollow[:1])
