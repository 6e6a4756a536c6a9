"""Predicts the rates of 100 object stores of Ceph from the rates of 30, as `dfslab predict TABLE`
does.

A rate is limited either by the object stores or by the links of the nodes. The limit is the
resource with the higher utilisation at 30 stores. The utilisation is computed from the rates of a
single store and the stated rates of links.

The prediction follows from the busiest store or node, which has the most placement groups. The
number of placement groups is not stated. The assumed number is Ceph's default. The baseline is a
rate in proportion to the number of stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from dfslab.models.scaling import hashed_placement

from verification.figures import Figure
from verification.truth.tables import Row, figure, rows

TABLE = "truth-ceph-scale"
GIVEN, WANTED = 30, 100


@dataclass(frozen=True)
class Cell:
    """Measurements of one kind of operation with `servers` object stores on `nodes` nodes."""

    operation: str
    size_bytes: int
    servers: int
    nodes: int
    rate_per_s: float
    copies: int
    node_link_bit_per_s: float


def figures() -> list[Figure]:
    """Returns the figures of the predicted rates. Each kind of operation has two figures: the
    relative error of its rate, and this error divided by the error of the baseline. One further
    figure is the share of all operations whose measured rate is inside the predicted interval."""
    made, covered = [], []
    known = [_cell(row) for row in rows(TABLE)]
    for start in (one for one in known if one.servers == GIVEN):
        true = next(
            one.rate_per_s for one in known if one.servers == WANTED and _kind(one) == _kind(start)
        )
        found = predicted(start, [one for one in known if one.servers == 1])
        error, other = abs(found.rate_per_s / true - 1), abs(found.proportional_per_s / true - 1)
        part = f"{start.operation}s of {start.size_bytes // 1024} KiB"
        made.append(figure(TABLE, "scale-out", part, error, 1))
        made.append(figure(TABLE, "over-baseline", f"scale-out: {part}", error / other, 1))
        covered.append(found.low_per_s <= true <= found.high_per_s)
    made.append(figure(TABLE, "coverage", "rate", sum(covered) / len(covered), len(covered)))
    return made


def predicted(start: Cell, single: list[Cell]) -> hashed_placement.ScaledRate:
    """Predicts the rate of WANTED object stores. The prediction uses `start`, the measurement of
    GIVEN stores, and `single`, the measurements of a single object store."""
    per_store = hashed_placement.PLACEMENTS / (start.copies if start.operation == "read" else 1)
    if link_use(start) <= store_use(start, single):
        return hashed_placement.scaled(_kind(start), start.rate_per_s, GIVEN, WANTED, per_store)
    stores = start.servers // start.nodes
    nodes = round(WANTED / stores)
    return hashed_placement.scaled(
        _kind(start), start.rate_per_s, start.nodes, nodes, per_store * stores
    )


def link_use(one: Cell) -> float:
    """Returns the utilisation of the nodes' links in one direction by an operation. A write uses
    the links once for each copy, because the primary object store forwards the other copies."""
    crossings = 1 if one.operation == "read" else one.copies
    bits = 8 * one.size_bytes * one.rate_per_s * crossings
    return bits / (one.nodes * one.node_link_bit_per_s)


def store_use(one: Cell, single: list[Cell]) -> float:
    """Returns the utilisation of an object store: its rate, including all copies of writes, divided
    by the rate of a single store.

    If the operation was not measured on a single store, returns 1. The stores then count as the
    limit, because such operations leave the links nearly idle.
    """
    alone = [each.rate_per_s for each in single if _kind(each) == _kind(one)]
    copies = one.copies if one.operation == "write" else 1
    return one.rate_per_s * copies / one.servers / median(alone) if alone else 1.0


def _kind(one: Cell) -> str:
    return f"{one.operation} {one.size_bytes}"


def _cell(row: Row) -> Cell:
    return Cell(
        row["operation"],
        int(row["size_bytes"]),
        int(row["servers"]),
        int(row["nodes"]),
        float(row["rate_per_s"]),
        int(row["copies"]),
        float(row["node_link_bit_per_s"]),
    )
