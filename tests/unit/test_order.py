"""Tests of how well a model orders configurations by rate. The quality of an order is stated by the
ratios of rates and by the share of pairs in the right order. This quality is not computed for
workloads to which the model was fitted."""

from __future__ import annotations

import pytest
from dfslab.result import Metric
from dfslab.studies.compare import ComparedPoint
from dfslab.studies.order import orders


def row(copies, measured, sequence, held_out=True, load="iterate"):
    labels = {"file_system.copies": copies, "workload.name": load}
    return ComparedPoint(
        point_id=f"{copies}{load}",
        labels=labels,
        operations=["write"],
        held_out=held_out,
        measured=Metric(value=measured),
        repetitions=1,
        errors={},
        steps={},
        predictions={"sequence": Metric(value=sequence), "mean": Metric(value=5.0)},
    )


def test_ratios_and_pairs_of_one_load():
    found = orders([row(1, 40.0, 60.0), row(2, 20.0, 30.0), row(4, 10.0, 40.0)])
    assert [one.load for one in found] == ["name iterate"]
    places = found[0].places
    assert [place.measured for place in places] == [1.0, 2.0, 4.0]
    assert [place.labels["file_system.copies"] for place in places] == ["4", "2", "1"]
    assert [place.predicted["sequence"] for place in places] == pytest.approx([1.0, 0.75, 1.5])
    # The model `sequence` predicts two of three pairs of configurations in the right order. The
    # model `mean` predicts equal rates for all configurations, so no pair is in the right order.
    assert found[0].pairs == {"sequence": pytest.approx(2 / 3), "mean": 0.0}


def test_only_held_out_loads_on_several_configurations_count():
    observed = [row(1, 40.0, 60.0, held_out=False), row(2, 20.0, 30.0, held_out=False)]
    alone = [row(1, 40.0, 60.0, load="other")]
    assert orders([*observed, *alone]) == []
