"""Tests that the predicted rate does not depend on how equal nodes are divided into groups."""

from __future__ import annotations

import pytest
from dfslab.models.tree.prediction import Situation
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.predicted import DISK, table_of

WORK = {"clients": 6, "file_size": "16 MiB", "transfer_size": "1 MiB", "operations_per_client": 2}
# Burst credits of disk and adapter: none, 0.1 s at the disk, and 20 ms at the adapter.
BURSTS = [({}, {}), ({"burst": "0.1 s"}, {}), ({}, {"burst": "0.02 s"})]


def rate_per_s(system, workload, counts, disk, adapter):
    """Returns the predicted rate if the data servers are in groups of `counts` equal nodes."""
    table = table_of(
        system,
        workload,
        disk={**DISK, **disk},
        adapter={"bandwidth": "1 Gbit/s", **adapter},
        cache="cold",
        **WORK,
    )
    nodes = table["deployment"]["node"]
    (data,) = (one for one in nodes if one["count"] > 1)
    nodes.remove(data)
    nodes += [{**data, "name": f"group{i}", "count": count} for i, count in enumerate(counts)]
    given = Situation(build(Scenario, table))
    return given.predict(given.constants).rate_per_s


@pytest.mark.parametrize(("disk", "adapter"), BURSTS)
@pytest.mark.parametrize("workload", ["sequential_read", "random_read", "sequential_write"])
@pytest.mark.parametrize("system", ["hdfs", "gfs", "glusterfs", "cephfs", "moosefs"])
def test_equal_groups_are_as_fast_as_one(system, workload, disk, adapter):
    whole = rate_per_s(system, workload, [4], disk, adapter)
    for counts in ([2, 2], [1, 3]):
        assert rate_per_s(system, workload, counts, disk, adapter) == pytest.approx(whole, rel=1e-6)
