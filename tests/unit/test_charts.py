"""Tests of the charts in the HTML page of a run: scales, ticks, points, gaps, bars, intervals and
legends."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from dfslab.report.charts import scale
from dfslab.report.charts.figure import Axis, Bars, Panel, Series, VerticalLine
from dfslab.report.charts.svg import CHARACTER, LINE, WIDEST_LABEL, figure
from hypothesis import given
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.floats(1e-9, 1e12)


def drawn(*series: Series, x: Axis | None = None, y: Axis | None = None, **panel) -> str:
    """Returns the HTML of a chart with one panel."""
    panels = [Panel("panel", series, **panel)]
    return str(figure(panels, x or Axis("x"), y or Axis("y"), "a chart"))


def tree(text: str) -> ElementTree.Element:
    """Returns the chart as an XML tree. Raises ParseError if the chart is not well-formed XML."""
    return ElementTree.fromstring(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '))


def line(text: str) -> str:
    """Returns the SVG path of the only line in a chart. The line in the chart's legend is not
    considered."""
    (path,) = re.findall(r'<path class="line"[^>]* d="(M[^"]*)"', text.partition("panels")[2])
    return path


@given(st.lists(VALUES, min_size=1, max_size=20), st.booleans())
def test_every_value_is_within_the_scale(values, log):
    found = scale.scale(Axis(log=log), values, 50, 300)
    for value in values:
        assert 50 <= found.place(value) <= 300
        assert found.low <= value <= found.high
    places = [found.place(one) for one in sorted(values)]
    assert places == sorted(places)


@given(
    st.lists(VALUES, min_size=2, max_size=20, unique=True), st.sampled_from(["", "B", "s", "B/s"])
)
def test_ticks_are_few_ascending_and_named_apart(values, unit):
    for log in (True, False):
        found = scale.scale(Axis(unit=unit, log=log), values, 0, 100)
        places = [value for value, _ in found.ticks]
        assert places == sorted(set(places))
        assert len(places) <= 10
        assert all(found.low <= one <= found.high for one in places)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.25, "%", "25 %"),
        (1e-5, "%", "0.001 %"),
        (65536, "B", "64 KiB"),
        (2e9, "B/s", "2 GB/s"),
        (2e-6, "s", "2 µs"),
        (20_000, "1/s", "20k/s"),
        (20_000, "", "20k"),
        (0.5, "", "0.5"),
        (0, "s", "0"),
    ],
)
def test_labels_have_units_and_prefixes(value, unit, text):
    assert scale.label(value, unit) == text


def test_bytes_have_ticks_at_powers_of_two():
    found = scale.scale(Axis(unit="B", log=True), [65536, 16 * 2**20], 0, 100)
    assert all(math.log2(value).is_integer() for value, _ in found.ticks)


def test_what_is_not_finite_is_a_gap():
    text = drawn(Series("s", "blue", [1, 2, 3, 4, 5], [1, 2, None, math.nan, 5], line="solid"))
    assert "nan" not in text.lower().replace("nanosecond", "")
    assert line(text).count("M") == 2


def test_a_staircase_has_a_step_between_points():
    text = drawn(Series("s", "blue", [0, 1, 2], [1, 1, 3], line="solid", stepped=True))
    assert line(text).count("H") == line(text).count("V") == 2


def test_all_panels_share_one_scale():
    panels = [
        Panel(name, [Series("s", "blue", [1, 2], values, mark="circle")])
        for name, values in (("small", [1, 2]), ("large", [1, 100]))
    ]
    text = str(figure(panels, Axis(), Axis(), "two"))
    ticks = [
        [one.text for one in panel.iter(f"{SVG}text")] for panel in tree(text).iter(f"{SVG}svg")
    ]
    shown = [one for one in ticks if one]
    assert shown[0] == shown[1]


def test_intervals_and_bands_are_drawn():
    values = {"x": [1, 2], "y": [2, 3], "low": [1, None], "high": [3, None]}
    assert 'class="interval"' in drawn(Series("s", "blue", **values, mark="circle"))
    band = drawn(
        Series("s", "blue", [1, 2], [2, 3], low=[1, 2], high=[3, 4], line="solid", band=True)
    )
    assert 'class="band"' in band
    assert 'class="interval"' not in band


def test_bars_begin_at_zero_and_have_their_lengths():
    bars = Bars("b", "blue", [1.0, None, 2.0], low=[0.5, None, 1.5], high=[1.5, None, 2.5])
    axis = Axis("share", from_zero=True)
    text = drawn(x=axis, y=Axis(categories=["a", "b", "c"]), bars=[bars])
    one, two = [
        float(rect.get("width", 0)) for rect in tree(text).iter(f"{SVG}rect") if rect.get("x")
    ]
    assert two == pytest.approx(2 * one, rel=0.01)
    assert text.count('class="whisker"') == 2


def test_text_is_never_markup():
    hostile = "<script>alert(1)</script>"
    series = Series(hostile, "blue", [1, 2], [1, 2], mark="circle", hints=[hostile, hostile])
    text = str(
        figure(
            [Panel(hostile, [series], vertical_lines=[VerticalLine(1, hostile)])],
            Axis(hostile),
            Axis(hostile),
            hostile,
            hostile,
        )
    )
    assert "<script>" not in text
    tree(text)


def test_the_legend_names_each_series_once():
    series = [Series(name, "blue", [1], [1], mark="circle") for name in ("one", "two", "one", "")]
    legend = drawn(*series).partition("</ul>")[0]
    assert re.findall("</svg>([^<]*)</li>", legend) == ["one", "two"]


def test_long_names_of_categories_are_wrapped_and_whole():
    names = [f"a category with a name that is far too long for one line, {n}" for n in (1, 2)]
    bars = [Bars("", "blue", [1.0, 2.0])]
    text = drawn(x=Axis(from_zero=True), y=Axis(categories=names), bars=bars)
    labels = re.findall('<text class="tick" text-anchor="end">(.*?)</text>', text)
    lines = [re.findall("<tspan[^>]*>([^<]*)</tspan>", one) for one in labels]
    assert [" ".join(one) for one in lines] == names
    assert all(len(one) * CHARACTER <= WIDEST_LABEL for of in lines for one in of)
    heights = [float(one) for one in re.findall('<tspan x="[^"]*" y="([^"]*)"', text)]
    assert all(later - before >= LINE - 0.1 for before, later in itertools.pairwise(heights))


def test_no_panel_is_no_chart():
    assert str(figure([], Axis(), Axis(), "nothing")) == ""


def test_the_label_of_a_line_is_above_the_bars():
    bars = [Bars("error", "blue", [0.5, 0.7])]
    lines = [VerticalLine(0.4, "noise")]
    panel = Panel("", bars=bars, y_axis=Axis(categories=["a", "b"]), vertical_lines=lines)
    drawn = str(figure([panel], Axis("error", "%"), Axis(), "errors"))
    (label,) = re.findall(r'y="([\d.]+)"[^>]*>noise<', drawn)
    tops = [float(y) for y in re.findall(r'<rect[^>]* y="([\d.]+)"', drawn)]
    assert tops
    assert float(label) < min(tops)
