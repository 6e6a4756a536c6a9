"""Renders the section that compares the measured and the predicted order of configurations by rate,
for workloads on which no model was fitted."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from dfslab.documents.table import Tab
from dfslab.report.contract import PageSection
from dfslab.report.page_table import note, percent, table, wide
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import FinishedRun
from dfslab.studies.order import WorkloadOrder, orders

TITLE = "Order of configurations"
ORDER = 35
EMPTY = "No load that was held out ran on several configurations."


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the measured and predicted ratios of rates, and how many pairs of
    configurations are predicted in the measured order. None if there are no such workloads."""
    comparison = study.find(Comparison)
    found = orders(comparison.rows) if comparison is not None else []
    if not found:
        return None
    text = "Rates as multiples of the slowest configuration's; no model was fitted on these runs."
    return note(text) + Markup("").join(_one(order) for order in found)


def _one(order: WorkloadOrder) -> Markup:
    methods = list(order.pairs)
    rows: list[list[Any]] = []
    for place in order.places:
        shown = ", ".join(
            f"{key.rsplit('.', 1)[-1]} {value}" for key, value in place.labels.items()
        )
        cells = [f"{place.predicted[name]:.2f}" for name in methods]
        rows.append([wide(shown), f"{place.measured:.2f}", *cells])
    rows.append(["pairs in the measured order", "", *(percent(order.pairs[m]) for m in methods)])
    body = table(["configuration", "measured", *methods], rows)
    return Markup("<h3>{}</h3>{}").format(order.load, body)


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.MODELS)
