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
    """Returns the rows of the recorded study with planted rates. For a doubling of the block size,
    log2(rate) rises by `below` up to 256 KiB and by `above` beyond 256 KiB. For a doubling of the
    link's bandwidth, log2(rate) rises by 0.5. Noise with the standard deviation `NOISE_SD` is added
    to log2(rate)."""
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
