"""The colours of the charts, for a light and for a dark page.

A search chose the six colours. It maximised the smallest distance between any two of them, and
between any of them and the text colour. The distance is the smallest over full colour vision,
protanopia, deuteranopia and tritanopia. `tests/unit/test_palette.py` simulates these kinds of
vision and measures the distances.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shade:
    """One colour as hexadecimal RGB: on a light page and on a dark page."""

    light: str
    dark: str


# The shades of each colour, by the name that charts use.
SHADES = {
    "blue": Shade("#1389f1", "#5ec4fa"),
    "orange": Shade("#e96b21", "#f77325"),
    "green": Shade("#166549", "#138253"),
    "pink": Shade("#cc61a5", "#ae4d95"),
    "purple": Shade("#7e1d7d", "#8960fa"),
    "brown": Shade("#594807", "#f9cb8b"),
}
# The colours of series to which no colour is assigned, in the order of use.
SEQUENCE = tuple(SHADES)
# Names of two special colours: the text colour, for measurements, and grey, for bounds and
# reference lines.
MEASURED, REFERENCE = "ink", "grey"
# Each method has one fixed colour in all charts.
_METHODS = {
    "measure": MEASURED,
    "sequence": "blue",
    "petri": "orange",
    "regression": "green",
    "components": "pink",
    "fitted": "purple",
    "trace": "brown",
    "mean": REFERENCE,
    "ideal": REFERENCE,
}


def of_method(method: str) -> str:
    """Returns the name of a method's colour. A method without a fixed colour gets a colour that
    depends only on the method's name."""
    return _METHODS.get(method) or SEQUENCE[sum(map(ord, method)) % len(SEQUENCE)]


def of_place(place: int) -> str:
    """Returns the name of the colour for the series at index `place`. The colours repeat after six
    series."""
    return SEQUENCE[place % len(SEQUENCE)]


def style_sheet() -> str:
    """Returns CSS variables for the colours of a light page, and for the colours of a dark page,
    which browsers apply if their user prefers dark pages."""
    light = "".join(f"--{name}:{shade.light};" for name, shade in SHADES.items())
    dark = "".join(f"--{name}:{shade.dark};" for name, shade in SHADES.items())
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
