"""Tests the verdicts of `dfslab expect` on single operations and in its first sentence."""

from __future__ import annotations

import pytest
from dfslab.studies.expect.comparison import TELLING_FACTOR, ComparedOperation, PlaceComparison


def row(low, high, measured):
    return ComparedOperation(
        operation="stat", unit="1/s", low=low, expected=low, high=high, measured=measured
    )


def first_sentence(*rows):
    comparison = PlaceComparison(
        place="/mnt/x", file_system="NFS", hardware=[], rows=[*rows], scenario=""
    )
    return comparison.sentences()[0]


NARROW = row(90, 110, 100)
SLOW, FAST = row(90, 110, 50), row(90, 110, 200)
WIDE, MISSING = row(33, 13_027, 400), row(90, 110, None)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (NARROW, "as expected"),
        (row(100, 100 * TELLING_FACTOR, 200), "as expected"),
        (row(100, 101 * TELLING_FACTOR, 200), "cannot tell"),
        (row(33, 13_027, 20), "slower"),
        (row(33, 13_027, 20_000), "faster"),
        (MISSING, "not measured"),
    ],
)
def test_a_rate_inside_a_wide_interval_is_not_judged(one, verdict):
    assert one.verdict == verdict
    assert one.is_inside == (verdict in ("as expected", "cannot tell"))


def test_the_first_sentence_counts_what_cannot_be_judged():
    place = "operations on /mnt/x (NFS)"
    assert first_sentence(NARROW, MISSING) == f"1 of 1 {place} are as expected."
    assert first_sentence(NARROW, SLOW, FAST, WIDE) == (
        f"1 of 4 {place} are as expected, 1 slower, 1 faster, 1 cannot be judged because the "
        "interval is wider than a factor of 4."
    )
    assert first_sentence(WIDE, WIDE) == (
        f"Cannot tell whether 2 {place} are as expected: the intervals are wider than a factor of "
        "4."
    )
