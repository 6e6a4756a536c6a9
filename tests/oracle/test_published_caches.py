"""Tests that the bars of programs through page caches state the errors of the tables' authors."""

from __future__ import annotations

from statistics import fmean

import pytest

from verification.figures import bars
from verification.pagecache import BARS, LOCAL, NFS, table


def baseline(subject, op):
    """Returns the mean |error| of the simulator of the tables' authors, with its page cache."""
    rows = [row for row in table(subject) if row["op"] == op]
    return fmean(abs(float(row["wrench_cache_s"]) / float(row["measured_s"]) - 1) for row in rows)


@pytest.mark.parametrize("op", BARS)
def test_the_bar_states_the_errors_of_the_simulator(op):
    local, nfs = (baseline(subject, op) for subject in (LOCAL, NFS))
    assert bars()[BARS[op]].source.endswith(
        f": {local:.0%} (local disk) and {nfs:.0%} (NFS)".replace("%", " %")
    )
