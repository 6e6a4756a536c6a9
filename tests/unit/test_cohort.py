"""Cohorts compared: a planted change is found, and many equal steps give no false alarm."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest
from dfslab.studies.cohort import compare, holm


def profile(steps: dict[str, list[float]]) -> dict[str, Any]:
    """One tree whose root has these steps, each with its calls' durations."""
    children = [
        {"name": name, "count": len(took), "total_s": sum(took),
         "self_s": sum(took), "sd_s": statistics.pstdev(took), "children": []}
        for name, took in steps.items()
    ]  # fmt: skip
    root = {
        "name": "root",
        "count": 0,
        "total_s": 0.0,
        "self_s": 0.0,
        "sd_s": 0.0,
        "children": children,
    }
    return {"roots": [root]}


def drawn(source: random.Random, slower: float = 1.0) -> dict[str, list[float]]:
    """Two hundred steps of thirty calls; only the first is made slower."""
    return {
        f"s{number}": [source.lognormvariate(0, 0.4) * (slower if number == 0 else 1.0)
                       for _ in range(30)]
        for number in range(200)
    }  # fmt: skip


def test_two_hundred_equal_steps_raise_no_alarm():
    alarms = 0
    for seed in range(20):
        source = random.Random(seed)
        alarms += bool(compare(profile(drawn(source)), profile(drawn(source)))["rows"])
    assert alarms <= 3, "5 % of reports may have one"


def test_a_slower_step_is_found_among_them():
    source = random.Random(5)
    found = compare(profile(drawn(source)), profile(drawn(source, slower=2.0)))
    assert [row["path"] for row in found["rows"]] == ["root/s0"]
    assert found["rows"][0]["change"] == pytest.approx(1.0, abs=0.35)
    assert found["tests"] == 200


def test_a_change_is_seen_where_no_single_place_has_calls_enough():
    """A disk that is reached by a few calls each of many ways."""

    def tree(took_s: list[float]) -> dict[str, Any]:
        leaf = {"name": "sync", "count": 2, "total_s": sum(took_s), "self_s": sum(took_s),
                "sd_s": statistics.pstdev(took_s), "children": []}  # fmt: skip
        return {"name": "node-2:write", "count": 2, "total_s": sum(took_s), "self_s": 0.0,
                "sd_s": 0.0, "children": [leaf]}  # fmt: skip

    def profile_of(factor: float) -> dict[str, Any]:
        ways = [{"name": f"client:by_{number}", "count": 0, "total_s": 0.0, "self_s": 0.0,
                 "children": [tree([factor, factor * 1.1])]} for number in range(5)]  # fmt: skip
        return {"roots": ways}

    found = compare(profile_of(1.0), profile_of(6.0))
    assert [row["path"] for row in found["rows"]][0] == "node-2: sync"
    assert found["rows"][0]["count"] == 10
    assert found["rows"][0]["change"] == pytest.approx(5.0)
    assert found["rows"][0]["own_change_s"] == pytest.approx(52.5)
    assert not compare(profile_of(1.0), profile_of(1.0))["rows"]


def test_steps_of_one_cohort_only_are_named_and_not_tested():
    found = compare(profile({"a": [1.0] * 9, "gone": [1.0] * 9}), profile({"a": [1.0] * 9}))
    assert found["only_before"] == ["root/gone"]
    assert found["rows"] == []


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
