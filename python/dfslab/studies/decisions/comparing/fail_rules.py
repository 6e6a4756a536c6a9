"""Rules with which a comparison of runs can fail a CI job: "p99 > +5 %", "rate < -3 %"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dfslab.documents.metrics import LATENCY, RATE, parsed, time_name
from dfslab.spec.input_error import InputError

KEY = "--fail-if"
METRICS = ("rate", "mean", "p50", "p90", "p99")
_RULE = re.compile(r"^(\w+)(?:\s+(\w+))?\s*([<>])\s*([+-]?\d+\.?\d*)\s*%$")


@dataclass(frozen=True)
class FailRule:
    """A bound on the relative change of a metric between two runs. `operation`: the operation whose
    metric is checked; "" for all operations."""

    text: str
    metric: str
    operation: str
    is_above: bool
    bound: float

    def covers(self, metric: str) -> bool:
        """Returns whether the rule is about a metric. `metric`: key of the metric in results. A
        rate has no operation, so a rule on the rate of one operation covers no metric."""
        key = parsed(metric)
        name = RATE if self.metric == "rate" else time_name(LATENCY, self.metric)
        return key.name == name and self.operation in ("", key.operation)

    def holds(self, metric: str, change: float) -> bool:
        """Returns whether the rule covers a metric and the metric's change is beyond the rule's
        bound. `metric`: key of the metric in results. `change`: relative change, as a fraction."""
        if not self.covers(metric):
            return False
        return change > self.bound if self.is_above else change < self.bound


def parse_rules(text: str) -> list[FailRule]:
    """Parses rules that are separated by commas. Raises InputError if a rule is malformed or its
    metric is unknown."""
    return [_rule(part.strip()) for part in text.split(",") if part.strip()]


def _rule(text: str) -> FailRule:
    match = _RULE.match(text)
    if match is None or match[1] not in METRICS:
        allowed = (
            f'needs METRIC [OPERATION] > N %, such as "p99 > +5 %"; METRIC is one of {METRICS}'
        )
        raise InputError(KEY, text, allowed.replace("(", "").replace(")", "").replace("'", ""))
    return FailRule(text, match[1], match[2] or "", match[3] == ">", float(match[4]) / 100)
