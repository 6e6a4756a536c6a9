"""The plan of an experimental design, as `dfslab design` prints it."""

from __future__ import annotations

from dfslab.documents.document import Document
from dfslab.documents.table import Value
from dfslab.spec.design import DesignKind


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
    """A plan of experiments: the runs that were chosen for each testbed. It also has the number of
    all combinations of factor levels, and the number of those that are allowed."""

    kind: DesignKind
    # `box`: number of all combinations of factor levels. `legal`: number of combinations that
    # satisfy the constraints of the design and the checks of the file system.
    legal: int
    box: int
    factors: list[str]
    # For each testbed the list of its runs. A run is a dictionary with the level of each factor.
    testbeds: list[list[dict[str, Value]]]
    bill: PlannedCost
