"""The paper's claims and the study's own goals, each scored with what was seen here.

A direction is the slope of a log-linear regression of one operation; a rank is a place among the
total indices of one regime. Where the interval does not tell, that is what is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dfslab import quantiles
from dfslab.method import CONFIDENCE
from dfslab.models.encoding import Encoding, factors_of
from dfslab.models.estimators import independent
from dfslab.models.learnt import Rows
from dfslab.models.prediction import Situation
from dfslab.result import Metric
from dfslab.spec.lazily import lazily
from dfslab.spec.scenario import Point
from dfslab.studies.crossval import Validation
from dfslab.studies.lessons import Goal, Rank, Regime, Sign

if TYPE_CHECKING:
    import statsmodels.api as sm
else:
    sm = lazily("statsmodels.api")


def operation_of(point: Point) -> str:
    """The workload as people call it."""
    return point.scenario.workload.name.replace("_", " ")


def encoded(rows: Rows, own: np.ndarray, scale: str) -> tuple[Encoding, np.ndarray]:
    """Columns of the factors that vary among some rows; rates and sizes in 10^6 where linear."""
    points = [rows.points[i] for i in own]
    encoding = Encoding(factors_of(points), scale)
    matrix = encoding.matrix([point.labels for point in points])
    if scale == "linear":
        matrix = np.where(np.abs(matrix).max(axis=0) > 1e4, matrix / 1e6, matrix)
    return encoding, matrix


# (claim, factor, expected sign, operations it holds for, what is added to the slope).
CLAIMS = (
    ("more network, faster", "network", "+", ("read", "write"), 0.0),
    ("more copies, slower writes", "copies", "-", ("write",), 0.0),
    ("more copies, slower reads", "copies", "-", ("read",), 0.0),
    ("more clients, slower (all together)", "clients", "-", ("read", "write"), 0.0),
    ("more clients, slower (each of them)", "clients", "-", ("read", "write"), -1.0),
    ("more servers, faster", "servers", "+", ("read", "write"), 0.0),
    ("larger blocks, faster", "block_size", "+", ("read", "write"), 0.0),
    ("faster disks to read, no effect", "disk_read", "0", ("read",), 0.0),
    ("faster disks to write, no effect", "disk_write", "0", ("write",), 0.0),
)


def signs(rows: Rows) -> list[Sign]:
    """The paper's directions beside the slopes of a log-linear regression of each operation.

    Reads that the client answers from its own memory are a hundred times as fast as any other, so
    the share of them is a column of its own. Outliers pull linearly (Huber).
    """
    found = []
    operations = np.array([operation_of(point) for point in rows.points])
    kept = np.array([Situation(point.scenario).environment["kept"] for point in rows.points])
    for name in sorted(set(operations)):
        own = np.flatnonzero(operations == name)
        encoding, matrix = encoded(rows, own, "log")
        if len(own) < 2 * matrix.shape[1]:
            continue
        if "read" in name and np.ptp(kept[own]):
            matrix = np.column_stack([matrix, kept[own]])
        slopes, errors = _robust(matrix, np.log2(rows.rates[own]))
        reach = float(quantiles.student(0.5 + CONFIDENCE / 2, len(own) - matrix.shape[1] - 1))
        for claim, factor, expected, holds_for, added in CLAIMS:
            if factor in encoding.names and any(part in name for part in holds_for):
                at = encoding.names.index(factor)
                slope, error = float(slopes[at]), float(errors[at])
                if np.isfinite(error):
                    low, high = slope + added - reach * error, slope + added + reach * error
                    found.append(
                        Sign(
                            claim=claim,
                            operation=name,
                            expected=expected,
                            slope=Metric(value=slope + added, low=low, high=high),
                            verdict=_agrees(expected, low, high),
                        )
                    )
    return found


def _robust(matrix: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and their standard errors by Huber's loss; columns that add no rank: 0, infinite."""
    kept = independent(matrix)
    found = sm.RLM(target, sm.add_constant(matrix[:, kept], has_constant="add")).fit()
    slopes, errors = np.zeros(matrix.shape[1]), np.full(matrix.shape[1], np.inf)
    slopes[kept], errors[kept] = found.params[1:], found.bse[1:]
    return slopes, errors


def _agrees(expected: str, low: float, high: float) -> str:
    seen = "+" if low > 0 else "-" if high < 0 else "0"
    if seen == "0":
        return "as in the paper" if expected == "0" else "not told from no effect"
    return "as in the paper" if seen == expected else "otherwise than in the paper"


# What the paper varied in its second model (its Table 4): block size, caches, translators.
FILE_SYSTEM = (
    "block_size",
    "cache_size",
    "quick_read",
    "read_ahead",
    "write_behind",
    "io_cache",
    "md_cache",
)
# (claim, regime, factor, its place among FILE_SYSTEM).
PLACES = (
    ("block size decides most where every request goes to disk", "cache direct", "block_size", 1),
    ("block size decides most where caches answer, too", "cache warm", "block_size", 1),
    ("the cache's size comes second where caches answer", "cache warm", "cache_size", 2),
)


def ranks(regimes: Sequence[Regime]) -> list[Rank]:
    """The paper's places of factors beside the places found in each regime."""
    found = []
    for claim, regime, factor, place in PLACES:
        own = next((one for one in regimes if one.name == regime), None)
        if own is None:
            continue
        totals = {one.factor: one.total for one in own.importance if one.factor in FILE_SYSTEM}
        order = sorted(totals, key=lambda name: -totals[name].value)
        if factor not in totals or len(order) < place:
            continue
        found.append(
            Rank(
                claim=claim,
                regime=regime,
                expected=factor,
                place=place,
                found=[(name, totals[name]) for name in order],
                verdict=_placed(factor, order[place - 1], totals),
            )
        )
    return found


def _placed(expected: str, seen: str, totals: Mapping[str, Metric]) -> str:
    """Whether a factor has the place of another, or may have it."""
    if expected == seen:
        return "as in the paper"
    mine, theirs = totals[expected], totals[seen]
    assert mine.high is not None
    assert theirs.low is not None
    if mine.high >= theirs.low:
        return f"not told from {seen}"
    return f"otherwise than in the paper: {seen}"


FEWEST_RUNS, FEWEST_FACTORS = 150, 8
LARGEST_ERROR, SHARE_OF_LINEAR = 0.15, 0.5
COVERAGE = (0.82, 0.96)


def goals(
    runs: int, factors: int, validation: Validation, impossible: Mapping[str, float]
) -> list[Goal]:
    """What a sweep is to show, scored on layouts that were left out."""
    found = [
        Goal(
            goal="runs", wanted=f"at least {FEWEST_RUNS}", seen=str(runs), holds=runs >= FEWEST_RUNS
        ),
        Goal(
            goal="factors",
            wanted=f"at least {FEWEST_FACTORS}",
            seen=str(factors),
            holds=factors >= FEWEST_FACTORS,
        ),
    ]
    share = impossible.get("greybox")
    if share is not None:
        found.append(
            Goal(
                goal="grey-box predictions below nothing or above the line rate",
                wanted="none",
                seen=f"{share:.1%}",
                holds=share == 0,
            )
        )
    left_out = validation.scores.get("layout", {})
    grey, linear = left_out.get("greybox"), left_out.get("linear")
    if grey is None:
        return found
    error = grey.median_abs_error
    found.append(
        Goal(
            goal="median |error| of the grey box on layouts left out",
            wanted=f"at most {LARGEST_ERROR:.0%}",
            seen=f"{error:.1%}",
            holds=error <= LARGEST_ERROR,
        )
    )
    if linear is not None and linear.median_abs_error > 0:
        part = error / linear.median_abs_error
        found.append(
            Goal(
                goal="… as a part of the linear regression's",
                wanted=f"at most {SHARE_OF_LINEAR:.0%}",
                seen=f"{part:.0%}",
                holds=part <= SHARE_OF_LINEAR,
            )
        )
    low, high = COVERAGE
    found.append(
        Goal(
            goal="runs within the grey box's 90 % intervals",
            wanted=f"{low:.0%} to {high:.0%}",
            seen=f"{grey.coverage_90:.1%}",
            holds=low <= grey.coverage_90 <= high,
        )
    )
    return found
