"""The plan of an experimental design, as `dfslab design` prints it."""

from __future__ import annotations

from dfslab.documents.document import Document
from dfslab.documents.table import Value


class PlannedCost(Document):
    """The cost of an experimental plan: the numbers of testbeds and of runs, and durations
    in seconds."""

    testbeds: int
    runs: int
    # Time to start all testbeds, seconds.
    testbed_s: float
    # Time of all runs, seconds.
    run_s: float
    longest_run_s: float
    total_s: float


class PlannedDesign(Document):
    """A plan of experiments. It has the numbers of possible and of legal combinations of factor
    levels, and the chosen runs for each testbed.
    """

    kind: str
    # `legal`: number of combinations of levels that the design's constraints and the file system's
    # checks allow. `box`: number of all combinations.
    legal: int
    box: int
    factors: list[str]
    # For each testbed the list of its runs. A run is a dictionary with the level of each factor.
    testbeds: list[list[dict[str, Value]]]
    bill: PlannedCost
