"""Tests of layers. A layer changes the calls of the load generator, for example by a throttle. A
scenario declares the layer, and the tests check that the layer has the declared effect."""

from __future__ import annotations

import pytest
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.measuring import measure_once

OPERATIONS = 100


def scenario(*layers: dict, methods: tuple[str, ...] = ("measure",), **run) -> Scenario:
    return build(
        Scenario,
        {
            "name": "layers",
            "deployment": {"node": [{"roles": {"client": 1, "storage": 1}}]},
            "file_system": {"name": "local"},
            "workload": {
                "name": "metadata",
                "operation": "stat",
                "operations_per_client": OPERATIONS,
            },
            "run": {"methods": list(methods), "layer": list(layers), **run},
        },
    )


def measured(*layers: dict, **run) -> Result:
    (point,) = check(scenario(*layers, **run))
    return measure_once(point)


@pytest.mark.parametrize(
    ("layer", "reported"),
    [
        ({"kind": "melt"}, "run.layer.0.kind = 'melt'"),
        ({"kind": "throttle"}, "run.layer = 'throttle': needs rate, bandwidth above 0"),
        ({"kind": "stall", "time": "1 s"}, "run.layer = 'stall': needs time, period above 0"),
        ({"kind": "stall", "time": "2 s", "period": "1 s"}, "no longer than its period"),
        ({"kind": "delay", "time": "1 ms", "share": 0.5}, "run.layer.share = 0.5: delay takes"),
        ({"kind": "fault", "share": 1.5}, "run.layer.0.share = 1.5"),
        ({"kind": "delay", "time": 5}, "run.layer.0.time = 5: needs a unit"),
        ({"kind": "delay", "wait": "5 s"}, "run.layer.0.wait = '5 s': unknown; allowed: kind"),
    ],
)
def test_a_wrong_layer_is_one_clear_line(layer, reported):
    with pytest.raises(InputError) as error:
        check(scenario(layer))
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


def test_layers_read_back_and_no_model_knows_them():
    layers = ({"kind": "throttle", "bandwidth": "1 MB/s"}, {"kind": "delay", "time": "1 ms"})
    requested = scenario(*layers)
    assert build(Scenario, requested.model_dump(mode="json")) == requested
    with pytest.raises(InputError, match=r"run\.layer = 'throttle': is not modelled; without seq"):
        check(scenario(*layers, methods=("measure", "sequence")))


def test_calls_are_throttled_and_delayed():
    rate_per_s = 1000.0
    slow = measured({"kind": "throttle", "rate": f"{rate_per_s} /s"})
    # At the start, the throttle has a burst credit of 20 ms. Operations in the first 20 ms are
    # therefore not delayed.
    assert slow.value("rate_per_s") <= OPERATIONS / (OPERATIONS / rate_per_s - 0.02)
    assert any(note.startswith("calls that layers changed: ") for note in slow.notes)
    late = measured({"kind": "delay", "time": "2 ms"})
    assert late.value("latency_s_p50.stat") >= 2e-3 * (1 - 1 / 128)


def test_planted_errors_are_counted_and_end_nothing():
    some = measured({"kind": "fault", "share": 0.3})
    failed = some.load.operations["stat"].errors
    assert some.complete
    assert 0.1 * OPERATIONS < failed < 0.6 * OPERATIONS
    assert some.load.layers == {"failed": failed}
    assert some.load.operations["stat"].count == OPERATIONS - failed
    assert not measured({"kind": "fault", "share": 0.3}, max_errors=1).complete
    with pytest.raises(RunFailed, match="no operation succeeded"):
        measured({"kind": "timeout", "time": "1 ms"}, {"kind": "delay", "time": "3 ms"})
