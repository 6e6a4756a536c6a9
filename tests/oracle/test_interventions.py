"""Tests of the figures that judge recorded interventions (changes that were carried out and
measured), computed from planted records, and of the plan of interventions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
from dfslab.studies.decisions.gains import GainEstimate
from dfslab.studies.trials.intervention_record import (
    Intervention,
    MeasuredIntervention,
    PredictedIntervention,
    RecordedChange,
)
from dfslab.studies.trials.measured_gain import MeasuredGain

from verification import recordings
from verification.figures import bars
from verification.trials import interventions


@cache
def scenario_toml(system, name):
    """Returns the TOML text of a configuration to which no change is made, with the given name."""
    scenario = interventions.base_of(system, "write").scenario
    return scenario.model_copy(update={"name": name}).toml()


def intervention(predicted, real, half_width=0.2, base="one", system="nfs"):
    """Returns a record of one change: its predicted gain `predicted` and its measured gain `real`,
    as ratios of rates. `half_width` is half of the width of the 90 % interval of ln(predicted
    gain)."""
    gain = GainEstimate(
        gain=predicted,
        low=predicted * math.exp(-half_width),
        high=predicted * math.exp(half_width),
        probability=0.99 if predicted > 1 else 0.01,
        sd=half_width / 1.645,
    )
    change = RecordedChange(text=f"disk x{predicted}", kind="disk", distance=1.0, values={})
    return Intervention(
        PredictedIntervention(
            written="2026-01-01T00:00:00+00:00",
            file_system=system,
            workload="sequential_write",
            scenario=scenario_toml(system, base),
            changes=[change],
            goal="rate",
            basis="description",
            predicted=gain,
        ),
        MeasuredIntervention(
            prediction="", written="", runs=[], gain=MeasuredGain(gain=real, pairs=2)
        ),
    )


@pytest.mark.parametrize(
    ("predicted", "real", "is_right", "is_inside"),
    [
        (1.5, 1.4, True, True),
        (1.5, 0.9, False, False),
        (0.5, 0.3, True, False),
        (1.0, 1.05, True, True),
        (1.0, 1.15, False, True),
    ],
)
def test_direction_and_interval(predicted, real, is_right, is_inside):
    one = intervention(predicted, real)
    assert interventions.is_right(one) == is_right
    assert interventions.is_inside(one) == is_inside


def test_regret_is_what_a_better_choice_would_have_gained():
    found = [
        intervention(2.0, 1.2),
        intervention(1.5, 1.5),
        intervention(0.5, 0.4, base="worse"),
        intervention(1.2, 0.8, base="lost"),
    ]
    regrets = interventions.regrets_of(found)
    assert regrets == pytest.approx([1 - 1.2 / 1.5, 0.0, 1 - 0.8])


def test_figures_come_from_all_records_with_a_measured_gain(monkeypatch):
    found = [intervention(1.5, 1.4) for _ in range(6)]
    found += [intervention(1.5, 0.9, system="hdfs"), intervention(1.01, 1.0, 2.0, system="hdfs")]
    lost = intervention(1.5, 1.5)
    lost.measured.gain = None
    monkeypatch.setattr(interventions, "read_records", lambda path: [*found, lost])
    values = {(one.bar, one.part): one for one in interventions.figures("interventions")}
    assert values["interventions.sign", ""].value == pytest.approx(6 / 7)
    assert values["interventions.cannot-tell", ""].value == pytest.approx(1 / 8)
    assert values["interventions.coverage", ""].value == pytest.approx(7 / 8)
    assert values["interventions.coverage", "nfs"].points == 6
    assert ("interventions.coverage", "hdfs") not in values
    assert {one.bar for one in values.values()} <= set(bars())


def test_the_recorded_predictions_are_unaltered_and_older_than_no_bar():
    found = interventions.measured()
    assert len(found) >= 40
    assert len({one.predicted.file_system for one in found}) >= 5
    for one in found:
        assert one.predicted.written <= one.measured.written
    begun = recordings.recorded(interventions.RECORDING)
    assert all(begun > bar.set for bar in bars().values() if bar.id.startswith("interventions."))


@pytest.mark.parametrize("system", interventions.SYSTEMS)
def test_every_resource_is_changed_both_ways(system):
    plan = interventions.plan_of(interventions.base_of(system, "write"))
    gains = [one.predicted.gain for one in plan.interventions]
    assert min(gains) < 0.9
    assert max(gains) > 1.1
    assert len(gains) >= 8
    assert all(one.predicted.low < one.predicted.high for one in plan.interventions)


def test_the_base_has_a_title_of_its_own():
    scenario = interventions.base_of("nfs", "write").scenario
    assert (scenario.name, scenario.title) == ("nfs-write", "What do changes of nfs gain?")


def test_an_unknown_workload_is_refused_with_those_of_the_table(capsys):
    with pytest.raises(SystemExit):
        interventions.main(["nfs", "walk"])
    assert "choose from 'write', 'create', 'read', 'small'" in capsys.readouterr().err


def test_groups_hold_every_change_once_and_the_first_needs_one_testbed():
    plan = interventions.plan_of(interventions.base_of("moosefs", "write"))
    first, *others = interventions.groups_of(plan)
    names = [one.name for group in (first, *others) for one in group.interventions]
    assert sorted(names) == sorted(one.name for one in plan.interventions)
    assert {one.changes[0].kind for one in first.interventions} == {"clients", "size"}
    assert not {one.changes[0].kind for group in others for one in group.interventions} & {"size"}
    sizes = [len(group.interventions) for group in others]
    assert max(sizes) <= interventions.GROUP
    assert max(sizes) - min(sizes) <= 1


def test_the_digest_of_frozen_predictions_changes_with_any_of_them():
    """The digest covers every change and every number that is predicted for it. The digest does not
    depend on the process: a second plan, computed from a newly read scenario, has the same
    digest."""
    plan = interventions.plan_of(interventions.base_of("nfs", "read"))
    digest = interventions.frozen(plan)
    again = interventions.plan_of(interventions.base_of("nfs", "read"))
    assert again.interventions is not plan.interventions
    assert interventions.frozen(again) == digest
    first, *others = plan.interventions
    assert others
    altered = [
        replace(first, predicted=first.predicted.model_copy(update={field: 1.01 * value + 0.01}))
        for field, value in first.predicted.model_dump().items()
        if isinstance(value, float)
    ]
    assert len(altered) >= 4
    changed = [[one, *others] for one in altered]
    changed += [others, [*others, first], [first, first, *others]]
    digests = {interventions.frozen(replace(plan, interventions=one)) for one in changed}
    assert len(digests) == len(changed)
    assert digest not in digests


def test_a_group_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        interventions.main(["nfs", "read", "--group", "9"])
    assert "--group = 9: must be from 1 to 3" in capsys.readouterr().err


def test_without_records_no_share_has_a_value(monkeypatch):
    monkeypatch.setattr(interventions, "read_records", lambda path: [])
    found = interventions.figures("interventions")
    assert {(one.value, one.points) for one in found} == {(None, 0)}
