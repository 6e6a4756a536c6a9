"""Tests of the notes of results. Each note is printed once, whatever the number of models."""

from __future__ import annotations

from pathlib import Path

from dfslab.method import UNLIMITED
from dfslab.report.answers.result_notes import result_notes
from dfslab.report.answers.result_tables import result_tables
from support import synthetic
from support.command import dfslab

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def predicted(method, ignored_of):
    """Returns a prediction for each configuration of a sweep. `ignored_of` returns the keys that
    the method ignores in a configuration."""
    return [
        synthetic.measured(point, 10.0, method=method).model_copy(
            update={"ignored": ignored_of(point), "notes": ["a note"]}
        )
        for point in synthetic.scenario(clients=(1, 2)).points()
    ]


def of_reads(point):
    return ["memory"] if synthetic.operation(point) == "read" else []


def test_models_that_ignore_the_same_keys_share_a_sentence():
    results = [
        *predicted("sequence", lambda _: ["network.jitter", "workload.mmap"]),
        *predicted("petri", lambda _: ["network.jitter", "workload.mmap"]),
    ]
    assert result_notes(results) == [
        "a note",
        "ignored by sequence and petri: network.jitter, workload.mmap",
    ]


def test_a_key_that_some_configurations_need_is_counted():
    reads = [one for one in predicted("sequence", lambda _: []) if "read" in str(one.labels)]
    count, total = len(reads), len(predicted("sequence", lambda _: []))
    results = [*predicted("sequence", of_reads), *predicted("petri", lambda _: ["memory"])]
    assert result_notes(results)[1:] == [
        f"ignored by sequence (in {count} of {total} configurations); petri: memory"
    ]


def test_tables_of_several_units_print_each_note_once():
    results = predicted("sequence", of_reads)
    notes = [note for one in result_tables(results) for note in one.notes]
    assert len(notes) == len(set(notes))
    assert sum("ignored by" in one for one in notes) == 1


def test_predict_prints_ignored_keys_once():
    """A model ignores some keys of the scenario. Each note on ignored keys is printed once,
    although the keys are ignored in several configurations."""
    done = dfslab("predict", str(SCENARIOS / "glusterfs.toml"))
    lines = [one for one in done.stdout.splitlines() if "ignored by" in one]
    assert len(lines) == len({one.split(":")[1] for one in lines}), lines


def test_operations_that_nothing_limits_share_one_note():
    notes = [f"ideal: {UNLIMITED}{one}" for one in ("write", "read", "stat", "read")]
    results = [
        one.model_copy(update={"notes": [note, "a note"], "ignored": []})
        for one, note in zip(predicted("ideal", of_reads) * 2, notes, strict=False)
    ]
    assert len(results) == len(notes)
    assert result_notes(results) == [f"ideal: {UNLIMITED}write, read and stat", "a note"]
