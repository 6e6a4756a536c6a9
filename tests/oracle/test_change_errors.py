"""Tests of the errors of predicted changes, which are computed from pairs of recorded
configurations. The tests cover the choice of pairs and the table of errors that the package
contains."""

from __future__ import annotations

import math

import pytest
from dfslab.spec.changes.change import KINDS
from dfslab.studies.decisions.change_error import BLIND_SD, recorded_errors

from verification import recordings
from verification.trials import changes


def test_every_recording_that_is_learnt_from_is_named_once_for_each_scenario():
    found = changes.learnt_from()
    names = [name for name, _ in found]
    assert len(names) == len(set(names)) >= 5
    assert all(recording in recordings.every_file() for _, recording in found)
    assert "kumar-glusterfs" not in names


def test_pairs_of_a_recording_differ_in_one_thing():
    pairs = list(changes.pairs_of("wu-burst", "wu-burst"))
    assert {one.kind for one in pairs} == {"clients"}
    assert {one.basis for one in pairs} == {"run", "description"}
    assert all(one.distance > 0 and math.isfinite(one.error) for one in pairs)


@pytest.mark.parametrize("basis", ["run", "description"])
def test_the_table_of_the_package_has_an_error_for_every_kind(basis):
    table = recorded_errors()
    for kind in KINDS:
        own = table.of_kind(basis, kind)
        assert own.doubling_sd > 0
        assert (own.doubling_sd == BLIND_SD) == (own.recordings == 0)
    assert table.of_kind(basis, "clients").recordings >= 4
