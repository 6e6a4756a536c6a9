"""Draws the marks of a chart as SVG: points, lines, intervals and bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from dfslab.report.charts.figure import Bars, Mark, Numbers, Series
from dfslab.report.charts.palette import MEASURED, REFERENCE
from dfslab.report.charts.scale import Scale

# Radius of points and radius of faint points, in pixels.
RADIUS, FAINT_RADIUS = 4.0, 2.6
# The bars of one category fill this share of the category's height.
FILLED = 0.74
SAMPLE = (24, 12)
_DASHES = {"solid": "", "dash": "6 4", "dot": "1.5 3.5"}

# A position in pixels: the distance from the left edge, and the distance from the top.
Pixel = tuple[float, float]


def css_colour(name: str) -> str:
    """Returns the CSS value of a colour of the palette."""
    if name == MEASURED:
        return "currentColor"
    return "var(--soft)" if name == REFERENCE else f"var(--{name})"


def drawn_series(series: Series, x: Scale, y: Scale) -> Markup:
    """Returns the SVG of one series: its band, line, intervals and points."""
    parts: list[str] = []
    if series.band:
        parts.append(_band(series, x, y))
    if series.line is not None:
        parts.append(_line(series, x, y))
    if series.low and not series.band:
        parts.append(_intervals(series, x, y))
    if series.mark or series.hints:
        parts.append(_points(series, x, y))
    style = f"--c:{css_colour(series.colour)}"
    return Markup(f'<g class="series" style="{style}">{"".join(parts)}</g>')


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _runs(xs: Numbers, ys: Numbers, x: Scale, y: Scale) -> Iterator[list[Pixel]]:
    """Yields the pieces of a line between gaps. A piece is a list of points in pixels."""
    run: list[Pixel] = []
    for one, other in zip(xs, ys, strict=True):
        if one is not None and other is not None and _known(one) and _known(other):
            run.append((x.place(one), y.place(other)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _line(series: Series, x: Scale, y: Scale) -> str:
    path = "".join(_path(run, series.stepped) for run in _runs(series.x, series.y, x, y))
    return _stroke(path, series)


def _stroke(path: str, series: Series) -> str:
    dash = _DASHES[series.line or "solid"]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path class="line"{dashed} d="{path}"/>' if path else ""


def _path(run: Sequence[Pixel], stepped: bool) -> str:
    """Returns the commands of an SVG path through the points. If the line is `stepped`, its height
    changes half-way between two points."""
    (left, top), *others = run
    words = [f"M{left:.1f} {top:.1f}"]
    for right, bottom in others:
        words.append(f"H{(left + right) / 2:.1f}V{bottom:.1f}" if stepped else "")
        words.append(f"L{right:.1f} {bottom:.1f}")
        left = right
    return "".join(words)


def _band(series: Series, x: Scale, y: Scale) -> str:
    found = []
    lows = list(_runs(series.x, series.low, x, y))
    highs = list(_runs(series.x, series.high, x, y))
    for low, high in zip(lows, highs, strict=True):
        edge = [*high, *reversed(low)]
        found.append(_path(edge, False) + "Z")
        # An interval at a single position has no area, so it is drawn as a rectangle of 12 pixels
        # width.
        if len(low) == 1:
            (left, bottom), (_, top) = low[0], high[0]
            found.append(f"M{left - 6:.1f} {bottom:.1f}h12V{top:.1f}h-12Z")
    return f'<path class="band" d="{"".join(found)}"/>' if found else ""


def _intervals(series: Series, x: Scale, y: Scale) -> str:
    found = []
    for place, (low, high) in enumerate(zip(series.low, series.high, strict=True)):
        at_x, at_y = series.x[place], series.y[place]
        if low is None or high is None or at_x is None or at_y is None:
            continue
        if series.across:
            left, right, middle = x.place(low), x.place(high), y.place(at_y)
            found.append(f"M{left:.1f} {middle:.1f}H{right:.1f}")
        else:
            bottom, top, middle = y.place(low), y.place(high), x.place(at_x)
            found.append(f"M{middle:.1f} {bottom:.1f}V{top:.1f}")
    return f'<path class="interval" d="{"".join(found)}"/>' if found else ""


def _points(series: Series, x: Scale, y: Scale) -> str:
    found = []
    for place, (one, other) in enumerate(zip(series.x, series.y, strict=True)):
        if one is None or other is None or not (_known(one) and _known(other)):
            continue
        hollow = place < len(series.hollow) and series.hollow[place]
        hint = series.hints[place] if place < len(series.hints) else ""
        found.append(_point(series, (x.place(one), y.place(other)), hollow, hint))
    return "".join(found)


def _point(series: Series, at: Pixel, hollow: bool, hint: str) -> str:
    words = " ".join(
        ("point", *(["hollow"] if hollow else []), *(["faint"] if series.faint else []))
    )
    # A line without points gets invisible points, which show their hint under the pointer.
    kind = words if series.mark else "target"
    path = _shape(series.mark or "circle", at, FAINT_RADIUS if series.faint else RADIUS)
    inner = f"<title>{escape(hint)}</title>" if hint else ""
    return f'<path class="{kind}" d="{path}">{inner}</path>'


def _shape(mark: Mark, at: Pixel, radius: float) -> str:
    """Returns the outline of a point as the commands of an SVG path."""
    x, y = at
    if mark == "square":
        side = radius * 1.8
        return f"M{x - side / 2:.1f} {y - side / 2:.1f}h{side:.1f}v{side:.1f}h{-side:.1f}z"
    if mark == "diamond":
        d = f"{radius * 1.35:.1f}"
        return f"M{x:.1f} {y - radius * 1.35:.1f}l{d} {d}l-{d} {d}l-{d} -{d}z"
    if mark == "triangle":
        half = radius * 1.25
        return f"M{x:.1f} {y - half:.1f}l{half:.1f} {2 * half:.1f}h{-2 * half:.1f}z"
    arc = f"a{radius} {radius} 0 1 0"
    return f"M{x - radius:.1f} {y:.1f}{arc} {2 * radius} 0{arc} {-2 * radius} 0z"


def drawn_bars(groups: Sequence[Bars], x: Scale, y: Scale) -> Markup:
    """Returns the SVG of horizontal bars. Each category has one bar of every entry of `groups`, one
    below the other."""
    if not groups:
        return Markup("")
    categories = round(y.high - y.low)
    height = abs(y.end - y.start) / max(1, categories) * FILLED / len(groups)
    parts: list[str] = []
    for turn, bars in enumerate(groups):
        inner = []
        for place, value in enumerate(bars.values):
            if value is not None and _known(value):
                middle = y.place(place) + (turn - (len(groups) - 1) / 2) * height
                inner.append(_bar(bars, place, value, x, middle, height))
        style = f"--c:{css_colour(bars.colour)};--o:{bars.opacity:g}"
        parts.append(f'<g class="bars" style="{style}">{"".join(inner)}</g>')
    return Markup("".join(parts))


def _bar(bars: Bars, place: int, value: float, x: Scale, middle: float, height: float) -> str:
    left, right = sorted((x.place(max(0.0, x.low)), x.place(value)))
    hint = bars.hints[place] if place < len(bars.hints) else ""
    inner = f"<title>{escape(hint)}</title>" if hint else ""
    found = (
        f'<rect x="{left:.1f}" y="{middle - height / 2:.1f}" width="{max(1.0, right - left):.1f}" '
        f'height="{height - 1:.1f}">{inner}</rect>'
    )
    low = bars.low[place] if place < len(bars.low) else None
    high = bars.high[place] if place < len(bars.high) else None
    if low is not None and high is not None:
        path = f"M{x.place(low):.1f} {middle:.1f}H{x.place(high):.1f}"
        found += f'<path class="whisker" d="{path}"/>'
    return found


def swatch(style: Series | Bars) -> Markup:
    """Returns a small SVG for a legend, which shows the style of a series or of bars."""
    width, height = SAMPLE
    if isinstance(style, Bars):
        inner = f'<rect width="{width}" height="{height}" opacity="{style.opacity:g}"/>'
        kind = "bars"
    else:
        inner, kind = _series_sample(style), "series"
    return Markup(
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true">'
        f'<g class="{kind}" style="--c:{css_colour(style.colour)}">{inner}</g></svg>'
    )


def _series_sample(style: Series) -> str:
    width, height = SAMPLE
    inner = ""
    if style.band:
        inner += f'<path class="band" d="M0 0H{width}V{height}H0z"/>'
    if style.line is not None:
        inner += _stroke(f"M0 {height / 2}H{width}", style)
    if style.mark:
        hollow = bool(style.hollow and style.hollow[0])
        inner += _point(style, (width / 2, height / 2), hollow, "")
    return inner
