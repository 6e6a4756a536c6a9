"""Tests of the error of predicted gains that is learnt from carried-out changes, with planted
errors, and of the tables that the package contains."""

from __future__ import annotations

import math
from statistics import median

import numpy as np
import pytest
from dfslab.studies.decisions.intervention_error import (
    CarriedOutError,
    errors_for,
    intervention_errors,
    learnt_from,
)

from verification.figures import bars
from verification.trials import intervention_errors as learning
from verification.trials import interventions

KINDS = ("link", "disk", "clients", "size")
SYSTEMS = 40


def planted(active_sd, idle_sd, common_sd, factors=None, operations="data", seed=3):
    """Returns planted changes with errors of their predicted gains: one trial of 16 changes on each
    of SYSTEMS file systems. Each change doubles a value. Half of the changes have a predicted gain
    of 2 (active). The other half has a predicted gain of 1 (idle).

    The error of ln(gain) is a sum of independent normal errors with mean 0. All changes of a trial
    share one error with standard deviation `common_sd`. In addition, each change has an error with
    the variance factor * idle_sd^2 if it is idle, or factor * (idle_sd^2 + active_sd^2) if it is
    active. `factors` has the factor for each kind of change; the default is 1.
    """
    random = np.random.default_rng(seed)
    found = []
    for system in range(SYSTEMS):
        common = common_sd * random.standard_normal()
        for number in range(16):
            kind, is_active = KINDS[number % 4], number < 8
            variance = active_sd**2 * is_active + idle_sd**2
            sd = math.sqrt(variance * (factors or {}).get(kind, 1.0))
            predicted = math.log(2) if is_active else 0.0
            error = common + sd * random.standard_normal()
            found.append(
                CarriedOutError(
                    file_system=f"system {system}",
                    workload="write",
                    operations=operations,
                    trial=f"trial {system}",
                    change=f"{kind} x2",
                    kind=kind,
                    distance=math.log(2),
                    predicted=predicted,
                    measured=predicted - error,
                )
            )
    return found


def test_planted_errors_of_model_and_measurement_are_told_apart():
    (table,) = learnt_from(planted(active_sd=0.2, idle_sd=0.05, common_sd=0.3))
    assert table.active_sd == pytest.approx(0.2, rel=0.15)
    assert table.idle_sd == pytest.approx(0.05, rel=0.25)
    assert table.measured_sd == pytest.approx(0.3, rel=0.3)


def test_the_error_of_a_trial_is_not_counted_as_the_model_s():
    (calm,) = learnt_from(planted(active_sd=0.2, idle_sd=0.05, common_sd=0.0))
    (shifted,) = learnt_from(planted(active_sd=0.2, idle_sd=0.05, common_sd=1.0))
    assert shifted.active_sd == pytest.approx(calm.active_sd, rel=0.05)
    assert shifted.idle_sd == pytest.approx(calm.idle_sd, rel=0.05)


def test_a_kind_with_larger_errors_has_a_larger_factor_and_few_systems_are_shrunk():
    many = planted(0.1, 0.1, 0.0, {"clients": 9.0})
    (table,) = learnt_from(many)
    assert table.of_kind("clients").factor > 4 * table.of_kind("link").factor
    few = [one for one in many if one.kind != "clients" or one.file_system == "system 0"]
    (shrunk,) = learnt_from(few)
    assert abs(math.log(shrunk.of_kind("clients").factor)) < math.log(9.0) / 1.5
    assert shrunk.of_kind("servers").factor == 1.0


def test_data_and_metadata_have_tables_of_their_own():
    tables = learnt_from([*planted(0.1, 0.05, 0.0), *planted(0.4, 0.2, 0.0, None, "metadata")])
    data, metadata = errors_for("data", tables), errors_for("metadata", tables)
    assert metadata.active_sd > 2 * data.active_sd
    assert "metadata operations" in metadata.basis_of("link")
    one_system = [one for one in planted(0.1, 0.05, 0.0) if one.file_system == "system 0"]
    assert learnt_from(one_system) == []


def test_the_variance_grows_with_the_gain_and_with_the_distance():
    (table,) = learnt_from(planted(0.2, 0.1, 0.0))
    assert table.variance("link", 0.0, 1.0) < table.variance("link", 0.0, 2.0)
    assert table.variance("link", 0.0, 1.0) < table.variance("link", -0.5, 1.0)


def test_the_tables_of_the_package_are_those_of_the_recordings():
    assert intervention_errors() == learnt_from(learning.errors_of(interventions.measured()))


def widths_of(found):
    """Returns a dictionary from each file system to a list of standard deviations. The list has the
    standard deviation of each judged prediction of a gain on this file system."""
    widths = {}
    for one, predicted in learning.judged(found):
        widths.setdefault(one.predicted.file_system, []).append(predicted.sd)
    return widths


def test_a_file_system_is_judged_without_its_own_interventions():
    """The intervals of a file system are learnt from the other file systems. If one file system has
    larger errors, the intervals of the other file systems become wider, but its own intervals do
    not."""
    found = interventions.measured()
    before = widths_of(found)
    for one in found:
        if one.predicted.file_system == "nfs":
            gain = one.measured.gain
            one.measured.gain = gain.model_copy(update={"gain": gain.gain**9})
    after = widths_of(found)
    assert after["nfs"] == before["nfs"]
    for system in before.keys() - {"nfs"}:
        assert sum(after[system]) > 1.05 * sum(before[system])


def test_figures_by_other_file_systems_have_bars_and_signed_medians():
    found = interventions.measured()
    rows = {(one.bar, one.part): one for one in learning.figures("interventions", found)}
    assert {bar for bar, _ in rows} <= set(bars())
    assert rows["gains.coverage", ""].points >= 53
    errors = learning.errors_of(found)
    links = [one.error for one in errors if (one.operations, one.kind) == ("data", "link")]
    assert rows["gains.bias", "data: link"].value == median(links)
    assert min(links) < 0 < max(links)
