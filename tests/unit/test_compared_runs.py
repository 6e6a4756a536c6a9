"""Tests of the comparison of two runs. If the runs differ only by recorded noise, few differences
are reported. Planted changes are found. The rules of the comparison are applied."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from dfslab.documents.measured_load import MachineDuring
from dfslab.documents.metrics import RATE
from dfslab.quantiles import student, student_beyond
from dfslab.report import comparison_page
from dfslab.report.terminal import drawn
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.studies.decisions.comparing.fail_rules import parse_rules
from dfslab.studies.decisions.comparing.paired_runs import (
    check_comparable,
    compare_runs,
    comparison_weights,
    foreseen,
    judged,
    pooled_noise,
    repetitions_for,
)
from dfslab.studies.decisions.comparing.run_pairs import TIMES, MetricPair
from dfslab.studies.decisions.reported.compared_runs import SMALL_CHANGE
from rich.console import Console
from support import synthetic
from support.command import dfslab
from support.recorded import copied

from verification import recordings

PAIRS, REPETITIONS, CONFIGURATIONS = 200, 4, 2
# Number of simulated comparisons in the test of the stated number of repetitions.
STATED = 500
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


@pytest.mark.parametrize(("noise_sd", "configurations"), [(0.005, 2), (0.01, 1), (0.02, 3)])
def test_the_stated_repetitions_find_a_change_of_3_percent(noise_sd, configurations):
    """A change of 3 % is found in about 95 of 100 comparisons with the number of repetitions that
    is stated for the noise. The noise has the recorded distribution."""
    random = np.random.default_rng(20261127)
    _, residuals = recorded_noise()
    repetitions = repetitions_for(noise_sd, 1 / (2 * configurations))
    found = 0
    for _ in range(STATED):
        rows = judged(drawn_pairs(random, residuals, noise_sd, configurations, repetitions))
        found += sum(one.verdict == "higher" for one in rows if one.metric == RATE)
    assert found / (STATED * configurations) >= 0.94


def drawn_pairs(random, residuals, noise_sd, configurations, repetitions):
    """Returns the rates and mean times of two runs with the given noise. The second run is faster
    by SMALL_CHANGE."""
    pairs = []
    for place in range(configurations):
        before, after = noise_sd * random.choice(residuals, (2, repetitions))
        after = after + math.log1p(SMALL_CHANGE)
        pairs.append(MetricPair(str(place), RATE, tuple(before), tuple(after)))
        mean = MetricPair(str(place), "latency_s_mean.read", tuple(-before), tuple(-after))
        pairs.append(mean)
    return pairs


def test_more_noise_or_more_comparisons_need_more_repetitions():
    needed = [repetitions_for(sd, weight) for sd, weight in ((0.01, 0.5), (0.02, 0.5), (0.01, 0.1))]
    assert needed[0] < needed[2] < needed[1]
    assert repetitions_for(0.3, 0.5) is None


def test_rates_and_times_share_the_probability_of_a_false_verdict():
    """All comparisons of two runs together have a limit for the probability of a false verdict. The
    comparison of rates gets half of this probability, and the comparisons of times share the other
    half. If no times are compared, the rates get the whole probability."""
    rate = MetricPair("a", RATE, (0.0, 0.1), (0.0, 0.1))
    times = [MetricPair("a", f"{one}.read", (0.0, 0.1), (0.0, 0.1)) for one in TIMES]
    weights = comparison_weights([rate, *times])
    assert weights[RATE] == 0.5
    assert sum(weights.values()) == pytest.approx(1.0)
    assert comparison_weights([rate])[RATE] == 1.0


def test_noise_that_differs_between_configurations_has_fewer_degrees_of_freedom():
    even = [MetricPair(str(one), RATE, (0.0, 0.01), (0.0, 0.01)) for one in range(5)]
    uneven = [*even[1:], MetricPair("noisy", RATE, (0.0, 1.0), (0.0, 1.0))]
    assert pooled_noise(even)[RATE].freedom == pytest.approx(10)
    assert pooled_noise(uneven)[RATE].freedom == pytest.approx(2, rel=0.01)


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
    slower = compare_runs(run_with(100), run_with(70), NAMES, rules[:2])
    assert [one.split(":")[0] for one in slower.failed] == ["rate < -3 %", "mean read > +5 %"]
    assert not compare_runs(run_with(100), run_with(99.9), NAMES, rules[:2]).failed
    with pytest.raises(InputError, match="p99 > .5 %.*compared: rate, mean of read"):
        compare_runs(run_with(100), run_with(70), NAMES, rules)


def test_a_rule_below_the_detectable_change_is_not_decided():
    rules = parse_rules("rate < -3 %, rate < -60 %")
    found = compare_runs(run_with(100), run_with(99), NAMES, rules)
    assert found.failed == []
    (text,) = found.undecided
    assert text.startswith("rate < -3 %: in 1 of 1 comparisons a change of that size might not be")
    assert any(one == f"Not decided: {text}" for one in found.sentences())


def test_the_first_sentence_says_which_run_is_faster_with_values_and_interval():
    head = compare_runs(run_with(100), run_with(70), NAMES).sentences()[0]
    assert head.startswith(
        "Second run, of 1 rates: 1 lower (slower); most: rate at sequential_read, 1 MiB, 1 client, "
        "101/s → 71/s, -30.0 % ("
    )


def with_labels(results, labels):
    """Returns the results with the given labels of their configuration."""
    points = [one.point.model_copy(update={"labels": labels}) for one in results]
    return [
        one.model_copy(update={"point": point}) for one, point in zip(results, points, strict=True)
    ]


def test_keys_in_another_order_or_unit_are_the_same_configuration():
    labels = {"workload.file_size": "1 MiB", "workload.clients": 1}
    other = {"workload.clients": 1, "workload.file_size": "1024 KiB"}
    found = compare_runs(
        with_labels(run_with(100), labels), with_labels(run_with(70), other), NAMES
    )
    assert len(found.rows) == 2


def test_a_key_that_one_run_fixes_is_paired_with_its_value_in_the_other():
    sweep = synthetic.scenario(sizes=("1 MiB",), clients=(1, 2), hold_out=())
    fixed = sweep.points()[0].scenario
    alone = Point(scenario=fixed, labels={})
    swept = [synthetic.measured(one, 100.0, turn) for one in sweep.points() for turn in range(3)]
    single = [synthetic.measured(alone, 70.0, turn) for turn in range(3)]
    found = compare_runs(swept, single, NAMES)
    assert {one.configuration for one in found.rows} == {"sequential_read, 1 MiB, 1 client"}
    (left,) = [one for one in found.differs if one.startswith("Not compared")]
    assert "only the first run has them: sequential_read, 1 MiB, 2 clients" in left


def test_other_settings_and_machines_are_named():
    changed = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=())
    changed = changed.replace({"workload.transfer_size": "4 KiB"})
    (point, *_) = changed.points()
    after = [synthetic.measured(point, 70.0, turn) for turn in range(4)]
    origin = after[0].provenance.model_copy(update={"host": "other", "cores": 64})
    after = [one.model_copy(update={"provenance": origin}) for one in after]
    differs = compare_runs(run_with(100), after, NAMES).differs
    assert "workload.transfer_size" in differs[0]
    assert differs[0].endswith("→ 4 KiB.")
    assert differs[1].startswith("The machines or programs differ: host ")
    assert "→ 64" in differs[1]


def test_runs_of_other_operations_are_refused():
    reads, writes = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=()).points()
    before, after = (
        with_labels([synthetic.measured(one, 100.0, turn) for turn in range(3)], {})
        for one in (reads, writes)
    )
    with pytest.raises(InputError, match=r"measured other operations \(write\) than A \(read\)"):
        compare_runs(before, after, NAMES)


@pytest.mark.parametrize("operation", ["stat", "delete"])
def test_scenarios_of_other_operations_are_refused_before_they_are_measured(operation):
    first, second = (scenario_of(one) for one in ("create", operation))
    with pytest.raises(InputError, match=rf"--against.*other operations \({operation}\) than A"):
        check_comparable(first, second)
    check_comparable(first, first)


def scenario_of(operation):
    """Returns a scenario named A with two repetitions. The only configuration of the scenario has
    ten metadata operations of the type `operation`."""
    sweep = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=(), repetitions=2)
    values = {
        "workload.name": "metadata",
        "workload.operation": operation,
        "workload.operations_per_client": 10,
    }
    alone = sweep.model_copy(update={"sweep": [], "name": "A"}).replace(values)
    return alone.with_methods(["measure"])


def test_configurations_that_differ_in_an_ignored_key_are_no_repetitions():
    one = run_with(100)
    two = [
        *with_labels(one, {"file_system.a": 1}),
        *with_labels(run_with(50), {"file_system.a": 2}),
    ]
    two = [each.model_copy(update={"point_id": str(each.labels)}) for each in two]
    other = with_labels(one, {"file_system.b": 1})
    with pytest.raises(InputError, match=r"varies file_system\.a, which the other run does not"):
        compare_runs(two, other, NAMES)


def test_the_detectable_change_is_stated_before_the_runs():
    few = foreseen(synthetic.scenario(sizes=("1 MiB",), clients=(1,), repetitions=3))
    many = foreseen(synthetic.scenario(sizes=("1 MiB",), clients=(1,), repetitions=10))
    numbers = [float(one.split("80 % is one of ")[1].split(" %")[0]) for one in (few, many)]
    assert few.startswith("With 3 repetitions and 2 compared rates, ")
    assert numbers[1] < numbers[0] / 2


def test_runs_measured_one_after_the_other_are_marked():
    def at(results, day):
        return [
            one.model_copy(
                update={
                    "provenance": one.provenance.model_copy(
                        update={"started": f"2026-01-{day:02}T00:00:0{place}+00:00"}
                    )
                }
            )
            for place, one in enumerate(results)
        ]

    run = run_with(100)
    text = "measured one after the other"
    assert any(text in one for one in compare_runs(at(run, 1), at(run, 2), NAMES).differs)
    alternate = [*at(run, 1)[:2], *at(run, 3)[2:]]
    assert not any(text in one for one in compare_runs(alternate, at(run, 2), NAMES).differs)
    assert any("are the same" in one for one in compare_runs(run, run, NAMES).differs)


def test_the_command_that_measures_alternately_names_the_scenarios(tmp_path):
    runs = [run_with(100), run_with(100)]
    for day, own in enumerate(runs, start=1):
        for place, one in enumerate(own):
            started = f"2026-01-{day:02}T00:00:0{place}+00:00"
            changed = one.provenance.model_copy(update={"started": started})
            own[place] = one.model_copy(update={"provenance": changed})
    folders = tmp_path / "first run", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
        (folder / "scenario.toml").touch()
    first, second = map(str, folders)
    (order,) = (
        one for one in compare_runs(*runs, (first, second)).differs if "one after the other" in one
    )
    expected = f"`dfslab run '{first}/scenario.toml' --against {second}/scenario.toml` measures"
    assert expected in order
    # Runs without folders have no scenario that a command can name.
    without = " ".join(compare_runs(*runs, NAMES).differs)
    assert "look like a difference." in without
    assert "--against" not in without


def test_two_noisy_repetitions_are_inconclusive():
    (point, *_) = synthetic.scenario(sizes=("1 MiB",), clients=(1,), hold_out=()).points()
    noisy = [synthetic.measured(point, rate, turn) for turn, rate in enumerate((50, 150))]
    head, power, *_ = compare_runs(noisy, noisy, NAMES).sentences()
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


def test_runs_of_different_settings_name_the_key_and_both_values():
    before = run_with(100)
    other = synthetic.scenario(sizes=("96 KiB",), hold_out=()).points()
    after = [synthetic.measured(one, 80.0) for one in other]
    with pytest.raises(
        InputError, match=r"both runs differ in workload\.file_size \(.* and 96 KiB"
    ):
        compare_runs(before, after, NAMES)


def test_the_command_compares_a_run_with_itself(tmp_path):
    run = copied(tmp_path / "runs")
    done = dfslab("compare", run, run, "--fail-if", "p99 > +5 %", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = document["rows"]
    assert rows
    assert document["answer"]
    assert {row["unit"] for row in rows} == {"/s", "s"}
    assert all(row["verdict"] in ("no difference found", "cannot tell") for row in rows)
    wrong = dfslab("compare", run, run, "--fail-if", "speed")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("dfslab: --fail-if = 'speed': needs METRIC")


def test_an_interval_without_zero_is_never_called_no_difference():
    """Changes of every size up to a verdict are compared. A row whose interval has no zero, but
    whose p-value allows no verdict, is "cannot tell"."""
    seen = set()
    for change in np.arange(0.0, 12.0, 0.2):
        rows = compare_runs(run_with(100), run_with(100 + change), NAMES).rows
        for one in rows:
            assert one.low is not None
            assert one.high is not None
            is_apart = one.low > 0 or one.high < 0
            seen.add((is_apart, one.verdict))
    assert (True, "no difference found") not in seen
    assert {(False, "no difference found"), (True, "cannot tell"), (True, "higher")} <= seen


def disturbed(results, share):
    """Returns the results as measured while other programs used `share` of the processors."""
    machine = MachineDuring(took_s=10.0, others_share=share)
    return [
        one.model_copy(update={"load": one.load.model_copy(update={"machine": machine})})
        for one in results
    ]


@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_comparison_begins_with_the_disturbance_of_a_run(repetitions):
    quiet, slow = (
        [synthetic.measured(one, rate + at, at) for one in POINTS for at in range(repetitions)]
        for rate in (100.0, 60.0)
    )
    first, *_ = compare_runs(disturbed(quiet, 0.04), disturbed(slow, 0.6), NAMES).sentences()
    assert first.startswith("Disturbed: in the first run other programs used 4 % of the processors")
    assert "in the second 60 %" in first
    assert "quiet" in first
    for undisturbed in (quiet, disturbed(quiet, 0.1)):
        sentences = compare_runs(undisturbed, slow, NAMES).sentences()
        assert not any("Disturbed" in one for one in sentences)


def test_no_word_of_a_compared_run_is_broken_at_80_columns():
    points = synthetic.scenario(sizes=("16 MiB",), clients=(1, 2), hold_out=()).points()
    runs = [
        [synthetic.measured(one, rate + at, at) for one in points for at in range(2)]
        for rate in (629_519.0, 193_269.0)
    ]
    table = compare_runs(*runs, NAMES).table()
    console = Console(width=80, file=io.StringIO())
    console.print(drawn(table, 80))
    printed = console.file.getvalue()
    words = {word.strip("│┃ ") for word in printed.split()}
    for expected in ("configuration", "629,519/s", "clients", "-69.3%"):
        assert expected in words or any(expected in one for one in words), printed
    assert max(map(len, printed.splitlines())) <= 80
