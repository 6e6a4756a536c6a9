"""Tests of the tables of function calls of Liu 2018: quantiles over several calling contexts, and
which function leads."""

from __future__ import annotations

import random

import pytest
from dfslab.instruments.tracing.callprofile import MergedStep

from verification.reproductions.liu_calls import (
    CLOSE,
    CREATE,
    LOCATIONS,
    REQUEST,
    SEND_BLOCK,
    Call,
    calls,
    lead,
    share,
    subjects,
)
from verification.reproductions.liu_record import quantile_s


def tree(durations_ns: dict[str, list[int]]) -> MergedStep:
    """Returns a merged call tree. The keys are paths of step names, separated by "/", and the
    values are the durations in nanoseconds of the calls at this path."""
    top = MergedStep()
    for path, values in durations_ns.items():
        node = top
        for name in path.split("/"):
            node = node.child(name)
        for value in values:
            node.durations[value] += 1
        node.max_ns = max(values)
    return top


def test_a_quantile_joins_calling_contexts_and_leaves_inner_calls_out():
    drawn = random.Random(26)
    values = [drawn.randrange(1000, 2_000_000) for _ in range(1000)]
    top = tree(
        {
            "client:job/close": values[:400],
            "client:copy/close": values[400:],
            "client:copy/close/close": [10**10] * 500,
        }
    )
    expected_s = sorted(values)[989] * 1e-9
    assert quantile_s(top, "close", 0.99) == pytest.approx(expected_s, rel=0.01)


def test_what_was_not_called_has_no_duration():
    assert quantile_s(tree({"client:open": [5]}), "close", 0.99) == 0


def test_a_function_leads_by_the_ratio_to_the_next_one():
    sums_s = {CREATE: 3.0, CLOSE: 2.0, SEND_BLOCK: 0.5, LOCATIONS: 0.5}
    found = {name: Call(name, 2, sum_s, sum_s / 2, sum_s, 9.0) for name, sum_s in sums_s.items()}
    assert lead(found, CREATE) == 1.5
    assert lead(found, CLOSE) == pytest.approx(2 / 3)
    assert lead(found, CLOSE, [CREATE]) == 4
    assert share(found, CREATE) == 0.5


@pytest.mark.parametrize("recording", subjects())
def test_only_a_request_of_several_calls_has_no_quantile(recording):
    for found in calls(recording).values():
        without = {name for name, one in found.items() if one.p99_s is None}
        assert without == {REQUEST}
