"""A planned design of experiments, as `dfslab design` prints it."""

from __future__ import annotations

from dfslab.documents.document import Document
from dfslab.documents.table import Value


class PlannedCost(Document):
    """The cost of a plan: numbers of testbeds and runs, and durations in seconds."""

    beds: int
    runs: int
    # Time to start all testbeds, seconds.
    bed_s: float
    # Time of all runs, seconds.
    run_s: float
    longest_run_s: float
    total_s: float


class PlannedDesign(Document):
    """A plan of experiments: the numbers of possible and of legal combinations of levels, and the
    chosen runs for each testbed.
    """

    kind: str
    # Number of legal combinations; `combinations` is the number of all.
    legal: int
    box: int
    factors: list[str]
    # For each testbed, the runs on it: factor -> level.
    beds: list[list[dict[str, Value]]]
    bill: PlannedCost
