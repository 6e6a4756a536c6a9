"""A planned design of experiments, as `dfslab design` prints it."""

from __future__ import annotations

from dfslab.documents.document import Document
from dfslab.documents.table import Value


class PlannedCost(Document):
    """The cost of a plan: numbers of testbeds and runs, and seconds."""

    beds: int
    runs: int
    # Starts of all testbeds.
    bed_s: float
    # All runs.
    run_s: float
    longest_run_s: float
    total_s: float


class PlannedDesign(Document):
    """The legal combinations, and the chosen runs by testbed."""

    kind: str
    # Legal combinations, and all combinations.
    legal: int
    box: int
    factors: list[str]
    # For each testbed, its runs: factor -> level.
    beds: list[list[dict[str, Value]]]
    bill: PlannedCost
