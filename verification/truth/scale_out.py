"""Predicts the rates of 100 object stores of Ceph from those of 30, as `dfslab predict TABLE` does.

The rates of a single object store and the stated links tell which of the two is used more at 30
stores. That resource limits the rate, so it is the one whose busiest member counts: a store with
its placement groups, or a node's link with those of all stores of the node. The number of placement
groups is not stated; it is Ceph's default. The baseline is a rate in proportion to the stores.
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
    """Returns the error of each kind of operation, its ratio to the baseline's error, and the share
    of operations that are in the interval."""
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
    """Returns the predicted rate of WANTED object stores from the cell with GIVEN of them. `single`
    has the measurements of a single object store."""
    per_store = hashed_placement.PLACEMENTS / (start.copies if start.operation == "read" else 1)
    if link_use(start) <= store_use(start, single):
        return hashed_placement.scaled(_kind(start), start.rate_per_s, GIVEN, WANTED, per_store)
    stores = start.servers // start.nodes
    nodes = round(WANTED / stores)
    return hashed_placement.scaled(
        _kind(start), start.rate_per_s, start.nodes, nodes, per_store * stores
    )


def link_use(one: Cell) -> float:
    """Returns the share of the nodes' links in one direction that an operation uses. A write also
    sends its copies from the primary object store to the others."""
    crossings = 1 if one.operation == "read" else one.copies
    bits = 8 * one.size_bytes * one.rate_per_s * crossings
    return bits / (one.nodes * one.node_link_bit_per_s)


def store_use(one: Cell, single: list[Cell]) -> float:
    """Returns the rate of each object store divided by that of a single one. Operations that were
    not measured on a single store count as fully used, because their links are nearly idle."""
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
