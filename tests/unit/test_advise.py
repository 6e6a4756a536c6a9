"""Tests of the advice on what to change: its gains are those of the model, with and without
measurements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dfslab.models.fit.demand import CalibratedConstant, Calibration
from dfslab.models.tree.prediction import Situation
from dfslab.studies.advise import advise
from support import synthetic


def test_a_constant_that_was_never_measured_stays_at_its_prior():
    """A calibrated constant keeps its prior value if only held-out operations depend on it."""
    (point, *_) = synthetic.scenario(sizes=("16 MiB",), clients=(1,), hold_out=()).points()
    given = Situation(point.scenario)
    every = tuple(
        CalibratedConstant(key, "", "s", value, 1e-3, 1.0) for key, value in given.constants.items()
    )
    assert len(every) > 1
    partly, wholly = (
        advise(point, Calibration(seen, 1e-6 * np.eye(len(seen)), {"*": 0.1}, 10))
        for seen in (every[:1], every)
    )
    assert wholly
    assert [one.change for one in partly] == [one.change for one in wholly]
    for one, other in zip(partly, wholly, strict=True):
        assert one.gain == pytest.approx(other.gain, rel=0.01)
        assert math.isfinite(one.high)
