"""Tests of how the claims of Kumar 2018 are judged, on data with planted slopes and ranks, and of
the size of the recorded study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dfslab.models.learnt import rows_of
from dfslab.result import Metric
from dfslab.studies.designs import lessons
from dfslab.studies.designs.lessons import FactorImportance, Regime, Slope
from dfslab.studies.designs.slopes import slopes

from verification import recordings
from verification.figures import committed
from verification.reproductions import kumar, kumar_claims

ROOT = Path(__file__).parents[2]


def slope(factor, value, half=0.1, operation="sequential write"):
    metric = Metric(value=value, low=value - half, high=value + half)
    return Slope(operation=operation, factor=factor, slope=metric)


def test_a_slope_agrees_contradicts_or_cannot_tell():
    planted = [slope("network", 0.8), slope("copies", 0.5), slope("servers", 0.05)]
    found = {one.claim: one.verdict for one in kumar_claims.signs(planted)}
    assert found == {
        "more network, faster": "as in the paper",
        "more copies, slower writes": "otherwise than in the paper",
        "more servers, faster": "inconclusive",
    }


@pytest.mark.parametrize(
    ("value", "half", "verdict"),
    [
        (0.02, 0.05, "as in the paper"),
        (0.08, 0.05, "as in the paper"),
        (0.29, 0.33, "inconclusive"),
        (0.0, 0.2, "inconclusive"),
        (0.39, 0.22, "otherwise than in the paper"),
    ],
)
def test_no_effect_needs_an_interval_within_the_margin(value, half, verdict):
    """The verdict "no effect" (as in the paper) needs the whole interval of the slope within the
    margin around 0. An interval that contains 0 but exceeds the margin is inconclusive."""
    (found,) = kumar_claims.signs([slope("disk_write", value, half)])
    assert found.verdict == verdict


def test_no_effect_is_over_the_whole_range_of_a_factor():
    """The margin of "no effect" applies to the change over the whole range of a factor. A slope of
    log2 rate of at most 0.06 a doubling is no effect if the factor's levels span one doubling. With
    the same slope, a factor whose levels span twelve doublings may have an effect."""
    near, far = (slope("block_size", 0.01, 0.05) for _ in range(2))
    far.doublings = 12.0
    assert (near.direction, far.direction) == ("no effect", "inconclusive")


def test_the_equivalence_test_errs_as_rarely_as_it_says():
    """If the true effect equals the margin, the test concludes "no effect" in about 5 % of the
    samples."""
    random = np.random.default_rng(5)
    error = 0.03
    half = 1.645 * error
    values = lessons.NO_EFFECT + error * random.normal(size=20_000)
    shown = [
        lessons.direction(Metric(value=v, low=v - half, high=v + half)) == "no effect"
        for v in values
    ]
    assert np.mean(shown) == pytest.approx(0.05, abs=0.01)


def test_claims_are_counted_as_the_documentation_says():
    """The numbers of verdicts in docs/kumar.md are those that the recorded study gives."""
    rows = rows_of(recordings.runs(kumar.STUDY, kumar.STUDY))
    found = kumar_claims.counts(kumar_claims.signs(slopes(rows)))
    assert sum(found.values()) == 28
    text = " ".join((ROOT / "docs" / "kumar.md").read_text().split())
    same, open_, other = found.values()
    assert f"Of 28, {same} are as in the paper, {open_} are inconclusive and {other} are" in text


def test_the_errors_in_the_documentation_are_the_verified_ones():
    """The row "grey box" in docs/kumar.md has the figures of verification/figures.json."""
    parts = ("layout", "rate", "more servers", "more clients", "random rows")
    values = {(one.bar, one.part): one.value for one in committed() if one.experiment == "kumar"}
    cells = [
        f"{values['kumar.greybox-error', part]:.1%}, {values['kumar.greybox-coverage', part]:.0%}"
        for part in parts
    ]
    assert f"| grey box | {' | '.join(cells)} |" in (ROOT / "docs" / "kumar.md").read_text()


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
        ((0.4, 0.3, 0.5), (0.45, 0.35, 0.55), "inconclusive from cache_size"),
    ],
)
def test_a_rank_is_stated_where_intervals_do_not_overlap(block, cache, verdict):
    totals = {"block_size": block, "cache_size": cache}
    importance = [
        FactorImportance(factor=factor, first_order=metric, total=metric, share=metric)
        for factor, (value, low, high) in totals.items()
        for metric in [Metric(value=value, low=low, high=high)]
    ]
    regime = Regime(name="cache direct", rows=100, importance=importance)
    (found,) = kumar_claims.ranks([regime])
    assert found.verdict == verdict


def test_the_recorded_study_has_the_required_size():
    """The recorded study has at least 150 runs and varies at least 8 factors. The limits of its
    errors are in verification/bars.toml."""
    for subject in recordings.of_scenario(kumar.STUDY):
        results = recordings.runs(kumar.STUDY, subject)
        assert len(results) >= 150
        assert len(results[0].point.scenario.design.factor) >= 8
