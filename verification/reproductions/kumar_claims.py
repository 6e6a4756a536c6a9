"""Compares the claims of Kumar 2018 with the findings of a designed study. The claims are about
directions of effects and about ranks of factors.

- The direction of an effect is the sign of the slope in a log-linear regression of one operation.
- The rank of a factor is its position among the total sensitivity indices of one regime, such as
  direct I/O.

If the interval of a slope or an index is too wide for a decision, the verdict is "inconclusive".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dfslab.result import Metric
from dfslab.studies.designs.lessons import Regime, Slope, direction


@dataclass(frozen=True)
class Sign:
    """The direction of a factor's effect that Kumar 2018 reports, and the measured slope. The slope
    is the change of log2 rate for each doubling of the factor."""

    claim: str
    operation: str
    slope: Metric
    expected: str
    verdict: str


@dataclass(frozen=True)
class Rank:
    """A rank that Kumar 2018 reports for a factor (Table 7), and the measured ranking of all
    factors."""

    claim: str
    regime: str
    expected: str
    place: int
    found: list[tuple[str, Metric]]
    verdict: str


# Directions of effects that Kumar 2018 claims. Each is (claim, factor, expected sign, operations
# that the claim concerns, number added to the slope). If this number is -1, the slope of the total
# rate becomes the slope of the rate of each client.
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


def signs(slopes: Sequence[Slope]) -> list[Sign]:
    """Returns the directions that Kumar 2018 claims, each with the measured slope for every
    operation."""
    found = []
    for operation in dict.fromkeys(one.operation for one in slopes):
        own = {one.factor: one for one in slopes if one.operation == operation}
        for claim, factor, expected, holds_for, added in CLAIMS:
            if factor in own and any(part in operation for part in holds_for):
                slope = own[factor].slope
                assert slope.low is not None
                assert slope.high is not None
                low, high = slope.low + added, slope.high + added
                shifted = Metric(value=slope.value + added, low=low, high=high)
                verdict = _agrees(expected, direction(shifted, own[factor].doublings))
                found.append(Sign(claim, operation, shifted, expected, verdict))
    return found


def _agrees(expected: str, shown: str) -> str:
    """Returns the verdict on a claim. The claim "0" is that a factor has no effect. This claim
    needs the equivalence test: an interval that includes 0 is not enough, because the interval may
    also include large effects."""
    if shown == "inconclusive":
        return "inconclusive"
    as_claimed = shown == ("no effect" if expected == "0" else expected)
    return "as in the paper" if as_claimed else "otherwise than in the paper"


def counts(found: Sequence[Sign]) -> dict[str, int]:
    """Returns a dictionary from each possible verdict to the number of claims in `found` that have
    it."""
    verdicts = [one.verdict for one in found]
    wanted = ("as in the paper", "inconclusive", "otherwise than in the paper")
    return {verdict: verdicts.count(verdict) for verdict in wanted}


# The factors of the second model of Kumar 2018 (Table 4): block size, and the settings of caches
# and translators.
FILE_SYSTEM = (
    "block_size",
    "cache_size",
    "quick_read",
    "read_ahead",
    "write_behind",
    "io_cache",
    "md_cache",
)
# Ranks that Kumar 2018 claims. Each is (claim, regime, factor, rank). The rank counts only the
# factors in FILE_SYSTEM.
PLACES = (
    ("block size decides most where every request goes to disk", "cache direct", "block_size", 1),
    ("block size decides most where caches answer, too", "cache warm", "block_size", 1),
    ("the cache's size comes second where caches answer", "cache warm", "cache_size", 2),
)


def ranks(regimes: Sequence[Regime]) -> list[Rank]:
    """Returns the ranks of factors that Kumar 2018 claims, each with the measured ranking in the
    same regime."""
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


def _placed(expected: str, observed: str, totals: Mapping[str, Metric]) -> str:
    """Returns the verdict on a rank of the factors. `expected` is the factor that has this rank in
    Kumar 2018. `observed` is the factor that has this rank in the measurements.

    - "as in the paper": both are the same factor.
    - "inconclusive": the intervals of their indices overlap.
    - "otherwise than in the paper": all other cases.
    """
    if expected == observed:
        return "as in the paper"
    mine, theirs = totals[expected], totals[observed]
    assert mine.high is not None
    assert theirs.low is not None
    if mine.high >= theirs.low:
        return f"inconclusive from {observed}"
    return f"otherwise than in the paper: {observed}"
