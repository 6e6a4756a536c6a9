"""Tests that readers with any kind of colour vision can distinguish the colours of charts. The
tests cover light and dark pages."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from dfslab.report.charts import palette

PAGE = Path(palette.__file__).parents[1] / "templates" / "page.html"
# Matrices that simulate the lack of one kind of cone in the eye (Machado, Oliveira and Fernandes
# 2009). The matrices are applied to linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# Matrix from linear RGB to CIE XYZ (IEC 61966-2-1). Below it, WHITE is the white point D65.
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
# Least allowed distance of two colours in CIELAB. Between adjacent areas, a distance of about 2 is
# just noticeable (Mahy 1994). The limit is ten times as large, because lines in a chart are thin
# and not adjacent.
LEAST_DISTANCE = 20.0
# Least allowed contrast of a colour with the page. WCAG 2.1, success criterion 1.4.11, requires
# this contrast of graphical objects.
LEAST_CONTRAST = 3.0


def linear(colour: str) -> np.ndarray:
    """Returns the linear RGB of a hexadecimal colour."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> np.ndarray:
    """Returns the CIELAB coordinates of a colour as a reader with the colour vision `vision`
    perceives the colour."""
    seen = np.clip(VISION[vision] @ linear(colour), 0, 1)
    ratio = TO_XYZ @ seen / WHITE
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def contrast(one: str, other: str) -> float:
    """Returns the contrast ratio of two colours (WCAG 2.1)."""
    high, low = sorted((float(TO_XYZ[1] @ linear(c)) for c in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def nearest(colours: list[str], vision: str) -> float:
    """Returns the smallest distance between any two colours."""
    return min(
        float(np.linalg.norm(lab(one, vision) - lab(other, vision)))
        for one, other in combinations(colours, 2)
    )


def of_page(name: str, mode: str) -> str:
    """Returns the colour of a CSS variable of the page in the mode "light" or "dark"."""
    light, dark = re.findall(rf"--{name}: (#[0-9a-f]{{6}});", PAGE.read_text(encoding="utf-8"))
    return light if mode == "light" else dark


def shown(mode: str) -> list[str]:
    """Returns the colours of series and of measurements on a page in the mode "light" or "dark"."""
    shades = [one.light if mode == "light" else one.dark for one in palette.SHADES.values()]
    return [of_page("ink", mode), *shades]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_any_two_colours_differ_in_every_kind_of_vision(mode, vision):
    assert nearest(shown(mode), vision) >= LEAST_DISTANCE


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_colour_stands_out_from_the_ground(mode):
    ground = of_page("ground", mode)
    for colour in shown(mode):
        assert contrast(colour, ground) >= LEAST_CONTRAST, colour


def test_the_simulation_can_fail():
    """The test's red and green have equal lightness. Most readers can tell them apart, but readers
    without green cones cannot."""
    pair = ["#c04040", "#7a7a2a"]
    assert nearest(pair, "full") > LEAST_DISTANCE > nearest(pair, "deuteranopia")


def test_every_method_keeps_its_colour():
    assert palette.of_method("measure") == palette.MEASURED
    assert palette.of_method("someone's model") == palette.of_method("someone's model")
    assert palette.of_method("someone's model") in palette.SEQUENCE
    assert palette.of_place(7) == palette.of_place(1)


def test_the_style_sheet_has_both_shades_of_every_colour():
    text = palette.style_sheet()
    for name, shade in palette.SHADES.items():
        assert f"--{name}:{shade.light};" in text
        assert f"--{name}:{shade.dark};" in text
