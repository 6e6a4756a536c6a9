"""Tests the claims of Kumar 2018 on planted slopes and ranks, and the size of the recorded
study."""

from __future__ import annotations

import pytest
from dfslab.result import Metric
from dfslab.studies.designs.lessons import FactorImportance, Regime, Slope

from verification import kumar, kumar_claims, recordings


def slope(factor, value, half=0.1, operation="sequential write"):
    metric = Metric(value=value, low=value - half, high=value + half)
    return Slope(operation=operation, factor=factor, slope=metric)


def test_a_slope_agrees_contradicts_or_cannot_tell():
    planted = [slope("network", 0.8), slope("copies", 0.5), slope("servers", 0.05)]
    found = {one.claim: one.verdict for one in kumar_claims.signs(planted)}
    assert found == {
        "more network, faster": "as in the paper",
        "more copies, slower writes": "otherwise than in the paper",
        "more servers, faster": "not told from no effect",
    }


def test_the_rate_of_each_client_is_that_of_all_divided_by_their_number():
    together, each = kumar_claims.signs([slope("clients", 0.4)])
    assert (together.slope.value, together.verdict) == (0.4, "otherwise than in the paper")
    assert each.slope.value == pytest.approx(-0.6)
    assert each.verdict == "as in the paper"


@pytest.mark.parametrize(
    ("block", "cache", "verdict"),
    [
        ((0.6, 0.5, 0.7), (0.1, 0.0, 0.2), "as in the paper"),
        ((0.1, 0.0, 0.2), (0.6, 0.5, 0.7), "otherwise than in the paper: cache_size"),
        ((0.4, 0.3, 0.5), (0.45, 0.35, 0.55), "not told from cache_size"),
    ],
)
def test_a_place_is_told_where_intervals_are_apart(block, cache, verdict):
    totals = {"block_size": block, "cache_size": cache}
    importance = [
        FactorImportance(factor=factor, first_order=metric, total=metric, share=metric)
        for factor, (value, low, high) in totals.items()
        for metric in [Metric(value=value, low=low, high=high)]
    ]
    regime = Regime(name="cache direct", rows=100, importance=importance)
    (found,) = kumar_claims.ranks([regime])
    assert found.verdict == verdict


def test_the_recorded_study_is_as_large_as_was_asked_for():
    """The recorded study has at least 150 runs and varies at least 8 factors. The limits of its
    errors are in verification/bars.toml."""
    for subject in recordings.of_scenario(kumar.STUDY):
        results = recordings.runs(kumar.STUDY, subject)
        assert len(results) >= 150
        assert len(results[0].point.scenario.design.factor) >= 8
