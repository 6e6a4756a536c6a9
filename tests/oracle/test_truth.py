"""Tests of the predictions of public measurements, against the committed figures."""

from __future__ import annotations

import pytest

from verification.figures import committed, differences, lost
from verification.truth import experiment, gateway


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
