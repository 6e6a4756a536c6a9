"""Tests of the words for the certainty of a gain, and of the legend that explains the words."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.documents.answers import Sureness
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import (
    CAPPED,
    HIGH,
    LOW,
    LOWERED,
    MEDIUM,
    NOISE,
    NONE,
    WORDS,
    GainEstimate,
    legend,
    probability_text,
    sureness,
)
from dfslab.studies.decisions.intervention_error import intervention_errors
from dfslab.studies.decisions.whatif import whatif

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_the_legend_gives_the_reason_of_each_word():
    """The word for the certainty of a gain follows from the probability of the gain. If another
    word is used, the row and the legend state the reason."""
    plain = GainEstimate(gain=1.5, low=1.1, high=2.0, probability=0.97, sd=0.2)
    doubted = plain.model_copy(update={"hardware_sd": 0.9})
    assert plain.statement == "high certainty of a gain"
    assert legend([plain]) == [WORDS]
    assert doubted.statement == "low certainty of a gain (uncertain hardware)"
    assert doubted.judgement.endswith("certainty: low (uncertain hardware)")
    assert legend([plain, doubted]) == [WORDS, LOWERED]
    noisy = plain.model_copy(update={"low": 0.9})
    assert legend([noisy]) == [WORDS, NOISE]
    assert legend([]) == []


def learnt_systems():
    """Returns the file systems from whose recorded changes the stored errors were learnt."""
    return {one.file_system for table in intervention_errors() for one in table.changes}


@pytest.mark.parametrize("name", ["beegfs", "s3", "nfs", "hdfs-hosts"])
def test_a_file_system_without_recorded_changes_has_no_word_above_medium(name):
    """The certainty of a gain is at most medium if no change of the file system was recorded for
    the class of operations (data or metadata)."""
    evidence = evidence_of(SCENARIOS / f"{name}.toml")
    found = whatif(evidence, ["client link x2", "server disk x2", "clients x2"])
    assert found.rows
    for row in found.rows:
        moves_data = any(one.endswith(("read", "write")) for one in row.operations)
        is_learnt = evidence.scenario.file_system.name in learnt_systems() and moves_data
        assert row.rate.is_learnt_here == is_learnt
        assert is_learnt or row.rate.sureness is not Sureness.HIGH
    capped = any(row.rate.is_capped for row in found.rows)
    assert (CAPPED in found.table().notes) == capped
    assert capped == (name in ("beegfs", "s3"))


def test_a_run_that_measured_such_changes_is_not_capped():
    """If the run itself measured a kind of change, the certainty of its gain may be high, even if
    no change of the file system was recorded in other runs."""
    gain = GainEstimate(gain=1.5, low=1.2, high=1.9, probability=0.99, sd=0.1)
    assert gain.sureness is Sureness.HIGH
    elsewhere = gain.model_copy(update={"is_learnt_here": False})
    assert elsewhere.statement == "medium certainty of a gain (error learnt elsewhere)"
    assert legend([gain]) == [WORDS]
    assert legend([elsewhere]) == [WORDS, CAPPED]
    unsure = elsewhere.model_copy(update={"probability": 0.75})
    assert unsure.statement == "low certainty of a gain"
    doubted = elsewhere.model_copy(update={"hardware_sd": 0.9})
    assert doubted.statement == "low certainty of a gain (uncertain hardware)"


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


def test_no_gain_is_defined_where_it_is_stated():
    """The certainty of "no gain" is that of the true gain. The interval has the noise of a
    measurement, too, so it may be wider than the statement."""
    narrow = GainEstimate(gain=1.0, low=0.97, high=1.03, probability=0.5, sd=0.01)
    noisy = narrow.model_copy(update={"low": 0.7, "high": 1.4})
    assert "no gain" in narrow.judgement
    assert legend([narrow]) == [WORDS, NONE]
    assert legend([noisy]) == [WORDS, NONE, NOISE]
    assert "within ± 10 %" in NONE
