"""Tests of the predictions of public measurements, against the committed figures."""

from __future__ import annotations

import pytest
from dfslab.models.scaling import hardware as hardware_model
from dfslab.models.scaling.training import USUAL

from verification.figures import committed, differences, lost
from verification.truth import experiment, gateway, hardware, training


@pytest.mark.grid
@pytest.mark.parametrize("table", experiment.subjects())
def test_the_figures_of_each_table_are_those_of_the_committed_table(table):
    before = [one for one in committed() if one.recording == table]
    found = experiment.figures(table)
    assert {one.key for one in found} == {one.key for one in before}
    wrong = [*lost(found, before), *differences(found, before)]
    assert not wrong, "\n".join(wrong)


def test_the_exponents_of_an_object_size_do_not_depend_on_its_own_measurements(monkeypatch):
    sizes = tuple(gateway.curves())
    others = sizes[1:]
    gateway.gain_of.cache_clear()
    before = gateway.gain_of(others), gateway.tail_growth_of(others)
    kept = {size: curve for size, curve in gateway.curves().items() if size in others}
    gateway.gain_of.cache_clear()
    gateway.tail_growth_of.cache_clear()
    monkeypatch.setattr(gateway, "curves", lambda: kept)
    assert (gateway.gain_of(others), gateway.tail_growth_of(others)) == before
    assert gateway.tail_growth_of(others) != gateway.tail_growth_of(others[1:])


def test_the_product_s_shares_are_those_of_all_organisations():
    found = training.shares_without("")
    for name, value in vars(found).items():
        assert getattr(USUAL, name) == pytest.approx(value, rel=0.01), name


def test_an_organisation_is_predicted_from_all_others():
    assert training.shares_without("Nutanix") != training.shares_without("")
    (group,) = {hardware.group_of("Intel")}
    assert 0 <= group < hardware.GROUPS


@pytest.mark.parametrize("phase", ["ior_easy_write", "mdtest_hard_stat"])
def test_the_product_s_laws_are_those_of_all_institutions(phase):
    some = [one for one in hardware.submissions() if phase in one.rates_per_s]
    found, kept = hardware.estimated(some, phase), hardware_model.laws().laws[phase]
    for one in some:
        expected = kept.rate_per_s(one.hardware)
        assert found.rate_per_s(one.hardware) == pytest.approx(expected, rel=0.05)
