"""Renders the section on the order of configurations by rate. It compares the measured with the
predicted order, for workloads on which no model was fitted."""

from __future__ import annotations

from markupsafe import Markup

from dfslab.documents.table import Tab, Table, TableCell, heads, percent, words
from dfslab.report.contract import PageSection
from dfslab.report.page_table import contents, note
from dfslab.studies.compare import Comparison
from dfslab.studies.contract import FinishedRun
from dfslab.studies.order import WorkloadOrder, orders

TITLE = "Order of configurations"
ORDER = 35
EMPTY = "No load that was held out ran on several configurations."


def render(study: FinishedRun) -> Markup | None:
    """Returns HTML: the measured and predicted ratios of rates, and the number of pairs of
    configurations whose predicted order is the measured order.

    Returns None if no configurations were ranked, because no held-out workload ran on several
    configurations.
    """
    comparison = study.find(Comparison)
    found = orders(comparison.rows) if comparison is not None else []
    if not found:
        return None
    text = "Rates as multiples of the slowest configuration's; no model was fitted on these runs."
    return note(text) + Markup("").join(contents(_table(order)) for order in found)


def _table(order: WorkloadOrder) -> Table:
    methods = list(order.pairs)
    rows = []
    for place in order.places:
        shown = ", ".join(
            f"{key.rsplit('.', 1)[-1]} {value}" for key, value in place.labels.items()
        )
        ratios = (place.measured, *(place.predicted[name] for name in methods))
        rows.append([words(shown), *(TableCell(ratio, f"{ratio:.2f}") for ratio in ratios)])
    pairs = [percent(order.pairs[method]) for method in methods]
    rows.append([words("pairs in the measured order"), TableCell(None, ""), *pairs])
    columns = heads("configuration", "measured", *methods, wrapped=["configuration"])
    return Table(order.load, columns, rows)


SECTION = PageSection(TITLE, ORDER, EMPTY, render, Tab.MODELS)
