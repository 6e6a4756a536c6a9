"""Tests that the trials of `verification.kills` can be resumed and are summarised correctly. A
trial kills a command of dfslab while the command runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from verification.kills import (
    KILL_WITHIN_S,
    OUTLIVES_LIMIT_S,
    Trial,
    cut_to_lines,
    logged,
    remaining,
    summary,
)

VERIFICATION = Path(__file__).resolve().parents[2] / "verification"


def test_trials_in_the_log_are_not_repeated(tmp_path):
    log = tmp_path / "kills.jsonl"
    assert logged(log) == []
    made = [Trial("local", 0, 1, 0.5), Trial("ssh", 0, 2, 0.5), Trial("local", 1, 1, 0.5, 3)]
    lines = [json.dumps(asdict(trial)) for trial in made]
    log.write_text("\n".join(lines) + '\n{"system": "loc')
    done = logged(log)
    assert done == made
    systems = ["local", "ssh"]
    after_a_time = remaining(systems, 2, seed=1, after_results=False, done=done)
    assert after_a_time == [("ssh", 0), ("local", 1), ("ssh", 1)]
    after_results = remaining(systems, 2, seed=1, after_results=True, done=done)
    assert after_results == [("local", 0), ("ssh", 0), ("ssh", 1)]


def test_a_line_after_a_cut_line_is_read(tmp_path):
    log = tmp_path / "kills.jsonl"
    cut_to_lines(log)
    assert not log.exists()
    made = [Trial("local", number, 1, 0.5) for number in range(2)]
    first, second = (json.dumps(asdict(trial)) + "\n" for trial in made)
    for text in ("", first[:9], first, first + second[:9]):
        log.write_text(text)
        before = logged(log)
        cut_to_lines(log)
        assert logged(log) == before
        with log.open("a") as file:
            file.write(second)
        assert logged(log) == [*before, made[1]]


def test_the_summary_counts_faults_by_system():
    trials = [
        Trial("local", 0, 1, 0.5, waited_for=3, outlived_s=0.25, removed=2),
        Trial("local", 1, 1, 0.5, outlived_s=1.5, faults=["left: data"]),
        Trial("ssh", 0, 1, 0.5, ended_first=True),
    ]
    assert [line.split() for line in summary(trials).splitlines()[1:]] == [
        ["local", "2", "1", "0", "1", "1.5", "2"],
        ["ssh", "1", "0", "1", "0", "0.0", "0"],
    ]


def test_the_page_has_the_counts_of_the_recorded_trials():
    trials = logged(VERIFICATION / "kills.jsonl")
    assert summary(trials) in (VERIFICATION / "README.md").read_text()


def test_the_recorded_trials_differ_and_cover_every_system():
    trials = logged(VERIFICATION / "kills.jsonl")
    kills = {(one.system, one.seed, one.number, bool(one.waited_for)) for one in trials}
    assert len(kills) == len(trials)
    for after_results in (False, True):
        of_system = Counter(one.system for one in trials if bool(one.waited_for) == after_results)
        assert set(of_system) == set(KILL_WITHIN_S)


def test_every_recorded_process_ended_in_time_and_only_known_faults_occurred():
    trials = logged(VERIFICATION / "kills.jsonl")
    assert all(one.outlived_s < OUTLIVES_LIMIT_S for one in trials)
    faults = [fault for one in trials for fault in one.faults]
    left = [one for one in faults if not _is_named_as_incomplete(one)]
    # All remaining faults are folders that killed agents left in the state folder. The trials were
    # recorded when `dfslab doctor` did not yet remove such folders.
    assert all(fault.startswith("left: ") and "/state/parts/" in fault for fault in left)


def _is_named_as_incomplete(fault):
    """Returns whether the fault only states that a resumed sweep lacked results and that the sweep
    reported the missing results. An overloaded machine causes this fault. The fault is harmless,
    because all results that were stored before the kill still exist."""
    named = fault.startswith("resuming: 1 ") and "dfslab: incomplete: " in fault
    return named or re.fullmatch(r"\d+ of \d+ results in 1 folders", fault) is not None
