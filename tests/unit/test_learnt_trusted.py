"""Tests that fitted constants replace the prior constants only if they predict better. The
predictions are compared on rows that were left out of the fit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from dfslab.models import learnt

FITTED = object()
COUNT = 3 * learnt.MOST_CALIBRATED


@pytest.fixture
def rows(monkeypatch):
    """Returns a function that makes training rows whose true log rate is 0. The log rates that are
    predicted with prior constants are wrong by 0.2. The log rates that are predicted with fitted
    constants are wrong by `fitted_off`."""

    def made(fitted_off: float) -> tuple[list, learnt.TrainingRows, list]:
        requested: list = []

        class Said:
            def __init__(self, calibration):
                self.off = 0.2 if calibration is None else fitted_off

            def matrix(self, points):
                requested.append({point.id for point in points})
                return np.column_stack([np.full(len(points), self.off), np.ones(len(points))])

        monkeypatch.setattr(learnt, "Priors", Said)
        monkeypatch.setattr(learnt, "calibrate", lambda results: FITTED)
        points = [SimpleNamespace(id=f"{at:03}") for at in range(COUNT)]
        results = [SimpleNamespace(point_id=point.id) for point in points]
        none = np.zeros(COUNT, dtype=int)
        return results, learnt.TrainingRows(points, np.ones(COUNT), none, none), requested

    return made


@pytest.mark.parametrize(
    ("off", "kept"), [(0.1, FITTED), (-0.1, FITTED), (0.3, None), (-0.3, None)]
)
def test_the_nearer_one_is_kept_and_judged_on_other_rows(rows, off, kept):
    results, table, requested = rows(off)
    assert learnt.trusted(results, table) is kept
    used = {result.point_id for result in learnt.some(results)}
    assert len(used) == learnt.MOST_CALIBRATED
    assert all(ids == {one.id for one in table.points} - used for ids in requested)
    assert len(requested) == 2


def test_without_other_rows_what_was_fitted_stands(rows):
    results, table, _ = rows(0.3)
    few = learnt.TrainingRows(
        table.points[:9], table.rates[:9], table.groups[:9], table.layouts[:9]
    )
    assert learnt.trusted(results[:9], few) is FITTED
