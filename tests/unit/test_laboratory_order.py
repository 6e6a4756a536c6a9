"""Tests that results are reported in the order of the scenario, even if they were measured in
random order."""

from __future__ import annotations

import random

from dfslab.documents.table import labels_text
from dfslab.studies.contract import in_order
from support import synthetic


def test_results_stand_as_the_scenario_lists_their_configurations():
    drawn = synthetic.planted()
    random.Random(4).shuffle(drawn)
    scenario = synthetic.scenario()
    ordered = in_order(scenario, drawn)
    wanted = [labels_text(dict(point.labels)) for point in scenario.points() for _ in range(2)]
    assert [labels_text(dict(one.labels)) for one in ordered] == wanted
    assert wanted != [labels_text(dict(one.labels)) for one in drawn]
    # Results of one configuration stay in the order in which its repetitions were run.
    of_one = [one for one in drawn if one.point_id == ordered[0].point_id]
    assert [one.repetition for one in ordered[:2]] == [one.repetition for one in of_one]


def test_results_of_another_version_come_last():
    first, *rest = synthetic.planted(clients=(1, 2))
    known = synthetic.scenario(clients=(2,))
    assert in_order(known, [first, *rest])[-1].labels["workload.clients"] == 1
