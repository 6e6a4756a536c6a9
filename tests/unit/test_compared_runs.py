"""Tests of the comparison of two runs. If the runs differ only by recorded noise, few differences
are reported. Planted changes are found. The rules of the comparison are applied."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from dfslab.quantiles import student, student_beyond
from dfslab.report import comparison_page
from dfslab.spec.input_error import InputError
from dfslab.studies.decisions.fail_rules import parse_rules
from dfslab.studies.decisions.paired_runs import compare_runs
from support import synthetic
from support.command import dfslab
from support.recorded import copied

from verification import recordings

PAIRS, REPETITIONS, CONFIGURATIONS = 200, 4, 2
NAMES = ("A", "B")
POINTS = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=()).points()


def recorded_noise() -> tuple[np.ndarray, np.ndarray]:
    """Returns two arrays from recordings of real runs.

    - The standard deviation of ln(rate) of each configuration with enough repetitions.
    - A standardised residual for each repetition: the difference between its ln(rate) and the mean
      of its configuration, divided by the standard deviation of the configuration.
    """
    spreads, residuals = [], []
    for name in ("wu-read", "wu-write"):
        groups: dict[str, list[float]] = {}
        for one in recordings.runs(name, name):
            groups.setdefault(one.point_id, []).append(math.log(one.value()))
        for logs in groups.values():
            sd = float(np.std(logs, ddof=1)) if len(logs) > 3 else 0.0
            if sd:
                spreads.append(sd)
                scale = sd * math.sqrt((len(logs) - 1) / len(logs))
                residuals += [(one - np.mean(logs)) / scale for one in logs]
    assert len(spreads) >= 20
    return np.array(spreads), np.array(residuals)


def runs_of(random, spreads, residuals, change=0.0):
    """Returns the results of one run of the configurations POINTS. Each rate is 100 × exp(`change`
    + noise). The noise is the configuration's entry of `spreads` times a random element of
    `residuals`."""
    results = []
    for place, point in enumerate(POINTS):
        for repetition in range(REPETITIONS):
            log = change + spreads[place] * random.choice(residuals)
            results.append(synthetic.measured(point, 100 * math.exp(log), repetition))
    return results


def test_equal_runs_with_recorded_noise_get_at_most_two_verdicts():
    random = np.random.default_rng(20261126)
    every, residuals = recorded_noise()
    verdicts = 0
    for _ in range(PAIRS):
        spreads = random.choice(every, CONFIGURATIONS)
        before, after = (runs_of(random, spreads, residuals) for _ in range(2))
        rows = compare_runs(before, after, NAMES).rows
        verdicts += any(one.verdict in ("higher", "lower") for one in rows)
    assert verdicts <= 2


def test_a_change_of_the_detectable_size_is_found():
    random = np.random.default_rng(5)
    spreads, residuals = np.full(CONFIGURATIONS, 0.01), np.array([-1.2, -0.5, 0.0, 0.5, 1.2])
    found = 0
    for _ in range(20):
        before = runs_of(random, spreads, residuals)
        detectable = max(one.detectable for one in compare_runs(before, before, NAMES).rows)
        after = runs_of(random, spreads, residuals, change=math.log1p(1.5 * detectable))
        rows = compare_runs(before, after, NAMES).rows
        found += all(one.verdict == "higher" for one in rows if one.metric == "rate_per_s")
    assert found >= 18


def test_the_p_value_is_the_inverse_of_the_quantile():
    for freedom in (3.0, 10.0, 40.0):
        assert student_beyond(student(0.995, freedom), freedom) == pytest.approx(0.01)
    assert student_beyond(0.0, 5.0) == 1.0


def run_with(rate):
    """Returns the results of one configuration, whose four repetitions rise from `rate` in steps of
    1 %."""
    (point, *_) = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=()).points()
    return [synthetic.measured(point, rate * (1 + 0.01 * turn), turn) for turn in range(4)]


def test_a_rule_holds_for_changes_that_are_found():
    rules = parse_rules("rate < -3 %, mean read > +5 %, p99 > +5 %")
    slower = compare_runs(run_with(100), run_with(70), NAMES, rules)
    assert [one.split(":")[0] for one in slower.failed] == ["rate < -3 %", "mean read > +5 %"]
    assert not compare_runs(run_with(100), run_with(99.9), NAMES, rules).failed


def test_two_noisy_repetitions_are_inconclusive():
    (point, *_) = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=()).points()
    noisy = [synthetic.measured(point, rate, turn) for turn, rate in enumerate((50, 150))]
    head, power = compare_runs(noisy, noisy, NAMES).sentences()
    assert head.startswith("Inconclusive: in ")
    assert power.endswith("measure more repetitions (run.repetitions).")
    calm = compare_runs(run_with(100), run_with(100), NAMES).sentences()
    assert calm[0].startswith("No difference found in ")


@pytest.mark.parametrize("text", ["p99", "p98 > 5 %", "p99 > 5", "p99 > 5 ms"])
def test_a_wrong_rule_is_named(text):
    with pytest.raises(InputError, match="--fail-if"):
        parse_rules(text)


def test_runs_without_repetitions_differ_without_intervals_and_verdicts():
    before, after = run_with(100)[:1], run_with(80)[:1]
    found = compare_runs(before, after, NAMES)
    rate = next(one for one in found.rows if one.metric == "rate_per_s")
    assert rate.change == pytest.approx(-0.2)
    assert (rate.low, rate.adjusted, rate.verdict, found.noise) == (None, None, "cannot tell", None)
    assert found.sentences()[0].endswith("The noise is not known.")
    assert "--set run.repetitions=3" in found.notes[0]
    assert "after / before" in comparison_page.render(found)
    with pytest.raises(InputError, match="no configuration was measured twice"):
        compare_runs(before, after, NAMES, parse_rules("rate < -3 %"))


def test_runs_without_a_common_configuration_are_refused():
    one = run_with(100)
    with pytest.raises(InputError, match="has no measured configuration"):
        compare_runs(one, [], NAMES)


def test_the_command_compares_a_run_with_itself(tmp_path):
    run = copied(tmp_path / "runs")
    done = dfslab("compare", run, run, "--fail-if", "p99 > +5 %", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert rows
    assert all(row["verdict"] in ("no difference found", "cannot tell") for row in rows)
    wrong = dfslab("compare", run, run, "--fail-if", "speed")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("dfslab: --fail-if = 'speed': needs METRIC")
