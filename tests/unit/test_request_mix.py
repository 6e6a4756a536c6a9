"""Tests of the workload `request_mix`: the shares, sizes and orders of Table 2 of Nguyen and Apon
2012."""

from __future__ import annotations

import json
import math

import pytest
from dfslab import _core, discover
from dfslab.imports.formats.recorded import stream as recorded
from dfslab.spec.input_error import InputError
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.streams.vocabulary import Given

KIB, MIB = 1 << 10, 1 << 20


def scenario(**workload: str | float) -> Scenario:
    """Returns a scenario of one client with the workload `request_mix` on PVFS."""
    nodes = [
        {"name": role.name, "count": role.instances, "roles": {role.name: 1}}
        for role in discover.file_system("pvfs").roles
    ]
    return build(
        Scenario,
        {
            "name": "mix",
            "deployment": {"node": nodes},
            "file_system": {"name": "pvfs"},
            "workload": {"name": "request_mix", **workload},
            "run": {"methods": ["sequence"], "repetitions": 1},
        },
    )


def requests(**workload: str | float) -> list[Given]:
    """Returns the reads and writes of the workload's clients in order, without opening and closing
    the file."""
    given = stream_spec(scenario(**workload)).given
    assert (given[0].operation, given[-1].operation) == ("open", "close")
    return [one for one in given if one.operation in ("pread", "pwrite")]


def test_the_shares_are_those_of_table_2():
    """The shares of the request types are those of Table 2 of Nguyen and Apon 2012. Of 40,000
    requests, 97.952 % are large and 2.047 % are mixed, with a tolerance of three standard errors.
    Purely random requests are so rare that at most two may occur."""
    count = 40_000
    sizes = [one.size_bytes for one in requests(operations_per_client=count)]
    assert len(sizes) == count
    assert set(sizes) <= {4 * MIB, 64 * KIB, 4 * KIB}
    for size, share in ((4 * MIB, 0.97952), (64 * KIB, 0.02047)):
        error = 3 * math.sqrt(share * (1 - share) / count)
        assert sizes.count(size) / count == pytest.approx(share, abs=error)
    assert sizes.count(4 * KIB) <= 2


def test_large_requests_are_sequential_and_random_ones_are_not():
    only = {"mixed_weight": 0, "random_weight": 0}
    large = [one.offset_bytes for one in requests(operations_per_client=20, **only)]
    assert large == [at % 16 * 4 * MIB for at in range(20)]
    random = {"large_weight": 0, "mixed_weight": 0, "random_weight": 1}
    found = requests(operations_per_client=64, **random)
    assert {one.size_bytes for one in found} == {4 * KIB}
    offsets = [one.offset_bytes for one in found]
    assert offsets != sorted(offsets)
    assert max(offsets) + 4 * KIB <= 64 * MIB


@pytest.mark.parametrize(("share", "kinds"), [(1.0, {"pread"}), (0.0, {"pwrite"})])
def test_the_share_of_reads_is_a_parameter(share, kinds):
    found = requests(operations_per_client=100, read_share=share)
    assert {one.operation for one in found} == kinds


def test_every_client_has_a_separate_file_and_different_requests():
    given = stream_spec(scenario(clients=3, operations_per_client=50)).given
    per_client = [
        [(one.operation, one.offset_bytes) for one in given if one.client == client]
        for client in range(3)
    ]
    assert [len(one) for one in per_client] == [52, 52, 52]
    assert per_client[0] != per_client[1] != per_client[2]
    again = stream_spec(scenario(clients=3, operations_per_client=50)).given
    assert again == given
    assert {one.owner for one in given} == {None}


@pytest.mark.parametrize("method", ["sequence", "petri", "components"])
def test_random_requests_slow_a_prediction_down(method):
    """Every model predicts fewer bytes per second if all requests are small and random. This
    prediction is compared with the prediction for Nguyen and Apon's shares of request types."""
    random = {"large_weight": 0, "random_weight": 1}
    paper, small = (
        discover.method(method)
        .run(Point(scenario=scenario(cache="cold", operations_per_client=32, **keys), labels={}))
        .value("throughput_bytes_per_s")
        for keys in ({}, random)
    )
    assert paper > 3 * small


def test_real_files_get_the_requests(tmp_path):
    """Two clients send their requests to real files. Every byte of every request is transferred."""
    spec = stream_spec(scenario(clients=2, operations_per_client=20, file_size="8 MiB"))
    target = PosixTarget(root=str(tmp_path))
    plan = LoadPlan(stream=spec, run_directory="run", target=target, record=True)
    text, _, content = _core.run_load(plan.text)
    report = json.loads(text)
    assert (report["errors"], report["complete"]) == ([], True)
    moved = [
        sum(one.size_bytes for one in given) for given in (spec.given, recorded(content).given)
    ]
    assert moved[0] == moved[1] > 0


def test_a_request_is_at_most_as_large_as_its_file():
    found = requests(file_size="12345 B", operations_per_client=20, mixed_weight=0, random_weight=0)
    assert {(one.offset_bytes, one.size_bytes) for one in found} == {(0, 12345)}


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"large_weight": 0, "mixed_weight": 0, "random_weight": 0}, "needs a weight above 0"),
        ({"operations_per_client": 1_000_000}, "operations_per_client = 1000000: 1 clients have"),
    ],
)
def test_impossible_requests_are_refused(workload, message):
    with pytest.raises(InputError, match=message) as caught:
        stream_spec(scenario(**workload))
    assert "\n" not in str(caught.value)
