"""Tests that the pass criteria of predictions for programs with page caches are the right published
errors: those of the simulator of the authors who published the measurements."""

from __future__ import annotations

from statistics import fmean

import pytest

from verification.figures import bars
from verification.truth.pagecache import BARS, LOCAL, NFS, table


def baseline(subject, op):
    """Returns the mean absolute relative error, for the operation `op` in the table `subject`, of
    the simulator with a page cache whose authors published the table."""
    rows = [row for row in table(subject) if row["op"] == op]
    return fmean(abs(float(row["wrench_cache_s"]) / float(row["measured_s"]) - 1) for row in rows)


@pytest.mark.parametrize("op", BARS)
def test_the_bar_states_the_errors_of_the_simulator(op):
    local, nfs = (baseline(subject, op) for subject in (LOCAL, NFS))
    assert bars()[BARS[op]].source.endswith(
        f": {local:.0%} (local disk) and {nfs:.0%} (NFS)".replace("%", " %")
    )
