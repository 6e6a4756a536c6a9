"""States which properties of a net a written `.cpn` file lacks."""

from __future__ import annotations

from dfslab.documents.net_run import NetFile
from dfslab.nets.cpn.writing.monitors import writable
from dfslab.nets.losses import Loss, lines

ANY = "CPN Tools takes any token"
MONITORS = "left out; observe the places and transitions in CPN Tools, or write --as json"


def losses(file: NetFile) -> list[str]:
    """Returns a line for each property of a net, or of its monitors, that a `.cpn` file lacks."""
    net, monitors = file.net, file.monitors
    # CPN Tools draws tokens, as places of random discipline do. Files of CPN Tools are read as nets
    # with the discipline "fifo".
    ordered = [one for one in net.places if one.discipline not in ("fifo", "random")]
    named = ", ".join(sorted({one.discipline for one in ordered}))
    pages = {one.page for one in net.transitions}
    unwritten = len(monitors.measured) + len(monitors.breakpoints) - len(writable(monitors))
    ports = sum(one.port is not None for one in net.places)
    found = [
        Loss(f"disciplines ({named})", len(ordered), "place", ANY),
        Loss("tables", len(net.tables), "table", "left out"),
        Loss("the borders of pages", ports, "place", "left out"),
        Loss("monitors that keep a level", unwritten, "monitor", MONITORS),
        Loss("monitors that were refused", len(monitors.refused), "monitor", "left out"),
    ]
    if len(pages) > 1:
        found.append(Loss("the pages of a flat net", len(pages), "page", "written as one page"))
    return lines("cpn", found)
