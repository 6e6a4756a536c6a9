"""Tests how the trials of `verification.kills` are resumed and summarised."""

from __future__ import annotations

import json
from dataclasses import asdict

from verification.kills import Trial, cut_to_lines, logged, remaining, summary


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
        Trial("local", 0, 1, 0.5, outlived_s=0.25, removed=2),
        Trial("local", 1, 1, 0.5, outlived_s=1.5, faults=["left: data"]),
        Trial("ssh", 0, 1, 0.5),
    ]
    assert [line.split() for line in summary(trials).splitlines()[1:]] == [
        ["local", "2", "1", "1.5", "2"],
        ["ssh", "1", "0", "0.0", "0"],
    ]
