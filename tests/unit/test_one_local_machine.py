"""Tests that the deployment of a local directory has exactly one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from support import synthetic
from support.command import dfslab

QUICKSTART = Path(__file__).parents[2] / "scenarios" / "quickstart.toml"


def test_a_directory_on_two_machines_is_refused():
    base = synthetic.scenario()
    (node,) = base.deployment.node
    nodes = [node.model_copy(update={"count": 2})]
    deployment = base.deployment.model_copy(update={"node": nodes})
    with pytest.raises(InputError, match="exactly one node"):
        check(base.model_copy(update={"deployment": deployment}))


def test_more_servers_of_a_directory_are_no_change():
    answer = dfslab("whatif", QUICKSTART, "servers 2")
    assert answer.returncode == 2
    assert "exactly one node: a directory is on one machine" in answer.stderr


def test_advice_for_a_directory_names_no_servers():
    answer = dfslab("advise", QUICKSTART, "--json")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    changes = [one["change"] for one in (*document["rows"], *document["spared"])]
    assert changes
    assert not any("server" in one for one in changes)
