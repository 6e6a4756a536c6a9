"""Tests that the slopes of the throughput over the block size are found in runs with planted
throughput. The configurations are those of the recorded study of Kumar 2018."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dfslab.spec.design import number

from verification.papers.probes import kumar_equations, kumar_study

NOISE_SD = 0.02


def planted(below: float, above: float):
    """Returns the rows of the recorded study with other rates. log2 rate has the slope `below` over
    log2 of the block size up to 256 KiB, the slope `above` beyond, and the slope 0.5 over log2 of
    the bandwidth of the link. `NOISE_SD` is the standard deviation of its noise."""
    found = kumar_equations.rows()
    blocks, links = (
        np.log2([number(one.labels[key]) for one in found.points])
        for key in ("workload.transfer_size", kumar_study.DIRECT_FEATURES[0])
    )
    knee = np.log2(kumar_study.KNEE_BYTES)
    logs = below * np.minimum(blocks - knee, 0) + above * np.maximum(blocks - knee, 0)
    noise = NOISE_SD * np.random.default_rng(4).normal(size=len(logs))
    return replace(found, rates=2.0 ** (logs + 0.5 * links + noise))


@pytest.mark.parametrize(
    ("below", "above", "verdict"),
    [(0.5, 0.0, "hit"), (-0.2, 0.0, "miss"), (0.5, 0.4, "miss"), (0.0, 0.117, "not judged")],
)
def test_planted_slopes_give_the_verdict(monkeypatch, below, above, verdict):
    monkeypatch.setattr(kumar_study, "rows", lambda: planted(below, above))
    kumar_study.hinge_slopes.cache_clear()
    for found, slope in zip(kumar_study.hinge_slopes(), (below, above), strict=True):
        assert len(found) == 4
        for low, high in found.values():
            assert (low + high) / 2 == pytest.approx(slope, abs=0.02)
    assert kumar_study.figure_4().verdict == verdict
    kumar_study.hinge_slopes.cache_clear()
