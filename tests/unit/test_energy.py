"""Tests of the study `energy`. The study computes the power of processors and the energy for each
byte. Of the processors that are no bottleneck, the study chooses the processor with the least
power."""

from __future__ import annotations

import pytest
from dfslab.documents.table import DASH
from dfslab.result import Metric, Result, provenance
from dfslab.spec.deployment import NodeGroup
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.studies import energy
from dfslab.studies.contract import Findings, FinishedRun

POWER = "deployment.node.server.power"


def scenario(power="10 W"):
    return build(
        Scenario,
        {
            "name": "processors",
            "deployment": {
                "node": [
                    {
                        "name": "server",
                        "count": 2,
                        "processors": 2,
                        "power": power,
                        "roles": {"brick": 1},
                    },
                    {"name": "client", "roles": {"client": 1}},
                ]
            },
            "file_system": {"name": "glusterfs"},
            "workload": {"name": "sequential_read"},
            "run": {"methods": ["sequence"]},
        },
    )


def predicted(power, bytes_per_s, interval=0.1):
    values = {POWER: power}
    point = Point(scenario=scenario().with_values(values), labels=values)
    low, high = bytes_per_s * (1 - interval), bytes_per_s * (1 + interval)
    return Result(
        method="sequence",
        point_id=point.id,
        point=point,
        metrics={
            "throughput_bytes_per_s": Metric(value=bytes_per_s, low=low, high=high),
            "rate_per_s": Metric(value=1.0),
        },
        provenance=provenance(1),
    )


def test_power_is_that_of_all_processors_that_declare_one():
    assert energy.power_w(scenario().deployment) == 2 * 2 * 10.0
    assert energy.power_w(scenario("0 W").deployment) == 0.0


def test_energy_is_power_over_throughput():
    (one,) = energy.costs([predicted("10 W", 2e6)])
    found = one.energy_j_per_byte
    assert found.value == pytest.approx(40 / 2e6)
    assert (found.low, found.high) == (pytest.approx(40 / 2.2e6), pytest.approx(40 / 1.8e6))
    assert energy.costs([predicted("0 W", 2e6)]) == []


def test_the_least_power_that_is_as_fast_is_chosen():
    """The chosen processor needs the least power of all processors whose rate is within 5 % of the
    fastest rate. Of four processors, the processor of 45 W is chosen.

    - The processor of 95 W is the fastest.
    - The processor of 80 W is slower than the processor of 45 W and needs more power.
    - The processor of 8 W needs the least energy, but is half as fast as the fastest processor.
    """
    rates = {"8 W": 0.5e6, "45 W": 0.97e6, "95 W": 1e6, "80 W": 0.9e6}
    costs = energy.costs([predicted(power, rate) for power, rate in rates.items()])
    assert energy.chosen(costs).labels[POWER] == "45 W"
    assert energy.least_energy(costs).labels[POWER] == "8 W"
    found = energy.Energy(costs=costs)
    ((fast, frugal),) = found.choices()
    assert (fast.labels[POWER], frugal.labels[POWER]) == ("45 W", "8 W")
    run = FinishedRun(scenario(), [], Findings.of(found))
    (table,) = found.tables(run)
    assert len(table.rows) == 4
    assert (
        "everywhere: least power within 5% of the fastest: 45 W; least energy: 8 W."
        in (table.notes[0])
    )
    assert table.rows[0][-1].text == DASH
    again = energy.Energy.model_validate_json(found.model_dump_json())
    assert again == found
    document = found.document(run)["energy"]
    assert document[0]["energy_j_per_byte"]["value"] == pytest.approx(32 / 0.5e6)


def test_the_study_has_nothing_to_say_without_power():
    result = predicted("0 W", 1e6)
    run = FinishedRun(scenario("0 W"), [result])
    assert energy.make("energy").run(run, lambda *_: None) is None


def test_power_is_written_only_where_it_is_declared():
    """A power that is not declared is not written to the scenario's text, because stored runs are
    identified by this text."""
    assert "power" not in NodeGroup().model_dump(mode="json")
    assert NodeGroup(power="95 W").model_dump(mode="json")["power"] == "95.0 W"
    assert NodeGroup(power="0.2 kW").power == 200.0
    with pytest.raises(InputError, match=r"deployment.node.server.power = '95': needs a unit"):
        scenario("95")


def test_a_choice_names_the_processor_and_the_power_of_each():
    """Clock and power vary together. A note names the clock and the power of one processor, and not
    the values that all compared configurations share. The table names a single method once."""
    costs = energy.costs([predicted("8 W", 1e6), predicted("45 W", 2e6)])
    clock, link = (f"deployment.node.server.{key}" for key in ("frequency", "adapter.bandwidth"))
    shared = {link: "1 Gbit/s"}
    named = [
        one.model_copy(update={"labels": {clock: hertz, **one.labels, **shared}, "group": shared})
        for one, hertz in zip(costs, ("1 GHz", "3 GHz"), strict=True)
    ]
    (table,) = energy.Energy(costs=named).tables(FinishedRun(scenario(), []))
    assert table.notes[0].endswith(
        "least power within 5% of the fastest: 3 GHz (45 W a processor); "
        "least energy: 1 GHz (8 W a processor)."
    )
    assert "1 Gbit/s" not in table.notes[0].partition("fastest: ")[2]
    assert table.title.endswith(", by sequence")
    two = [*named, named[0].model_copy(update={"method": "petri"})]
    (table,) = energy.Energy(costs=two).tables(FinishedRun(scenario(), []))
    assert [head.title for head in table.columns][1] == "method"
