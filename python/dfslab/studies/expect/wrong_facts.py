"""Finds out whether measured rates contradict the hardware on which an expectation is based.

If the hardware is as stated, each rate is above its 90 % interval with a probability of 5 %, and
below it with a probability of 5 %. If many rates are outside on the same side, they have a
common cause. Rates that are too low may be explained by a slow resource. If no slow resource
explains them, or if the rates are too high, a property of the hardware was probed, assumed or
declared wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from dfslab.spec import units
from dfslab.studies.expect.comparison import ComparedOperation
from dfslab.studies.expect.diagnosis import FACTORS, Suspect, likeliest
from dfslab.studies.expect.expected_rates import Expectation
from dfslab.studies.expect.grid import GridOperation, log_rates
from dfslab.studies.expect.hardware_facts import HardwareFact, with_fact

# Probability that a measured rate is above its 90 % interval, which equals the probability that it
# is below.
OUTSIDE = 0.05
# The facts are doubted if too many rates are outside their intervals on one side. The number is too
# large if, with correct facts, at least this number of rates would be outside with a probability of
# less than DOUBT_CHANCE.
DOUBT_CHANCE = 0.01
# Further factors by which a fact may be wrong. These factors are large, because a probe of a busy
# disk was once wrong by a factor of 340.
LARGE_FACTORS = (50.0, 100.0, 300.0, 1000.0)


def doubt(
    rows: Sequence[ComparedOperation],
    planned: Sequence[GridOperation],
    facts: Sequence[HardwareFact],
    expected: Expectation,
    measured_per_s: Sequence[float | None],
) -> str:
    """Returns a sentence that doubts the hardware facts. The sentence names the fact whose change
    would explain the measured rates best. Returns "" unless many rates are outside their
    intervals on the same side."""
    verdicts = [one.verdict for one in rows if one.verdict != "not measured"]
    slower, faster = verdicts.count("slower"), verdicts.count("faster")
    side, count = ("slower", slower) if slower >= faster else ("faster", faster)
    measured = len(verdicts)
    if not is_many(count, measured):
        return ""
    found = (
        f"Doubtful: {count} of {measured} rates are {side} than their 90 % intervals; the "
        f"stated hardware is wrong rather than {count} operations"
    )
    best = likeliest(suspected_facts(planned, facts), expected, measured_per_s)
    return f"{found}. It would explain most {best.text}." if best is not None else f"{found}."


def is_many(outside: int, of: int) -> bool:
    """Returns whether `outside` of `of` rates are too many to be outside their intervals on one
    given side by chance. The rates are too many if, by chance alone, at least `outside` rates would
    be outside with a probability of less than DOUBT_CHANCE."""
    chance = sum(
        math.comb(of, one) * OUTSIDE**one * (1 - OUTSIDE) ** (of - one)
        for one in range(outside, of + 1)
    )
    return chance < DOUBT_CHANCE


def suspected_facts(
    planned: Sequence[GridOperation], facts: Sequence[HardwareFact]
) -> list[Suspect]:
    """Returns each fact with other values, larger and smaller, as possible causes of the measured
    rates."""
    deployment = planned[0].point.scenario.deployment
    base = log_rates(planned, deployment)
    found = []
    for fact, factor, sign in product(facts, (*FACTORS, *LARGE_FACTORS), (1, -1)):
        value = fact.value * factor**sign
        shown = units.text(value, fact.unit, 2)
        text = f"if the value of “{fact.words}” were about {shown}; taken was {fact.text()}"
        changed = with_fact(deployment, fact, value)
        found.append(Suspect(fact.name, text, log_rates(planned, changed) - base))
    return found
