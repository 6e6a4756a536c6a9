"""Tests of trials and of the stored records of predictions and measurements. A trial measures a
change in interleaved pairs of runs with and without the change. In these tests, a function with
planted true rates replaces the runs."""

from __future__ import annotations

import hashlib
import json
import math
import random
from contextlib import contextmanager
from pathlib import Path

import pytest
from dfslab.instruments.measure import Measure
from dfslab.method import RunFailed
from dfslab.result import Metric, Result, provenance
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point, read
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.risks import FEWER_COPIES, NOT_FORCED
from dfslab.studies.trials.interleaved import TimeBudget, TrialConfiguration, interleaved
from dfslab.studies.trials.intervention_record import read_records
from dfslab.studies.trials.measured_gain import START, measured_gains
from dfslab.studies.trials.trial_run import TrialRun, trial_run
from dfslab.studies.trials.verifying import carry_out, plan_of
from support.clock import ManualClock
from support.command import dfslab

SCENARIO = """
schema = 1
name = "small"
[[deployment.node]]
name = "server"
count = 2
roles = { brick = 1 }
disk = { read_rate = "60 MiB/s", write_rate = "60 MiB/s" }
adapter = { bandwidth = "500 Mbit/s" }
[[deployment.node]]
name = "client"
roles = { client = 1 }
adapter = { bandwidth = "500 Mbit/s" }
[file_system]
name = "glusterfs"
access = { testbed = true }
[workload]
name = "sequential_write"
file_size = "16 MiB"
transfer_size = "64 KiB"
operations_per_client = 6
fsync = true
[run]
methods = ["measure", "sequence"]
"""
RUN_S = 5.0


def result(scenario, rate, complete=True):
    """Returns a measured result of a scenario with a rate in operations per second."""
    point = Point(scenario=scenario, labels={})
    times = {"latency_s_p99.write": Metric(value=1 / rate)}
    return Result(
        method="measure",
        point_id=point.id,
        point=point,
        repetition=0,
        complete=complete,
        metrics={"rate_per_s": Metric(value=rate), **times},
        notes=[] if complete else ["the time limit ended it"],
        provenance=provenance(1),
    )


class Planted:
    """A measuring function that returns planted rates with noise and drift.

    `law` returns the true rate of a scenario in operations per second. Each run takes RUN_S on the
    clock. The run with the number `interrupt_at` raises KeyboardInterrupt.
    """

    def __init__(self, law, noise_sd=0.0, drift=0.0, interrupt_at=None):
        self.law, self.noise_sd, self.drift, self.interrupt_at = law, noise_sd, drift, interrupt_at
        self.clock, self.random, self.measured, self.is_open = (
            ManualClock(),
            random.Random(1),
            [],
            0,
        )

    def __call__(self, scenario, repetition):
        if len(self.measured) == self.interrupt_at:
            raise KeyboardInterrupt
        self.clock.advance(RUN_S)
        log = self.drift * len(self.measured) + self.random.gauss(0, self.noise_sd)
        self.measured.append(scenario)
        return result(scenario, self.law(scenario) * math.exp(log))

    @contextmanager
    def opening(self, notify):
        """Counts in `is_open` the `with` blocks that use the measuring function at the moment."""
        self.is_open += 1
        try:
            yield self
        finally:
            self.is_open -= 1


@pytest.fixture
def source(tmp_path):
    """Provides the file of a scenario that a testbed could run."""
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


def links(scenario):
    """Returns a rate that is proportional to the bandwidth of the clients' links."""
    return scenario.deployment.node[1].adapter.bandwidth / 1e7


def configurations(source):
    start = read(source)
    changed = start.with_values({"deployment.node.client.adapter.bandwidth": "1 Gbit/s"})
    return [TrialConfiguration(START, start), TrialConfiguration("links", changed)]


def quiet(*_):
    """Discards progress messages."""


def trial(source, planted, rounds=4, limit_s=1e6, goal="rate"):
    budget = TimeBudget(limit_s, planted.clock)
    return interleaved(configurations(source), rounds, planted, goal, budget, quiet)


def test_rounds_alternate_in_order_and_cancel_drift(source):
    planted = Planted(links, drift=0.1)
    found = trial(source, planted)
    order = [(one.turn, one.configuration) for one in found.runs]
    assert order[:4] == [(0, START), (0, "links"), (1, "links"), (1, START)]
    gain = measured_gains(found.runs)["links"]
    assert gain.gain == pytest.approx(2.0)
    assert gain.pairs == 4
    assert gain.low < 2.0 < gain.high


def test_intervals_cover_the_planted_gain_as_often_as_they_say(source):
    """Of the 90 % intervals of 300 noisy trials, 85 to 97 % contain the planted gain."""
    drawn = random.Random(7)
    inside = 0
    for _ in range(300):
        runs = [
            TrialRun(configuration=name, turn=turn, value=value * math.exp(drawn.gauss(0, 0.1)))
            for turn in range(3)
            for name, value in ((START, 1.0), ("one", 1.3), ("other", 0.9))
        ]
        found = measured_gains(runs)
        inside += found["one"].low <= 1.3 <= found["one"].high
    assert 0.85 <= inside / 300 <= 0.97


def test_one_pair_has_no_interval_and_equal_pairs_have_a_positive_width():
    runs = [TrialRun(configuration=name, turn=0, value=1.0) for name in (START, "one")]
    assert measured_gains(runs)["one"].low is None
    again = [one.model_copy(update={"turn": 1}) for one in runs]
    found = measured_gains([*runs, *again])["one"]
    assert found.low < 1.0 < found.high


def test_no_run_begins_that_would_end_after_the_time_limit(source):
    planted = Planted(links)
    found = trial(source, planted, rounds=10, limit_s=4 * RUN_S)
    assert len(found.runs) == 4
    assert planted.clock.monotonic_s() - 100.0 <= 4 * RUN_S
    assert found.notes == ["4 of 20 runs fitted in the time of 20 s"]


def test_the_start_is_measured_last_if_the_time_ends_in_a_reversed_round(source):
    planted = Planted(links)
    third = TrialConfiguration("other", read(source))
    budget = TimeBudget(5 * RUN_S, planted.clock)
    found = interleaved([*configurations(source), third], 4, planted, "rate", budget, quiet)
    order = [(one.turn, one.configuration) for one in found.runs]
    assert order == [(0, START), (0, "links"), (0, "other"), (1, "other"), (1, START)]
    assert {name: one.pairs for name, one in measured_gains(found.runs).items()} == {
        "links": 1,
        "other": 2,
    }


def test_an_interrupt_keeps_the_runs_before_it(source):
    found = trial(source, Planted(links, interrupt_at=3))
    assert found.is_interrupted
    assert len(found.runs) == 3
    assert measured_gains(found.runs)["links"].gain == pytest.approx(2.0)


def test_a_change_that_fails_is_refused_and_the_start_that_fails_ends_the_trial(source):
    start, changed = configurations(source)

    def broken(scenario, repetition):
        if scenario == changed.scenario:
            raise RunFailed("the disk\nis full")
        return result(scenario, 3.0)

    budget = TimeBudget(1e6, ManualClock())
    found = interleaved([start, changed], 2, broken, "rate", budget, quiet)
    assert found.refused == {"links": "the disk is full"}
    assert [one.configuration for one in found.runs] == [START, START]
    changed = start
    with pytest.raises(RunFailed, match="disk"):
        interleaved([start], 2, broken, "rate", budget, quiet)


def test_a_start_that_fails_later_ends_the_trial_and_keeps_its_runs(source):
    def later(scenario, repetition):
        if repetition and scenario == read(source):
            raise RunFailed("the server died")
        return result(scenario, 3.0)

    budget = TimeBudget(1e6, ManualClock())
    found = interleaved(configurations(source), 3, later, "rate", budget, quiet)
    assert len(found.runs) == 3
    assert found.notes == ["ended early: the server died"]
    assert measured_gains(found.runs)["links"].pairs == 1


def test_values_of_goals(source):
    scenario = read(source)
    assert trial_run("a", 0, result(scenario, 2.0), "rate").value == 2.0 * 2**24
    assert trial_run("a", 0, result(scenario, 4.0), "p99").value == pytest.approx(4.0)
    with pytest.raises(RunFailed, match="time limit"):
        trial_run("a", 0, result(scenario, 2.0, complete=False), "rate")


def verified(source, planted, tmp_path, most=2, limit_s=1e6, may=()):
    evidence = evidence_of(source)
    advice = recommend(evidence, "rate", prices_of(None))
    plan = plan_of(evidence, advice, most, 3, limit_s, may)
    records = tmp_path / "records.jsonl"
    done = carry_out(plan, records, quiet, quiet, planted.opening, planted.clock)
    return plan, done, read_records(records)


def test_predictions_are_recorded_before_anything_is_measured(source, tmp_path):
    planted = Planted(links, noise_sd=0.01)
    seen = []
    law = planted.law

    def looking(scenario):
        lines = (tmp_path / "records.jsonl").read_text().splitlines()
        seen.append([json.loads(line)["event"] for line in lines])
        return law(scenario)

    planted.law = looking
    plan, done, kept = verified(source, planted, tmp_path, 9)
    assert seen[0] == ["prediction"] * len(plan.interventions)
    assert [one.predicted.text for one in kept] == [one.name for one in plan.interventions]
    assert [one.measured.gain for one in kept] == [one.real for one in done.rows]
    best = max(done.rows, key=lambda one: one.predicted.gain)
    assert "links x2" in best.change
    assert best.real.gain == pytest.approx(2.0, rel=0.05)
    assert best.agreement == "inside"
    assert planted.is_open == 0


def test_a_gain_outside_its_interval_is_called_so(source, tmp_path):
    _, done, _ = verified(source, Planted(lambda scenario: links(scenario) ** 4), tmp_path, 1)
    assert done.rows[0].agreement == "outside"
    assert "of 0 is inside" in done.sentences()[0]


def test_an_interrupted_verification_records_what_it_measured(source, tmp_path):
    planted = Planted(links, interrupt_at=4)
    _, done, kept = verified(source, planted, tmp_path)
    assert done.is_interrupted
    assert all(one.measured.is_interrupted for one in kept)
    assert kept[0].measured.gain.pairs == 1
    assert planted.is_open == 0


def risky_advice(source):
    """Returns (evidence, advice). All advised changes can be carried out; the first two put data at
    risk."""
    evidence = evidence_of(source)
    advice = recommend(evidence, "rate", prices_of(None))
    (row, *_) = advice.rows
    changes = {
        "fsync off": NOT_FORCED,
        "copies 1": FEWER_COPIES,
        "links x2": "",
        "clients x2": "",
        "transfer size x4": "",
    }
    rows = [row.model_copy(update={"change": text, "risk": why}) for text, why in changes.items()]
    return evidence, advice.model_copy(update={"rows": rows})


def test_changes_that_put_data_at_risk_are_carried_out_only_by_name(source):
    source.write_text(SCENARIO.replace('"glusterfs"', '"glusterfs"\ncopies = 2'))
    evidence, advice = risky_advice(source)
    plan = plan_of(evidence, advice, 9, 2, 1e6)
    assert not any(one.risk for one in plan.interventions)
    assert len(plan.interventions) == 3
    assert plan.left_out() == [
        f"Left out, because {NOT_FORCED}: fsync off. --may sync carries it out.",
        f"Left out, because {FEWER_COPIES}: copies 1. --may copies carries it out.",
    ]
    allowed = plan_of(evidence, advice, 9, 2, 1e6, ("copies", "sync"))
    assert {one.name for one in allowed.interventions} >= {"fsync off", "copies 1"}
    assert allowed.left_out() == []


def test_the_safest_and_cheapest_changes_are_carried_out_first(source):
    evidence, advice = risky_advice(source)
    names = [one.name for one in plan_of(evidence, advice, 9, 2, 1e6).interventions]
    assert set(names[:2]) == {"clients x2", "transfer size x4"}
    assert names[2] == "links x2"


def test_what_is_left_out_is_said_with_the_gains(source, tmp_path):
    evidence, advice = risky_advice(source)
    planted = Planted(links)
    plan = plan_of(evidence, advice, 1, 2, 1e6)
    done = carry_out(plan, tmp_path / "r.jsonl", quiet, quiet, planted.opening, planted.clock)
    assert any(note.startswith("Left out, because") for note in done.notes)
    assert all(scenario.workload.fsync for scenario in planted.measured)


def test_changes_that_no_testbed_makes_are_refused_in_one_line(source, tmp_path):
    source.write_text(SCENARIO.replace("500 Mbit/s", "100 Gbit/s").replace("60 MiB/s", "20 GB/s"))
    evidence = evidence_of(source)
    advice = recommend(evidence, "rate", prices_of(None))
    plan = plan_of(evidence, advice, 9, 2, 1e6)
    refused = {one.name: one.refused for one in plan.interventions if one.refused}
    assert any("clock" in name and "clock rate" in why for name, why in refused.items()), refused
    assert all("\n" not in why for why in refused.values())


def test_an_altered_prediction_is_found_and_a_torn_line_is_skipped(source, tmp_path):
    verified(source, Planted(links), tmp_path, 1)
    path = tmp_path / "records.jsonl"
    path.write_text(path.read_text() + '{"event":"pre')
    assert len(read_records(path)) == 1
    text = path.read_text()
    gain = json.loads(text.splitlines()[0])["predicted"]["gain"]
    path.write_text(text.replace(f'"gain":{gain}', '"gain":2.5', 1))
    with pytest.raises(InputError, match="altered"):
        read_records(path)


def test_a_prediction_of_a_version_that_had_fewer_fields_is_read(source, tmp_path):
    """The record of an earlier version is accepted although it lacks newer fields. A record stores
    a digest of all fields that existed when it was written. The digest therefore does not cover the
    newer fields."""
    verified(source, Planted(links), tmp_path, 1)
    path = tmp_path / "records.jsonl"
    first, *rest = path.read_text().splitlines()
    former = json.loads(first)
    del former["id"], former["predicted"]["hardware_sd"], former["predicted"]["is_learnt_here"]
    text = json.dumps(former, separators=(",", ":"), ensure_ascii=False)
    made = hashlib.sha256(text.encode()).hexdigest()
    rest = [one.replace(json.loads(first)["id"], made) for one in rest]
    path.write_text("\n".join([json.dumps({**former, "id": made}), *rest, ""]))
    assert [one.predicted.id for one in read_records(path)] == [made]


@pytest.mark.parametrize("torn", [b'{"event":"pre', b'{"text":"\xe2\x80', b'{"gain":{"gain":1.0}'])
def test_a_torn_line_is_skipped_wherever_it_is_cut(source, tmp_path, torn):
    """A line of the records that a crash has cut is skipped. The crash may cut the line at any
    byte: between two fields, within a character, or after a nested object. The cut line may be the
    last line of the file, or a later record may follow on a new line."""
    verified(source, Planted(links), tmp_path, 1)
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert len(read_records(path)) == 1
    path.write_bytes(torn + b"\n" + whole)
    assert len(read_records(path)) == 1


def test_a_line_that_is_no_record_is_named(source, tmp_path):
    verified(source, Planted(links), tmp_path, 1)
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes() + b'{"event":"nothing"}\n')
    with pytest.raises(InputError, match=r"records.jsonl:3.*is no intervention record"):
        read_records(path)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--verify", "1", "--pairs", "1"), "--pairs = 1: must be 2 or more"),
        (("--pairs", "4"), "--pairs: goes with --verify"),
        (("--verify", "1", "--time", "soon"), "--time"),
        (("--verify", "1", "--records", "/proc/none/records"), "--records = '/proc/none/records'"),
    ],
)
def test_wrong_options_are_one_line(source, words, named):
    done = dfslab("advise", source, *words)
    assert done.returncode == 2
    assert named in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def mine(tmp_path):
    """Provides (scenario file, directory of the user that the scenario measures)."""
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "mine.toml").write_text(f"""
schema = 1
name = "mine"
[[deployment.node]]
name = "machine"
roles = {{ client = 1, storage = 1 }}
[file_system]
name = "local"
access = {{ directory = "{place}" }}
[workload]
name = "sequential_write"
file_size = "1 MiB"
operations_per_client = 2
""")
    return tmp_path / "mine.toml", place


def test_a_directory_is_not_measured_without_asking(mine, tmp_path):
    _, place = mine
    done = dfslab("advise", tmp_path / "mine.toml", "--verify", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert list(place.iterdir()) == []
    assert not Path(tmp_path / "runs").exists()


def test_ctrl_c_prints_and_records_what_was_measured(mine, tmp_path, monkeypatch):
    path, place = mine
    measure, runs = Measure.run, []

    def interrupted(self, point, session, repetition=0):
        runs.append(point)
        if len(runs) == 4:
            raise KeyboardInterrupt
        return measure(self, point, session, repetition)

    monkeypatch.setattr(Measure, "run", interrupted)
    done = dfslab("advise", path, "--verify", "9", "--yes", cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert "interrupted after 3" in done.stdout
    assert "Predicted and carried out" in done.stdout
    kept = read_records(tmp_path / "runs" / "interventions.jsonl")
    assert any(one.measured.runs for one in kept)
    assert list(place.iterdir()) == []
