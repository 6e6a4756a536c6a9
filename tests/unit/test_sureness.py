"""Tests of the words for the certainty of a gain, and of the legend that explains the words."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import (
    HIGH,
    LOW,
    LOWERED,
    MEDIUM,
    NOISE,
    WORDS,
    GainEstimate,
    legend,
    probability_text,
    sureness,
)
from dfslab.studies.decisions.whatif import whatif

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_the_legend_gives_the_reason_of_each_word():
    """A word is the one that the probability gives, or the row and the legend state why not."""
    plain = GainEstimate(gain=1.5, low=1.1, high=2.0, probability=0.97, sd=0.2)
    doubted = plain.model_copy(update={"hardware_sd": 0.9})
    assert plain.statement == "gain: high"
    assert legend([plain]) == [WORDS]
    assert doubted.statement == "gain: low (uncertain hardware)"
    assert doubted.judgement.endswith("sure: low (uncertain hardware)")
    assert legend([plain, doubted]) == [WORDS, LOWERED]
    noisy = plain.model_copy(update={"low": 0.9})
    assert legend([noisy]) == [WORDS, NOISE]
    assert legend([]) == []


@pytest.mark.parametrize("limit", [HIGH, MEDIUM, LOW])
def test_a_shown_probability_is_below_the_limit_of_the_next_word(limit):
    below = limit - 1e-4
    assert sureness(below) != sureness(limit)
    assert int(probability_text(below).removesuffix(" %")) < 100 * limit
    assert probability_text(limit) == f"{100 * limit:.0f} %"


def test_a_change_gains_most_only_with_high_certainty():
    found = whatif(
        evidence_of(SCENARIOS / "nfs.toml"), ["server disk x2", "clients x2", "client link x4"]
    )
    assert found.sentences()[0].startswith("Gains most")
    unsure = [
        one.model_copy(update={"rate": one.rate.model_copy(update={"probability": 0.9})})
        for one in found.rows
    ]
    (first, *_) = found.model_copy(update={"rows": unsure}).sentences()
    assert first == "No change is predicted to gain with high certainty."
