"""The few chart forms of the page, in one look: data for Plotly, drawn by the page itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

# Okabe and Ito's colours, which colour-blind readers tell apart; one colour a method everywhere.
COLOURS = {
    "measure": "#222222", "sequence": "#0072B2", "petri": "#D55E00", "regression": "#009E73",
    "mean": "#999999", "ideal": "#CC79A7", "trace": "#E69F00",
}  # fmt: skip
SPARE = ["#56B4E9", "#F0E442", "#7F3C8D", "#11A579"]
DASHES = ["solid", "dot", "dash", "longdash"]
_number = itertools.count(1)


def colour(method: str) -> str:
    """A method's colour."""
    return COLOURS.get(method) or SPARE[sum(map(ord, method)) % len(SPARE)]


def chart(data: Sequence[dict[str, Any]], layout: dict[str, Any], label: str) -> Markup:
    """A place for a chart and its data; `label` says what it shows to those who cannot see it."""
    height = layout.get("height", 380)
    figure = {"data": list(data), "layout": {**_LAYOUT, **layout, "height": height}}
    # "</" would end the script element early; the rest of JSON is inert there.
    text = json.dumps(figure, default=float).replace("</", "<\\/").replace("<!--", "<\\!--")
    name = f"chart-{next(_number)}"
    return Markup(
        f'<div class="chart" id="{name}" role="img" aria-label="{escape(label)}" '
        f'style="height:{height}px"></div>'
        f'<script type="application/json" data-chart="{name}">{text}</script>'
    )


_LAYOUT: dict[str, Any] = {
    "margin": {"l": 70, "r": 20, "t": 40, "b": 60},
    "font": {"family": "system-ui, sans-serif", "size": 13},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "legend": {"orientation": "h", "y": -0.25},
    "hovermode": "closest",
}


def axis(title: str, log: bool = False, **more: Any) -> dict[str, Any]:
    """An axis with a quiet grid."""
    kind = {"type": "log", "exponentformat": "SI"} if log else {}
    return {"title": {"text": title}, "gridcolor": "rgba(128,128,128,0.25)", **kind, **more}


def with_interval(metrics: Sequence[Any]) -> dict[str, Any]:
    """Asymmetric error bars of metrics; none where there is no interval."""
    return {
        "type": "data", "symmetric": False, "thickness": 1, "width": 3,
        "array": [(m.high - m.value) if m.high is not None else 0 for m in metrics],
        "arrayminus": [(m.value - m.low) if m.low is not None else 0 for m in metrics],
    }  # fmt: skip
