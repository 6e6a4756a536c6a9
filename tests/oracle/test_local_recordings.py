"""Tests of the recordings of local file systems: the division of their grid into two halves, the
predictions that were frozen before the measurements, and the figures that are computed from
both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dfslab.spec.input_error import InputError

from verification import recordings
from verification.local import experiment, frozen, record
from verification.local.grid import CLIENTS, conditions, half

RECORDINGS = experiment.subjects()


def test_the_halves_share_no_condition_and_have_all_of_them():
    development, judged = half("development"), half("judged")
    assert not set(development) & set(judged)
    assert set(development) | set(judged) == set(conditions())
    assert abs(len(development) - len(judged)) <= 1
    names = [one.name for one in conditions()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("recording", RECORDINGS)
def test_the_frozen_predictions_are_those_of_the_printed_hash(recording):
    found = experiment.predictions(recording)
    about = experiment.about(recording)
    assert frozen.digest(found) == about.predictions_sha256
    changed = [replace(found[0], predicted_per_s=found[0].predicted_per_s * 1.001), *found[1:]]
    assert frozen.digest(changed) != about.predictions_sha256
    asked = [(one.name, n) for one in half(about.half) for n in CLIENTS]
    assert [(one.condition, one.clients) for one in found] == asked


def test_a_recording_is_never_replaced(tmp_path, monkeypatch):
    (tmp_path / "mine.json").write_text("measured before")
    with pytest.raises(InputError, match="exists already; dfslab does not overwrite it"):
        record.main(["mine", "development", "ext4", "--output", str(tmp_path)])
    monkeypatch.setattr(recordings, "DATA", tmp_path)
    with pytest.raises(InputError, match="exists already"):
        recordings.new_files("mine")
    table, description = recordings.new_files("other")
    table.write("a,b\n")
    assert description.path == tmp_path / "other.json"
    with pytest.raises(InputError, match="exists already"):
        recordings.new_files("other")
