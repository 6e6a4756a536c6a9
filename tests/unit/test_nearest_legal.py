"""Tests that the error for an illegal number of servers, copies or stripes states the nearest legal
numbers."""

from __future__ import annotations

import re

import pytest
from dfslab import discover
from dfslab.spec.changes.change_language import apply, parse_changes
from dfslab.spec.check import check
from dfslab.spec.environment import parameters
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.spec.systems.nearest_legal import nearest_legal
from support.command import dfslab


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("glusterfs", "--set", "deployment.node.server.count=5"),
            "file_system.copies = 2: must be a divisor of the 5 bricks deployed; legal next to it: "
            "copies = 1 or 5, or 4 or 6 bricks",
        ),
        (
            ("hdfs", "--set", "file_system.replication=9"),
            "legal next to it: replication = 3, or 9 datanodes",
        ),
        (
            ("beegfs", "--set", "file_system.stripe_count=7"),
            "legal next to it: stripe_count = 4, or 7 storages",
        ),
    ],
)
def test_commands_offer_the_nearest_legal_numbers(words, error):
    done = dfslab("predict", *words)
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_offered_is_legal():
    """Every number that the refusal of an illegal number of GlusterFS servers offers is legal."""
    scenario = next(
        one.scenario
        for one in check(read(ready.files()["glusterfs"]))
        if one.labels.get("file_system.copies") == 3
    )
    for servers in (4, 5, 7, 8, 10, 11):
        with pytest.raises(InputError) as refused:
            apply(scenario, parse_changes([f"servers {servers}"], scenario))
        ((copies, bricks),) = re.findall(
            r"to it: copies = (.*), or (.*) bricks", str(refused.value)
        )
        for number in bricks.split(" or "):
            assert int(number) % 3 == 0
            apply(scenario, parse_changes([f"servers {number}"], scenario))
        for number in copies.split(" or "):
            apply(scenario, parse_changes([f"servers {servers}, copies {number}"], scenario))


def test_no_number_is_offered_if_none_is_near():
    system = discover.file_system("glusterfs")
    scenario = read(ready.files()["glusterfs"])
    values = {**parameters(scenario, system), "data_fragments": 50.0, "copies": 3.0}
    assert nearest_legal(system, "data_fragments", values, {"brick": 6, "client": 1}) == ""


@pytest.mark.parametrize(
    ("system", "allowed"), [("nfs", "must be 1"), ("beegfs", "must be 1 or 2")]
)
def test_a_plan_of_copies_that_a_file_system_cannot_store_names_the_option(system, allowed):
    done = dfslab("plan", "write >= 1 GB/s", "--file-system", system, "--copies", "3")
    assert done.returncode == 2
    assert done.stderr.startswith(f"dfslab: --copies = 3: {allowed}")
