"""A rule of `dfslab check` that reports rates that are multiples of 1,000 operations per second as
doubtful."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence
from dfslab.studies.checks.rule import Rule

NAMES = ("round_rate",)
ROUND_PER_S = 1000


def make(name: str) -> Rule:
    """Returns the rule called `name`."""
    return Rule(name, "A measured rate is rarely round.", "Print more digits.", _judge)


def _judge(evidence: Evidence) -> str | None:
    rate_per_s = evidence.speed.rate
    if not rate_per_s or rate_per_s % ROUND_PER_S:
        return None
    return f"{rate_per_s:.0f} operations per second are round"
