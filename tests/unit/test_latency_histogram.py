"""Tests of the latency histograms that a running measurement reports. Histograms are merged, and
quantiles are computed from them. The results are compared with values that are computed from the
single latencies."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from dfslab.latency_histogram import added, longest_ns, merged, quantile_s

SHARES = (0.0, 0.01, 0.5, 0.9, 0.99, 1.0)


def latencies_ns(seed: int, count: int) -> list[int]:
    """Returns random latencies between 1 us and 1 s, in whole microseconds."""
    drawn = random.Random(seed)
    return [1000 * round(10 ** drawn.uniform(0, 6)) for _ in range(count)]


def histogram(values: list[int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(values).items()))


@pytest.mark.parametrize("count", [1, 2, 99, 1000])
def test_quantiles_are_those_of_the_sorted_latencies(count):
    values = latencies_ns(count, count)
    for share in SHARES:
        exact_ns = sorted(values)[max(0, math.ceil(share * count) - 1)]
        assert quantile_s(histogram(values), share) == pytest.approx(exact_ns * 1e-9)


def test_merged_quantiles_are_those_of_all_latencies_together():
    parts = [latencies_ns(seed, 50 + 400 * seed) for seed in range(4)]
    whole = histogram([one for part in parts for one in part])
    assert merged(map(histogram, parts)) == whole
    assert merged(map(histogram, reversed(parts))) == whole
    averaged_s = sum(quantile_s(histogram(part), 0.99) for part in parts) / len(parts)
    assert averaged_s != pytest.approx(quantile_s(whole, 0.99), rel=1e-3)


def test_what_was_added_between_two_readings_is_their_difference():
    first, second = latencies_ns(1, 300), latencies_ns(2, 200)
    before = histogram(first)
    assert added(before, histogram(first + second)) == histogram(second)
    assert added(before, before) == ()


def test_no_quantile_exceeds_the_longest_latency_and_none_has_none():
    assert quantile_s(((1_000_000, 3),), 0.99, 0.000_98) == 0.000_98
    assert quantile_s((), 0.5) is None
    assert merged([]) == ()


def test_the_longest_latency_is_exact_unless_it_is_older_than_the_histogram():
    histogram = ((1_000_000, 3), (2_000_000, 1))
    assert longest_ns(histogram, 2_050_000) == 2_050_000
    assert longest_ns(histogram, 9_000_000) == 2_000_000
    assert longest_ns((), 9_000_000) == 9_000_000
